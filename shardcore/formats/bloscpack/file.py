"""An open Bloscpack file: its headers, offsets, chunks and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError, SourceError, Truncated, detached
from shardcore.formats.bloscpack.chunks import ChunkTable, Offsets
from shardcore.formats.bloscpack.content import ChunkReader
from shardcore.formats.bloscpack.layout import (
    CHUNK_HEADER,
    OFFSET,
    TRAILING,
    UNCLAIMED,
    UNKNOWN,
    Header,
    OffsetTable,
    blosc_header_span,
    sections_of,
)
from shardcore.formats.bloscpack.metadata import MetadataSection, decode_metadata, parse_metadata
from shardcore.model.pointer_table import Links
from shardcore.model.section import Section
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

if TYPE_CHECKING:
    from shardcore.codecs.decoder_process import IsolatedDecoder


class BloscpackFile:
    """An open Bloscpack file, which several threads can use at the same time."""

    def __init__(self, source: Source, header: Header, metadata: MetadataSection | None, offsets: Offsets) -> None:
        self.source = source
        self.header = header
        self.metadata = metadata
        self.offsets = offsets
        self.table = ChunkTable(source, offsets)
        self.content = ChunkReader(source, header, self.table)
        self._end: Once[tuple[int, bool]] = Once()
        self._cut: Once[Truncated | None] = Once()
        self._text: Once[bytes] = Once()
        self._value: Once[Any | ShardError] = Once()

    @property
    def loaded(self) -> bool:
        return self.table.loaded

    @property
    def index_bytes(self) -> int:
        return 0 if self.loaded else CHUNK_HEADER.size * len(self.table)

    def load(self, progress: Progress = no_progress, source: Source | None = None) -> None:
        self.table.load(progress, source)

    def isolate(self, decoder: IsolatedDecoder) -> None:
        def decompress(chunk: bytes | memoryview, *, limit: int, place: Span | None) -> bytes:
            return decoder.run("blosc", {}, chunk, limit=limit, place=place)[1]

        self.content.decoder = decompress

    def close(self) -> None:
        self.source.close()

    # --- sections --------------------------------------------------------------------------------------------------

    @property
    def sections(self) -> tuple[Section, ...]:
        """Sections, which cover the file without gaps; before `load`, the chunks extend to the end of the file."""
        header, first, size = self.header.size, self.offsets.area.first, self.source.size
        end, complete = self.chunks_end
        bounds = (0, header, self.metadata.stop if self.metadata is not None else header, first, end, size)
        return sections_of(bounds, TRAILING if complete else UNCLAIMED)

    @property
    def chunks_end(self) -> tuple[int, bool]:
        """Offset after the last checksum, and True if all chunks were found; before `load`, file size and True."""
        return self._end.get(self._last_end) if self.table.loaded else (self.offsets.area.size, True)

    def _last_end(self) -> tuple[int, bool]:
        area, places = self.offsets.area, self.table.places
        if not len(places):
            return area.first, True
        ends = area.stops(places, self.table.headers)
        return min(max(int(ends.max()) + area.digest, area.first), area.size), bool((places != UNKNOWN).all())

    @property
    def cut(self) -> Truncated | None:
        """Error of the first chunk that is cut by the end of the file; None if there is none, and before `load`."""
        return self._cut.get(self._first_cut) if self.table.loaded else None

    def _first_cut(self) -> Truncated | None:
        area, places, headers = self.offsets.area, self.table.places, self.table.headers
        for chunk in np.flatnonzero(~area.fits(places, headers) & (places != UNKNOWN))[:1].tolist():
            return area.truncated(chunk, int(places[chunk]), int(headers["ctbytes"][chunk]))
        return self.table.walk.end if isinstance(self.table.walk.end, Truncated) else None

    # --- references ------------------------------------------------------------------------------------------------

    @property
    def offset_table(self) -> OffsetTable:
        offsets = self.offsets

        def read(first: int, last: int) -> NDArray[Any]:
            span = offsets.span(first, last)
            return OFFSET.read(self.source.read(span.start, span.stop), count=last - first)

        return OffsetTable(offsets.start, offsets.count, len(self.table), offsets.area, read)

    def links(self) -> Iterator[Links]:
        """Yield references to the chunks: each from its offset slot, or else from the header of the chunk before it."""
        table = self.table
        if not table.loaded:
            return
        numbers = np.flatnonzero(table.places != UNKNOWN)
        starts = table.places[numbers]
        stops = table.area.stops(starts, table.headers[numbers]) + table.area.digest

        def pointer(at: int) -> tuple[Span, str]:
            number = int(numbers[at])
            if self.offsets.place(self.source, number) == starts[at]:
                return self.offsets.slot(number), f"Slot {number} of the offsets contains the offset of chunk {number}."
            if number == 0 or table.places[number - 1] == UNKNOWN:
                return self.header.record.span(""), "The first chunk follows the header."
            before = blosc_header_span(int(table.places[number - 1]))
            return before, f"The length in chunk {number - 1} gives the start of chunk {number}."

        yield Links(starts, stops, pointer)

    # --- metadata --------------------------------------------------------------------------------------------------

    def metadata_text(self) -> bytes:
        """Return the uncompressed metadata text; empty if the file has no metadata section."""
        metadata = self.metadata
        if metadata is None:
            return b""
        stored = metadata.stored
        return self._text.get(lambda: decode_metadata(metadata, self.source.read(stored.start, stored.stop)))

    def metadata_value(self) -> Any:
        """Return the value of the metadata text, parsed once; None without a metadata section."""
        if self.metadata is None:
            return None
        value = self._value.get(self._parsed)
        if isinstance(value, ShardError):
            raise value.with_traceback(None)
        return value

    def _parsed(self) -> Any | ShardError:
        """Return the parsed metadata or its error, for caching; raise a SourceError, as a later read may succeed."""
        assert self.metadata is not None
        try:
            return parse_metadata(self.metadata, self.metadata_text())
        except SourceError:
            raise
        except ShardError as error:
            return detached(error)

    def metadata_problem(self) -> str:
        """Return the error message if the checksum of the metadata differs; otherwise an empty string."""
        metadata = self.metadata
        if metadata is None:
            return ""
        stored, digest = metadata.stored, metadata.digest
        data = self.source.read(stored.start, digest.stop)
        return metadata.digest_problem(data[: stored.size], data[digest.start - stored.start :])
