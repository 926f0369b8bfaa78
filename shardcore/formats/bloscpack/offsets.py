"""The offset slots, one per chunk, and spare ones ("Description of the offsets entries")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.bloscpack.header import Header
from shardcore.formats.bloscpack.layout import OFFSET, UNKNOWN, ChunkArea
from shardcore.model.number_text import plural
from shardcore.model.span import Span
from shardcore.sources.base import Source

SLOTS_AT_OPEN = 2**19
"""Offset slots read when a file is opened; further ones are read on request."""


class Slots:
    """Offset slots of the chunks, without the spare ones."""

    def __init__(self, at: int, kept: NDArray[np.int64], count: int, area: ChunkArea) -> None:
        self.at = at
        self.count = count
        self._kept = kept
        self._area = area
        used = kept[kept != UNKNOWN]
        self.ascending = bool((used[1:] > used[:-1]).all())
        """True if the cached offsets ascend; otherwise no offset is used."""
        self.used = len(used) > 0 or len(kept) < count

    def span(self, chunk: int) -> Span:
        at = self.at + chunk * OFFSET.size
        return Span("", at, at + OFFSET.size)

    def read(self, source: Source, start: int, stop: int) -> NDArray[np.int64]:
        """Return the slots `[start, stop)`, int64; reads those that are not cached."""
        if stop <= len(self._kept):
            return self._kept[start:stop]
        data = source.read(self.at + start * OFFSET.size, self.at + stop * OFFSET.size)
        return OFFSET.read(data, count=stop - start)["offset"].astype(np.int64)

    def place(self, source: Source, chunk: int) -> int:
        if not self.ascending or not 0 <= chunk < self.count:
            return UNKNOWN
        place = int(self.read(source, chunk, chunk + 1)[0])
        return place if self.is_valid(place) else UNKNOWN

    def is_valid(self, place: int) -> bool:
        """Return True if a chunk can begin at `place`; always False if the offsets do not ascend."""
        return self.ascending and self._area.allows(place)

    def valid(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self._area.allowed(places) & self.ascending


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets section, between metadata and first chunk."""

    start: int
    count: int
    slots: Slots | None
    area: ChunkArea
    problem: str = ""

    @property
    def span(self) -> Span:
        return Span("", self.start, self.start + self.count * OFFSET.size)


def read_offsets(source: Source, header: Header, start: int) -> Offsets:
    """Read up to `SLOTS_AT_OPEN` offsets.

    The offsets end where the first of them points to. If the counts of the header give a later end, the
    counts are wrong.
    """
    digest, size, count = header.checksum.size, source.size, header.slots
    area = ChunkArea(start + count * OFFSET.size, header.nchunks, digest, size)
    used = max(header.nchunks, 0)
    if not header.has_offsets or not used:
        return Offsets(start, count, None, area)
    known = min(used, SLOTS_AT_OPEN)
    kept = OFFSET.read(source.read(start, start + known * OFFSET.size), count=known)["offset"].astype(np.int64)
    first = int(kept[0])
    if start < first < area.first and (first - start) % OFFSET.size == 0:
        room = (first - start) // OFFSET.size
        problem = f"the header counts {plural(count, 'offset slot')}, but chunk 0 begins after {room:,} of them"
        area = ChunkArea(first, header.nchunks, digest, size)
        return Offsets(start, room, Slots(start, kept[:room], min(used, room), area), area, problem)
    return Offsets(start, count, Slots(start, kept, used, area), area)
