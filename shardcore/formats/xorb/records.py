"""The chunk records of a xorb: where they lie, what their headers state, and the chunks themselves."""

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
"""Reads the bytes `[start, stop)` of the xorb."""

ReadMany = Callable[[Sequence[tuple[int, int]]], list[bytes]]
"""Reads several ranges of the xorb."""

BATCH = 4 * 1024 * 1024
"""Bytes of neighbouring records that are read at once."""

LONGEST_RECORD = HEADER_SIZE + (1 << 24) - 1
"""Bytes of a record: its header states the stored bytes of the chunk in 24 bits."""

_PIECE = 1 << 20  # bytes read at once while walking


@dataclass(frozen=True)
class Records:
    """Locations of the chunk records, and their chunks.

    Attributes:
        ends: Where each record ends, int64, ascending; it begins where the one before ends.
        unpacked_ends: Where each chunk ends in the unpacked xorb; None while it is unknown.
        hashes: Chunk hashes, shape `(n, 32)`; None in a xorb without an info block.
    """

    ends: NDArray[np.int64]
    unpacked_ends: NDArray[np.int64] | None = None
    hashes: HashArray | None = None

    @staticmethod
    def of(info: XorbInfo) -> Records:
        """Return what an info block states."""
        return Records(info.ends, info.unpacked_ends, info.hashes)

    @property
    def count(self) -> int:
        """Number of chunks."""
        return len(self.ends)

    @property
    def stop(self) -> int:
        """One past the last byte of the last record."""
        return int(self.ends[-1]) if self.count else 0

    @property
    def starts(self) -> NDArray[np.int64]:
        """Return where each record begins."""
        return np.concatenate([np.zeros(1, np.int64), self.ends])[: self.count]

    def span(self, number: int) -> Span:
        """Return where a record lies, header included."""
        return Span("", int(self.ends[number - 1]) if number else 0, int(self.ends[number]))

    def stored_span(self, number: int) -> Span:
        """Return where the stored bytes of a chunk lie."""
        whole = self.span(number)
        return Span("", min(whole.start + HEADER_SIZE, whole.stop), whole.stop)

    @staticmethod
    def declared_sizes(rows: NDArray[Any]) -> NDArray[np.int64]:
        """Bytes of the unpacked chunks, as the headers of their records say."""
        return u24_column(rows["uncompressed_size"])

    def faults(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of the headers of all records are wrong; see `header_faults`."""
        return header_faults(rows, self.ends, self.unpacked_ends)

    def fault(self, header: dict[str, Any], number: int) -> str:
        """Return what is wrong with the header of a record, or empty; see `header_fault`."""
        return header_fault(header, self.stored_span(number).size, self.size(number))

    def size(self, number: int) -> int:
        """Bytes of an unpacked chunk; -1 when only its header states."""
        if self.unpacked_ends is None:
            return -1
        return int(self.unpacked_ends[number]) - (int(self.unpacked_ends[number - 1]) if number else 0)


def read_headers(read_many: ReadMany, records: Records, first: int, last: int) -> list[bytes]:
    """Return the headers of the records number `first` to `last`, half-open."""
    starts = records.starts[first:last]
    stops = np.minimum(starts + HEADER_SIZE, records.ends[first:last])
    return read_many(list(zip(starts.tolist(), stops.tolist(), strict=True)))


@dataclass(frozen=True)
class WalkedRecords:
    """The records that were found by following them from byte 0.

    Attributes:
        records: Where they lie.
        fault: Why the walk broke off before the end of the file; None at its end, and where an info block begins.
    """

    records: Records
    fault: FormatError | None

    @property
    def stop(self) -> int:
        """One past the last byte of the last record."""
        return self.records.stop


def walk(read: Read, size: int) -> WalkedRecords:
    """Follow the records from byte 0 to the info block, to the end of the file, or to what is not a record.

    An info block begins where `XETBLOB` stands, or as many of its letters as there are bytes.

    Args:
        read: Reads ranges of the xorb.
        size: Bytes to follow.

    Raises:
        SourceError: The bytes cannot be read.
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
    """Return whether an info block begins with these bytes, or would if there were more of them."""
    return bool(rest) and (rest.startswith(IDENT) or IDENT.startswith(rest))


def _fault_at(head: bytes, at: int, size: int, number: int) -> FormatError | None:
    """Return why no record begins with the bytes `head` at `at`, or None; `number` counts the ones before."""
    if len(head) < HEADER_SIZE:
        message = f"chunk {number}: its header takes {HEADER_SIZE} bytes; {plural(len(head), 'is', 'are')} left"
        return Truncated(message, span=Span("", at, size))
    header = CHUNK_HEADER.read_one(head)
    stop = at + HEADER_SIZE + read_u24(header["compressed_size"])
    fault = header_fault(header, -1, -1)
    if not fault and not read_u24(header["uncompressed_size"]):
        fault = "its header declares no bytes; a chunk has at least one"
    if not fault and number == MAX_CHUNKS:
        fault = f"a xorb has at most {MAX_CHUNKS:,} chunks"
    if fault:
        kind = FormatError if header["compression_type"] in tuple(Scheme) else Unsupported
        return kind(f"chunk {number}: {fault}", span=Span("", at, at + HEADER_SIZE))
    if stop > size:
        message = f"chunk {number}: its record takes {plural(stop - at, 'byte')}; {size - at:,} are left"
        return Truncated(message, span=Span("", at, size))
    return None


def chunks(read: Read, records: Records, first: int, last: int, *, check: bool = True) -> Iterator[bytes]:
    """Yield the unpacked chunks number `first` to `last`, half-open, in order.

    Args:
        read: Reads ranges of the xorb.
        records: Where they lie.
        first: First chunk.
        last: One past the last.
        check: Whether hashes are compared, where they are known.

    Raises:
        FormatError: A header disagrees with the info block, or the stored bytes are damaged.
        BadChecksum: A chunk has another hash than the info block declares.
        SourceError: The bytes cannot be read.
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
    """Yield the bytes of the records number `first` to `last`, half-open, read some megabytes at once.

    Of a record that is longer than any header can say, which only an info block can claim, there is the header.

    Yields:
        The number of a record, and its bytes, header included.
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
    """Return the chunk in one record.

    Args:
        data: The record, header included.
        records: Where the records lie.
        number: Which it is.

    Raises:
        FormatError: The header disagrees with the info block, or the stored bytes are damaged.
        Unsupported: The version or scheme is unknown.
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
