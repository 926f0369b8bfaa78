"""Verification of contents on worker processes: one and two of them, large shards and small ones."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import shardcore
from shardcore.shards.shard_tasks import member_count
from shardcore.shards.task_pool import local_processes
from tests.bench.figures import Figure, report

LARGE = (8, 32 << 20)
SMALL = (512, 1 << 10)
WORTH = 1.7
"""Times faster that two workers are than one, on large shards."""
SMALL_MOST = 1.5
"""Small shards need not be faster: opening and sending them costs as much as their work."""


def run() -> Iterator[Figure]:
    """Prints the figures of `make bench cluster`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (count, size), most in (("large", LARGE, 1 / WORTH), ("small", SMALL, SMALL_MOST)):
            path = _shards(Path(folder) / name, count, size)
            here = min(_verified(path, 0)[1] for _ in range(2))
            one, two = _spread(path, 1), _spread(path, 2)
            what = f"content verification of {count} {name} shards"
            note = f"{here:.2f} s in this process, {one:.2f} s in one worker, {two:.2f} s in two"
            yield Figure(f"{what}: two workers, of one worker's time", two / one, most, "", note=note)


def _spread(path: Path, processes: int) -> float:
    """Return the seconds of a verification, without those that the processes take to start."""
    return min(_verified(path, processes)[1] for _ in range(2))


def _verified(path: Path, processes: int) -> tuple[bool, float]:
    with shardcore.open(path) as shards:
        if not processes:
            began = time.perf_counter()
            return shards.verify().ok, time.perf_counter() - began
        with local_processes(processes) as pool:
            list(pool.each(shards, member_count))
            shards.tasks = pool
            began = time.perf_counter()
            return shards.verify().ok, time.perf_counter() - began


def _shards(folder: Path, count: int, size: int) -> Path:
    """Write shards of des: their contents are compressed, and have a checksum each."""
    dice, words = random.Random(5), [b"%d " % number for number in range(500)]
    folder.mkdir()
    for number in range(count):
        content = b"".join(dice.choices(words, k=1 << 14))
        with shardcore.create(folder / f"20261103_{number % 256:02X}_{number // 256:04}.des", format="des") as writer:
            for at in range(max(size // len(content), 1)):
                writer.add(f"{number + 256 * at}", content[: min(len(content), size)], codec="zstd")
    return folder


if __name__ == "__main__":
    report(run())
