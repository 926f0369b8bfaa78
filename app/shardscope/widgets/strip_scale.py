"""Scale of the overview strip: maps a whole source to few pixels and keeps every section visible. No Qt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from shardcore import Section, SectionRole

LEAST = 7
"""Minimum width of a section in pixels."""


class StripScale:
    """Maps offsets to pixels and back: linear inside a section, proportional as far as small sections allow.

    `sections` are sorted without gaps, `edges` are their borders in pixels. `breaks` are the indices of sections
    whose scale differs from that of their left neighbour by more than half.
    """

    def __init__(self, size: int, sections: Sequence[Section], width: float, *, schematic: bool = False) -> None:
        solid = [section for section in sections if section.size]
        self.size = size
        self.width = max(width, 1.0)
        self.sections: Sequence[Section] = solid or [Section("bytes", SectionRole.UNKNOWN, 0, size)]
        sizes = [section.size for section in self.sections]
        weights = [section.bit_length() ** 2 for section in sizes] if schematic else sizes
        widths = widths_to_scale(weights, self.width)
        per_pixel = [section / part if part else 0.0 for section, part in zip(sizes, widths, strict=True)]
        self.breaks = frozenset(
            number
            for number, (one, other) in enumerate(pairwise(per_pixel), 1)
            if max(one, other) > 1.5 * min(one, other)
        )
        self.edges = [0.0]
        for part in widths:
            self.edges.append(self.edges[-1] + part)
        self._starts = [section.start for section in self.sections]

    def x_of(self, offset: int) -> float:
        """Return the pixel of an offset; the end of the source is the right edge."""
        number = self._number(offset)
        section = self.sections[number]
        left, right = self.edges[number], self.edges[number + 1]
        if not section.size:
            return left
        inside = min(max(offset - section.start, 0), section.size)
        # Python divides integers of any size correctly; only the quotient is a float.
        return left + (right - left) * (inside / section.size)

    def offset_at(self, x: float) -> int:
        """Return the offset at a pixel; pixels outside give the first or last byte."""
        number = min(max(bisect_right(self.edges, x) - 1, 0), len(self.sections) - 1)
        section = self.sections[number]
        left, right = self.edges[number], self.edges[number + 1]
        share = min(max((x - left) / (right - left), 0.0), 1.0) if right > left else 0.0
        return min(section.start + int(section.size * share), max(section.stop - 1, section.start))

    def section_at(self, x: float) -> Section:
        return self.sections[self._number(self.offset_at(x))]

    def _number(self, offset: int) -> int:
        return max(bisect_right(self._starts, offset) - 1, 0)


def widths_to_scale(sizes: Sequence[int], width: float, least: float = LEAST) -> list[float]:
    """Return proportional widths that add up to `width`, none below `least` pixels unless there are too many."""
    least = min(least, width / len(sizes))
    small: set[int] = set()
    while True:
        room = width - least * len(small)
        total = sum(size for number, size in enumerate(sizes) if number not in small)
        fresh = {
            number for number, size in enumerate(sizes) if number not in small and room * (size / max(total, 1)) < least
        }
        if not fresh:
            break
        small |= fresh
    return [least if number in small else room * (size / max(total, 1)) for number, size in enumerate(sizes)]
