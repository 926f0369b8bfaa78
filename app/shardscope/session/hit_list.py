"""Hits of a search in the bytes of one source, or in the contents of objects. No Qt here."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from shardcore import Source, Span
from shardcore.operations.search import ContentHit, Hits, Pattern, search


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


_PARTS = 4096


def thinned(offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the first and last hit in each of 4,096 equal parts of a source, for drawing; up to 4,096 hits stay."""
    if len(offsets) <= _PARTS:
        return offsets
    first = np.flatnonzero(np.diff(offsets // max(size // _PARTS, 1), prepend=-1))
    return np.union1d(offsets[first], offsets[np.append(first[1:], len(offsets)) - 1])


@dataclass(frozen=True, eq=False)
class HitList:
    """Hits in ascending order of their offsets (int64), or of the objects; `count` includes hits not listed."""

    source: str = ""
    what: str = ""
    patterns: Sequence[Pattern] = ()
    offsets: NDArray[np.int64] = field(default_factory=_none)
    which: NDArray[np.int64] = field(default_factory=_none)
    count: int = 0
    contents: Sequence[ContentHit] = ()
    on_a_strip: NDArray[np.int64] = field(default_factory=_none)

    @staticmethod
    def of_contents(what: str, patterns: Sequence[Pattern], hits: Sequence[ContentHit]) -> HitList:
        offsets = np.array([hit.offset for hit in hits], np.int64)
        which = np.array([patterns.index(hit.pattern) for hit in hits], np.int64)
        return HitList("", what, patterns, offsets, which, len(hits), tuple(hits))

    @staticmethod
    def of(source: str, what: str, patterns: Sequence[Pattern], hits: Hits) -> HitList:
        offsets = np.array(hits.offsets, np.int64)
        order = np.argsort(offsets, kind="stable")
        return HitList(source, what, patterns, offsets[order], np.array(hits.which, np.int64)[order], hits.count)

    @staticmethod
    def listed(
        source: Source, name: str, what: str, patterns: Sequence[Pattern], progress: Callable[[int, int], None]
    ) -> HitList:
        strip: list[NDArray[np.int64]] = []
        hits = search(source, patterns, progress, found=lambda at: strip.append(thinned(at, source.size)))
        seen = thinned(np.concatenate([_none(), *strip]), source.size)
        return replace(HitList.of(name, what, patterns, hits), on_a_strip=seen)

    def __len__(self) -> int:
        return len(self.offsets)

    def span(self, number: int) -> Span | None:
        """Return the stored bytes of a hit; None if they differ from the searched bytes, as in compressed content."""
        if self.contents:
            return self.contents[number].span
        start = int(self.offsets[number])
        return Span(self.source, start, start + self.pattern(number).size)

    def pattern(self, number: int) -> Pattern:
        return self.patterns[int(self.which[number])]

    def number_at(self, offset: int) -> int | None:
        """Return the index of the hit that begins at `offset`, or None; O(log n)."""
        at = bisect_left(self.offsets, offset)
        return at if at < len(self.offsets) and int(self.offsets[at]) == offset else None
