"""From the number of a chunk, a byte or an element to a chunk; the sentences are in `trace_steps.py`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import KeyAbsent
from shardcore.formats.bloscpack.arrays import Element, array_info, element_at, element_of
from shardcore.formats.bloscpack.bcolz import BcolzColumn
from shardcore.formats.bloscpack.blosc1 import ChunkMap, map_chunk
from shardcore.formats.bloscpack.checksums import Checksum
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.keys import ALL, BloscpackKey, KeyKind, parse_key
from shardcore.formats.bloscpack.layout import UNKNOWN, blosc_header_span
from shardcore.formats.bloscpack.objects import BloscpackObjects
from shardcore.formats.bloscpack.offsets import Slots
from shardcore.model.number_text import plural
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.sources.base import Source

WALK_STEPS = 20
"""Maximum number of chunks of a walk that a trace shows as steps."""


@dataclass(frozen=True, slots=True)
class FileOpened:
    """The headers, which opening has read."""

    file: BloscpackFile


@dataclass(frozen=True, slots=True)
class WholeContent:
    """All chunks; `size` is their uncompressed size, -1 if unknown."""

    spans: tuple[Span, ...]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ElementByte:
    """The first byte of an element, or the error of an element that does not exist; `places` give shape or typesize."""

    found: Element | KeyAbsent
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ByteChunk:
    """The chunk with an uncompressed byte, or the error of a byte after the end; `chunk_size` <= 0 if unknown."""

    offset: int
    found: tuple[int, int] | KeyAbsent
    read: tuple[Span, ...]
    inputs: tuple[Span, ...]
    chunk_size: int
    size: int


@dataclass(frozen=True, slots=True)
class NoChunk:
    chunks: int
    inputs: tuple[Span, ...]
    owner: str


@dataclass(frozen=True, slots=True)
class SlotRead:
    """The slot of a chunk in the offsets; `valid` if a chunk begins at its offset."""

    slots: Slots
    number: int
    offset: int
    valid: bool


@dataclass(frozen=True, slots=True)
class ChunkWalked:
    """A chunk at `place` that a reader without offsets walks past, to `after`."""

    number: int
    place: int
    after: int
    digest: int


@dataclass(frozen=True, slots=True)
class HeaderRead:
    """The Blosc header of the chunk."""

    stored: Stored


@dataclass(frozen=True, slots=True)
class ChecksumCompared:
    stored: Stored
    checksum: Checksum
    computed: bytes


@dataclass(frozen=True, slots=True)
class BlockFound:
    """The block with byte `within` of the chunk."""

    stored: Stored
    map: ChunkMap
    block: int
    within: int

    @property
    def start(self) -> int:
        """Offset of the block in the chunk."""
        return int(self.map.starts[self.block])

    @property
    def span(self) -> Span:
        start = self.stored.span.start
        return Span("", start + self.start, start + self.map.block_stop(self.block))


@dataclass(frozen=True, slots=True)
class ByteDecoded:
    """The value of byte `within` of the chunk, decompressed from `spans`."""

    stored: Stored
    within: int
    value: int
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ChunkFound:
    ref: ObjectRef
    number: int
    place: int


@dataclass(frozen=True, slots=True)
class ContentFile:
    """The file of a key in a folder of files; `span` is None if there is no such file, `files` are counted."""

    name: str
    span: Span | None
    files: int


@dataclass(frozen=True, slots=True)
class ColumnRead:
    column: BcolzColumn
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ColumnByte:
    """The chunk of a column with an uncompressed byte; `found` is None for a byte after its end."""

    column: BcolzColumn
    offset: int
    found: tuple[int, int] | None
    inputs: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ColumnFile:
    chunk: int
    name: str
    inputs: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class TableRead:
    """The list of the columns of a table, and whether the key is one of them."""

    names: tuple[str, ...]
    key: str
    place: Span


@dataclass(frozen=True, slots=True)
class TableColumn:
    column: BcolzColumn
    files: int


Fact = (
    FileOpened
    | WholeContent
    | ElementByte
    | ByteChunk
    | NoChunk
    | SlotRead
    | ChunkWalked
    | ObjectRef
    | HeaderRead
    | ChecksumCompared
    | BlockFound
    | ByteDecoded
    | ChunkFound
)


class BloscpackLookup:
    def __init__(self, file: BloscpackFile, objects: BloscpackObjects) -> None:
        self._file = file
        self._header = file.header
        self._content = file.content
        self._objects = objects

    def parse(self, text: str) -> BloscpackKey:
        return parse_key(text)

    def walk(self, key: BloscpackKey, source: Source) -> Iterator[Fact]:
        """Yield what a reader meets on the way to a chunk, then how it decodes the requested byte.

        Raises:
            KeyAbsent: There is no such chunk, byte or element.
            FormatError: The file is damaged on the way.
        """
        yield FileOpened(self._file)
        if key.kind is KeyKind.ALL:
            ref = self._whole()
            yield WholeContent(ref.spans, ref.size)
            yield ref
            return
        number, within = key.number, None
        if key.kind is KeyKind.ELEMENT:
            element = self._element_byte(key)
            yield element
            if isinstance(element.found, KeyAbsent):
                raise element.found
            number = element.found.byte
        if key.kind is not KeyKind.CHUNK:
            chunk = self._byte_chunk(number)
            yield chunk
            if isinstance(chunk.found, KeyAbsent):
                raise chunk.found
            number, within = chunk.found
        place = yield from self._place(number, source)
        if within is None and number >= 2**63:
            raise KeyAbsent(str(key))
        ref = self._objects.chunk(number)
        yield ref
        yield from self._chunk(self._content.stored(number, source), within)
        yield ChunkFound(ref, number, place)

    def find_many(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of many keys; -1 for a key that is not found, and for `all`, which is not a row."""
        rows = np.full(len(texts), -1, np.int64)
        if self._header.nchunks == UNKNOWN:
            self._file.load()
        count = len(self._file.table)
        for number, key in enumerate(map(self.parse, texts)):
            if key.kind is KeyKind.CHUNK:
                rows[number] = key.number if key.number < count else -1
            elif key.kind is not KeyKind.ALL:
                try:
                    byte = self._element(key).byte if key.kind is KeyKind.ELEMENT else key.number
                    rows[number] = self._content.locate(byte)[0]
                except KeyAbsent:
                    continue
        return rows

    def _whole(self) -> ObjectRef:
        area = self._file.table.area
        size = int(self._content.starts()[-1]) if self._file.table.loaded else self._header.plain_size
        span = Span("", min(area.first, area.size), area.size)
        return ObjectRef(ALL, -1, (span,), size, span.size, codec="blosc", kind="content")

    def _element(self, key: BloscpackKey) -> Element:
        array = array_info(self._file.metadata_value())
        if array is not None:
            return element_at(key.index, array)
        return element_of(key.index, self._header.typesize, self._header.plain_size)

    def _element_byte(self, key: BloscpackKey) -> ElementByte:
        metadata = self._file.metadata
        places = (metadata.stored,) if metadata is not None else ()
        if metadata is None and self._header.typesize:
            places = (self._header.field_span("typesize"),)
        try:
            return ElementByte(self._element(key), places)
        except KeyAbsent as error:
            return ElementByte(error, places)

    def _byte_chunk(self, offset: int) -> ByteChunk:
        size, found = self._header.chunk_size, None
        try:
            found = self._content.locate(offset)
        except KeyAbsent as error:
            return ByteChunk(offset, error, self._sizes_read, self._sizes_at(), size, self._header.plain_size)
        read = self._sizes_read if size <= 0 else ()
        return ByteChunk(offset, found, read, self._sizes_at(), size, self._header.plain_size)

    def _sizes_at(self, *names: str) -> tuple[Span, ...]:
        """Return the spans of the header fields `names`; by default those with the sizes and number of chunks."""
        record = self._header.record
        wanted = [name for name in names or ("chunk_size", "last_chunk", "nchunks") if name in record.offsets]
        return tuple(self._header.field_span(name) for name in wanted)

    @property
    def _sizes_read(self) -> tuple[Span, ...]:
        places = self._file.table.places[:WALK_STEPS].tolist() if self._header.plain_size == UNKNOWN else ()
        return tuple(blosc_header_span(place) for place in places if place != UNKNOWN)

    def _place(self, number: int, source: Source) -> Generator[Fact, None, int]:
        """Yield how the chunk is located; return its offset."""
        table, slots = self._file.table, self._file.table.slots
        if number >= max(len(table), self._header.nchunks) and (table.loaded or self._header.nchunks != UNKNOWN):
            yield NoChunk(len(table), self._sizes_at("nchunks"), "file")
            raise KeyAbsent(str(number), f"there is no chunk {number}; the file has {plural(len(table), 'chunk')}")
        if slots is not None and number < slots.count:
            slot = int(slots.read(source, number, number + 1)[0])
            valid = slots.is_valid(slot) and table.known_at(number) in (slot, UNKNOWN)
            yield SlotRead(slots, number, slot, valid)
            if valid and table.place(number, source) == slot:
                return slot
        place = table.place(number, source)
        places = table.walk.places
        steps = list(range(min(number, len(places) - 1)))
        if len(steps) > WALK_STEPS:
            steps = [*steps[: WALK_STEPS // 2], *steps[-(WALK_STEPS // 2) :]]
        for chunk in steps:
            yield ChunkWalked(chunk, places[chunk], places[chunk + 1], self._header.checksum.size)
        return place

    def _chunk(self, stored: Stored, within: int | None) -> Iterator[Fact]:
        yield HeaderRead(stored)
        if stored.digest:
            yield ChecksumCompared(stored, self._header.checksum, self._header.checksum.compute(stored.chunk))
            self._content.check(stored)
        if within is None:
            return
        found, spans = map_chunk(stored.chunk, place=stored.span), (stored.span,)
        if len(found.starts) and within < stored.header.nbytes:
            block = BlockFound(stored, found, within // stored.header.blocksize, within)
            yield block
            spans = (block.span,)
        plain, first = self._content.around(stored, within)
        if within - first < len(plain):
            yield ByteDecoded(stored, within, plain[within - first], spans)
