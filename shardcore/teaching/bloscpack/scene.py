"""Reads the chunk that the Bloscpack drawings show: the chunk of the lookup, or chunk 0; and its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap, map_chunk, read_chunk_header
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import UNKNOWN
from shardcore.formats.bloscpack.lookup import HeaderRead
from shardcore.model.drawing import Control
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.shards.cache import LruCache
from shardcore.shards.trace import FOUND, Step, Trace
from shardcore.teaching import SceneSketch, last_fact, slider

MOST_READ = 1 << 26
"""Largest chunk whose blocks are drawn, in stored bytes; also the size of each cache."""
MOST_PLAIN = 1 << 28
"""Largest chunk that is decompressed for a drawing, in uncompressed bytes."""

_CHUNK_DOC = "Number of the chunk. Reset returns to the chunk of the lookup."
_BLOCK_DOC = "Number of the block; the last block if the chunk has fewer."


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """Location and sizes of a chunk, from its Blosc header; `plain` is its offset in the uncompressed content."""

    number: int
    place: int
    header: ChunkHeader
    stop: int
    plain: int

    @property
    def span(self) -> Span:
        return Span("", self.place, self.stop)


class ChunkScene:
    def __init__(
        self, opened: Callable[[], BloscpackFile], trace: Trace | None, ready: Callable[[], bool] = lambda: True
    ) -> None:
        self._opened = opened
        self._ready = ready
        self.trace = trace
        self._stored: LruCache[int, Stored] = LruCache(MOST_READ)
        self._plain: LruCache[int, bytes] = LruCache(MOST_READ)

    @property
    def file(self) -> BloscpackFile:
        return self._opened()

    @property
    def empty(self) -> bool:
        file = self.file
        return file.header.nchunks == 0 or (file.table.loaded and not len(file.table))

    # --- the lookup --------------------------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        steps = self._found_with("chunk")
        return int(steps[-1].values["chunk"]) if steps else 0

    @property
    def within(self) -> int | None:
        steps = self._found_with("within")
        return int(steps[-1].values["within"]) if steps else None

    @property
    def arrived(self) -> Step | None:
        """First step of the lookup that computes the chunk of an uncompressed byte, or, in a column, its file."""
        return next(iter(self._found_with("within")), None)

    @property
    def element(self) -> Step | None:
        return next(iter(self._found_with("itemsize")), None)

    def _found_with(self, name: str) -> list[Step]:
        trace = self.trace
        if trace is None or trace.outcome != FOUND:
            return []
        return [step for step in trace.steps if name in step.values]

    def _header(self) -> ChunkHeader | None:
        """Return the header of the chunk of the lookup; None if it has not been read yet."""
        if (read := last_fact(self.trace, HeaderRead)) is not None:
            return read.stored.header
        known = self._ready() and self.file.table.loaded and self.chunk < len(self.file.table)
        return self.file.table.header(self.chunk) if known else None

    # --- controls ----------------------------------------------------------------------------------------------------

    def controls(self) -> tuple[Control, ...]:
        """Return sliders for chunk and block, without those whose range has not been read yet."""
        found, header = [], self._header()
        if (chunks := self._known_chunks()) > 1:
            found.append(slider("chunk", "Chunk", self.chunk, chunks - 1, _CHUNK_DOC, follows="row"))
        if header is not None and header.nblocks > 1:
            found.append(slider("block", "Block", self._block(), header.nblocks - 1, _BLOCK_DOC))
        return tuple(found)

    def at(self, now: Mapping[str, Any]) -> tuple[int, int]:
        return now.get("chunk", self.chunk), now.get("block", self._block())

    @property
    def shuffled(self) -> bool:
        """True if the chunk of the lookup is shuffled, or if that is not known yet, because most writers shuffle."""
        header = self._header()
        return header is None or header.filter_name == "shuffle"

    def _known_chunks(self) -> int:
        known = self._ready() and (self.file.table.loaded or self.file.header.nchunks != UNKNOWN)
        return len(self.file.table) if known else 0

    def _block(self) -> int:
        header, within = self._header(), self.within
        return within // header.blocksize if header is not None and header.nblocks and within is not None else 0

    # --- the file ----------------------------------------------------------------------------------------------------

    def placed(self, number: int) -> PlacedChunk:
        """Return location and sizes of a chunk; reads its Blosc header, but not its content."""
        file = self.file
        table, source = file.table, file.source
        place = table.place(number)
        if table.loaded and table.places[number] == place:
            header = table.header(number)
        else:
            raw = source.read(place, min(place + HEADER_SIZE, source.size))
            header = read_chunk_header(raw, place=Span("", place, source.size))
        stop = min(place + header.ctbytes + file.header.checksum.size, source.size)
        each = file.header.chunk_size if not table.loaded else 0
        plain = number * each if each > 0 else int(file.content.starts()[number])
        return PlacedChunk(number, place, header, stop, plain)

    def around(self, number: int, most: int) -> list[PlacedChunk]:
        """Return a chunk and its neighbours, at most `most`, up to the first chunk on each side that is not found."""
        count = self._known_chunks() or number + 1
        first = max(min(number - most // 2, count - most), 0)
        before = self._readable(range(number - 1, first - 1, -1))
        return [*reversed(before), self.placed(number), *self._readable(range(number + 1, min(first + most, count)))]

    def _readable(self, numbers: range) -> list[PlacedChunk]:
        found = []
        with suppress(FormatError, KeyAbsent):
            for number in numbers:
                found.append(self.placed(number))
        return found

    def stored(self, number: int) -> Stored:
        """Read a chunk; raise LimitExceeded if it has more than `MOST_READ` stored bytes."""
        if (kept := self._stored.get(number)) is not None:
            return kept
        placed = self.placed(number)
        if placed.header.ctbytes > MOST_READ:
            size = plural(placed.header.ctbytes, "stored byte")
            text = f"chunk {number} has {size}; blocks are drawn only up to {grouped_digits(MOST_READ)}"
            raise LimitExceeded(text, span=Span("", placed.place, placed.stop))
        stored = self.file.content.stored(number)
        return self._stored.put(number, stored, max(len(stored.chunk), 1))

    def mapped(self, number: int) -> ChunkMap:
        stored = self.stored(number)
        return map_chunk(stored.chunk, limit=2**32, place=stored.span)

    def plain(self, number: int) -> bytes:
        if (kept := self._plain.get(number)) is not None:
            return kept
        data = self.file.content.decoded(self.stored(number), limit=MOST_PLAIN)
        return self._plain.put(number, data, max(len(data), 1))


class ChunkSketch(SceneSketch[ChunkScene]):
    more: tuple[Control, ...] = ()

    @property
    def controls(self) -> tuple[Control, ...]:
        return (*self._scene.controls(), *self.more)
