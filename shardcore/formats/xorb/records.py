"""The chunk records of a xorb: where they lie, what their headers say, and the chunks themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import BadChecksum, FormatError, Unsupported
from shardcore.formats.xorb.chunk import MAX_STORED, MAX_UNPACKED, Scheme, read_chunk
from shardcore.formats.xorb.layout import CHUNK_HEADER, IDENT, MAX_CHUNKS, Info, read_u24, u24_column
from shardcore.span import Span
from shardcore.xet_hashes import HashArray, chunk_hash, to_text

Read = Callable[[int, int], bytes]
"""Reads the bytes `[start, stop)` of the xorb."""

ReadMany = Callable[[Sequence[tuple[int, int]]], list[bytes]]
"""Reads several ranges of the xorb."""

HEADER_SIZE = CHUNK_HEADER.size

BATCH = 4 * 1024 * 1024
"""Bytes of neighbouring records that are read at once."""

_PIECE = 1 << 20  # bytes read at once while walking


@dataclass(frozen=True)
class Records:
    """Where the chunk records lie, and which chunks they hold.

    Attributes:
        ends: Where each record ends, int64, ascending; it begins where the one before ends.
        unpacked_ends: Where each chunk ends in the unpacked xorb; None while it is not known.
        hashes: Chunk hashes, shape `(n, 32)`; None in a xorb without an info block.
    """

    ends: NDArray[np.int64]
    unpacked_ends: NDArray[np.int64] | None = None
    hashes: HashArray | None = None

    @staticmethod
    def of(info: Info) -> Records:
        """What an info block says."""
        return Records(info.ends, info.unpacked_ends, info.hashes)

    @property
    def count(self) -> int:
        """Number of chunks."""
        return len(self.ends)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each record begins."""
        return np.concatenate([np.zeros(1, np.int64), self.ends])[: self.count]

    def span(self, number: int) -> Span:
        """Where a record lies, header included."""
        return Span("", int(self.ends[number - 1]) if number else 0, int(self.ends[number]))

    def stored_span(self, number: int) -> Span:
        """Where the stored bytes of a chunk lie."""
        whole = self.span(number)
        return Span("", min(whole.start + HEADER_SIZE, whole.stop), whole.stop)

    def size(self, number: int) -> int:
        """Bytes of an unpacked chunk; -1 when only its header says."""
        if self.unpacked_ends is None:
            return -1
        return int(self.unpacked_ends[number]) - (int(self.unpacked_ends[number - 1]) if number else 0)


def read_headers(read_many: ReadMany, records: Records, first: int, last: int) -> list[bytes]:
    """The headers of the records number `first` to `last`, half-open."""
    starts = records.starts[first:last]
    stops = np.minimum(starts + HEADER_SIZE, records.ends[first:last])
    return read_many(list(zip(starts.tolist(), stops.tolist(), strict=True)))


def header_fault(header: dict[str, Any], stored: int, size: int) -> str:
    """What is wrong with the header of a record, or empty.

    Args:
        header: Its fields.
        stored: Bytes that follow it, as the ends say; -1 when they say nothing.
        size: Bytes of the unpacked chunk, as the info block says; -1 when it says nothing.
    """
    packed, unpacked = read_u24(header["compressed_size"]), read_u24(header["uncompressed_size"])
    if header["version"] != 0:
        return f"chunk record version {header['version']}; only 0 is known"
    if header["compression_type"] not in tuple(Scheme):
        return f"unknown compression scheme {header['compression_type']}"
    if packed > MAX_STORED or unpacked > MAX_UNPACKED:
        return f"{packed} stored and {unpacked} unpacked bytes; {MAX_STORED} and {MAX_UNPACKED} are allowed"
    if stored not in (-1, packed):
        return f"{packed} stored bytes declared, {stored} between the ends"
    if size not in (-1, unpacked):
        return f"{unpacked} unpacked bytes declared, {size} in the info block"
    return ""


def header_faults(rows: NDArray[Any], records: Records) -> NDArray[np.bool_]:
    """Which of the headers of all records `header_fault` has something to say about."""
    packed, unpacked = u24_column(rows["compressed_size"]), u24_column(rows["uncompressed_size"])
    wrong: NDArray[np.bool_] = (rows["version"] != 0) | (rows["compression_type"] > max(Scheme))
    wrong |= (unpacked > MAX_UNPACKED) | (packed != np.diff(records.ends, prepend=0) - HEADER_SIZE)
    if records.unpacked_ends is not None:
        wrong |= unpacked != np.diff(records.unpacked_ends, prepend=0)
    return wrong


def walk(read: Read, size: int) -> Records:
    """Follows the records from byte 0 to the info block or the end of the file.

    Raises:
        FormatError: A record is not one, or goes past the end of the file.
        Unsupported: A record has a version or scheme that is not known.
    """
    ends: list[int] = []
    sizes: list[int] = []
    at, first, data = 0, 0, b""
    while at < size:
        if at + HEADER_SIZE > first + len(data):
            first, data = at, read(at, min(at + _PIECE, size))
        head = data[at - first : at - first + HEADER_SIZE]
        if head.startswith(IDENT):
            break
        header = CHUNK_HEADER.read_one(head, place=Span("", at, at + len(head)))
        fault = header_fault(header, -1, -1)
        stop = at + HEADER_SIZE + read_u24(header["compressed_size"])
        if not fault and not read_u24(header["uncompressed_size"]):
            fault = "a chunk of no bytes"
        if fault or stop > size:
            message = fault or f"{stop - at} bytes declared, {size - at} are left"
            raise FormatError(f"chunk {len(ends)}: {message}", span=Span("", at, min(at + HEADER_SIZE, size)))
        if len(ends) == MAX_CHUNKS:
            raise FormatError(f"more than {MAX_CHUNKS} chunks", span=Span("", at, size))
        ends.append(stop)
        sizes.append(read_u24(header["uncompressed_size"]))
        at = stop
    return Records(np.array(ends, np.int64), np.cumsum(sizes, dtype=np.int64) if sizes else np.zeros(0, np.int64))


def chunks(read: Read, records: Records, first: int, last: int, *, check: bool = True) -> Iterator[bytes]:
    """The unpacked chunks number `first` to `last`, half-open, in order.

    Args:
        read: Reads ranges of the xorb.
        records: Where they lie.
        first: First chunk.
        last: One past the last.
        check: Whether hashes are compared, where they are known.

    Raises:
        FormatError: A header disagrees with the info block, or the stored bytes are damaged.
        BadChecksum: A chunk has another hash than the info block says.
        SourceError: The bytes cannot be had.
    """
    while first < last:
        start = records.span(first).start
        upto = int(np.searchsorted(records.ends, start + BATCH, "right"))
        upto = min(max(upto, first + 1), last)
        data = read(start, int(records.ends[upto - 1]))
        for number in range(first, upto):
            span = records.span(number)
            chunk = unpack(data[span.start - start : span.stop - start], records, number)
            if check and records.hashes is not None:
                found, wanted = chunk_hash(chunk), records.hashes[number].tobytes()
                if found != wanted:
                    raise BadChecksum(f"chunk {number} has the hash {to_text(found)}, not {to_text(wanted)}", span=span)
            yield chunk
        first = upto


def unpack(data: bytes, records: Records, number: int) -> bytes:
    """The chunk in one record.

    Args:
        data: The record, header included.
        records: Where the records lie.
        number: Which it is.

    Raises:
        FormatError: The header disagrees with the info block, or the stored bytes are damaged.
        Unsupported: The version or scheme is not known.
    """
    span = records.span(number)
    header = CHUNK_HEADER.read_one(data, place=span)
    stored = data[HEADER_SIZE:]
    fault = header_fault(header, len(stored), records.size(number))
    if fault:
        kind = Unsupported if fault.startswith("unknown") else FormatError
        raise kind(f"chunk {number}: {fault}", span=Span("", span.start, span.start + HEADER_SIZE))
    size = read_u24(header["uncompressed_size"])
    return read_chunk(header["compression_type"], stored, size, span=records.stored_span(number))
