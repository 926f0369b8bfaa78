"""A Bloscpack file of 300 MB: all of it, and a range of it, beside python-blosc in a loop."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import shardcore
from tests.bench.figures import Figure, best_of
from tests.shardcore.formats.bloscpack.files import File

PLAIN = 300_000_000
CHUNK = 2**20
REPEATS = 7


def integers(size: int = PLAIN) -> bytes:
    """A random walk of 64-bit integers."""
    steps = np.random.default_rng(1).integers(0, 3, size // 8)
    return np.cumsum(steps).astype("<i8").tobytes()


def make(path: Path, plain: bytes, codec: str) -> list[int]:
    """Writes the file; returns the stored size of each chunk."""
    import blosc

    sizes = [min(CHUNK, len(plain) - at) for at in range(0, len(plain), CHUNK)]
    starts = [number * CHUNK for number in range(len(sizes))]
    chunks = [
        bytes(blosc.compress(plain[at : at + size], 8, 5, blosc.SHUFFLE, codec))
        for at, size in zip(starts, sizes, strict=True)
    ]
    path.write_bytes(File(chunks, sizes).write())
    return [len(chunk) for chunk in chunks]


def reference(path: Path, stored: list[int], first: int) -> Iterator[bytes]:
    """python-blosc, chunk by chunk, with the digests compared as bloscpack does."""
    import blosc

    with path.open("rb") as file:
        file.seek(first)
        for size in stored:
            chunk = file.read(size)
            if zlib.adler32(chunk) != int.from_bytes(file.read(4), "little"):
                raise ValueError("digest")
            yield blosc.decompress(chunk)


def consumed(pieces: Iterator[bytes]) -> int:
    """Takes all pieces, and keeps none."""
    return sum(len(piece) for piece in pieces)


def in_turn(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """The best time of both, run in turn, so that what else the machine does hits both alike."""
    times = [(best_of(1, ours), best_of(1, theirs)) for _ in range(REPEATS)]
    return min(a for a, _ in times), min(b for _, b in times)


def run() -> Iterator[Figure]:
    """The figures."""
    plain = integers()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.blp"
        for codec in ("blosclz", "lz4", "zstd"):
            stored = make(path, plain, codec)
            first = 32 + 8 * len(stored)
            with shardcore.open(path) as shard:
                ref = shard.find("all")
                ours, theirs = in_turn(
                    lambda shard=shard, ref=ref: consumed(shard.stream(ref)),
                    lambda stored=stored, first=first: consumed(reference(path, stored, first)),
                )
                yield Figure(f"300 MB, {codec}, piece by piece", ours, 2.5 * theirs, "s", theirs, "needs both cores")
                ours, theirs = in_turn(
                    lambda shard=shard, ref=ref: shard.read(ref),
                    lambda stored=stored, first=first: b"".join(reference(path, stored, first)),
                )
                yield Figure(f"300 MB, {codec}, as one bytes", ours, theirs, "s", theirs)
                one = best_of(REPEATS, lambda shard=shard, ref=ref: shard.read_range(ref, PLAIN // 2, PLAIN // 2 + 100))
                yield Figure(f"100 bytes in the middle, {codec}", one * 1000, 20, "ms")
