"""Read Shards: a million objects beside the reference implementation, and a shard of 100 GB."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import shardcore
from shardcore.shards.shard import Shard
from tests.bench.figures import Figure, beside, best_of, best_program, least_work, program, run_program
from tests.bench.sparse_swh import SLOTS, make_sparse

OBJECTS = 1_000_000
SECONDS_OVER_VERSION = 0.4
MEGABYTES = 150


def contents() -> list[bytes]:
    """Small objects of different lengths."""
    return [b"object %d " % n * (1 + n % 7) for n in range(OBJECTS)]


def write_with_reference(path: Path, objects: list[bytes]) -> float:
    """Seconds that the reference writer takes, keys made beforehand."""
    from swh.shard import ShardCreator

    keyed = [(hashlib.sha256(data).digest(), data) for data in objects]
    began = time.perf_counter()
    with ShardCreator(str(path), len(keyed)) as shard:
        for key, data in keyed:
            shard.write(key, data)
    return time.perf_counter() - began


def write_with_ours(path: Path, objects: list[bytes], *, singly: bool) -> float:
    """Seconds that our writer takes, one by one or all at once, keys given likewise."""
    keys = [hashlib.sha256(data).hexdigest() for data in objects]
    path.unlink(missing_ok=True)
    began = time.perf_counter()
    with shardcore.create(path, format="swh") as writer:
        if singly:
            for key, data in zip(keys, objects, strict=True):
                writer.add(key, data)
        else:
            writer.add_many(keys, objects)
    return time.perf_counter() - began


def million(folder: Path) -> Iterator[Figure]:
    """A shard of a million objects, made by the reference writer."""
    objects = contents()
    path = folder / "million.shard"
    theirs = min(write_with_reference(folder / f"theirs-{n}.shard", objects) for n in range(2))
    (folder / "theirs-1.shard").rename(path)
    many = min(write_with_ours(folder / "ours.shard", objects, singly=False) for _ in range(2))
    yield Figure("write 1,000,000 objects with add_many", many, 2 * theirs, reference=theirs)
    ours = min(write_with_ours(folder / "ours.shard", objects, singly=True) for _ in range(2))
    yield Figure("write 1,000,000 objects one by one", ours, 3 * theirs, reference=theirs)
    ours, reference = program("shardcore"), program("swh-shard")
    yield beside("list 1,000,000 objects", 0.15, [*ours, "ls", str(path)], [*reference, "ls", str(path)], path.name)
    check = [*ours, "verify", "--depth", "content", str(path)]
    yield beside("verify contents", 0.12, check, [*reference, "check", "--with-hash", str(path)], path.name)
    keys = [hashlib.sha256(data).hexdigest() for data in objects]
    with shardcore.open(path) as shard:
        shard.find(keys[0])
        took = best_of(2, lambda: find_all(shard, keys))
    yield Figure("find_many of 1,000,000 keys", took, 1.0)


def find_all(shard: Shard, keys: list[str]) -> None:
    """Finds many keys; every one must be there."""
    if not np.all(shard.find_many(keys) >= 0):
        raise RuntimeError("a key was not found")


def sparse(folder: Path) -> Iterator[Figure]:
    """A shard of 100 GB with 46 million slots."""
    path = folder / "sparse.shard"
    make_sparse(path)
    version, _ = best_program(3, [*program("shardcore"), "--version"])
    info, memory = best_program(3, [*program("shardcore"), "info", str(path)])
    yield Figure("info on 100 GB over --version", info - version, SECONDS_OVER_VERSION)
    yield Figure("info on 100 GB, resident", memory, MEGABYTES, unit="MB")
    for words, limit in (("ls --skip 45000000 --limit 5", 6.0), ("tree", 2.0)):
        command, *options = words.split()
        run = [*program("shardcore"), command, str(path), *options]
        run_program(run)
        (seconds,), (_, resident) = least_work(2, run), run_program(run)
        shown = f"shardcore {command} sparse.shard {' '.join(options)}".rstrip()
        yield Figure(f"{words} on {SLOTS:,} slots", seconds, limit, memory=resident, command=shown)
        yield Figure(f"{words} on {SLOTS:,} slots, resident", resident, 400.0, "MB", command=shown)


def run() -> Iterator[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        yield from million(Path(folder))
        yield from sparse(Path(folder))
