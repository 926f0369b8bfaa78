"""Comparing two shards of a million objects: time and memory of the command, in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure

MILLION = 1_000_000

SECONDS, MEGABYTES = 5.0, 300.0


def run() -> Iterator[Figure]:
    """Compares a shard with one in which a thousandth of the objects is gone, and another one is different."""
    with tempfile.TemporaryDirectory() as folder:
        for format in ("swh", "des"):
            first, second = (Path(folder) / f"{name}.{format}" for name in "ab")
            _write(first, format, changed=False)
            _write(second, format, changed=True)
            # The memory of des is that of its two indices, which hold all uids and metadata.
            memory = MEGABYTES if format == "swh" else 700.0
            yield from _figures(format, first, second, memory)


def _write(path: Path, format: str, *, changed: bool) -> None:
    import shardcore

    with shardcore.create(path, format=format) as writer:
        for number in range(MILLION):
            if changed and number % 1000 == 5:
                continue
            other = 10 * MILLION * (changed and number % 1000 == 7)
            data = b"object number %08d and some more bytes" % (number + other)
            writer.add(None if format == "swh" else f"key-{number:07}", data)


def _figures(format: str, first: Path, second: Path, memory: float) -> Iterator[Figure]:
    command = [sys.executable, "-m", "shardcore", "diff", str(first), str(second)]
    best, most = float("inf"), 0.0
    for _ in range(3):
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        usage = _wait(process)
        best = min(best, time.monotonic() - began)
        most = max(most, usage.ru_maxrss / 1024)
        assert process.returncode == 1
    yield Figure(f"diff, two {format} shards of 1,000,000 objects", best, SECONDS)
    yield Figure(f"diff, two {format} shards of 1,000,000 objects: memory", most, memory, "MB")


def _wait(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage
