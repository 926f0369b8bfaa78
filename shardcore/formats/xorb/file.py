"""An opened xorb file: its chunk records, how they are found and decompressed, and its info block."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO, HashArray, as_rows, chunk_hash, to_text
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HASH,
    CHUNK_HEADER,
    CHUNKS,
    HEADER_SIZE,
    IDENT,
    INFO_BLOCK,
    MAX_CHUNKS,
    SENTENCES,
    STORED_END,
    InfoPart,
    Scheme,
    XorbInfo,
    header_fault,
    header_faults,
    info_parts,
    read_chunk,
    read_u24,
    u24_column,
)
from shardcore.dataclasses import dataclass
from shardcore.errors import BadChecksum, FormatError, Truncated, Unsupported
from shardcore.model.objects import State
from shardcore.model.pointer_table import Links, PointerTable
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

Read = Callable[[int, int], bytes]
"""Function that reads the bytes `[start, stop)` of the xorb."""

ReadMany = Callable[[Sequence[tuple[int, int]]], list[bytes]]
"""Function that reads several ranges `[start, stop)` of the xorb, and returns their bytes in the same order."""

BATCH = 4 * 1024 * 1024
"""Number of bytes up to which neighbouring records are read in one request."""

LONGEST_RECORD = HEADER_SIZE + (1 << 24) - 1
"""Maximum size of a record in bytes, because the stored size in its header has 24 bits."""

_PIECE = 1 << 20  # bytes read at once while walking


@dataclass(frozen=True)
class Records:
    """Offsets of the chunk records, with sizes and hashes from the info block.

    Attributes:
        ends: End of each record, int64; a record starts at the end of the previous one.
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

    def size(self, number: int) -> int:
        """Return the uncompressed size of a chunk; -1 if its record header must be read for it."""
        if self.unpacked_ends is None:
            return -1
        return int(self.unpacked_ends[number]) - (int(self.unpacked_ends[number - 1]) if number else 0)

    def faults(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the invalid headers; `rows` are the headers of all records, in order."""
        return header_faults(rows, self.ends, self.unpacked_ends)

    def fault(self, header: dict[str, Any], number: int) -> str:
        """Return the error in the header of a record; empty if it is valid."""
        return header_fault(header, self.stored_span(number).size, self.size(number))

    def read_headers(self, read_many: ReadMany, first: int, last: int) -> list[bytes]:
        """Return the headers of the records `[first, last)`; one request for all of them."""
        starts = self.starts[first:last]
        stops = np.minimum(starts + HEADER_SIZE, self.ends[first:last])
        return read_many(list(zip(starts.tolist(), stops.tolist(), strict=True)))


def walk(read: Read, size: int) -> tuple[Records, FormatError | None]:
    """Find the records by their lengths, from byte 0 to the info block, the end of the file or an invalid record.

    The info block is recognised by `XETBLOB`, or by the first letters of it if the file ends there. Returns the
    records, and the error of the invalid record or None. O(n).
    """
    ends: list[int] = []
    sizes: list[int] = []
    at, first, data = 0, 0, b""
    fault: FormatError | None = None
    while at < size:
        if at + HEADER_SIZE > first + len(data):
            first, data = at, read(at, min(at + _PIECE, size))
        head = data[at - first : at - first + HEADER_SIZE]
        if head.startswith(IDENT) or IDENT.startswith(head):
            break
        if (fault := _fault_at(head, at, size, len(ends))) is not None:
            break
        header = CHUNK_HEADER.read_one(head)
        at += HEADER_SIZE + read_u24(header["compressed_size"])
        ends.append(at)
        sizes.append(read_u24(header["uncompressed_size"]))
    return Records(np.array(ends, np.int64), np.cumsum(np.array(sizes, np.int64))), fault


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
        fault = f"it exceeds the limit of {MAX_CHUNKS:,} chunks per xorb"
    if fault:
        return _header_error(header, number, at, fault)
    if stop > size:
        message = f"chunk {number}: its record needs {plural(stop - at, 'byte')}; {size - at:,} are left"
        return Truncated(message, span=Span("", at, size))
    return None


def _header_error(header: dict[str, Any], number: int, at: int, fault: str) -> FormatError:
    kind = FormatError if header["compression_type"] in tuple(Scheme) else Unsupported
    return kind(f"chunk {number}: {fault}", span=CHUNK_HEADER.span("", at))


def chunks(read: Read, records: Records, first: int, last: int) -> Iterator[bytes]:
    """Yield the uncompressed chunks `[first, last)` in order, checked by their hashes.

    Raises:
        FormatError: A header contradicts the info block, or the stored bytes are corrupt.
        BadChecksum: The hash of a chunk differs.
    """
    for number, data in stored_records(read, records, first, last):
        chunk = unpack(data, records, number)
        if records.hashes is not None:
            found, wanted = chunk_hash(chunk), records.hashes[number].tobytes()
            if found != wanted:
                what = f"hash of chunk {number}: computed {to_text(found)}, stored {to_text(wanted)}"
                raise BadChecksum(what, span=records.span(number))
        yield chunk


def stored_records(read: Read, records: Records, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of the records `[first, last)`, header included; one request per `BATCH` bytes.

    If a wrong info block gives a record more bytes than its 24-bit length allows, only its header is yielded.
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
    if fault := records.fault(header, number):
        raise _header_error(header, number, span.start, fault)
    size = read_u24(header["uncompressed_size"])
    return read_chunk(header["compression_type"], data[HEADER_SIZE:], size, span=records.stored_span(number))


# --- the file ---------------------------------------------------------------------------------------------------

HEADERS_AT_ONCE = 1024
"""Number of record headers read per request; progress is reported before each request."""

TAIL = "tail"
"""Name of the section at the end of a file that contains a truncated info block."""

TAIL_FAULT = f"the info block is truncated: the file ends within its ident {IDENT.decode()}"
"""Error text for a truncated ident, as in the published reference xorb; recent readers reject such files."""

_NAME = re.compile(r"(?:default\.)?([0-9a-f]{64})(?:\.xorb)?")


class InfoList(PointerTable):
    """List of the info block as a table; entries in the lists of hashes and ends refer to chunk records."""

    def __init__(self, part: InfoPart, start: int, records: Records, data: bytes = b"") -> None:
        self.layout, self.pointer = part.record, part.record.fields[0].name
        self.refers = part.record in (CHUNK_HASH, STORED_END)
        ends = part.record is STORED_END
        self.why = "The info block has the end of record {}." if ends else "The info block lists the hash of chunk {}."
        at, size = part.start, part.record.size
        super().__init__(
            start + at, part.count, lambda first, last: part.record.read(data, at + first * size, last - first)
        )
        self.chunk_records = records

    def _target(self, number: int, row: Any) -> Span | None:
        return self.chunk_records.span(number) if self.refers else None

    def _field_texts(self, number: int, row: Any, state: State) -> dict[str, str]:
        return {self.pointer: to_text(row[self.pointer].tobytes())} if self.layout is CHUNK_HASH else {}


class XorbFile:
    """Source, chunk records and info block of a xorb.

    `info_damage` is the error in the info block, `fault` the error that ended the walk over the records, and `tail`
    the offset of a truncated info block (-1 for none). `sections` cover the file without gaps.
    """

    def __init__(
        self,
        source: Source,
        records: Records,
        info: XorbInfo | None = None,
        *,
        info_damage: FormatError | None = None,
        fault: FormatError | None = None,
        tail: int = -1,
        headers: NDArray[Any] | None = None,
    ) -> None:
        self.source = source
        self.records = records
        self.info = info
        self.info_damage = info_damage
        self.fault = fault
        self.tail = Span("", tail, source.size) if tail >= 0 else None
        self.sections, _ = tile(self._claims(), source.size)
        self._headers: Once[NDArray[Any]] = Once()
        if headers is not None:
            self._headers.put(headers)
        self._hashes: Once[HashArray] = Once()
        self._sizes: Once[NDArray[np.int64]] = Once()

    @property
    def damage(self) -> FormatError | None:
        """Error that makes hashes or chunks unreadable, or None; a truncated ident at the end (`tail`) does not."""
        return self.info_damage or self.fault

    @property
    def expected_hash(self) -> str:
        """Hash in the file name (`<hash>` or `default.<hash>`, optionally with `.xorb`); empty if the name has none."""
        match = _NAME.fullmatch(self.source.name)
        return match[1] if match else ""

    @property
    def info_span(self) -> Span:
        """Bytes of the info block and the 4-byte length after it; empty if there is no info block."""
        return next((Span("", s.start, s.stop) for s in self.sections if s.name == INFO_BLOCK), Span("", 0, 0))

    @property
    def info_parts(self) -> dict[str, tuple[InfoPart, Span]]:
        """The parts of the info block by name, and the span of each in the file; empty without an info block."""
        parts = info_parts(self.info.version, self.info.count) if self.info is not None else ()
        start = self.info_span.start
        return {part.name: (part, Span("", start + part.start, start + part.stop)) for part in parts}

    def links(self) -> Iterator[Links]:
        """Yield references to records: from the lists of the info block; without one, from each record to the next."""
        records = self.records
        starts, numbers = records.starts, np.arange(records.count)
        for part, _ in self.info_parts.values():
            if part.is_list and (table := InfoList(part, self.info_span.start, records)).refers:
                yield table.links(numbers, starts, records.ends)

        def before(number: int) -> tuple[Span, str]:
            why = f"The length in record {number} gives the start of record {number + 1}."
            return CHUNK_HEADER.span("", records.span(number).start), why

        if self.info is None:
            yield Links(starts[1:], records.ends[1:], before)

    @property
    def headers(self) -> NDArray[Any] | None:
        """Headers of all records as rows of `CHUNK_HEADER`; None before `load`, as this property reads nothing."""
        return self._headers.value

    @property
    def loaded(self) -> bool:
        return self.headers is not None

    @property
    def index_bytes(self) -> int:
        return self.records.count * HEADER_SIZE

    def load(self, progress: Progress = no_progress) -> NDArray[Any]:
        """Read the headers of all records, once; raise SourceError if they cannot be read."""

        def read() -> NDArray[Any]:
            heads, count = list[bytes](), self.records.count
            for first in range(0, count, HEADERS_AT_ONCE):
                progress(first, count)
                last = min(first + HEADERS_AT_ONCE, count)
                heads += self.records.read_headers(self.source.read_many, first, last)
            progress(count, count)
            return CHUNK_HEADER.read(b"".join(heads), count=count)

        return self._headers.get(read)

    def hashes(self, source: Source) -> HashArray:
        """Return the chunk hashes, shape `(n, 32)`. Without an info block, decompress and hash all chunks once.

        The zero hash stands for a chunk that cannot be decompressed. `source` may be a wrapper that counts reads.
        """

        def compute() -> HashArray:
            found = [ZERO] * self.records.count
            for number, data in stored_records(source.read, self.records, 0, self.records.count):
                with suppress(FormatError):
                    found[number] = chunk_hash(unpack(data, self.records, number))
            return as_rows(found)

        return self._hashes.get(compute) if self.records.hashes is None else self.records.hashes

    def chunk_sizes(self) -> NDArray[np.int64]:
        """Return the uncompressed size of each chunk; without an info block this reads all record headers."""
        ends = self.records.unpacked_ends
        return self._sizes.get(
            lambda: u24_column(self.load()["uncompressed_size"]) if ends is None else np.diff(ends, prepend=0)
        )

    def stream_chunks(self, first: int, last: int) -> Iterator[bytes]:
        """Yield the uncompressed chunks `[first, last)`; raise FormatError for a wrong range or a corrupt chunk."""
        if not 0 <= first <= last <= self.records.count:
            raise FormatError(
                f"chunks {first} to {last} are requested; the xorb has {plural(self.records.count, 'chunk')}"
            )
        return chunks(self.source.read, self.records, first, last)

    def check_chunk(self, source: Source, number: int) -> bytes:
        """Return one uncompressed chunk; raise FormatError if it cannot be decompressed or its hash differs."""
        (chunk,) = chunks(source.read, self.records, number, number + 1)
        return chunk

    def _claims(self) -> list[Section]:
        stop, size = self.records.stop, self.source.size
        parts = [Section(CHUNKS, SectionRole.DATA, 0, stop, SENTENCES[CHUNKS])]
        if self.info is not None:
            parts.append(Section(INFO_BLOCK, SectionRole.FOOTER, stop, size, SENTENCES[INFO_BLOCK]))
        elif self.tail is not None:
            doc = f"A truncated info block: only the first letters of {IDENT.decode()}."
            parts.append(Section(TAIL, SectionRole.TRAILING, self.tail.start, size, doc))
        return [part for part in parts if part.size]
