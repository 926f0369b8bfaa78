"""Where the chunks are: from the offsets, else by walking from chunk to chunk.

A chunk's header says how long the chunk is, its digest has a fixed length, and the next chunk follows. So the offsets
are a shortcut only. They may be absent, unused (-1, when a writer died) or wrong; then the walk answers.
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
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, OFFSET, UNKNOWN
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import Source
from shardcore.span import Span

WALK_WINDOW = 65536
"""While chunks are small, the walk reads this many bytes at a time instead of each header alone."""
SMALL_CHUNK = 8192
BATCH = 4096
"""Headers read at a time."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """What the headers say about where chunks can be.

    Attributes:
        first: First byte of chunk 0.
        nchunks: Number of chunks; -1 means: until the end of the file.
        digest: Bytes of the digest behind each chunk.
        size: Bytes of the file.
    """

    first: int
    nchunks: int
    digest: int
    size: int

    @property
    def most(self) -> int:
        """Rows that the file can have: never more than fit, but one more when the header promises more."""
        fit = max(self.size - self.first, 0) // (HEADER_SIZE + self.digest)
        return fit if self.nchunks == UNKNOWN else min(self.nchunks, fit + 1)

    def allows(self, place: int) -> bool:
        """Whether a chunk's header can begin here."""
        return self.first <= place <= self.size - HEADER_SIZE


class Slots:
    """The offset slots of the chunks (not the spare ones).

    Args:
        at: First byte of the table.
        kept: The slots that were read already, int64, from slot 0 on.
        count: Number of slots.
        geometry: What is possible.
    """

    def __init__(self, at: int, kept: NDArray[np.int64], count: int, geometry: Geometry) -> None:
        self.at = at
        self.count = count
        self._kept = kept
        self._geometry = geometry
        used = kept[kept != UNKNOWN]
        self.ascending = bool((used[1:] > used[:-1]).all())
        """Whether the known offsets ascend; those of a file that somebody shuffled are not believed."""
        self.used = len(used) > 0 or len(kept) < count

    def read(self, source: Source, start: int, stop: int) -> NDArray[np.int64]:
        """The slots `[start, stop)`, int64; reads those that were not kept."""
        if stop <= len(self._kept):
            return self._kept[start:stop]
        data = source.read(self.at + start * OFFSET.size, self.at + stop * OFFSET.size)
        return OFFSET.read(data, count=stop - start)["offset"].astype(np.int64)

    def place(self, source: Source, chunk: int) -> int:
        """The offset of one chunk; -1 when there is none to believe."""
        if not self.ascending or not 0 <= chunk < self.count:
            return UNKNOWN
        place = int(self._kept[chunk] if chunk < len(self._kept) else self.read(source, chunk, chunk + 1)[0])
        return place if self._geometry.allows(place) else UNKNOWN

    def valid(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these offsets a chunk can have."""
        if not self.ascending:
            return np.zeros(len(places), np.bool_)
        return (places >= self._geometry.first) & (places <= self._geometry.size - HEADER_SIZE)


class Walk:
    """The chunks from the first one on, as far as somebody has asked."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._lock = threading.Lock()
        self.places = array("q")
        self.headers = bytearray()
        self.next = geometry.first
        """Where the next chunk begins."""
        self.end: FormatError | None = None
        """Why the walk cannot go on."""
        self.cut = False
        """Whether it ended at bytes that are too few for a header."""

    @property
    def done(self) -> bool:
        """Whether there is no further chunk."""
        if self._geometry.nchunks == UNKNOWN:
            return self.end is not None or self.next == self._geometry.size
        return self.end is not None or len(self.places) >= self._geometry.nchunks

    def to(self, source: Source, chunk: int, progress: Progress = no_progress) -> None:
        """Walks until chunk number `chunk` is known, or the end is reached."""
        with self._lock:
            window, window_at = b"", 0
            while len(self.places) <= chunk and not self.done:
                at = self.next
                if not window_at <= at <= window_at + len(window) - HEADER_SIZE:
                    window, window_at = self._fetch(source, at), at
                if len(window) < HEADER_SIZE:
                    self.cut = at < self._geometry.size
                    self.end = Truncated(
                        f"chunk {len(self.places)} should begin at byte {at}, the file ends at {self._geometry.size}",
                        span=Span("", at, max(at, self._geometry.size)),
                    )
                    return
                self._take(window[at - window_at : at - window_at + HEADER_SIZE], at)
                progress(min(self.next, self._geometry.size), self._geometry.size)

    def _fetch(self, source: Source, at: int) -> bytes:
        """The next header, and what follows it while chunks are small."""
        small = len(self.headers) >= HEADER_SIZE and at - self.places[-1] <= SMALL_CHUNK
        stop = min(at + (WALK_WINDOW if small else HEADER_SIZE), self._geometry.size)
        return source.read(at, stop) if stop > at else b""

    def _take(self, raw: bytes, at: int) -> None:
        """Notes a chunk, and where the next one begins."""
        number, stored = len(self.places), read_chunk_header(raw).ctbytes
        self.places.append(at)
        self.headers += raw
        self.next = at + stored + self._geometry.digest
        if stored < HEADER_SIZE:
            self.end = FormatError(
                f"chunk {number} says that it has {stored} bytes, less than its header; what follows cannot be found",
                span=Span("", at, at + HEADER_SIZE),
            )
        elif self.next > self._geometry.size:
            self.end = Truncated(
                f"chunk {number} ends at byte {self.next}, the file at {self._geometry.size}",
                span=Span("", at, self._geometry.size),
            )


class ChunkTable:
    """All chunks: places and headers.

    Until `load` they are answered one by one, from the offsets or the walk. `load` reads every header.

    Attributes:
        source: The file.
        places: After `load`: first byte of each chunk, int64; -1 where it cannot be found.
        headers: After `load`: the header of each, dtype of `CHUNK_HEADER`; zeros where it cannot be found.
    """

    def __init__(self, source: Source, geometry: Geometry, slots: Slots | None) -> None:
        self.geometry = geometry
        self.slots = slots
        self.walk = Walk(geometry)
        self.loaded = False
        self.places: NDArray[np.int64] = np.zeros(0, np.int64)
        self.headers: NDArray[Any] = np.zeros(0, CHUNK_HEADER.dtype)
        self.source = source
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Number of rows; chunks that the header promises but that are not there are damaged rows."""
        if self.loaded or self.geometry.nchunks == UNKNOWN:
            return len(self.places)
        return self.geometry.most

    def place(self, chunk: int, source: Source | None = None) -> int:
        """First byte of a chunk.

        Args:
            chunk: Its number.
            source: What to read through; the table's own by default.

        Raises:
            KeyAbsent: There is no such chunk.
            FormatError: It cannot be found, because a chunk before it is damaged.
        """
        if (slot := self.slot_place(chunk, source)) != UNKNOWN:
            return slot
        if self.loaded and chunk < len(self.places) and self.places[chunk] != UNKNOWN:
            return int(self.places[chunk])
        return self.walked(chunk, source)

    def walked(self, chunk: int, source: Source | None = None) -> int:
        """First byte of a chunk by walking, whatever the offsets say; errors as for `place`."""
        self.walk.to(source or self.source, chunk)
        if chunk < len(self.walk.places):
            return self.walk.places[chunk]
        if self.walk.end is not None and (self.geometry.nchunks == UNKNOWN or chunk < self.geometry.nchunks):
            raise FormatError(f"chunk {chunk} cannot be found: {self.walk.end.message}", span=self.walk.end.span)
        raise KeyAbsent(str(chunk), f"there is no chunk {chunk}; there are {len(self.walk.places)}")

    def slot_place(self, chunk: int, source: Source | None = None) -> int:
        """The offset of a chunk before `load`, without walking; -1 when there is none to believe."""
        if self.loaded or self.slots is None:
            return UNKNOWN
        return self.slots.place(source or self.source, chunk)

    def slot_places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The offsets of some chunks before `load`, without walking: -1 where there is none to believe."""
        places = np.full(len(rows), UNKNOWN, np.int64)
        inside = np.flatnonzero(rows < self.slots.count) if self.slots is not None else rows[:0]
        if self.slots is None or not len(inside):
            return places
        low = int(rows[inside].min())
        got = self.slots.read(self.source, low, int(rows[inside].max()) + 1)[rows[inside] - low]
        places[inside] = np.where(self.slots.valid(got), got, UNKNOWN)
        return places

    def header(self, chunk: int) -> ChunkHeader:
        """The header of a chunk after `load`."""
        return ChunkHeader(*self.headers[chunk].item())

    def load(self, progress: Progress = no_progress) -> None:
        """Reads the headers of all chunks.

        Damage is not raised: what cannot be found stays -1.

        Raises:
            SourceError: The bytes cannot be had.
        """
        with self._lock:
            if self.loaded:
                return
            places, headers = self._from_slots(progress) if self._believes_slots() else self._from_walk(progress)
            if self.slots is not None and not _chained(places, headers, self.geometry):
                # The offsets contradict the chunks. When the walk comes to a good end, it is right.
                walked, walked_headers = self._from_walk(progress)
                if (walked != UNKNOWN).sum() >= (places != UNKNOWN).sum() and self.walk.end is None:
                    places, headers = walked, walked_headers
            self.places, self.headers, self.loaded = places, headers, True

    def _believes_slots(self) -> bool:
        return self.slots is not None and self.slots.used and self.slots.ascending

    def _from_slots(self, progress: Progress) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Places by the offsets, and where one is missing, behind the chunk before."""
        assert self.slots is not None
        count = self.geometry.most
        known = min(self.slots.count, count)
        places = np.full(count, UNKNOWN, np.int64)
        places[:known] = self.slots.read(self.source, 0, known)
        places[~self.slots.valid(places)] = UNKNOWN
        headers = np.zeros(count, CHUNK_HEADER.dtype)
        given = np.flatnonzero(places != UNKNOWN)
        for batch in np.array_split(given, max(-(-len(given) // BATCH), 1)):
            headers[batch] = self._headers_at(places[batch])
            progress(int(batch[-1]) + 1 if len(batch) else 0, count)
        for chunk in np.flatnonzero(places == UNKNOWN).tolist():
            place = self._behind(places, headers, chunk)
            if self.geometry.allows(place):
                places[chunk] = place
                headers[chunk] = self._headers_at(np.array([place]))[0]
        return places, headers

    def _behind(self, places: NDArray[np.int64], headers: NDArray[Any], chunk: int) -> int:
        """Where a chunk lies by the chunk before it; -1 when that one does not say."""
        if chunk == 0:
            return self.geometry.first
        stored = int(headers["ctbytes"][chunk - 1])
        if places[chunk - 1] == UNKNOWN or stored < HEADER_SIZE:
            return UNKNOWN
        return int(places[chunk - 1]) + stored + self.geometry.digest

    def _headers_at(self, places: NDArray[np.int64]) -> NDArray[Any]:
        ranges = [(place, place + HEADER_SIZE) for place in places.tolist()]
        return CHUNK_HEADER.read(b"".join(self.source.read_many(ranges)), count=len(ranges))

    def _from_walk(self, progress: Progress) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Places by walking; chunks that the header promises behind the end stay -1."""
        self.walk.to(self.source, 2**63, progress)
        found = len(self.walk.places)
        count = found if self.geometry.nchunks == UNKNOWN else max(self.geometry.most, found)
        if self.geometry.nchunks == UNKNOWN and self.walk.cut:
            count += 1  # bytes that begin a chunk and are too few for one
        places = np.full(count, UNKNOWN, np.int64)
        headers = np.zeros(count, CHUNK_HEADER.dtype)
        places[:found] = np.frombuffer(self.walk.places, np.int64) if found else []
        headers[:found] = CHUNK_HEADER.read(bytes(self.walk.headers), count=found)
        return places, headers


def stops(places: NDArray[np.int64], headers: NDArray[Any], geometry: Geometry) -> NDArray[np.int64]:
    """One past the last byte of each chunk without its digest, cut at the end of the file; -1 where unknown."""
    ends = np.minimum(places + headers["ctbytes"].astype(np.int64), geometry.size)
    return np.where(places == UNKNOWN, UNKNOWN, np.maximum(ends, places))


def _chained(places: NDArray[np.int64], headers: NDArray[Any], geometry: Geometry) -> bool:
    """Whether every chunk begins where the one before it and its digest end."""
    if not len(places):
        return True
    following = np.append(geometry.first, places + headers["ctbytes"].astype(np.int64) + geometry.digest)[:-1]
    return bool((places == following).all())
