"""Hostile Bloscpack files."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import zstandard

from tests.hostile import making
from tests.hostile.making import GIB, MEGABYTES, UNFIT, hostile, hostile_texts, put
from tests.shardcore.formats.bloscpack.files import File

ZLIB, ZSTD, LZ4 = 3, 4, 1
_NAME = "hostile.blp"
COLUMN_STORAGE = b'{"dtype": "|u1", "cparams": {"clevel": 5}, "chunklen": 1, "expectedlen": 6, "dflt": 0}'


def blosc_header(nbytes: int, stored: int, *, codec: int = ZSTD, blocksize: int = 0, flags: int = 0x10) -> bytes:
    """The 16 bytes of a Blosc-1 header."""
    return struct.pack("<BBBBIII", 2, 1, codec << 5 | flags, 1, nbytes, blocksize or nbytes, stored)


def bomb_chunk(size: int = GIB, codec: int = ZSTD) -> bytes:
    """A chunk of one block that expands to zeros."""
    stream = making.zstd_bomb(size) if codec == ZSTD else making.zlib_bomb(size)
    body = struct.pack("<II", 20, len(stream)) + stream
    return blosc_header(size, 16 + len(body), codec=codec) + body


def empty_chunk() -> bytes:
    """A chunk of no uncompressed bytes."""
    return blosc_header(0, 16, flags=0x12)


def _with_metadata(folder: Path, text: bytes, codec: int = 0) -> Path:
    file = File([empty_chunk()], [0], metadata=text, meta_codec=codec, room=None if codec else len(text))
    return put(folder, _NAME, file.write())


def _with_offsets(folder: Path, offsets: bytes, chunks: bytes, *, spare: int = 0, size: int = 0) -> Path:
    count = len(offsets) // 8 - spare
    file = File([], [], checksum=0, header={"options": 1, "chunk_size": size, "last_chunk": size})
    file.header |= {"nchunks": count, "max_app_chunks": spare}
    return put(folder, _NAME, file.header_bytes(), offsets, chunks)


hostile_texts("bloscpack", "metadata", _with_metadata, "0")


@hostile("bloscpack", "0")
def metadata_spaces(folder: Path) -> Path:
    """Runs of millions of spaces between few values."""
    space = b" " * 2_000_000
    return _with_metadata(folder, space + b"{" + space + b'"a":' + space + b"[1," + space + b"2]" + space + b"}")


@hostile("bloscpack", "0")
def metadata_bomb(folder: Path) -> Path:
    """Metadata that expands to a GiB."""
    stored = making.zlib_bomb()
    head = b"JSON\0\0\0\0" + bytes([0, 1, 1, 6]) + struct.pack("<III8s", GIB, len(stored), len(stored), b"")
    section = head + stored + zlib.adler32(stored).to_bytes(4, "little")
    file = File([], [], header={"options": 2, "nchunks": 0})
    return put(folder, _NAME, file.header_bytes(), section)


@hostile("bloscpack", "0")
def metadata_types(folder: Path) -> Path:
    """Element types that NumPy's parser takes the square of their length for, in each form that is read."""
    quadratic = "(" + "1," * 30_000 + ")"
    return _with_metadata(folder, json.dumps({"container": "numpy", "dtype": quadratic, "shape": []}).encode())


@hostile("bloscpack", "0")
def metadata_fields(folder: Path) -> Path:
    """A structured type of half a million fields, and inner ones."""
    fields = [[f"f{n}", [["a", "<i4"]]] for n in range(120_000)]
    return _with_metadata(folder, json.dumps({"container": "numpy", "dtype": fields, "shape": [1]}).encode())


@hostile("bloscpack", "0")
def metadata_unfit(folder: Path) -> Path:
    """Names and values that act on a terminal."""
    text = json.dumps({UNFIT: UNFIT, "\ud800": ["\udfff"], "container": UNFIT}).encode()
    return _with_metadata(folder, text)


@hostile("bloscpack", "0", "300000", "all")
def tiny_chunks(folder: Path) -> Path:
    """As many empty chunks as fit, with their offsets."""
    count = MEGABYTES // 24 - 10
    first = 32 + 8 * count
    offsets = (first + 16 * np.arange(count, dtype="<i8")).tobytes()
    return _with_offsets(folder, offsets, empty_chunk() * count)


@hostile("bloscpack", "0", "500000")
def tiny_chunks_walked(folder: Path) -> Path:
    """As many empty chunks as fit, without offsets."""
    count = MEGABYTES // 16 - 10
    file = File([], [], checksum=0, header={"options": 0, "nchunks": count, "chunk_size": 0})
    return put(folder, _NAME, file.header_bytes(), empty_chunk() * count)


@hostile("bloscpack", "0", "1000000")
def damaged_offsets(folder: Path) -> Path:
    """More than a million offsets that lead nowhere."""
    count = MEGABYTES // 8 - 10
    offsets = np.random.default_rng(1).integers(-(2**62), 2**62, count, dtype=np.int64)
    return _with_offsets(folder, np.sort(offsets).astype("<i8").tobytes(), empty_chunk())


@hostile("bloscpack", "0", "400000")
def nested_chunks(folder: Path) -> Path:
    """Chunks within chunks: each says that it reaches to the end of the file."""
    count = 300_000
    first, body = 32 + 8 * count, 16 * count
    offsets = (first + 16 * np.arange(count, dtype="<i8")).tobytes()
    left = body - 16 * np.arange(count)
    headers = np.zeros((count, 16), np.uint8)
    headers[:, :4] = [2, 1, 0x12, 1]
    headers[:, 4:8] = (left - 16).astype("<u4").view(np.uint8).reshape(-1, 4)
    headers[:, 8:12] = np.maximum(left - 16, 1).astype("<u4").view(np.uint8).reshape(-1, 4)
    headers[:, 12:] = left.astype("<u4").view(np.uint8).reshape(-1, 4)
    return _with_offsets(folder, offsets, headers.tobytes())


@hostile("bloscpack", "0")
def spares(folder: Path) -> Path:
    """One chunk, and more than a million spare slots that hold offsets."""
    count = MEGABYTES // 8 - 10
    offsets = np.full(count, 7, "<i8")
    offsets[0] = 32 + 8 * count
    return _with_offsets(folder, offsets.tobytes(), empty_chunk(), spare=count - 1)


@hostile("bloscpack", "0", "150", "all")
def chunks_of_a_gib(folder: Path) -> Path:
    """Hundreds of chunks that expand to a GiB each."""
    chunk = bomb_chunk()
    count = (MEGABYTES - 10_000) // (len(chunk) + 12)
    return put(folder, _NAME, File([chunk] * count, [GIB] * count).write())


@hostile("bloscpack", "0")
def blocks_of_one_byte(folder: Path) -> Path:
    """A chunk of two million blocks of one byte."""
    count = 1_000_000
    starts = 16 + 4 * count + np.zeros(count, np.int64)
    body = starts.astype("<u4").tobytes() + struct.pack("<I", 1) + b"x"
    chunk = blosc_header(count, 16 + len(body), codec=ZLIB, blocksize=1) + body
    return put(folder, _NAME, File([chunk], [count]).write())


@hostile("bloscpack", "0")
def counts_that_wrap(folder: Path) -> Path:
    """Counts whose sum, times eight, is a small number of 64 bits."""
    file = File([], [], header={"options": 1, "nchunks": 2**62, "max_app_chunks": 2**62 + 1, "chunk_size": 1})
    return put(folder, _NAME, file.header_bytes(), empty_chunk() * 10)


@hostile("bloscpack", "0", "1", "2", "all")
def absurd_streams(folder: Path) -> Path:
    """Chunks whose zstd window is 2 GiB, whose LZ4 block claims 2 GiB, and whose blocks are larger than the chunk."""
    chunks = []
    for codec, stream, size in ((ZSTD, making.zstd_wide(), 1), (LZ4, b"\xff" * 40, 2**31 - 1), (ZLIB, b"x", 100)):
        body = struct.pack("<II", 20, len(stream)) + stream
        chunks.append(blosc_header(size, 16 + len(body), codec=codec, blocksize=2**31 - 1) + body)
    return put(folder, _NAME, File(chunks, [1, 2**31 - 1, 100]).write())


@hostile("bloscpack", "0")
def sparse(folder: Path) -> Path:
    """One chunk, and behind it as large a hole as the file system lets have."""
    making.put_sparse(folder, _NAME, File([empty_chunk()], [0]).write())
    return folder / _NAME


@hostile("bloscpack", "0", "all")
def column_of_fifos(folder: Path) -> Path:
    """A bcolz column whose chunks are FIFOs, links and folders."""
    column = folder / "column"
    put(column, "meta/storage", COLUMN_STORAGE)
    put(column, "meta/sizes", b'{"shape": [6], "nbytes": 6, "cbytes": 6}')
    (column / "data").mkdir()
    making.lead_out(column / "data", [f"__{number}.blp" for number in range(5)])
    return column


def chunk_of_same_blocks(size: int, blocksize: int, *, codec: int = ZSTD, typesize: int = 1) -> bytes:
    """A chunk of a few KB whose blocks all begin at the same place; they are zeros."""
    streams = typesize
    plain = bytes(blocksize // streams)
    stream = zlib.compress(plain, 9) if codec == ZLIB else zstandard.ZstdCompressor(level=3).compress(plain)
    count = size // blocksize
    first = 16 + 4 * count
    body = np.full(count, first, "<u4").tobytes() + (struct.pack("<I", len(stream)) + stream) * streams
    flags = 0x10 if streams == 1 else 0
    header = struct.pack("<BBBBIII", 2, 1, codec << 5 | flags, typesize, size, blocksize, 16 + len(body))
    return header + body


@hostile("bloscpack", "0", "@1000000000", "all")
def blocks_of_same_zeros(folder: Path) -> Path:
    """Three chunks of 4 KB that expand to a GiB each: all their blocks are the same one."""
    chunk = chunk_of_same_blocks(GIB, 1 << 20)
    return put(folder, _NAME, File([chunk] * 3, [GIB] * 3).write())


@hostile("bloscpack", "0", "60000", "all")
def column_of_very_many_files(folder: Path) -> Path:
    """A bcolz column of sixty-five thousand files of one byte."""
    column, count = folder / "column", 65_536
    put(column, "meta/storage", COLUMN_STORAGE)
    put(column, "meta/sizes", b'{"shape": [%d], "nbytes": %d, "cbytes": %d}' % (count, count, count))
    chunk = blosc_header(1, 17, flags=0x12) + b"x"
    content = File([chunk], [1]).write()
    for number in range(count):
        put(column, f"data/__{number}.blp", content)
    return column
