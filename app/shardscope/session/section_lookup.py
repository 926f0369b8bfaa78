"""Sections that own a range or a byte. No Qt here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter

from shardcore import Section

_START = attrgetter("start")


def sections_in(sections: Sequence[Section], start: int, stop: int) -> list[Section]:
    """Return the non-empty sections with bytes in `[start, stop)`; `sections` must be sorted and without gaps."""
    first = max(bisect_right(sections, start, key=_START) - 1, 0)
    last = bisect_left(sections, stop, lo=first, key=_START)
    return [section for section in sections[first:last] if start < section.stop > section.start]


def section_at(sections: Sequence[Section], offset: int) -> Section | None:
    found = sections_in(sections, offset, offset + 1)
    return found[0] if found else None
