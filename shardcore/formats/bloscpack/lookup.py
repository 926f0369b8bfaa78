"""Lookup of a key: its steps and their results, which `trace_steps.py` describes in sentences.

Keys: `5` is chunk 5, `@1000` the chunk with uncompressed byte 1000, `[3,4]` the chunk with that element of the array,
and `all` the whole content.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import KeyAbsent, UsageError
from shardcore.formats.bloscpack.blosc1 import ChunkMap, map_chunk
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import OFFSET, UNKNOWN, Checksum, blosc_header_span
from shardcore.formats.bloscpack.metadata import array_info
from shardcore.formats.bloscpack.objects import BloscpackObjects
from shardcore.model.content_layout import ArrayLayout
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import plural, short
from shardcore.sources.base import Source

if TYPE_CHECKING:
    from shardcore.formats.bloscpack.bcolz import BcolzColumn, ChunkFile

ALL = "all"
"""The key of the whole content."""
WALK_STEPS = 20
"""Maximum number of chunks of a walk that a trace shows as steps."""

_INDEX = re.compile(r"\[ ?-?[0-9]{1,19}(?: ?, ?-?[0-9]{1,19})* ?\]", re.ASCII)


class KeyKind(Enum):
    CHUNK = ""
    BYTE = "@"
    ELEMENT = "["
    ALL = ALL


@dataclass(frozen=True, slots=True)
class BloscpackKey:
    """Parsed key.

    Attributes:
        kind: Form of the key.
        number: Chunk number, or offset of the uncompressed byte; 0 for other kinds.
        index: Index of the element along each axis; empty for other kinds.
    """

    kind: KeyKind
    number: int = 0
    index: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.kind is KeyKind.ELEMENT:
            return _index_text(self.index)
        return ALL if self.kind is KeyKind.ALL else f"{self.kind.value}{self.number}"


def parse_key(text: str) -> BloscpackKey:
    """Parse a key; raise UsageError if it has none of the four forms."""
    if text == ALL:
        return BloscpackKey(KeyKind.ALL)
    if _INDEX.fullmatch(text):
        return BloscpackKey(KeyKind.ELEMENT, index=tuple(map(int, text[1:-1].split(","))))
    digits = text.removeprefix("@")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
        forms = "a chunk number, `@` with the offset of an uncompressed byte, `[i,j]` for an element, or `all`"
        raise UsageError(f"invalid key {short(text)}: a key of a bloscpack file is {forms}")
    return BloscpackKey(KeyKind.BYTE if text.startswith("@") else KeyKind.CHUNK, int(digits))


@dataclass(frozen=True, slots=True)
class Element:
    """Element with its number in the uncompressed content.

    Attributes:
        number: Number of the element in storage order.
        itemsize: Bytes of an element.
        how: Sentence that shows the computation of the number, without a full stop.
    """

    number: int
    itemsize: int
    how: str

    @property
    def byte(self) -> int:
        return self.number * self.itemsize


def element_at(index: tuple[int, ...], array: ArrayLayout) -> Element:
    """Return the element at `index` of an array; negative numbers count from the end, as in NumPy."""
    shape, key = array.shape, _index_text(index)
    sizes = " × ".join(map(str, shape)) or "a single number"
    if len(index) != len(shape):
        axes = plural(len(shape), "axis", "axes")
        raise UsageError(f"the array has {axes}, {sizes}, but {key} has {len(index)}: give one number per axis")
    places = [at + length if at < 0 else at for at, length in zip(index, shape, strict=True)]
    if any(not 0 <= at < length for at, length in zip(places, shape, strict=True)):
        raise KeyAbsent(key, f"there is no element {key}; the array is {sizes}")
    axes_below = (shape[axis + 1 :] if array.order == "C" else shape[:axis] for axis in range(len(shape)))
    strides = [math.prod(below) for below in axes_below]
    number = sum(at * stride for at, stride in zip(places, strides, strict=True))
    # The factor of the fastest axis is 1, so it is not shown.
    terms = " + ".join(f"{at} × {step}" if step != 1 else f"{at}" for at, step in zip(places, strides, strict=True))
    how = f"{terms} = {number}" if len(shape) > 1 else f"{number}"
    return Element(number, array.dtype.itemsize, f"Element {key} of {sizes} is number {how}, in {array.order} order")


def element_of(index: tuple[int, ...], typesize: int, size: int) -> Element:
    """Return an element of a content that is not described as an array; `typesize` 0 or `size` -1 means unknown."""
    key = _index_text(index)
    if not typesize:
        raise UsageError(f"{key}: version 1 does not store the size of an element; look up a byte instead, such as @8")
    if len(index) != 1 or index[0] < 0:
        raise UsageError(f"{key}: the file describes no array, so use a single number from 0, such as [7]")
    number = index[0]
    if size >= 0 and (number + 1) * typesize > size:
        count = plural(size // typesize, "element")
        raise KeyAbsent(key, f"there is no element {key}; the content has {count} of {plural(typesize, 'byte')}")
    return Element(number, typesize, f"Element {number} of the content, by the header's typesize")


def _index_text(index: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, index))}]"


@dataclass(frozen=True, slots=True)
class FileOpened:
    """Step of a lookup: the file was opened, and its headers were read."""

    file: BloscpackFile


@dataclass(frozen=True, slots=True)
class WholeContent:
    """Step of a lookup of all chunks; `size` is the uncompressed size, -1 if unknown, None for a bcolz column."""

    spans: tuple[Span, ...]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ElementByte:
    """Step of a lookup: the requested element, or the error if there is none; `places` contain shape or typesize."""

    found: Element | KeyAbsent
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ByteChunk:
    """Step of a lookup: the chunk with uncompressed byte `offset` and the offset in it, or the error if there is none.

    `chunk_size` is not positive if unknown; `size` is the uncompressed size of the whole content, -1 if unknown.
    """

    offset: int
    found: tuple[int, int] | KeyAbsent
    inputs: tuple[Span, ...]
    chunk_size: int
    size: int
    read: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class NoChunk:
    chunks: int
    inputs: tuple[Span, ...]
    owner: str = "file"


@dataclass(frozen=True, slots=True)
class SlotRead:
    """Step of a lookup: the offset slot of a chunk, at byte `at`; `valid` if the chunk can begin at `offset`."""

    at: int
    number: int
    offset: int
    valid: bool

    @property
    def span(self) -> Span:
        return OFFSET.span("", self.at)


@dataclass(frozen=True, slots=True)
class ChunkWalked:
    """Step of a lookup without offsets: a reader walks past the chunk at `place` to the next one at `after`."""

    number: int
    place: int
    after: int
    digest: int


@dataclass(frozen=True, slots=True)
class HeaderRead:
    stored: Stored


@dataclass(frozen=True, slots=True)
class ChecksumCompared:
    stored: Stored
    checksum: Checksum
    computed: bytes


@dataclass(frozen=True, slots=True)
class BlockFound:
    """Step of a lookup: the block that contains the uncompressed byte `within` of the chunk."""

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
        return self.map.block_span(self.block, self.stored.span.start)


@dataclass(frozen=True, slots=True)
class ByteDecoded:
    """Step of a lookup: the value of the uncompressed byte `within` of the chunk; `spans` are its stored bytes."""

    stored: Stored
    within: int
    value: int
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class ChunkFound:
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class ContentFile:
    """Step of a lookup in a folder of `files` files: the file with the key as name; `span` is None if it is missing."""

    name: str
    span: Span | None
    files: int


@dataclass(frozen=True, slots=True)
class ColumnRead:
    column: BcolzColumn


@dataclass(frozen=True, slots=True)
class PastColumn:
    """Step of a lookup: the requested uncompressed byte is after the end of the column."""

    column: BcolzColumn


@dataclass(frozen=True, slots=True)
class ColumnFile:
    column: BcolzColumn
    file: ChunkFile


@dataclass(frozen=True, slots=True)
class TableRead:
    """Step of a lookup: the column names of a table, the requested name, and the location of the list of names."""

    names: tuple[str, ...]
    key: str
    place: Span


@dataclass(frozen=True, slots=True)
class TableColumn:
    column: BcolzColumn


Route = FileOpened | WholeContent | ElementByte | ByteChunk | NoChunk | SlotRead | ChunkWalked
Decoding = HeaderRead | ChecksumCompared | BlockFound | ByteDecoded
Fact = Route | ObjectRef | Decoding | ChunkFound


T = TypeVar("T")


def attempt(find: Callable[[], T]) -> T | KeyAbsent:
    """Call `find` and return its result; return its KeyAbsent error instead of raising it."""
    try:
        return find()
    except KeyAbsent as error:
        return error


class BloscpackLookup:
    def __init__(self, file: BloscpackFile, objects: BloscpackObjects) -> None:
        self._file = file
        self._header = file.header
        self._content = file.content
        self._objects = objects

    parse = staticmethod(parse_key)

    def walk(self, key: BloscpackKey, source: Source) -> Iterator[Fact]:
        """Yield the steps from a key to its chunk, then those that decode the requested byte, if a byte was requested.

        Raises:
            KeyAbsent: There is no such chunk, byte or element.
            FormatError: A part of the file that the lookup reads is damaged.
        """
        yield FileOpened(self._file)
        if key.kind is KeyKind.ALL:
            ref = self._whole()
            yield WholeContent(ref.spans, ref.size)
            yield ref
            return
        number, within = key.number, None
        if key.kind is KeyKind.ELEMENT:
            metadata = self._file.metadata
            places = self._fields("typesize") if metadata is None else (metadata.stored,)
            element = ElementByte(attempt(lambda: self._element(key)), places)
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
        yield from self._place(number, source)
        if within is None and number >= 2**63:
            raise KeyAbsent(str(key))
        ref = self._objects.chunk(number)
        yield ref
        yield from self._chunk(self._content.stored(number, source), within)
        yield ChunkFound(ref)

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

    def _byte_chunk(self, offset: int) -> ByteChunk:
        found = attempt(lambda: self._content.locate(offset))
        size, total = self._header.chunk_size, self._header.plain_size
        unsized = size <= 0 or isinstance(found, KeyAbsent)
        places = self._file.table.places[:WALK_STEPS].tolist() if unsized and total == UNKNOWN else ()
        read = tuple(blosc_header_span(place) for place in places if place != UNKNOWN)
        return ByteChunk(offset, found, self._fields("chunk_size", "last_chunk", "nchunks"), size, total, read)

    def _fields(self, *names: str) -> tuple[Span, ...]:
        """Return the spans of the header fields `names` that the version of the file has."""
        record = self._header.record
        return tuple(record.span(name) for name in names if name in record.offsets)

    def _place(self, number: int, source: Source) -> Iterator[Route]:
        table, offsets = self._file.table, self._file.offsets
        if number >= max(len(table), self._header.nchunks) and (table.loaded or self._header.nchunks != UNKNOWN):
            yield NoChunk(len(table), self._fields("nchunks"))
            raise KeyAbsent(str(number), f"there is no chunk {number}; the file has {plural(len(table), 'chunk')}")
        if number < offsets.used:
            slot = int(offsets.read(source, number, number + 1)[0])
            valid = bool(offsets.is_valid(slot)) and table.known_at(number) in (slot, UNKNOWN)
            yield SlotRead(offsets.slot(number).start, number, slot, valid)
            if valid and table.place(number, source) == slot:
                return
        table.place(number, source)
        places = table.walk.places
        steps = list(range(min(number, len(places) - 1)))
        if len(steps) > WALK_STEPS:
            steps = [*steps[: WALK_STEPS // 2], *steps[-(WALK_STEPS // 2) :]]
        for chunk in steps:
            yield ChunkWalked(chunk, places[chunk], places[chunk + 1], self._header.checksum.size)

    def _chunk(self, stored: Stored, within: int | None) -> Iterator[Decoding]:
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
