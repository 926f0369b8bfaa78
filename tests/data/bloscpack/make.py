"""Writes the samples under `made/`: `python -m tests.data.bloscpack.make`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.shardcore.formats.bloscpack.chunks import BIT, BYTE, make_chunk, memcpy, sample
from tests.shardcore.formats.bloscpack.files import File

FOLDER = Path(__file__).parent / "made"


def noise(size: int, seed: int) -> bytes:
    """Bytes that do not compress."""
    return np.random.default_rng(seed).bytes(size)


def made() -> dict[str, bytes]:
    """The samples, by file name."""
    split = [
        make_chunk(bytes(512) + sample(512), how=BYTE, typesize=2, blocksize=512, split=True, order=lambda n: n[::-1]),
        make_chunk(sample(100), codec=1, how=BIT, typesize=4, blocksize=64),
    ]
    metadata = {"title": "Größe", "nested": {"empty": [], "numbers": [1, 2.5, None, True]}}
    large = [memcpy(noise(4000, seed)) for seed in range(18)]
    large += [make_chunk(sample(4000, 1), codec=4, how=BYTE, typesize=8, blocksize=2048), memcpy(noise(1234, 2))]
    sizes = [4000] * 19 + [1234]
    stream = {"nchunks": -1, "chunk_size": -1, "last_chunk": -1}
    return {
        "split.blp": File(split, [1024, 100], checksum=3, spare=2, metadata=metadata, trailing=b"left over").write(),
        "plain_meta.blp": File(
            [memcpy(b"abc")], [3], checksum=0, spare=1, metadata=metadata, meta_codec=0, meta_checksum=4
        ).write(),
        "large.blp": File(large, sizes, spare=200).write(),
        "large_walk.blp": File(large, sizes, offsets=False, checksum=6).write(),
        "large_stream.blp": File(large, sizes, offsets=False, checksum=2, header=stream).write(),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, data in made().items():
        (FOLDER / name).write_bytes(data)
