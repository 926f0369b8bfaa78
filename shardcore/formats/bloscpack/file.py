"""An open Bloscpack file: its headers, offsets, chunks and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError, SourceError
from shardcore.formats.bloscpack.chunks import ChunkTable
from shardcore.formats.bloscpack.content import ChunkReader
from shardcore.formats.bloscpack.decode import decompress_isolated
from shardcore.formats.bloscpack.header import Header
from shardcore.formats.bloscpack.layout import OFFSET, UNKNOWN, OffsetTable, blosc_header_span, section
from shardcore.formats.bloscpack.metadata import MetadataSection, check_digest, decode_metadata, parse_metadata
from shardcore.formats.bloscpack.offsets import Offsets
from shardcore.model.pointer_table import Links
from shardcore.model.section import Section, tile
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

if TYPE_CHECKING:
    from shardcore.codecs.decoder_process import IsolatedDecoder


class BloscpackFile:
    """One Bloscpack file. Thread-safe."""

    def __init__(self, source: Source, header: Header, metadata: MetadataSection | None, offsets: Offsets) -> None:
        self.source = source
        self.header = header
        self.metadata = metadata
        self.offsets = offsets
        self.table = ChunkTable(source, offsets.area, offsets.slots)
        self.content = ChunkReader(source, header, self.table)
        self._end: Once[int] = Once()
        self._complete: Once[bool] = Once()
        self._text: Once[bytes] = Once()
        self._value: Once[Any | ShardError] = Once()

    @property
    def loaded(self) -> bool:
        return self.table.loaded

    @property
    def index_bytes(self) -> int:
        return 0 if self.loaded else 16 * len(self.table)

    def load(self, progress: Progress = no_progress, source: Source | None = None) -> None:
        self.table.load(progress, source)

    def isolate(self, decoder: IsolatedDecoder) -> None:
        self.content.decoder = partial(decompress_isolated, decoder)

    def close(self) -> None:
        self.source.close()

    # --- sections --------------------------------------------------------------------------------------------------

    @property
    def sections(self) -> tuple[Section, ...]:
        """Sections, which cover the file without gaps; before `load`, the section of the chunks ends with the file."""
        size, first = self.source.size, self.offsets.area.first
        claims = [section("header", 0, self.header.size)]
        if self.metadata is not None:
            claims.append(section("metadata", self.metadata.start, self.metadata.stop))
        if self.offsets.count:
            claims.append(section("offsets", self.offsets.span.start, self.offsets.span.stop))
        end = self.chunks_end
        claims.append(section("chunks", first, end))
        if end < size:
            claims.append(section("trailing" if self._has_all_chunks() else "unknown", end, size))
        return tile(claims, size)[0]

    @property
    def chunks_end(self) -> int:
        """End of the last checksum, exclusive; before the chunks are loaded, the end of the file."""
        if not self.table.loaded:
            return self.offsets.area.size
        return self._end.get(self._last_end)

    def _last_end(self) -> int:
        area = self.offsets.area
        if not len(self.table.places):
            return area.first
        ends = area.stops(self.table.places, self.table.headers)
        return min(max(int(ends.max()) + area.digest, area.first), area.size)

    def _has_all_chunks(self) -> bool:
        return self._complete.get(lambda: bool((self.table.places != UNKNOWN).all()))

    # --- references ------------------------------------------------------------------------------------------------

    @property
    def offset_table(self) -> OffsetTable:
        offsets = self.offsets

        def read(first: int, last: int) -> NDArray[Any]:
            data = self.source.read(offsets.start + first * OFFSET.size, offsets.start + last * OFFSET.size)
            return OFFSET.read(data, count=last - first)

        return OffsetTable(offsets.start, offsets.count, len(self.table), offsets.area, read)

    def links(self) -> Iterator[Links]:
        """Yield the field that locates each chunk: its offset slot or, without offsets, the previous chunk's header."""
        table = self.table
        if not table.loaded:
            return
        numbers = np.flatnonzero(table.places != UNKNOWN)
        starts = table.places[numbers]
        stops = table.area.stops(starts, table.headers[numbers]) + table.area.digest

        def pointer(at: int) -> tuple[Span, str]:
            number, slots = int(numbers[at]), table.slots
            if slots is not None and slots.place(table.source, number) == starts[at]:
                span = self.offset_table.pointer_span(number)
                return span, f"Slot {number} of the offsets contains the offset of chunk {number}."
            if number == 0 or table.places[number - 1] == UNKNOWN:
                return Span("", 0, self.header.size), "The first chunk follows the header."
            before = blosc_header_span(int(table.places[number - 1]))
            return before, f"The length in chunk {number - 1} gives the start of chunk {number}."

        yield Links(starts, stops, pointer)

    # --- metadata --------------------------------------------------------------------------------------------------

    def metadata_text(self) -> bytes:
        """Return the uncompressed metadata text; empty without a metadata section."""
        metadata = self.metadata
        return b"" if metadata is None else self._text.get(lambda: self._read_text(metadata))

    def metadata_value(self) -> Any:
        """Return the value of the metadata text, parsed once; None without a metadata section."""
        if self.metadata is None:
            return None
        value = self._value.get(self._parsed)
        if isinstance(value, ShardError):
            raise value.with_traceback(None)
        return value

    def _parsed(self) -> Any | ShardError:
        """Return the value, or the error of the text; source errors are raised, because a later read may succeed."""
        assert self.metadata is not None
        try:
            return parse_metadata(self.metadata, self.metadata_text())
        except SourceError:
            raise
        except ShardError as error:
            error.__cause__ = error.__context__ = None
            return error.with_traceback(None)

    def metadata_problem(self) -> str:
        if self.metadata is None:
            return ""
        stored, digest = self.metadata.stored, self.metadata.digest
        data = self.source.read(stored.start, digest.stop)
        return check_digest(self.metadata, data[: stored.size], data[digest.start - stored.start :])

    def _read_text(self, metadata: MetadataSection) -> bytes:
        return decode_metadata(metadata, self.source.read(metadata.stored.start, metadata.stored.stop))
