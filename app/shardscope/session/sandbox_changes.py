"""Differences between the bytes of a sandbox and the file on disk. No Qt here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

Range = tuple[int, int]
"""Bytes, half-open."""


@dataclass(frozen=True, slots=True)
class SandboxChanges:
    new: tuple[Range, ...] = ()
    cuts: tuple[tuple[int, int], ...] = ()

    def inside(self, start: int, stop: int) -> Sequence[Range]:
        first = bisect_right(self.new, start, key=lambda one: one[1])
        return self.new[first : bisect_left(self.new, stop, lo=first, key=lambda one: one[0])]

    def cuts_in(self, start: int, stop: int) -> Sequence[tuple[int, int]]:
        first = bisect_left(self.cuts, start, key=lambda one: one[0])
        return self.cuts[first : bisect_right(self.cuts, stop, lo=first, key=lambda one: one[0])]
