"""The file of a xorb: source, chunk records, info block and caches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO, HashArray, as_rows, chunk_hash, to_text
from shardcore.codecs.xet.xorb_info import InfoPart, XorbInfo, info_parts
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HASH,
    CHUNK_HEADER,
    CHUNKS,
    HEADER_SIZE,
    IDENT,
    INFO_BLOCK,
    SENTENCES,
    STORED_END,
)
from shardcore.errors import FormatError
from shardcore.formats.xorb.records import Records, chunks, read_headers, stored_records, unpack
from shardcore.model.number_words import plural
from shardcore.model.objects import State
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.model.table import Links, PointerTable
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

HEADERS_AT_ONCE = 1024
"""Headers read per request; also the step of `progress`."""

TAIL = "tail"
"""Name of the section of a truncated info block."""

TAIL_FAULT = f"the info block is truncated: the file ends within its ident {IDENT.decode()}"
"""Error of a cut ident, as in the published reference xorb: readers of October 2025 accept it, newer ones fail."""

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
    ) -> None:
        self.source = source
        self.records = records
        self.info = info
        self.info_damage = info_damage
        self.fault = fault
        self.tail = Span("", tail, source.size) if tail >= 0 else None
        self.sections, _ = tile(self._claims(), source.size)
        self._headers: Once[NDArray[Any]] = Once()
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

    def info_part(self, name: str) -> tuple[InfoPart, Span] | None:
        """Return a part of the info block and its span in the file, or None."""
        parts = info_parts(self.info.version, self.info.count) if self.info is not None else ()
        start = self.info_span.start
        return next(((one, Span("", start + one.start, start + one.stop)) for one in parts if one.name == name), None)

    def links(self) -> Iterator[Links]:
        """Yield references to records: from the info block's lists, or else from each record to the next."""
        records = self.records
        starts, numbers = records.starts, np.arange(records.count)
        if self.info is not None:
            for part in info_parts(self.info.version, self.info.count):
                if part.is_list and (table := InfoList(part, self.info_span.start, records)).refers:
                    yield table.links(numbers, starts, records.ends)
            return

        def before(number: int) -> tuple[Span, str]:
            at = records.span(number).start
            why = f"The length in record {number} gives the start of record {number + 1}."
            return Span("", at, at + HEADER_SIZE), why

        yield Links(starts[1:], records.ends[1:], before)

    @property
    def headers(self) -> NDArray[Any] | None:
        """Headers of all records as rows of `CHUNK_HEADER`, or None before `load`; never reads."""
        return self._headers.value

    @property
    def loaded(self) -> bool:
        return self.headers is not None

    @property
    def index_bytes(self) -> int:
        return self.records.count * HEADER_SIZE

    def load(self, progress: Progress = no_progress) -> NDArray[Any]:
        """Read the headers of all records, once; raise SourceError if they cannot be read."""
        return self._headers.get(lambda: self._read_headers(progress))

    def hashes(self, source: Source) -> HashArray:
        """Return the chunk hashes, shape `(n, 32)`. Without an info block, decompress and hash all chunks once.

        The zero hash stands for a chunk that cannot be decompressed. `source` may be a wrapper that counts reads.
        """
        if self.records.hashes is not None:
            return self.records.hashes
        return self._hashes.get(lambda: self._make_hashes(source))

    def chunk_sizes(self) -> NDArray[np.int64]:
        """Return the uncompressed size of each chunk; without an info block this reads all record headers."""
        return self._sizes.get(self._make_sizes)

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

    def _make_sizes(self) -> NDArray[np.int64]:
        if self.records.unpacked_ends is not None:
            return np.diff(self.records.unpacked_ends, prepend=0)
        return self.records.declared_sizes(self.load())

    def _read_headers(self, progress: Progress) -> NDArray[Any]:
        heads: list[bytes] = []
        count = self.records.count
        for first in range(0, count, HEADERS_AT_ONCE):
            progress(first, count)
            heads += read_headers(self.source.read_many, self.records, first, min(first + HEADERS_AT_ONCE, count))
        progress(count, count)
        return CHUNK_HEADER.read(b"".join(heads), count=count)

    def _make_hashes(self, source: Source) -> HashArray:
        found: list[bytes] = []
        for number, data in stored_records(source.read, self.records, 0, self.records.count):
            try:
                found.append(chunk_hash(unpack(data, self.records, number)))
            except FormatError:
                found.append(ZERO)
        return as_rows(found)

    def _claims(self) -> list[Section]:
        stop, size = self.records.stop, self.source.size
        parts = [
            Section(CHUNKS, SectionRole.DATA, 0, stop, SENTENCES[CHUNKS]),
        ]
        if self.info is not None:
            parts.append(Section(INFO_BLOCK, SectionRole.FOOTER, stop, size, SENTENCES[INFO_BLOCK]))
        elif self.tail is not None:
            doc = f"A truncated info block: only the first letters of {IDENT.decode()}."
            parts.append(Section(TAIL, SectionRole.TRAILING, self.tail.start, size, doc))
        return [part for part in parts if part.size]
