"""The chunk records of a xorb: offsets, headers, walking, decompression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.chunk import read_chunk
from shardcore.codecs.xet.hashes import HashArray, chunk_hash, to_text
from shardcore.codecs.xet.xorb_info import XorbInfo
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    HEADER_SIZE,
    IDENT,
    MAX_CHUNKS,
    Scheme,
    header_fault,
    header_faults,
    read_u24,
    u24_column,
)
from shardcore.errors import BadChecksum, FormatError, Truncated, Unsupported
from shardcore.model.number_words import plural
from shardcore.model.span import Span

Read = Callable[[int, int], bytes]
"""Function that reads the bytes `[start, stop)` of the xorb."""

ReadMany = Callable[[Sequence[tuple[int, int]]], list[bytes]]
"""Function that reads several ranges of the xorb, in order."""

BATCH = 4 * 1024 * 1024
"""Bytes of neighbouring records read per request."""

LONGEST_RECORD = HEADER_SIZE + (1 << 24) - 1
"""Longest record in bytes: the stored size in the header has 24 bits."""

_PIECE = 1 << 20  # bytes read at once while walking


@dataclass(frozen=True)
class Records:
    """Offsets of the chunk records, and what the info block adds to them.

    Attributes:
        ends: End of each record, int64; a record starts where the previous one ends.
        unpacked_ends: End of each chunk in the uncompressed xorb; None if unknown.
        hashes: Chunk hashes, shape `(n, 32)`; None without an info block.
    """

    ends: NDArray[np.int64]
    unpacked_ends: NDArray[np.int64] | None = None
    hashes: HashArray | None = None

    @staticmethod
    def of(info: XorbInfo) -> Records:
        return Records(info.ends, info.unpacked_ends, info.hashes)

    @property
    def count(self) -> int:
        return len(self.ends)

    @property
    def stop(self) -> int:
        return int(self.ends[-1]) if self.count else 0

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(1, np.int64), self.ends])[: self.count]

    def span(self, number: int) -> Span:
        return Span("", int(self.ends[number - 1]) if number else 0, int(self.ends[number]))

    def stored_span(self, number: int) -> Span:
        """Return the span of a chunk's stored bytes, without the record header."""
        whole = self.span(number)
        return Span("", min(whole.start + HEADER_SIZE, whole.stop), whole.stop)

    @staticmethod
    def declared_sizes(rows: NDArray[Any]) -> NDArray[np.int64]:
        return u24_column(rows["uncompressed_size"])

    def faults(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the invalid headers; `rows` are the headers of all records."""
        return header_faults(rows, self.ends, self.unpacked_ends)

    def fault(self, header: dict[str, Any], number: int) -> str:
        """Return the error in the header of a record; empty if it is valid."""
        return header_fault(header, self.stored_span(number).size, self.size(number))

    def size(self, number: int) -> int:
        """Return the uncompressed size of a chunk; -1 if only its header has it."""
        if self.unpacked_ends is None:
            return -1
        return int(self.unpacked_ends[number]) - (int(self.unpacked_ends[number - 1]) if number else 0)


def read_headers(read_many: ReadMany, records: Records, first: int, last: int) -> list[bytes]:
    """Return the headers of the records `[first, last)`; one request for all of them."""
    starts = records.starts[first:last]
    stops = np.minimum(starts + HEADER_SIZE, records.ends[first:last])
    return read_many(list(zip(starts.tolist(), stops.tolist(), strict=True)))


@dataclass(frozen=True)
class WalkedRecords:
    """Records found by following their lengths; `fault` is None at the end of the file or an info block."""

    records: Records
    fault: FormatError | None

    @property
    def stop(self) -> int:
        return self.records.stop


def walk(read: Read, size: int) -> WalkedRecords:
    """Follow the records from byte 0 until an info block, the end of the file or an invalid record; O(n).

    The info block is recognised by `XETBLOB`, or by its first letters if the file is cut there.
    """
    ends: list[int] = []
    sizes: list[int] = []
    at, first, data = 0, 0, b""
    fault: FormatError | None = None
    while at < size:
        if at + HEADER_SIZE > first + len(data):
            first, data = at, read(at, min(at + _PIECE, size))
        head = data[at - first : at - first + HEADER_SIZE]
        if is_info_start(head):
            break
        if (fault := _fault_at(head, at, size, len(ends))) is not None:
            break
        header = CHUNK_HEADER.read_one(head)
        at += HEADER_SIZE + read_u24(header["compressed_size"])
        ends.append(at)
        sizes.append(read_u24(header["uncompressed_size"]))
    return WalkedRecords(Records(np.array(ends, np.int64), np.cumsum(np.array(sizes, np.int64))), fault)


def is_info_start(rest: bytes) -> bool:
    """Return True if `rest` starts an info block, or is a prefix of `XETBLOB`."""
    return bool(rest) and (rest.startswith(IDENT) or IDENT.startswith(rest))


def _fault_at(head: bytes, at: int, size: int, number: int) -> FormatError | None:
    if len(head) < HEADER_SIZE:
        message = f"chunk {number}: its header needs {HEADER_SIZE} bytes; {plural(len(head), 'is', 'are')} left"
        return Truncated(message, span=Span("", at, size))
    header = CHUNK_HEADER.read_one(head)
    stop = at + HEADER_SIZE + read_u24(header["compressed_size"])
    fault = header_fault(header, -1, -1)
    if not fault and not read_u24(header["uncompressed_size"]):
        fault = "its header declares 0 bytes; a chunk has at least 1"
    if not fault and number == MAX_CHUNKS:
        fault = f"a xorb has at most {MAX_CHUNKS:,} chunks"
    if fault:
        kind = FormatError if header["compression_type"] in tuple(Scheme) else Unsupported
        return kind(f"chunk {number}: {fault}", span=Span("", at, at + HEADER_SIZE))
    if stop > size:
        message = f"chunk {number}: its record needs {plural(stop - at, 'byte')}; {size - at:,} are left"
        return Truncated(message, span=Span("", at, size))
    return None


def chunks(read: Read, records: Records, first: int, last: int, *, check: bool = True) -> Iterator[bytes]:
    """Yield the uncompressed chunks `[first, last)` in order; `check` compares their hashes.

    Raises:
        FormatError: A header contradicts the info block, or the stored bytes are corrupt.
        BadChecksum: The hash of a chunk differs.
    """
    for number, data in stored_records(read, records, first, last):
        chunk = unpack(data, records, number)
        if check and records.hashes is not None:
            found, wanted = chunk_hash(chunk), records.hashes[number].tobytes()
            if found != wanted:
                what = f"hash of chunk {number}: computed {to_text(found)}, stored {to_text(wanted)}"
                raise BadChecksum(what, span=records.span(number))
        yield chunk


def stored_records(read: Read, records: Records, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of the records `[first, last)`, header included; one request per `BATCH` bytes.

    A record longer than its 24-bit length allows (a wrong info block) is cut to its header.
    """
    while first < last:
        start, stop = records.span(first).start, int(records.ends[first])
        if stop - start > LONGEST_RECORD:
            yield first, read(start, start + HEADER_SIZE)
            first += 1
            continue
        upto = int(np.searchsorted(records.ends[first:last], start + BATCH, "right")) + first
        upto = max(upto, first + 1)
        data = read(start, int(records.ends[upto - 1]))
        for number in range(first, upto):
            span = records.span(number)
            yield number, data[span.start - start : span.stop - start]
        first = upto


def unpack(data: bytes, records: Records, number: int) -> bytes:
    """Return the uncompressed chunk of a record; `data` includes the header.

    Raises:
        FormatError: The header contradicts the info block, or the stored bytes are corrupt.
        Unsupported: The version or the compression scheme is unknown.
    """
    span = records.span(number)
    header = CHUNK_HEADER.read_one(data, place=span)
    stored = data[HEADER_SIZE:]
    fault = records.fault(header, number)
    if fault:
        kind = FormatError if header["compression_type"] in tuple(Scheme) else Unsupported
        raise kind(f"chunk {number}: {fault}", span=Span("", span.start, span.start + HEADER_SIZE))
    size = read_u24(header["uncompressed_size"])
    return read_chunk(header["compression_type"], stored, size, span=records.stored_span(number))
