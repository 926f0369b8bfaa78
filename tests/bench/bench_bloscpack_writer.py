"""100 MB packed, each chunk read again, beside python-blosc that only compresses, with as many threads."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import shardcore
from shardcore.formats.bloscpack.content import THREADS
from tests.bench.bench_bloscpack import integers
from tests.bench.figures import Figure, best_of

PLAIN = 100_000_000
CHUNK = 2**20
REPEATS = 3
LIMITS = {"zstd": 1.5, "lz4": 4.0, "blosclz": 4.0}


def reference(path: Path, plain: bytes, codec: str) -> None:
    """python-blosc, chunk by chunk, with the digests and the file that bloscpack writes; nothing is read again."""
    import blosc

    with path.open("wb") as file:
        for at in range(0, len(plain), CHUNK):
            chunk = blosc.compress(plain[at : at + CHUNK], 8, 7, blosc.SHUFFLE, codec)
            file.write(chunk)
            file.write(zlib.adler32(chunk).to_bytes(4, "little"))


def ours(path: Path, plain: bytes, codec: str) -> None:
    """The writer."""
    with shardcore.create(path, format="bloscpack", codec=codec, force=True) as writer:
        writer.add(None, plain)


def run() -> Iterator[Figure]:
    """The figures."""
    import blosc

    blosc.set_nthreads(THREADS)
    plain = integers(PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        for codec, most in LIMITS.items():
            # In turn, so that what else the machine does hits both alike.
            times = [
                (
                    best_of(1, lambda codec=codec: ours(path / "a.blp", plain, codec)),
                    best_of(1, lambda codec=codec: reference(path / "b.blp", plain, codec)),
                )
                for _ in range(REPEATS)
            ]
            mine, theirs = min(a for a, _ in times), min(b for _, b in times)
            note = f"{THREADS} threads, each chunk read again"
            yield Figure(f"100 MB written, {codec}", mine, most * theirs, "s", theirs, note)
