"""Chunks, which are Blosc-1 buffers ("Blosc Chunk Format"): checks, and decompression with python-blosc.

    header 16 | bstarts: i32 start of each block | block | block | ...    flags without 0x02
    header 16 | uncompressed bytes                                        flags with 0x02 (memcpy)

A block is one stream, or `typesize` streams if it was split; a stream is an i32 length, then that many bytes.

The decompressor does not check these numbers, and wrong ones can crash the process. Each number is therefore checked
before decompression.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.decompress import decompress_stream
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError, LimitExceeded, Truncated, Unsupported
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, CODECS, STREAM_LENGTH, Flag
from shardcore.model.budget import charge_expanded
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural

DEFAULT_LIMIT = 2**30
"""Default of the largest uncompressed size that is allowed for a chunk, in bytes."""
HEADER_SIZE = CHUNK_HEADER.size
VERSION = int(CHUNK_HEADER.fields[0].default)
"""Version of the Blosc format that Blosc 1 readers accept."""
MAX_SPLITS = 16
"""Largest typesize whose blocks are split into streams."""
MIN_SPLIT_ELEMENTS = 128
"""Minimum number of elements of a block that is split into streams."""

FEW_STREAMS = 64
"""Maximum number of streams of a chunk that are checked one by one, without NumPy."""

# Integers, because the operators of an IntFlag cost microseconds, and every chunk needs a dozen.
_BYTE_SHUFFLE, _MEMCPYED, _BIT_SHUFFLE, _RESERVED, _NOT_SPLIT = (int(flag) for flag in Flag)
_BOTH_SHUFFLES = _BYTE_SHUFFLE | _BIT_SHUFFLE

# Maximum of uncompressed bytes per stored byte, by codec: a run length of 255 (blosclz, lz4), 258 bytes for two bits
# (zlib), a block of 128 KiB for four bytes (zstd). A stream that declares more is rejected before allocation.
_EXPANSION = {0: 256, 1: 256, 3: 1032, 4: 2**17 // 4}
_EXPANSION_SLACK = 256

_PIECE = 2**18


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    version: int
    versionlz: int
    flags: int
    typesize: int
    nbytes: int
    blocksize: int
    ctbytes: int

    @property
    def codec(self) -> int:
        return self.flags >> 5

    @property
    def codec_name(self) -> str:
        return CODECS[self.codec] if self.codec < len(CODECS) else f"codec {self.codec}"

    @property
    def filter_name(self) -> str:
        """Filter applied before compression: `shuffle`, `bitshuffle` or `none`."""
        if self.flags & _MEMCPYED:
            return "none"
        if self.flags & _BIT_SHUFFLE:
            return "bitshuffle"
        return "shuffle" if self.flags & _BYTE_SHUFFLE and self.typesize > 1 else "none"

    @property
    def memcpyed(self) -> bool:
        return bool(self.flags & _MEMCPYED)

    @property
    def nblocks(self) -> int:
        """Number of blocks; 0 for a memcpy, an empty chunk or a blocksize of 0."""
        if self.memcpyed or self.blocksize == 0:
            return 0
        return -(-self.nbytes // self.blocksize)

    @property
    def can_split(self) -> bool:
        return 0 < self.typesize <= MAX_SPLITS and self.blocksize // self.typesize >= MIN_SPLIT_ELEMENTS

    @property
    def streams(self) -> int:
        """Number of streams per block; a short last block always has one."""
        return self.typesize if not self.flags & _NOT_SPLIT and self.can_split else 1

    def flag_names(self) -> list[str]:
        names = [str(flag.name).lower().replace("_", " ") for flag in Flag if self.flags & flag]
        return [*names, self.codec_name]


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """Locations of blocks and streams; offsets are relative to the first byte of the chunk.

    Attributes:
        starts: Offset of each block, `int64`, shape `(nblocks,)`. Threads write blocks in parallel, so they are in
            any order.
        stream_at: Offset of the length field of each stream, shape `(nblocks, streams)`; -1 if a short last
            block does not have the stream.
        stream_size: Stored bytes of each stream without its length field, same shape; 0 for a missing stream.
    """

    header: ChunkHeader
    starts: NDArray[np.int64]
    stream_at: NDArray[np.int64]
    stream_size: NDArray[np.int64]

    def block_plain(self, block: int) -> int:
        return min(self.header.blocksize, self.header.nbytes - block * self.header.blocksize)

    def block_span(self, block: int, base: int = 0) -> Span:
        """Return the span of a stored block; `base` is the offset of the chunk in the file."""
        stop = int((self.stream_at[block] + STREAM_LENGTH.size + self.stream_size[block]).max())
        return Span("", base + int(self.starts[block]), base + stop)


def read_chunk_header(data: bytes | memoryview, at: int = 0, *, place: Span | None = None) -> ChunkHeader:
    """Read the header of a chunk without checking its values; raise Truncated if `data` has fewer than 16 bytes."""
    return ChunkHeader(**CHUNK_HEADER.read_one(data, at, place=place))


def write_chunk_header(header: ChunkHeader) -> bytes:
    return CHUNK_HEADER.pack(**{name: getattr(header, name) for name in CHUNK_HEADER.offsets})


def check_chunk_header(header: ChunkHeader, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> None:
    """Raise FormatError or Unsupported if a header is not valid, LimitExceeded if `nbytes` is more than `limit`."""
    if header.version != VERSION:
        text = f"Blosc chunk version {header.version} is not supported (supported: {VERSION})"
        raise Unsupported(text, span=place)
    if header.versionlz != 1:
        raise FormatError(f"versionlz is {header.versionlz}; it must be 1", span=place)
    if header.flags & _BOTH_SHUFFLES == _BOTH_SHUFFLES:
        raise Unsupported("byte shuffle and bit shuffle are both set: Blosc-2 chunks are not supported", span=place)
    if header.flags & _RESERVED:
        raise FormatError("the reserved flag 0x08 is set; it must be 0 in Blosc-1 chunks", span=place)
    if header.typesize == 0:
        raise FormatError("typesize of the chunk is 0; valid: 1 to 255", span=place)
    if header.ctbytes < HEADER_SIZE:
        message = f"ctbytes is {plural(header.ctbytes, 'byte')}, less than the {HEADER_SIZE} of the Blosc header"
        raise FormatError(message, span=place)
    if header.memcpyed and header.ctbytes != header.nbytes + HEADER_SIZE:
        raise FormatError(
            f"a memcpy of {plural(header.nbytes, 'byte')} has {header.nbytes + HEADER_SIZE:,} with its Blosc header; "
            f"ctbytes is {grouped_digits(header.ctbytes)}",
            span=place,
        )
    if header.nbytes and not 0 < header.blocksize <= header.nbytes:
        raise FormatError(f"blocksize is {header.blocksize}; valid: 1 to {header.nbytes} (nbytes)", span=place)
    if header.nbytes > limit:
        raise LimitExceeded(
            f"the chunk declares {plural(header.nbytes, 'uncompressed byte')}; the limit is {grouped_digits(limit)}",
            span=place,
        )
    if not header.memcpyed and header.nbytes and header.codec not in _EXPANSION:
        raise Unsupported(f"codec {header.codec_name} is not supported", span=place)


def plausible(headers: NDArray[Any], limit: int = DEFAULT_LIMIT) -> NDArray[np.bool_]:
    """Return a mask of the headers that `check_chunk_header` accepts; those with codec snappy are accepted, too."""
    flags, nbytes = headers["flags"], headers["nbytes"].astype(np.int64)
    blocksize, stored = headers["blocksize"].astype(np.int64), headers["ctbytes"].astype(np.int64)
    copied = flags & _MEMCPYED != 0
    fine = (headers["version"] == VERSION) & (headers["versionlz"] == 1) & (flags & _BOTH_SHUFFLES != _BOTH_SHUFFLES)
    fine &= (flags & _RESERVED == 0) & (headers["typesize"] > 0) & (stored >= HEADER_SIZE)
    fine &= ~copied | (stored == nbytes + HEADER_SIZE)
    fine &= (nbytes == 0) | ((blocksize > 0) & (blocksize <= nbytes))
    fine &= copied | (nbytes == 0) | (flags >> 5 < len(CODECS))
    within: NDArray[np.bool_] = fine & (nbytes <= limit)
    return within


def can_expand(headers: NDArray[Any], size: int) -> bool:
    """Return True if the chunks fit in `size` bytes, and none declares more bytes than its codec can produce."""
    stored = headers["ctbytes"].astype(np.int64)
    most = np.array([_EXPANSION.get(codec, 0) for codec in range(8)])[headers["flags"] >> 5]
    # The slack is allowed for each stream, which has at least 5 stored bytes.
    return bool(stored.sum() <= size and (headers["nbytes"] <= stored * (most + _EXPANSION_SLACK // 5)).all())


def check_chunk(chunk: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> ChunkHeader:
    """Check every size and offset in a chunk and return its header.

    Args:
        chunk: Exactly the bytes of the chunk, header included.
        limit: Maximum number of uncompressed bytes.
        place: Location of the chunk, for errors.
    """
    header = _checked_header(chunk, limit, place)
    few = header.nblocks * header.streams <= FEW_STREAMS
    if not (few and _is_sound(chunk, header)):
        map_chunk(chunk, limit=limit, place=place)  # raises with the location of the error
    return header


def map_chunk(chunk: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> ChunkMap:
    """Check a chunk like `check_chunk` and return the locations of its blocks and streams; a memcpy has none."""
    header = _checked_header(chunk, limit, place)
    if header.memcpyed or header.nbytes == 0:
        nothing = np.zeros((0, header.streams), np.int64)
        return ChunkMap(header, np.zeros(0, np.int64), nothing, nothing)

    def wrong_at(at: int, size: int, message: str) -> FormatError:
        if place is None:
            return FormatError(message)
        start = min(place.start + at, place.stop)
        return FormatError(message, span=Span(place.source, start, min(start + size, place.stop)))

    first = HEADER_SIZE + header.nblocks * BLOCK_START.size
    if first > header.ctbytes:
        blocks = plural(header.nblocks, "block start")
        raise FormatError(f"the chunk has {plural(header.ctbytes, 'byte')}, too few for {blocks}", span=place)
    starts = BLOCK_START.read(chunk, HEADER_SIZE, header.nblocks)["start"].astype(np.int64)
    last = header.ctbytes - STREAM_LENGTH.size
    outside = (starts < first) | (starts > last)
    if outside.any():
        block = int(outside.argmax())
        message = f"block {block} begins at byte {starts[block]:#x} of the chunk, outside "
        at = HEADER_SIZE + block * BLOCK_START.size
        raise wrong_at(at, BLOCK_START.size, f"{message}{first:#x} to {header.ctbytes:#x}")
    stream_at, stream_size, wrong = _walk_streams(chunk, header, starts)
    if wrong.any():
        block, number = divmod(int(wrong.argmax()), header.streams)
        at, size = int(stream_at[block, number]), int(stream_size[block, number])
        left = header.nbytes - block * header.blocksize
        plain = left if left < header.blocksize else header.blocksize // header.streams
        what = f"{plural(size, 'stored byte')} cannot hold {plural(plain, 'uncompressed byte')}"
        if at > last:
            what = "the chunk ends within the length of the stream"
        message = f"block {block}, stream {number}, at byte {at:#x} of {header.ctbytes:#x} of the chunk: {what}"
        raise wrong_at(at, STREAM_LENGTH.size, message)
    return ChunkMap(header, starts, stream_at, stream_size)


def _checked_header(chunk: bytes | memoryview, limit: int, place: Span | None) -> ChunkHeader:
    header = read_chunk_header(chunk, place=place)
    check_chunk_header(header, limit=limit, place=place)
    size, given = plural(header.ctbytes, "byte"), len(chunk)
    if given < header.ctbytes:
        raise Truncated(f"the chunk has {size} (ctbytes), but only {grouped_digits(given)} follow", span=place)
    if given > header.ctbytes:
        raise FormatError(f"the chunk has {size} (ctbytes), but {grouped_digits(given)} were given", span=place)
    if header.streams > 1 and header.nblocks and header.blocksize % header.typesize:
        blocks = f"blocks of {plural(header.blocksize, 'byte')}"
        raise FormatError(f"{blocks} cannot be split into {header.typesize} streams (typesize)", span=place)
    return header


def _is_sound(chunk: bytes | memoryview, header: ChunkHeader) -> bool:
    width, last = STREAM_LENGTH.size, header.ctbytes - STREAM_LENGTH.size
    first = HEADER_SIZE + header.nblocks * BLOCK_START.size
    if first > header.ctbytes:
        return False
    for block, at in enumerate(BLOCK_START.read(chunk, HEADER_SIZE, header.nblocks)["start"].tolist()):
        left = header.nbytes - block * header.blocksize
        streams = header.streams if left >= header.blocksize else 1
        plain = min(left, header.blocksize) // streams
        if at < first:
            return False
        for _ in range(streams):
            if at > last:
                return False
            size = int.from_bytes(chunk[at : at + width], "little", signed=True)
            if _is_wrong_length(header, at, size, plain):
                return False
            at += width + size
    return True


def _is_wrong_length(header: ChunkHeader, at: Any, size: Any, plain: Any) -> Any:
    """Return True (a mask for arrays) if the stream of `plain` bytes at `at` cannot have the stored length `size`."""
    wrong = (size < 1) | (size > plain) | (at + STREAM_LENGTH.size + size > header.ctbytes)
    return wrong | (plain > size * _EXPANSION[header.codec] + _EXPANSION_SLACK)


def _walk_streams(chunk: bytes | memoryview, header: ChunkHeader, starts: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """Return offsets, stored sizes and an error mask of the streams: arrays of shape `(nblocks, streams)`.

    After a wrong stream, the values of its block are undefined. A short last block has only its first stream; its
    other streams have offset -1.
    """
    streams, nblocks, last = header.streams, len(starts), header.ctbytes - STREAM_LENGTH.size
    # The length field that would begin at each byte of the chunk.
    lengths = np.ndarray((last + 1,), STREAM_LENGTH.dtype["length"], chunk, 0, (1,))
    # A hostile chunk can declare millions of streams, so int32 is used if the offsets fit.
    width = np.int32 if header.ctbytes < 1 << 30 else np.int64
    stream_at, stream_size = np.empty((nblocks, streams), width), np.empty((nblocks, streams), width)
    wrong = np.empty((nblocks, streams), np.bool_)
    plain = np.full(nblocks, header.blocksize // streams, np.int64)
    short = header.nbytes % header.blocksize
    if short:
        plain[-1] = short
    at = starts
    for stream in range(streams):
        size = np.where((at >= 0) & (at <= last), lengths[np.clip(at, 0, last)], 0).astype(np.int64)
        stream_at[:, stream], stream_size[:, stream] = np.clip(at, 0, 2**31 - 1), size
        wrong[:, stream] = _is_wrong_length(header, at, size, plain)
        at = at + STREAM_LENGTH.size + size
    if short:
        stream_at[-1, 1:], stream_size[-1, 1:], wrong[-1, 1:] = -1, 0, False
    return stream_at, stream_size, wrong


def decompress(
    chunk: bytes | memoryview,
    *,
    limit: int = DEFAULT_LIMIT,
    place: Span | None = None,
    threads: int = 1,
    out: memoryview | None = None,
) -> bytes:
    """Check a chunk and decompress it; releases the interpreter lock, so threads can decompress chunks in parallel.

    Args:
        chunk: Exactly the bytes of the chunk, header included.
        limit: Maximum number of uncompressed bytes.
        place: Location of the chunk, for errors.
        threads: Threads for this one call; useful for a single large chunk.
        out: Writable buffer of exactly the uncompressed size, filled instead of allocating one.

    Returns:
        The uncompressed bytes; empty with `out`.
    """
    header = check_chunk(chunk, limit=limit, place=place)
    if out is not None and len(out) != header.nbytes:
        message = f"the chunk has {plural(header.nbytes, 'uncompressed byte')}; `out` has {grouped_digits(len(out))}"
        raise FormatError(message, span=place)
    if header.nbytes == 0:
        return b""
    charge_expanded(header.nbytes)
    if header.memcpyed:
        plain = memoryview(chunk)[HEADER_SIZE:]
        if out is None:
            return bytes(plain)
        out[:] = plain
        return b""
    library = blosc(threads)
    try:
        if out is None:
            return library.decompress(chunk, False)  # type: ignore[no-any-return]
        library.decompress_ptr(chunk, np.frombuffer(out, np.uint8).ctypes.data)
    except library.error as error:
        raise FormatError(f"decompressing the chunk failed: {error}", span=place) from error
    return b""


def blosc_task(header: dict[str, Any], chunk: bytes) -> tuple[dict[str, Any], bytes]:
    return {}, decompress(chunk, limit=header["limit"])


def split_chunk(chunk: bytes | memoryview, most: int, *, place: Span | None = None) -> Iterator[bytes]:
    """Split a chunk into chunks of one or more blocks, about `most` uncompressed bytes each, to limit memory."""
    found = map_chunk(chunk, limit=2**32, place=place)
    header, view = found.header, memoryview(chunk)
    # A short last block stays with the one before it: alone it would have another blocksize.
    full, step = header.nbytes // header.blocksize, max(most // header.blocksize, 1)
    for first in range(0, full, step):
        last = first + step if first + step < full else header.nblocks
        blocks = [view[span.start : span.stop] for span in map(found.block_span, range(first, last))]
        ends = np.cumsum([HEADER_SIZE + BLOCK_START.size * len(blocks), *map(len, blocks)])
        nbytes = min(last * header.blocksize, header.nbytes) - first * header.blocksize
        head = write_chunk_header(replace(header, nbytes=nbytes, ctbytes=int(ends[-1])))
        yield b"".join((head, ends[:-1].astype(BLOCK_START.dtype["start"]).tobytes(), *blocks))


def stream_chunk(chunk: bytes | memoryview, codec: str, *, place: Span | None = None) -> None:
    """Raise a ShardError if a stream of a chunk does not decompress; the decompressed pieces are discarded."""
    found = map_chunk(chunk, limit=2**32, place=place)
    header, view = found.header, memoryview(chunk)
    short = header.nbytes % header.blocksize
    for block, (ats, sizes) in enumerate(zip(found.stream_at.tolist(), found.stream_size.tolist(), strict=True)):
        last = short and block == header.nblocks - 1
        plain = short if last else header.blocksize // header.streams
        for at, size in zip(ats, sizes, strict=True):
            if at < 0 or size == plain:
                continue  # missing streams of a short last block, and streams stored uncompressed
            first = at + STREAM_LENGTH.size
            pieces = (view[low : min(low + _PIECE, first + size)] for low in range(first, first + size, _PIECE))
            for _ in decompress_stream(codec, pieces, limit=plain, expected=plain, span=place):
                pass


def blosc(threads: int = 1) -> Any:
    """Return the extension module of python-blosc, set up to run without the interpreter lock and global state.

    The settings apply to the whole process; importing `blosc` elsewhere resets them.
    """
    library = _extension()
    library.set_releasegil(True)
    library.set_nthreads(threads)
    return library


@cache
def _extension() -> ModuleType:
    """Load the extension module without its package `blosc`, which imports `unittest` and takes 40 times as long."""
    folders = getattr(find_spec("blosc"), "submodule_search_locations", None) or ()
    found = PathFinder.find_spec("blosc.blosc_extension", folders)
    if found is None or found.loader is None:
        raise ModuleNotFoundError("No module named 'blosc'", name="blosc")
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module
