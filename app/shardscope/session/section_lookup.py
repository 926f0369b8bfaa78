"""Sections that own a range or a byte. No Qt here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from shardcore import Section


def sections_in(sections: Sequence[Section], start: int, stop: int) -> Iterator[Section]:
    """Yield the non-empty sections with bytes in `[start, stop)`; `sections` must be sorted and without gaps."""
    at = max(bisect_right(sections, start, key=lambda s: s.start) - 1, 0)
    for section in sections[at:]:
        if section.start >= stop:
            break
        if section.stop > start and section.size:
            yield section


def section_at(sections: Sequence[Section], offset: int) -> Section | None:
    return next(sections_in(sections, offset, offset + 1), None)
