"""The samples of Bloscpack: an array, an offset with a bit turned over, a file of version 1 with a memcpy."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import blosc2
import numpy as np
import numpy.typing as npt
import pytest

import shardcore
from shardcore.formats.bloscpack.blosc1 import read_chunk_header, write_chunk_header
from shardcore.formats.bloscpack.file_writer import Recipe
from shardcore.formats.bloscpack.layout import HEADER_V1, HEADER_V3
from tests.samples.damage import flipped

ROWS, COLUMNS = 58, 64
CHUNK, BLOCK = 10240, 4096
"""Uncompressed bytes of a chunk and of a block: three chunks of three blocks, of which the last are shorter."""


def _terrain() -> npt.NDArray[np.float64]:
    """Heights in quarters of a metre: a hill and a slope."""
    row, column = np.mgrid[0:ROWS, 0:COLUMNS]
    hill = 120 * np.exp(-((row - 24) ** 2 + (column - 40) ** 2) / 300)
    return np.round((hill + 2 * row + column) * 4) / 4


def _chunk(recipe: Recipe, plain: bytes) -> bytes:
    """Return a chunk with blocks of our own size: python-blosc takes none."""
    chunk = blosc2.compress(plain, recipe.typesize, recipe.level, blosc2.Filter.SHUFFLE, blosc2.Codec.LZ4)
    if read_chunk_header(chunk).memcpyed:
        return write_chunk_header(recipe.copy_header(len(plain))) + plain
    return b"\2" + bytes(chunk[1:])


def _packed(name: str, content: bytes, **options: object) -> bytes:
    """A file as the writer makes it, but with blocks of a size of our own."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        (Path(folder) / name).write_bytes(content)
        path = Path(folder) / "made.blp"
        options |= {"chunk_size": CHUNK, "codec": "lz4"}
        patch.setattr(Recipe, "chunk", _chunk)
        patch.setenv("BLOSC_BLOSC1_COMPAT", "1")
        patch.setenv("BLOSC_SPLITMODE", "FORWARD_COMPAT")
        blosc2.set_blocksize(BLOCK)
        try:
            shardcore.pack("bloscpack", path, [Path(folder) / name], options=options, jobs=1)
        finally:
            blosc2.set_blocksize(0)
        return path.read_bytes()


def _npy(array: npt.NDArray[np.float64]) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


def write(folder: Path) -> None:
    folder.mkdir()
    whole = _packed("array.npy", _npy(_terrain()), checksum="crc32", spare=2)
    (folder / "array.blp").write_bytes(whole)
    (folder / "damaged.blp").write_bytes(flipped(whole, _slot(whole, 1), 4))
    (folder / "odd.blp").write_bytes(_version_1())


def _slot(data: bytes, number: int) -> int:
    """Where the offset of a chunk stands."""
    with shardcore.open(data) as shard:
        offsets = next(section for section in shard.sections if section.name == "offsets")
        return offsets.start + 8 * number


def _version_1() -> bytes:
    """The chunks of a file without metadata, offsets and digests, after the 16 bytes that were the header once."""
    heights = _terrain().tobytes()
    content = heights[:CHUNK] + random.Random(1).randbytes(CHUNK) + heights[2 * CHUNK :]
    file = _packed("plain", content, checksum="None", offsets=False)
    return HEADER_V1.pack(magic=b"blpk", format_version=1, nchunks=3) + file[HEADER_V3.size :]
