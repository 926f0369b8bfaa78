"""The chunk that is drawn: that of a lookup, or chunk 0, with its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, LimitExceeded
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap, map_chunk, read_chunk_header
from shardcore.formats.bloscpack.content import Stored
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import UNKNOWN, Flag
from shardcore.model.drawing import Control, ControlKind, chosen
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural
from shardcore.shards.cache import LruCache
from shardcore.shards.trace import FOUND, Step, Trace

MOST_READ = 1 << 26
"""Largest chunk whose blocks are drawn, in stored bytes; also the size of each cache."""
MOST_PLAIN = 1 << 28
"""Largest chunk that is decompressed for a drawing, in uncompressed bytes."""

_CHUNK_DOC = "Number of the chunk. Reset returns to the chunk of the lookup."
_BLOCK_DOC = "Number of the block; the last block if the chunk has fewer."


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """Chunk whose location and sizes are known from its Blosc header alone."""

    number: int
    place: int
    header: ChunkHeader
    stop: int
    plain: int

    @property
    def span(self) -> Span:
        return Span("", self.place, self.stop)


class ChunkScene:
    """Reads the chunk that the sketches draw."""

    def __init__(
        self,
        opened: Callable[[], BloscpackFile],
        trace: Trace | None,
        *,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._opened = opened
        self._ready = ready
        self.trace = trace
        self._stored: LruCache[int, Stored] = LruCache(MOST_READ)
        self._plain: LruCache[int, bytes] = LruCache(MOST_READ)

    @property
    def file(self) -> BloscpackFile:
        return self._opened()

    # --- the lookup --------------------------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        steps = self._steps_with("chunk", found=True)
        return int(steps[-1].values["chunk"]) if steps else 0

    @property
    def within(self) -> int | None:
        steps = self._steps_with("within", found=True)
        return int(steps[-1].values["within"]) if steps else None

    @property
    def arrived(self) -> Step | None:
        """Step of the lookup that gave the chunk of an uncompressed byte; in a column, its file."""
        steps = self._steps_with("within", found=True)
        return steps[0] if steps else None

    @property
    def element(self) -> Step | None:
        steps = self._steps_with("itemsize", found=True)
        return steps[0] if steps else None

    def _steps_with(self, name: str, *, found: bool) -> list[Step]:
        if self.trace is None or (found and self.trace.outcome != FOUND):
            return []
        return [step for step in self.trace.steps if name in step.values]

    # --- controls ----------------------------------------------------------------------------------------------------

    def controls(self) -> tuple[Control, ...]:
        """Return sliders for chunk and block, without those whose range has not been read yet."""
        found = []
        if (chunks := self._known_chunks()) > 1:
            found.append(
                Control("chunk", "Chunk", ControlKind.SLIDER, self.chunk, 0, chunks - 1, doc=_CHUNK_DOC, follows="row")
            )
        if (blocks := self._known_blocks()) > 1:
            found.append(Control("block", "Block", ControlKind.SLIDER, self._block(), 0, blocks - 1, doc=_BLOCK_DOC))
        return tuple(found)

    def chosen(self, controls: tuple[Control, ...], values: Mapping[str, Any]) -> tuple[int, int]:
        now = chosen(controls, values)
        return now.get("chunk", self.chunk), now.get("block", self._block())

    @property
    def shuffled(self) -> bool:
        """True if the chunk of the lookup is shuffled, or if that is not known yet, because most writers shuffle."""
        if steps := self._steps_with("blocksize", found=False):
            flags = int(str(steps[-1].values["flags"]), 2)
            shuffled = flags & (Flag.BYTE_SHUFFLE | Flag.MEMCPYED) == Flag.BYTE_SHUFFLE
            return shuffled and steps[-1].values["typesize"] > 1
        if not self._ready() or not self.file.table.loaded or self.chunk >= len(self.file.table):
            return True
        return self.file.table.header(self.chunk).filter_name == "shuffle"

    def _known_chunks(self) -> int:
        if not self._ready():
            return 0
        table = self.file.table
        return len(table) if table.loaded or self.file.header.nchunks != UNKNOWN else 0

    def _known_blocks(self) -> int:
        numbers = self._header_numbers()
        if numbers is None or not numbers[1]:
            return 0
        return -(-numbers[0] // numbers[1])

    def _block(self) -> int:
        numbers, within = self._header_numbers(), self.within
        return within // numbers[1] if numbers is not None and numbers[1] and within is not None else 0

    def _header_numbers(self) -> tuple[int, int] | None:
        """Return uncompressed size and blocksize of the chunk of the lookup; blocksize 0 for a memcpy."""
        steps = self._steps_with("blocksize", found=False)
        if steps:
            values = steps[-1].values
            copied = int(str(values["flags"]), 2) & Flag.MEMCPYED
            return int(values["nbytes"]), 0 if copied else int(values["blocksize"])
        if not self._ready() or not self.file.table.loaded or self.chunk >= len(self.file.table):
            return None
        header = self.file.table.header(self.chunk)
        return header.nbytes, header.blocksize if header.nblocks else 0

    # --- the file ----------------------------------------------------------------------------------------------------

    def placed(self, number: int) -> PlacedChunk:
        """Return a chunk from its Blosc header alone."""
        file = self.file
        table, source = file.table, file.source
        place = table.place(number)
        if table.loaded and table.places[number] == place:
            header = table.header(number)
        else:
            raw = source.read(place, min(place + HEADER_SIZE, source.size))
            header = read_chunk_header(raw, place=Span("", place, source.size))
        stop = min(place + header.ctbytes + file.header.checksum.size, source.size)
        return PlacedChunk(number, place, header, stop, self._plain_start(number))

    def around(self, number: int, most: int) -> list[PlacedChunk]:
        """Return a chunk and its neighbours, at most `most`, up to the first chunk on each side that is not found."""
        count = self._known_chunks() or number + 1
        first = max(min(number - most // 2, count - most), 0)
        found = [self.placed(number)]
        try:
            for before in range(number - 1, first - 1, -1):
                found.insert(0, self.placed(before))
        except (FormatError, KeyAbsent):
            pass  # the chunks before are not drawn
        try:
            for after in range(number + 1, min(first + most, count)):
                found.append(self.placed(after))
        except (FormatError, KeyAbsent):
            pass
        return found

    def _plain_start(self, number: int) -> int:
        if (size := self.file.header.chunk_size) > 0 and not self.file.table.loaded:
            return number * size
        return int(self.file.content.starts()[number])

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
