"""Locations of the chunks: from the offsets, or else by walking from chunk to chunk.

The header of a chunk has its length, its checksum has a fixed length, and the next chunk follows. Offsets
("Description of the offsets entries") are therefore a shortcut. They may be missing, -1 (an aborted writer) or wrong;
then the walk locates the chunks.
"""

from __future__ import annotations

import threading
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, Truncated
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, OFFSET, UNKNOWN, ChunkArea, Header, blosc_header_span
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source

SLOTS_AT_OPEN = 2**19
"""Maximum number of offset slots read when a file is opened; the others are read on request."""
WALK_WINDOW = 65536
"""Bytes that the walk reads at a time while chunks are small."""
SMALL_CHUNK = 8192
BATCH = 4096
"""Number of chunk headers read at a time."""

_STORED_AT = CHUNK_HEADER.offsets["ctbytes"]

I64 = NDArray[np.int64]


class Offsets:
    """The `count` offset slots, between metadata and first chunk: one for each of `used` chunks, then spare ones.

    Attributes:
        area: The part of the file after the slots.
        problem: Error message if the header counts too many slots; otherwise empty.
        ascending: True if the cached offsets ascend; otherwise no offset is used.
        filled: False if the slots of all chunks are known to be -1.
    """

    def __init__(self, start: int, count: int, area: ChunkArea, kept: I64, used: int, problem: str = "") -> None:
        self.start = start
        self.count = count
        self.area = area
        self.used = used
        self.problem = problem
        self._kept = kept
        offsets = kept[kept != UNKNOWN]
        self.ascending = bool((offsets[1:] > offsets[:-1]).all())
        self.filled = len(offsets) > 0 or len(kept) < used

    def slot(self, chunk: int) -> Span:
        return OFFSET.span("", self.start + chunk * OFFSET.size)

    def span(self, first: int, last: int) -> Span:
        return Span("", self.start + first * OFFSET.size, self.start + last * OFFSET.size)

    def read(self, source: Source, first: int, last: int) -> I64:
        """Return the offsets in slots `[first, last)`, int64; reads them from the file if not all are cached."""
        if last <= len(self._kept):
            return self._kept[first:last]
        span = self.span(first, last)
        return OFFSET.read(source.read(span.start, span.stop), count=last - first)["offset"].astype(np.int64)

    def place(self, source: Source, chunk: int) -> int:
        if not self.ascending or not 0 <= chunk < self.used:
            return UNKNOWN
        place = int(self.read(source, chunk, chunk + 1)[0])
        return place if self.area.allows(place) else UNKNOWN

    def is_valid(self, places: Any) -> Any:
        """Return True (a mask for an array) if a chunk can begin at `places`; False if the offsets do not ascend."""
        return self.area.allows(places) & self.ascending


def read_offsets(source: Source, header: Header, start: int) -> Offsets:
    """Read up to `SLOTS_AT_OPEN` offsets, which begin at `start`.

    The first offset is that of chunk 0, at which the offsets end. If the counts in the header give a later end, the
    counts are wrong.
    """
    digest, size, count = header.checksum.size, source.size, header.slots
    area = ChunkArea(start + count * OFFSET.size, header.nchunks, digest, size)
    used = max(header.nchunks, 0) if header.has_offsets else 0
    known = min(used, SLOTS_AT_OPEN)
    stored = source.read(start, start + known * OFFSET.size) if used else b""
    kept = OFFSET.read(stored, count=known)["offset"].astype(np.int64)
    first = int(kept[0]) if used else UNKNOWN
    if start < first < area.first and (first - start) % OFFSET.size == 0:
        room = (first - start) // OFFSET.size
        problem = f"the header counts {plural(count, 'offset slot')}, but chunk 0 begins after {room:,} of them"
        area = ChunkArea(first, header.nchunks, digest, size)
        return Offsets(start, room, area, kept[:room], min(used, room), problem)
    return Offsets(start, count, area, kept, used)


class ChunkWalk:
    """Walk from the first chunk on, by the length of each chunk, as far as requested. Thread-safe.

    Attributes:
        places: Offset of each chunk that was found.
        headers: Headers of these chunks, concatenated.
        next: Offset of the next chunk.
        end: Error that ended the walk; None if there is none.
        cut: True if the file ends within the header of a chunk.
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
        """Add chunks with headers in `window`, the bytes from `start` on; return the next range to read, or None."""
        with self._lock:
            if len(self.places) <= chunk and not self.done and start <= self.next and window:
                self._take(chunk, start, window)
            if len(self.places) > chunk or self.done:
                return None
            at, size = self.next, self._area.size
            if at == start:
                # The file ends before the header.
                self.cut = at < size
                message = f"chunk {len(self.places)} should begin at byte {at:#x}; the file ends at {size:#x}"
                self.end = Truncated(message, span=Span("", at, max(at, size)))
                return None
            small = len(self.places) > 0 and at - self.places[-1] <= SMALL_CHUNK
            return at, min(at + (WALK_WINDOW if small else HEADER_SIZE), size)

    def _take(self, chunk: int, start: int, window: bytes) -> None:
        area, digest, found = self._area, self._area.digest, list[int]()
        most = chunk + 1 if area.nchunks == UNKNOWN else min(chunk + 1, area.nchunks)
        at, room = self.next - start, most - len(self.places)
        last, end = len(window) - HEADER_SIZE, area.size - start - digest
        while at <= last and len(found) < room:
            stored = int.from_bytes(window[at + _STORED_AT : at + HEADER_SIZE], "little")
            found.append(at)
            if stored < HEADER_SIZE or at + stored > end:
                chunk, place = len(self.places) + len(found) - 1, start + at
                text = f"ctbytes of chunk {chunk} is {stored}, less than its header of 16: later chunks cannot be found"
                below = FormatError(text, span=blosc_header_span(place))
                self.end = area.truncated(chunk, place, stored) if stored >= HEADER_SIZE else below
                break
            at += stored + digest
        if found:
            places = np.array(found, np.int64)
            self.places.extend((places + start).tolist())
            self.headers += np.frombuffer(window, np.uint8)[places[:, None] + np.arange(HEADER_SIZE)].tobytes()
            self.next = start + at


class ChunkTable:
    """Locations and headers of all chunks. Thread-safe.

    Before `load`, a chunk is located when it is requested, by its offset or by the walk; `load` reads all headers.
    """

    def __init__(self, source: Source, offsets: Offsets) -> None:
        self.source = source
        self.area = offsets.area
        self.offsets = offsets
        self.walk = ChunkWalk(offsets.area)
        self._all: Once[tuple[I64, NDArray[Any]]] = Once()

    def __len__(self) -> int:
        """Number of chunks, including damaged ones that the header counts but the file does not contain."""
        if self.loaded or self.area.nchunks == UNKNOWN:
            return len(self.places)
        return self.area.most

    @property
    def loaded(self) -> bool:
        return self._all.value is not None

    @property
    def places(self) -> I64:
        """Offset of each chunk, -1 if it was not found; empty before `load`."""
        return (self._all.value or _NONE)[0]

    @property
    def headers(self) -> NDArray[Any]:
        return (self._all.value or _NONE)[1]

    def place(self, chunk: int, source: Source | None = None) -> int:
        if (slot := self.slot_place(chunk, source)) != UNKNOWN:
            return slot
        known = self.known_at(chunk)
        return known if known != UNKNOWN else self.walked(chunk, source)

    def known_at(self, chunk: int) -> int:
        return int(self.places[chunk]) if chunk < len(self.places) else UNKNOWN

    def walked(self, chunk: int, source: Source | None = None) -> int:
        """Return the offset of a chunk as found by the walk, without offset slots; raise FormatError or KeyAbsent."""
        walk = self.walk
        walk.to(source or self.source, chunk)
        if chunk < len(walk.places):
            return walk.places[chunk]
        if walk.end is not None and (self.area.nchunks == UNKNOWN or chunk < self.area.nchunks):
            raise FormatError(f"chunk {chunk} cannot be found: {walk.end.message}", span=walk.end.span)
        raise KeyAbsent(str(chunk), f"there is no chunk {chunk}; the file has {plural(len(walk.places), 'chunk')}")

    def slot_place(self, chunk: int, source: Source | None = None) -> int:
        """Return the offset in the slot of a chunk; -1 if it is not valid, and always -1 after `load`."""
        return UNKNOWN if self.loaded else self.offsets.place(source or self.source, chunk)

    def slot_places(self, rows: I64) -> I64:
        places = np.full(len(rows), UNKNOWN, np.int64)
        inside = np.flatnonzero(rows < self.offsets.used)
        if len(inside):
            low = int(rows[inside].min())
            got = self.offsets.read(self.source, low, int(rows[inside].max()) + 1)[rows[inside] - low]
            places[inside] = np.where(self.offsets.is_valid(got), got, UNKNOWN)
        return places

    def header(self, chunk: int) -> ChunkHeader:
        return ChunkHeader(*self.headers[chunk].item())

    def load(self, progress: Progress = no_progress, source: Source | None = None) -> None:
        """Read the headers of all chunks; chunks that are not found get offset -1, and no error is raised."""
        self._all.get(lambda: self._read_all(source or self.source, progress))

    def _read_all(self, source: Source, progress: Progress) -> tuple[I64, NDArray[Any]]:
        if not (self.offsets.filled and self.offsets.ascending):
            return self._from_walk(source, progress)
        places, headers = self._from_slots(source, progress)
        ends = places + headers["ctbytes"].astype(np.int64) + self.area.digest
        if (places == np.append(self.area.first, ends)[:-1]).all():
            return places, headers
        # The offsets contradict the chunks; a walk without an error takes precedence.
        walked = self._from_walk(source, progress)
        complete = (walked[0] != UNKNOWN).sum() >= (places != UNKNOWN).sum() and self.walk.end is None
        return walked if complete else (places, headers)

    def _from_slots(self, source: Source, progress: Progress) -> tuple[I64, NDArray[Any]]:
        count, area = self.area.most, self.area
        known = min(self.offsets.used, count)
        places = np.full(count, UNKNOWN, np.int64)
        places[:known] = self.offsets.read(source, 0, known)
        places[~self.offsets.is_valid(places)] = UNKNOWN
        headers = np.zeros(count, CHUNK_HEADER.dtype)
        given = np.flatnonzero(places != UNKNOWN)
        for batch in np.array_split(given, max(-(-len(given) // BATCH), 1)):
            headers[batch] = _headers_at(source, places[batch])
            progress(int(batch[-1]) + 1 if len(batch) else 0, count)
        for chunk in np.flatnonzero(places == UNKNOWN).tolist():
            place = area.first
            if chunk:
                stored = int(headers["ctbytes"][chunk - 1])
                found = places[chunk - 1] != UNKNOWN and stored >= HEADER_SIZE
                place = int(places[chunk - 1]) + stored + area.digest if found else UNKNOWN
            if area.allows(place):
                places[chunk] = place
                headers[chunk] = _headers_at(source, np.array([place]))[0]
        return places, headers

    def _from_walk(self, source: Source, progress: Progress) -> tuple[I64, NDArray[Any]]:
        self.walk.to(source, 2**63, progress)
        found = len(self.walk.places)
        count = found if self.area.nchunks == UNKNOWN else max(self.area.most, found)
        if self.area.nchunks == UNKNOWN and self.walk.cut:
            count += 1  # the incomplete header at the end
        # Views without a copy are safe: the walk has ended and adds no further chunk.
        walked = np.frombuffer(self.walk.places, np.int64)
        read = CHUNK_HEADER.read(memoryview(self.walk.headers), count=found)
        if count == found:
            return walked, read
        missing = np.full(count - found, UNKNOWN, np.int64)
        return np.append(walked, missing), np.append(read, np.zeros(count - found, CHUNK_HEADER.dtype))


_NONE = (np.zeros(0, np.int64), np.zeros(0, CHUNK_HEADER.dtype))


def _headers_at(source: Source, places: I64) -> NDArray[Any]:
    ranges = [(place, place + HEADER_SIZE) for place in places.tolist()]
    return CHUNK_HEADER.read(b"".join(source.read_many(ranges)), count=len(ranges))
