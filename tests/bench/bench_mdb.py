"""MDB shards: a shard of 64 MB beside a small one; chunks and hashes beside the reference."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import shardcore
from shardcore.codecs.xet.chunker import chunks, cut_ends
from shardcore.codecs.xet.hashes import as_rows, chunk_hash
from shardcore.formats.mdb.layout import file_hash
from tests.bench.figures import Figure, best_of
from tests.shardcore.formats.mdb.made import made_shard

LARGE = {"files": 75_000, "xorbs": 72, "chunks": 8192}
SMALL = {"files": 20, "xorbs": 2, "chunks": 100}
PAGE = 4096
KEYS = 100_000
HASHED = 128 << 20


def open_and_paint(path: Path) -> None:
    """What happens before the first page is on the screen."""
    with shardcore.open(path) as shard:
        size = path.stat().st_size
        shard.runs(0, PAGE)
        shard.runs(size - PAGE, size)


def load(path: Path) -> None:
    """Opens a shard and loads its index."""
    with shardcore.open(path) as shard:
        shard.load_index()
        if len(shard.objects) < 1:
            raise RuntimeError("no objects")


def side_by_side(*works: Callable[[], object]) -> list[float]:
    """The shortest processor time of each, run in turns: a ratio that other programs hardly disturb."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(5):
        for work, taken in zip(works, times, strict=True):
            began = time.process_time()
            work()
            taken.append(time.process_time() - began)
    return [min(taken) for taken in times]


def figures(folder: Path) -> Iterator[Figure]:
    """The two shards."""
    large, small = folder / "large.mdb", folder / "small.mdb"
    large.write_bytes(made_shard(1, **LARGE))
    small.write_bytes(made_shard(2, **SMALL))
    size = large.stat().st_size / 2**20
    both = best_of(5, lambda: open_and_paint(large)), best_of(5, lambda: open_and_paint(small))
    limit = 2 * 1000 * both[1] + 2
    yield Figure(
        "open and paint", 1000 * both[0], limit, unit="ms", reference=1000 * both[1], note="beside a small one"
    )
    yield Figure("load the index", best_of(3, lambda: load(large)), 1.0, note=f"{size:.0f} MB")
    with shardcore.open(large) as shard:
        shard.load_index()
        rows = np.random.default_rng(3).permutation(len(shard.objects))[:KEYS]
        keys = [key or "" for key in shard.objects.key_texts(rows)]
        yield Figure(f"find_many of {KEYS} keys", best_of(3, lambda: shard.find_many(keys)), 1.0)


def hash_file(path: Path) -> bytes:
    """The hash of a file, as writing a shard computes it."""
    found: list[bytes] = []
    sizes: list[int] = []
    with path.open("rb") as stream:
        for chunk in chunks(iter(lambda: stream.read(1 << 20), b"")):
            found.append(chunk_hash(chunk))
            sizes.append(len(chunk))
    return file_hash(as_rows(found), np.array(sizes, np.uint64))


def hashing(folder: Path) -> Iterator[Figure]:
    """Chunks and hashes of a file of noise beside the reference, in turns; and a whole shard with its xorbs."""
    import hf_xet

    path = folder / "noise.bin"
    path.write_bytes(np.random.default_rng(4).bytes(HASHED))
    warnings.simplefilter("ignore", DeprecationWarning)
    ours, theirs = side_by_side(lambda: hash_file(path), lambda: hf_xet.hash_files([str(path)]))
    note = f"{HASHED / ours / 1e6:.0f} MB/s beside {HASHED / theirs / 1e6:.0f} of processor time; the aim is a third"
    yield Figure("chunk and hash 128 MB", ours, 6 * theirs, reference=theirs, note=note)

    def write() -> None:
        with shardcore.create(folder / "out.mdb", format="mdb", force=True) as writer, path.open("rb") as stream:
            writer.add(None, stream)

    (took,) = side_by_side(write)
    yield Figure("write a shard and xorbs of 128 MB", took, 4 * ours, note=f"{HASHED / took / 1e6:.0f} MB/s, LZ4 tried")


def run() -> Iterator[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        yield from figures(Path(folder))
        yield from hashing(Path(folder))
    data = np.random.default_rng(4).bytes(32 * 2**20)
    yield Figure("chunk 32 MB of noise", best_of(3, lambda: cut_ends(data)), 1.0)
