"""Hits of a search: in the bytes of one source, or in the contents of objects. No Qt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shardcore import Span
from shardcore.operations.search import ContentHit, Hits, Pattern


def _none() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


_ON_A_STRIP = 4096


@dataclass(frozen=True, eq=False)
class HitList:
    source: str = ""
    what: str = ""
    patterns: Sequence[Pattern] = ()
    offsets: NDArray[np.int64] = field(default_factory=_none)
    which: NDArray[np.int64] = field(default_factory=_none)
    count: int = 0
    contents: Sequence[ContentHit] = ()

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

    def __len__(self) -> int:
        return len(self.offsets)

    def span(self, number: int) -> Span | None:
        if self.contents:
            return self.contents[number].span
        start = int(self.offsets[number])
        return Span(self.source, start, start + self.pattern(number).size)

    def pattern(self, number: int) -> Pattern:
        return self.patterns[int(self.which[number])]

    def number_at(self, offset: int) -> int | None:
        at = bisect_left(self.offsets, offset)
        return at if at < len(self.offsets) and int(self.offsets[at]) == offset else None

    def on_a_strip(self, size: int) -> list[int]:
        if len(self.offsets) <= _ON_A_STRIP:
            return [int(offset) for offset in self.offsets]
        _, first = np.unique(self.offsets // max(size // _ON_A_STRIP, 1), return_index=True)
        return [int(offset) for offset in self.offsets[first]]
