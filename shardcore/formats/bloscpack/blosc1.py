"""A chunk: one Blosc-1 buffer. What it claims, and whether its structure holds.

    Blosc header 16 | start of each block, i32 | block | block | ...       flags without 0x02
    Blosc header 16 | uncompressed bytes                                          flags with 0x02 (plain copy)

A block is one stream, or `typesize` streams when it was split: i32 length, then that many bytes.

The decompressor trusts these numbers, and wrong ones can kill the process. `map_chunk` follows every one of
them first, so nothing reaches the decompressor that leads outside the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, LimitExceeded, Truncated, Unsupported
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, CODECS, STREAM_LENGTH, Flag
from shardcore.model.number_words import grouped_digits, plural
from shardcore.model.span import Span

DEFAULT_LIMIT = 2**30
"""Uncompressed bytes that one chunk may have unless the caller allows more."""
HEADER_SIZE = CHUNK_HEADER.size
VERSION = int(CHUNK_HEADER.fields[0].default)
"""Version of the Blosc format that the readers of Blosc 1 accept."""
MAX_SPLITS = 16
"""Elements wider than this are never split into streams."""
MIN_SPLIT_ELEMENTS = 128
"""Blocks with fewer elements than this are never split into streams."""

FEW_STREAMS = 64
"""Up to this many streams are followed one by one."""

# The flags as plain numbers: the operators of an enumeration cost microseconds, and every chunk needs a dozen.
_BYTE_SHUFFLE, _PLAIN_COPY, _BIT_SHUFFLE, _RESERVED, _NOT_SPLIT = (int(flag) for flag in Flag)

# The most uncompressed bytes that one stored byte can stand for, by codec number: a run length of 255 (blosclz,
# lz4), 258 bytes for two bits (zlib), a block of 128 KiB for four bytes (zstd). More cannot come out, so
# more is never allocated.
_EXPANSION = {0: 256, 1: 256, 3: 1032, 4: 2**17 // 4}
_EXPANSION_SLACK = 256


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """The 16 bytes at the start of a chunk, as `CHUNK_HEADER` states them."""

    version: int
    versionlz: int
    flags: int
    typesize: int
    nbytes: int
    blocksize: int
    ctbytes: int

    @property
    def codec(self) -> int:
        """Number of the codec: bits 5 to 7 of the flags."""
        return self.flags >> 5

    @property
    def codec_name(self) -> str:
        """Name of the codec; `codec 5` to `codec 7` have none."""
        return CODECS[self.codec] if self.codec < len(CODECS) else f"codec {self.codec}"

    @property
    def filter_name(self) -> str:
        """Return what was done to the bytes before the codec saw them: `shuffle`, `bitshuffle` or `none`."""
        if self.flags & _PLAIN_COPY:
            return "none"
        if self.flags & _BIT_SHUFFLE:
            return "bitshuffle"
        return "shuffle" if self.flags & _BYTE_SHUFFLE and self.typesize > 1 else "none"

    @property
    def plain_copy(self) -> bool:
        """Return whether the uncompressed bytes follow the header as they are."""
        return bool(self.flags & _PLAIN_COPY)

    @property
    def nblocks(self) -> int:
        """Number of blocks; 0 for a plain copy, for an empty chunk and for an impossible block size."""
        if self.plain_copy or self.blocksize == 0:
            return 0
        return -(-self.nbytes // self.blocksize)

    @property
    def can_split(self) -> bool:
        """Return whether Blosc splits blocks of these sizes at all."""
        return 0 < self.typesize <= MAX_SPLITS and self.blocksize // self.typesize >= MIN_SPLIT_ELEMENTS

    @property
    def streams(self) -> int:
        """Number of streams in each full block; the last block, when it is short, always has one."""
        return self.typesize if not self.flags & _NOT_SPLIT and self.can_split else 1

    def flag_names(self) -> list[str]:
        """Return the flags in words, lowest bit first, then the codec."""
        names = [str(flag.name).lower().replace("_", " ") for flag in Flag if self.flags & flag]
        return [*names, self.codec_name]


@dataclass(frozen=True, slots=True)
class ChunkMap:
    """Location of everything in a chunk; offsets are relative to the first byte of the chunk.

    Attributes:
        header: The chunk's header.
        starts: First byte of each block, `int64`, shape `(nblocks,)`. Blocks may lie in any order: threads
            wrote them.
        stream_at: First byte of each stream's length field, `int64`, shape `(nblocks, streams)`; -1 where a
            short last block has no such stream.
        stream_size: Stored bytes of each stream without its length field, same shape; 0 where there is none.
    """

    header: ChunkHeader
    starts: NDArray[np.int64]
    stream_at: NDArray[np.int64]
    stream_size: NDArray[np.int64]

    def block_plain(self, block: int) -> int:
        """Uncompressed bytes of a block."""
        return min(self.header.blocksize, self.header.nbytes - block * self.header.blocksize)

    def block_stop(self, block: int) -> int:
        """Return one past the last stored byte of a block."""
        return int((self.stream_at[block] + STREAM_LENGTH.size + self.stream_size[block]).max())


def read_chunk_header(data: bytes | memoryview, at: int = 0, *, place: Span | None = None) -> ChunkHeader:
    """Read the header of a chunk; say nothing about whether it makes sense.

    Raises:
        Truncated: Fewer than 16 bytes are there.
    """
    return ChunkHeader(**CHUNK_HEADER.read_one(data, at, place=place))


def write_chunk_header(header: ChunkHeader) -> bytes:
    """Return the exact inverse of `read_chunk_header`."""
    return CHUNK_HEADER.pack(**{field.name: getattr(header, field.name) for field in CHUNK_HEADER.fields})


def check_chunk_header(header: ChunkHeader, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> None:
    """Refuse a header that no Blosc-1 writer makes.

    Args:
        header: The header.
        limit: Uncompressed bytes allowed.
        place: The chunk or its header, for the error.

    Raises:
        FormatError: A field is impossible.
        Unsupported: A Blosc-2 chunk, or a codec that nothing here decodes.
        LimitExceeded: The chunk claims more than `limit` uncompressed bytes.
    """
    if header.version != VERSION:
        text = f"Blosc chunk version {header.version}; the readers of Blosc 1 refuse all but {VERSION}"
        raise Unsupported(text, span=place)
    if header.versionlz != 1:
        raise FormatError(f"versionlz is {header.versionlz}; every codec has 1", span=place)
    if header.flags & _BYTE_SHUFFLE and header.flags & _BIT_SHUFFLE:
        raise Unsupported(
            "byte shuffle and bit shuffle are both set: that marks a Blosc-2 chunk, which is not read here", span=place
        )
    if header.flags & _RESERVED:
        raise FormatError("the reserved flag 0x08 is set; it is always 0 in Blosc-1 chunks", span=place)
    if header.typesize == 0:
        raise FormatError("typesize of the chunk is 0; 1 to 255 are possible", span=place)
    if header.ctbytes < HEADER_SIZE:
        raise FormatError(
            f"ctbytes is {plural(header.ctbytes, 'byte')}, fewer than the {HEADER_SIZE} of the Blosc header",
            span=place,
        )
    if header.plain_copy and header.ctbytes != header.nbytes + HEADER_SIZE:
        raise FormatError(
            f"an uncompressed copy of {plural(header.nbytes, 'byte')} has {header.nbytes + HEADER_SIZE:,} with its "
            "header"
            "; "
            f"ctbytes is {grouped_digits(header.ctbytes)}",
            span=place,
        )
    if header.nbytes and not 0 < header.blocksize <= header.nbytes:
        raise FormatError(f"blocksize is {header.blocksize}; 1 to {header.nbytes} (nbytes) are possible", span=place)
    if header.nbytes > limit:
        raise LimitExceeded(
            f"the chunk claims {plural(header.nbytes, 'uncompressed byte')}; the limit is {grouped_digits(limit)}",
            span=place,
        )
    if not header.plain_copy and header.nbytes and header.codec not in _EXPANSION:
        raise Unsupported(f"the codec is {header.codec_name}, which cannot be decompressed here", span=place)


def plausible(headers: NDArray[Any], limit: int = DEFAULT_LIMIT) -> NDArray[np.bool_]:
    """Return which headers `check_chunk_header` lets pass, and those of whole chunks in a codec that nobody decodes.

    Args:
        headers: Rows of `CHUNK_HEADER`, shape `(n,)`.
        limit: Uncompressed bytes allowed.

    Returns:
        Shape `(n,)`.
    """
    flags, nbytes = headers["flags"], headers["nbytes"].astype(np.int64)
    blocksize, stored = headers["blocksize"].astype(np.int64), headers["ctbytes"].astype(np.int64)
    both = _BYTE_SHUFFLE | _BIT_SHUFFLE
    copied = flags & _PLAIN_COPY != 0
    fine = (headers["version"] == VERSION) & (headers["versionlz"] == 1) & (flags & both != both)
    fine &= (flags & _RESERVED == 0) & (headers["typesize"] > 0) & (stored >= HEADER_SIZE)
    fine &= ~copied | (stored == nbytes + HEADER_SIZE)
    fine &= (nbytes == 0) | ((blocksize > 0) & (blocksize <= nbytes))
    fine &= copied | (nbytes == 0) | (flags >> 5 < len(CODECS))
    within: NDArray[np.bool_] = fine & (nbytes <= limit)
    return within


def check_chunk(chunk: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> ChunkHeader:
    """Follow every number in a chunk, and refuse the chunk when one leads where it must not.

    Args:
        chunk: The whole chunk, header and all, and nothing else.
        limit: Uncompressed bytes allowed.
        place: Location of the chunk, for errors.

    Returns:
        Its header.

    Raises:
        Truncated: The buffer is shorter than the chunk.
        FormatError: A number in the chunk is impossible.
        Unsupported: A Blosc-2 chunk, or a codec that nothing here decodes.
        LimitExceeded: The chunk claims more than `limit` uncompressed bytes.
    """
    header = _checked_header(chunk, limit, place)
    few = header.nblocks * header.streams <= FEW_STREAMS
    if not (few and _is_sound(chunk, header)):
        map_chunk(chunk, limit=limit, place=place)  # which says what is wrong
    return header


def map_chunk(chunk: bytes | memoryview, *, limit: int = DEFAULT_LIMIT, place: Span | None = None) -> ChunkMap:
    """As `check_chunk`; returns where the blocks and streams are. A plain copy and an empty chunk have none."""
    header = _checked_header(chunk, limit, place)
    if header.plain_copy or header.nbytes == 0:
        nothing = np.zeros((0, header.streams), np.int64)
        return ChunkMap(header, np.zeros(0, np.int64), nothing, nothing)
    starts = _read_starts(chunk, header, place)
    return _follow_streams(chunk, header, starts, place)


def _checked_header(chunk: bytes | memoryview, limit: int, place: Span | None) -> ChunkHeader:
    """Return the header of a chunk, after everything was checked that it states."""
    header = read_chunk_header(chunk, place=place)
    check_chunk_header(header, limit=limit, place=place)
    if len(chunk) < header.ctbytes:
        raise Truncated(
            f"the chunk has {plural(header.ctbytes, 'byte')}; only {grouped_digits(len(chunk))} are there", span=place
        )
    if len(chunk) > header.ctbytes:
        raise FormatError(
            f"the chunk ends after {grouped_digits(header.ctbytes)} of {plural(len(chunk), 'byte')}", span=place
        )
    if header.streams > 1 and header.nblocks and header.blocksize % header.typesize:
        raise FormatError(
            f"blocks of {plural(header.blocksize, 'byte')} cannot be split into {header.typesize} streams (typesize)",
            span=place,
        )
    return header


def _is_sound(chunk: bytes | memoryview, header: ChunkHeader) -> bool:
    """Return whether nothing leads outside; one stream after the other, which is faster where there are few."""
    width, last = STREAM_LENGTH.size, header.ctbytes - STREAM_LENGTH.size
    first = HEADER_SIZE + header.nblocks * BLOCK_START.size
    if first > header.ctbytes:
        return False
    starts = BLOCK_START.read(chunk, HEADER_SIZE, header.nblocks)["start"].tolist()
    for block, at in enumerate(starts):
        left = header.nbytes - block * header.blocksize
        streams = header.streams if left >= header.blocksize else 1
        plain = min(left, header.blocksize) // streams
        if at < first:
            return False
        for _ in range(streams):
            if at > last:
                return False
            size = int.from_bytes(chunk[at : at + width], "little", signed=True)
            if _leads_outside(header, at, size, plain):
                return False
            at += width + size
    return True


def _read_starts(chunk: bytes | memoryview, header: ChunkHeader, place: Span | None) -> NDArray[np.int64]:
    """Return the table of block starts, each checked to lie after the table and before the end."""
    first = HEADER_SIZE + header.nblocks * BLOCK_START.size
    if first > header.ctbytes:
        raise FormatError(
            f"the starts of {plural(header.nblocks, 'block')} do not fit in {plural(header.ctbytes, 'byte')}",
            span=place,
        )
    starts = BLOCK_START.read(chunk, HEADER_SIZE, header.nblocks)["start"].astype(np.int64)
    wrong = (starts < first) | (starts > header.ctbytes - STREAM_LENGTH.size)
    if wrong.any():
        block = int(wrong.argmax())
        raise FormatError(
            f"block {block} begins at byte {starts[block]:#x} of the chunk, outside {first:#x} to {header.ctbytes:#x}",
            span=_within(place, HEADER_SIZE + block * BLOCK_START.size, BLOCK_START.size),
        )
    return starts


def _follow_streams(
    chunk: bytes | memoryview, header: ChunkHeader, starts: NDArray[np.int64], place: Span | None
) -> ChunkMap:
    """Follow the streams of all blocks, and refuse the first that leads outside."""
    stream_at, stream_size, wrong = _walk_streams(chunk, header, starts)
    if wrong.any():
        block, number = divmod(int(wrong.argmax()), header.streams)
        at, size = int(stream_at[block, number]), int(stream_size[block, number])
        left = header.nbytes - block * header.blocksize
        plain = left if left < header.blocksize else header.blocksize // header.streams
        what = f"{plural(size, 'stored byte')} cannot hold {plural(plain, 'uncompressed byte')}"
        if at > header.ctbytes - STREAM_LENGTH.size:
            what = "the chunk ends before the length of the stream does"
        raise FormatError(
            f"block {block}, stream {number}, at byte {at:#x} of {header.ctbytes:#x} of the chunk: {what}",
            span=_within(place, at, STREAM_LENGTH.size),
        )
    return ChunkMap(header, starts, stream_at, stream_size)


def _leads_outside(header: ChunkHeader, at: Any, size: Any, plain: Any) -> Any:
    """Return whether a stream cannot be as its length states; of numbers, and of arrays alike."""
    wrong = (size < 1) | (size > plain) | (at + STREAM_LENGTH.size + size > header.ctbytes)
    return wrong | (plain > size * _EXPANSION[header.codec] + _EXPANSION_SLACK)


def _walk_streams(chunk: bytes | memoryview, header: ChunkHeader, starts: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    """Place and stored size of each stream, and whether it leads outside, shape `(nblocks, streams)`.

    After a stream that leads outside, the numbers mean nothing. A short last block has only its first stream; the
    others have place -1.
    """
    streams, nblocks, last = header.streams, len(starts), header.ctbytes - STREAM_LENGTH.size
    # The length that would are at each byte of the chunk.
    lengths = np.ndarray((last + 1,), STREAM_LENGTH.dtype["length"], chunk, 0, (1,))
    # Millions of streams may share a few bytes: places in chunks of less than 1 GiB take half the room.
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
        wrong[:, stream] = _leads_outside(header, at, size, plain)
        at = at + STREAM_LENGTH.size + size
    if short:
        stream_at[-1, 1:], stream_size[-1, 1:], wrong[-1, 1:] = -1, 0, False
    return stream_at, stream_size, wrong


def _within(place: Span | None, at: int, size: int) -> Span | None:
    """Return a part of the chunk as a place in the file."""
    if place is None:
        return None
    start = min(place.start + at, place.stop)
    return Span(place.source, start, min(start + size, place.stop))
