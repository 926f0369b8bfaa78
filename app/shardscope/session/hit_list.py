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
    """Hits, ascending.

    Attributes:
        source: The source that was searched; empty for contents, too.
        what: What was searched for, as it was typed.
        patterns: What that means in bytes.
        offsets: Where hits begin, int64: in the source, or in the content of their object.
        which: For each the number of its pattern.
        count: Number of them; there may be more than are listed.
        contents: The hits in contents, each with its object; empty for those of a source.
    """

    source: str = ""
    what: str = ""
    patterns: Sequence[Pattern] = ()
    offsets: NDArray[np.int64] = field(default_factory=_none)
    which: NDArray[np.int64] = field(default_factory=_none)
    count: int = 0
    contents: Sequence[ContentHit] = ()

    @staticmethod
    def of_contents(what: str, patterns: Sequence[Pattern], hits: Sequence[ContentHit]) -> HitList:
        """Return the hits in contents, in the order of their objects."""
        offsets = np.array([hit.offset for hit in hits], np.int64)
        which = np.array([patterns.index(hit.pattern) for hit in hits], np.int64)
        return HitList("", what, patterns, offsets, which, len(hits), tuple(hits))

    @staticmethod
    def of(source: str, what: str, patterns: Sequence[Pattern], hits: Hits) -> HitList:
        """Return the hits of a search, in the order of their bytes."""
        offsets = np.array(hits.offsets, np.int64)
        order = np.argsort(offsets, kind="stable")
        return HitList(source, what, patterns, offsets[order], np.array(hits.which, np.int64)[order], hits.count)

    def __len__(self) -> int:
        return len(self.offsets)

    def span(self, number: int) -> Span | None:
        """Return the bytes of a hit; None where they are in no source as they are in the content."""
        if self.contents:
            return self.contents[number].span
        start = int(self.offsets[number])
        return Span(self.source, start, start + self.pattern(number).size)

    def pattern(self, number: int) -> Pattern:
        """Return what was found there."""
        return self.patterns[int(self.which[number])]

    def number_at(self, offset: int) -> int | None:
        """Return the number of the hit that begins at a byte; None when none does, or when it is not listed."""
        at = bisect_left(self.offsets, offset)
        return at if at < len(self.offsets) and int(self.offsets[at]) == offset else None

    def on_a_strip(self, size: int) -> list[int]:
        """The offsets, but only one for each 4,096th of a source of `size` bytes: nobody sees more on a strip."""
        if len(self.offsets) <= _ON_A_STRIP:
            return [int(offset) for offset in self.offsets]
        _, first = np.unique(self.offsets // max(size // _ON_A_STRIP, 1), return_index=True)
        return [int(offset) for offset in self.offsets[first]]
