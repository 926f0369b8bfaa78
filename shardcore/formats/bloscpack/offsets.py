"""The offsets: one slot per chunk, and spare ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.bloscpack.header import Header
from shardcore.formats.bloscpack.layout import OFFSET, UNKNOWN, BloscpackGeometry
from shardcore.model.number_words import plural
from shardcore.model.span import Span
from shardcore.sources.base import Source

SLOTS_AT_OPEN = 2**19
"""Offset slots read at once when a file is opened; of longer tables the rest is read when requested."""


class Slots:
    """The offset slots of the chunks (not the spare ones).

    Args:
        at: First byte of the table.
        kept: The slots that were read already, int64, from slot 0 on.
        count: Number of slots.
        geometry: What is possible.
    """

    def __init__(self, at: int, kept: NDArray[np.int64], count: int, geometry: BloscpackGeometry) -> None:
        self.at = at
        self.count = count
        self._kept = kept
        self._geometry = geometry
        used = kept[kept != UNKNOWN]
        self.ascending = bool((used[1:] > used[:-1]).all())
        """True if the known offsets ascend; others are not trusted."""
        self.used = len(used) > 0 or len(kept) < count

    def span(self, chunk: int) -> Span:
        """Return the slot of a chunk."""
        at = self.at + chunk * OFFSET.size
        return Span("", at, at + OFFSET.size)

    def read(self, source: Source, start: int, stop: int) -> NDArray[np.int64]:
        """Return the slots `[start, stop)`, int64; reads those that were not kept."""
        if stop <= len(self._kept):
            return self._kept[start:stop]
        data = source.read(self.at + start * OFFSET.size, self.at + stop * OFFSET.size)
        return OFFSET.read(data, count=stop - start)["offset"].astype(np.int64)

    def place(self, source: Source, chunk: int) -> int:
        """Return the offset of one chunk; -1 when there is none to believe."""
        if not self.ascending or not 0 <= chunk < self.count:
            return UNKNOWN
        place = int(self.read(source, chunk, chunk + 1)[0])
        return place if self.believes(place) else UNKNOWN

    def believes(self, place: int) -> bool:
        """Return whether this offset is one that a chunk can have."""
        return self.ascending and self._geometry.allows(place)

    def valid(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`believes` for many offsets."""
        return self._geometry.allowed(places) & self.ascending


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets section: the bytes between the headers and the first chunk.

    Attributes:
        start: First byte of the offsets.
        count: Slots that there is room for, spare ones included.
        slots: Those of the chunks; None when the file has none.
        geometry: Where chunks can be.
        odd: What is wrong with the number of slots, or empty.
    """

    start: int
    count: int
    slots: Slots | None
    geometry: BloscpackGeometry
    odd: str = ""

    @property
    def span(self) -> Span:
        """All slots."""
        return Span("", self.start, self.start + self.count * OFFSET.size)


def read_offsets(source: Source, header: Header, start: int) -> Offsets:
    """Read the offsets, as far as that is done when a file is opened.

    The first chunk reports where the table ends. Where that is before the end that the header's counts give, the
    counts are wrong and the chunk is right, if a Blosc header is there.

    Args:
        source: The file.
        header: Its header.
        start: Where the offsets would begin.
    """
    digest, size, count = header.checksum.size, source.size, header.slots
    geometry = BloscpackGeometry(start + count * OFFSET.size, header.nchunks, digest, size)
    used = max(header.nchunks, 0)
    if not header.has_offsets or not used:
        return Offsets(start, count, None, geometry)
    known = min(used, SLOTS_AT_OPEN)
    kept = OFFSET.read(source.read(start, start + known * OFFSET.size), count=known)["offset"].astype(np.int64)
    first = int(kept[0])
    if start < first < geometry.first and (first - start) % OFFSET.size == 0:
        room = (first - start) // OFFSET.size
        odd = f"the header counts {plural(count, 'offset slot')}, but chunk 0 begins after {room:,} of them"
        geometry = BloscpackGeometry(first, header.nchunks, digest, size)
        return Offsets(start, room, Slots(start, kept[:room], min(used, room), geometry), geometry, odd)
    return Offsets(start, count, Slots(start, kept, used, geometry), geometry)
