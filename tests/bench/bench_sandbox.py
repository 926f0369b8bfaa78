"""A byte changed in files of a million objects: the checks and the objects compared with the file as it was."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import shardcore
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched import Change, PatchedSource
from shardcore.teaching.impact import MOST_OBJECTS, before, compare
from tests.bench import bench_des
from tests.bench.figures import Figure

OBJECTS = 1_000_000
LIMIT = 5.0


def run() -> Iterator[Figure]:
    """Flips a byte in the middle of the contents of a Read Shard, and of a DES shard, half of it with metadata."""
    yield _flip("swh", _swh())
    yield _flip("des", bench_des.make(entries=OBJECTS))


def _swh() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "million.shard"
        with shardcore.create(path, format="swh") as writer:
            for number in range(OBJECTS):
                writer.add(None, b"object number %08d and some more bytes" % number)
        return path.read_bytes()


def _flip(name: str, data: bytes) -> Figure:
    base = BytesSource(data, f"million.{name}")
    with shardcore.open(base) as shard:
        was = before(shard)
    at = len(data) // 4
    with shardcore.open(PatchedSource(base, [Change.flip(at, 0, data[at])]), partial=True) as shard:
        began = time.perf_counter()
        found = compare(was, shard)
        took = time.perf_counter() - began
    assert sum(found.counts.values()) > MOST_OBJECTS * 0.9, found.counts
    return Figure(f"sandbox, {name} of 1,000,000 objects: a changed byte", took, LIMIT)
