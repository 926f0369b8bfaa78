"""Bytes that an operation is going to change, shown in place beforehand. No Qt here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Range = tuple[int, int]
"""Half-open range of bytes."""


@dataclass(frozen=True, slots=True)
class ProposedRange:
    """Bytes `[start, stop)` that are going to change.

    Attributes:
        new: The new bytes, or the first of them; None if the file will end before `start`.
        zeros: Whether all new bytes are zero; `new` is ignored then.
    """

    start: int
    stop: int
    new: bytes | None = b""
    zeros: bool = False

    def known(self, start: int, stop: int) -> bytes:
        if self.zeros:
            return bytes(stop - start)
        return (self.new or b"")[start - self.start : stop - self.start]


@dataclass(frozen=True)
class Proposed:
    """Proposed changes of one source, as sorted, disjoint ranges; marks default to these ranges."""

    source: str
    stretches: tuple[ProposedRange, ...]
    old_marks: tuple[Range, ...] | None = None
    new_marks: tuple[Range, ...] | None = None
    shows_new: bool = False
    current: int = -1

    @staticmethod
    def of(source: str, stretches: Iterable[ProposedRange]) -> Proposed:
        return Proposed(source, tuple(sorted(stretches, key=lambda one: one.start)))

    def inside(self, start: int, stop: int) -> tuple[ProposedRange, ...]:
        first = bisect_right(self.stretches, start, key=lambda one: one.stop)
        last = bisect_left(self.stretches, stop, lo=first, key=lambda one: one.start)
        return self.stretches[first:last]

    def seen(self, start: int, data: bytes) -> bytes:
        found = bytearray(data)
        for one in self.inside(start, start + len(data)) if self.shows_new else ():
            low, high = max(one.start, start), min(one.stop, start + len(data))
            known = one.known(low, high)
            found[low - start : low - start + len(known)] = known
        return bytes(found)

    def marks(self, start: int, stop: int) -> Sequence[Range]:
        """Return the marks on the side shown (old or new bytes) that overlap `[start, stop)`, unclipped."""
        marks = self.new_marks if self.shows_new else self.old_marks
        if marks is None:
            return [(one.start, one.stop) for one in self.inside(start, stop)]
        first = bisect_right(marks, start, key=lambda one: one[1])
        return marks[first : bisect_left(marks, stop, lo=first, key=lambda one: one[0])]


def about(proposed: Proposed | None, source: str) -> Proposed | None:
    return proposed if proposed is not None and proposed.source == source else None
