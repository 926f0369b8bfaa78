"""Locations of the chunks: from the offsets, else by walking from chunk to chunk.

The header of a chunk has its length, its checksum has a fixed length, and the next chunk follows. Offsets are
therefore a shortcut. They may be missing, -1 (an aborted writer) or wrong; then the walk decides.
"""

from __future__ import annotations

import threading
from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, Truncated
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, read_chunk_header
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, UNKNOWN, ChunkArea, blosc_header_span
from shardcore.formats.bloscpack.offsets import Slots
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

WALK_WINDOW = 65536
"""Bytes that the walk reads at a time while chunks are small."""
SMALL_CHUNK = 8192
_STORED_AT = CHUNK_HEADER.offsets["ctbytes"]
BATCH = 4096
"""Headers read at a time."""


class ChunkWalk:
    """Chunks found by following their lengths from the first on, as far as requested. Thread-safe.

    Attributes:
        places: Offset of each chunk.
        headers: Their headers, concatenated.
        next: Offset of the next chunk.
        end: Error that ended the walk.
        cut: True if the walk ended at fewer bytes than a header has.
    """

    def __init__(self, area: ChunkArea) -> None:
        self._area = area
        self._lock = threading.Lock()
        self.places = array("q")
        self.headers = bytearray()
        self.next = area.first
        self.end: FormatError | None = None
        self.cut = False

    @property
    def done(self) -> bool:
        if self._area.nchunks == UNKNOWN:
            return self.end is not None or self.next == self._area.size
        return self.end is not None or len(self.places) >= self._area.nchunks

    def to(self, source: Source, chunk: int, progress: Progress = no_progress) -> None:
        at, window = UNKNOWN, b""
        while (wanted := self._advance(chunk, at, window)) is not None:
            at, stop = wanted
            window = source.read(at, stop) if stop > at else b""
            progress(min(at, self._area.size), self._area.size)

    def _advance(self, chunk: int, start: int, window: bytes) -> tuple[int, int] | None:
        """Add the chunks with headers in `window`, read from `start` on; return the next range to read, or None."""
        with self._lock:
            while len(self.places) <= chunk and not self.done:
                self._take_many(chunk, start, window)
                if len(self.places) > chunk or self.done:
                    break
                inside = self.next - start
                if start != UNKNOWN and 0 <= inside <= len(window) - HEADER_SIZE:
                    self._take(window[inside : inside + HEADER_SIZE], self.next)
                elif inside == 0:
                    self._stop_short()
                else:
                    return self._wanted()
        return None

    def _take_many(self, chunk: int, start: int, window: bytes) -> None:
        """Add the chunks that are wholly in the window, up to the first irregular one; faster than `_take` for each."""
        area = self._area
        most = chunk + 1 if area.nchunks == UNKNOWN else min(chunk + 1, area.nchunks)
        at, last, digest = self.next - start, len(window) - HEADER_SIZE, area.digest
        if start == UNKNOWN or at < 0 or self.end is not None:
            return
        room, first = most - len(self.places), at
        found: list[int] = []
        while at <= last and len(found) < room:
            stored = int.from_bytes(window[at + _STORED_AT : at + HEADER_SIZE], "little")
            if stored < HEADER_SIZE or at + stored + digest > len(window):
                break
            found.append(at)
            at += stored + digest
        if not found or first < 0:
            return
        places = np.array(found, np.int64)
        self.places.extend((places + start).tolist())
        rows = np.frombuffer(window, np.uint8)[places[:, None] + np.arange(HEADER_SIZE)]
        self.headers += rows.tobytes()
        self.next = start + at

    def _wanted(self) -> tuple[int, int]:
        at = self.next
        small = len(self.places) > 0 and at - self.places[-1] <= SMALL_CHUNK
        return at, min(at + (WALK_WINDOW if small else HEADER_SIZE), self._area.size)

    def _stop_short(self) -> None:
        at, size = self.next, self._area.size
        self.cut = at < size
        message = f"chunk {len(self.places)} should begin at byte {at:#x}; the file ends at {size:#x}"
        self.end = Truncated(message, span=Span("", at, max(at, size)))

    def _take(self, raw: bytes, at: int) -> None:
        number, stored = len(self.places), read_chunk_header(raw).ctbytes
        self.places.append(at)
        self.headers += raw
        self.next = at + stored + self._area.digest
        if stored < HEADER_SIZE:
            self.end = FormatError(
                f"ctbytes of chunk {number} is {stored}, less than its header: later chunks cannot be found",
                span=blosc_header_span(at),
            )
        else:
            self.end = self._area.truncated(number, at, stored)


@dataclass(frozen=True, slots=True, eq=False)
class AllChunks:
    """Offsets and headers of all chunks of a file."""

    places: NDArray[np.int64]
    headers: NDArray[Any]

    @property
    def found(self) -> int:
        return int((self.places != UNKNOWN).sum())


_NONE = AllChunks(np.zeros(0, np.int64), np.zeros(0, CHUNK_HEADER.dtype))


class ChunkTable:
    """Locations and headers of all chunks. Thread-safe.

    Before `load` each is read on request, through the offsets or the walk; `load` reads every header.
    """

    def __init__(self, source: Source, area: ChunkArea, slots: Slots | None) -> None:
        self.source = source
        self.area = area
        self.slots = slots
        self.walk = ChunkWalk(area)
        self._all: Once[AllChunks] = Once()

    def __len__(self) -> int:
        """Number of rows; chunks that the header counts but the file does not contain are damaged rows."""
        if self.loaded or self.area.nchunks == UNKNOWN:
            return len(self.places)
        return self.area.most

    @property
    def loaded(self) -> bool:
        return self._all.value is not None

    @property
    def places(self) -> NDArray[np.int64]:
        return (self._all.value or _NONE).places

    @property
    def headers(self) -> NDArray[Any]:
        return (self._all.value or _NONE).headers

    def place(self, chunk: int, source: Source | None = None) -> int:
        """Return the offset of a chunk in the file."""
        if (slot := self.slot_place(chunk, source)) != UNKNOWN:
            return slot
        if self.loaded and chunk < len(self.places) and self.places[chunk] != UNKNOWN:
            return int(self.places[chunk])
        return self.walked(chunk, source)

    def known_at(self, chunk: int) -> int:
        return int(self.places[chunk]) if chunk < len(self.places) else UNKNOWN

    def walked(self, chunk: int, source: Source | None = None) -> int:
        """Return the offset of a chunk as found by the walk, ignoring the offset slots; errors as for `place`."""
        self.walk.to(source or self.source, chunk)
        if chunk < len(self.walk.places):
            return self.walk.places[chunk]
        if self.walk.end is not None and (self.area.nchunks == UNKNOWN or chunk < self.area.nchunks):
            raise FormatError(f"chunk {chunk} cannot be found: {self.walk.end.message}", span=self.walk.end.span)
        raise KeyAbsent(str(chunk), f"there is no chunk {chunk}; the file has {plural(len(self.walk.places), 'chunk')}")

    def slot_place(self, chunk: int, source: Source | None = None) -> int:
        """Return the value in the offset slot of a chunk, before `load`; -1 if it is not valid."""
        if self.loaded or self.slots is None:
            return UNKNOWN
        return self.slots.place(source or self.source, chunk)

    def slot_places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        places = np.full(len(rows), UNKNOWN, np.int64)
        inside = np.flatnonzero(rows < self.slots.count) if self.slots is not None else rows[:0]
        if self.slots is None or not len(inside):
            return places
        low = int(rows[inside].min())
        got = self.slots.read(self.source, low, int(rows[inside].max()) + 1)[rows[inside] - low]
        places[inside] = np.where(self.slots.valid(got), got, UNKNOWN)
        return places

    def header(self, chunk: int) -> ChunkHeader:
        return ChunkHeader(*self.headers[chunk].item())

    def load(self, progress: Progress = no_progress, source: Source | None = None) -> None:
        """Read the headers of all chunks; chunks that are not found get offset -1, and no error is raised."""
        self._all.get(lambda: self._read_all(source or self.source, progress))

    def _read_all(self, source: Source, progress: Progress) -> AllChunks:
        use_slots = self.slots is not None and self.slots.used and self.slots.ascending
        chunks = self._from_slots(source, progress) if use_slots else self._from_walk(source, progress)
        if self.slots is None or self._is_chained(chunks):
            return chunks
        # The offsets contradict the chunks; a walk without an error takes precedence.
        walked = self._from_walk(source, progress)
        return walked if walked.found >= chunks.found and self.walk.end is None else chunks

    def _is_chained(self, chunks: AllChunks) -> bool:
        if not len(chunks.places):
            return True
        ends = chunks.places + chunks.headers["ctbytes"].astype(np.int64) + self.area.digest
        return bool((chunks.places == np.append(self.area.first, ends)[:-1]).all())

    def _from_slots(self, source: Source, progress: Progress) -> AllChunks:
        assert self.slots is not None
        count = self.area.most
        known = min(self.slots.count, count)
        places = np.full(count, UNKNOWN, np.int64)
        places[:known] = self.slots.read(source, 0, known)
        places[~self.slots.valid(places)] = UNKNOWN
        headers = np.zeros(count, CHUNK_HEADER.dtype)
        given = np.flatnonzero(places != UNKNOWN)
        for batch in np.array_split(given, max(-(-len(given) // BATCH), 1)):
            headers[batch] = _headers_at(source, places[batch])
            progress(int(batch[-1]) + 1 if len(batch) else 0, count)
        for chunk in np.flatnonzero(places == UNKNOWN).tolist():
            place = self._behind(places, headers, chunk)
            if self.area.allows(place):
                places[chunk] = place
                headers[chunk] = _headers_at(source, np.array([place]))[0]
        return AllChunks(places, headers)

    def _behind(self, places: NDArray[np.int64], headers: NDArray[Any], chunk: int) -> int:
        if chunk == 0:
            return self.area.first
        stored = int(headers["ctbytes"][chunk - 1])
        if places[chunk - 1] == UNKNOWN or stored < HEADER_SIZE:
            return UNKNOWN
        return int(places[chunk - 1]) + stored + self.area.digest

    def _from_walk(self, source: Source, progress: Progress) -> AllChunks:
        self.walk.to(source, 2**63, progress)
        found = len(self.walk.places)
        count = found if self.area.nchunks == UNKNOWN else max(self.area.most, found)
        if self.area.nchunks == UNKNOWN and self.walk.cut:
            count += 1  # the incomplete header at the end
        # Views without a copy are safe: the walk has ended and adds no further chunk.
        walked = np.frombuffer(self.walk.places, np.int64)
        read = CHUNK_HEADER.read(memoryview(self.walk.headers), count=found)
        if count == found:
            return AllChunks(walked, read)
        missing = np.full(count - found, UNKNOWN, np.int64)
        return AllChunks(np.append(walked, missing), np.append(read, np.zeros(count - found, CHUNK_HEADER.dtype)))


def _headers_at(source: Source, places: NDArray[np.int64]) -> NDArray[Any]:
    ranges = [(place, place + HEADER_SIZE) for place in places.tolist()]
    return CHUNK_HEADER.read(b"".join(source.read_many(ranges)), count=len(ranges))
