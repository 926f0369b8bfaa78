"""Ranges of bytes that views mark: sections, findings, and bytes that an operation is going to change. No Qt here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter, itemgetter

from shardcore import Finding, Section, Severity

Range = tuple[int, int]
"""Half-open range of bytes."""

_START, _STOP = attrgetter("start"), attrgetter("stop")

# --- sections ---


def sections_in(sections: Sequence[Section], start: int, stop: int) -> list[Section]:
    """Return the non-empty sections with bytes in `[start, stop)`; `sections` must be sorted and without gaps."""
    first = max(bisect_right(sections, start, key=_START) - 1, 0)
    last = bisect_left(sections, stop, lo=first, key=_START)
    return [section for section in sections[first:last] if start < section.stop > section.start]


def section_at(sections: Sequence[Section], offset: int) -> Section | None:
    found = sections_in(sections, offset, offset + 1)
    return found[0] if found else None


# --- findings ---

_RANK = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.NOTE: 0}


@dataclass(frozen=True)
class Mark:
    """Bytes `[start, stop)` of a finding; at least one byte."""

    start: int
    stop: int
    severity: Severity
    message: str


class Marks:
    def __init__(self, findings: Iterable[Finding] = (), name: str = "") -> None:
        marks = [
            Mark(f.span.start, max(f.span.stop, f.span.start + 1), f.severity, f.message)
            for f in findings
            if f.span is not None and f.span.source == name
        ]
        self.all: Sequence[Mark] = sorted(marks, key=_START)
        self._starts = [mark.start for mark in self.all]
        self._reach = list(accumulate((mark.stop for mark in self.all), max))

    def inside(self, start: int, stop: int, most: int = 500) -> list[Mark]:
        """Return at most `most` marks that touch `[start, stop)`, the worst last, so that it is painted on top."""
        last = bisect_left(self._starts, stop)
        first = bisect_left(self._reach, start + 1, 0, last)
        touching = [mark for mark in self.all[first:last] if mark.stop > start]
        return sorted(touching, key=lambda mark: _RANK[mark.severity])[-most:]

    def at(self, offset: int) -> list[Mark]:
        return self.inside(offset, offset + 1)[::-1]


# --- proposed changes ---


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
        return Proposed(source, tuple(sorted(stretches, key=_START)))

    def inside(self, start: int, stop: int) -> tuple[ProposedRange, ...]:
        first = bisect_right(self.stretches, start, key=_STOP)
        last = bisect_left(self.stretches, stop, lo=first, key=_START)
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
        first = bisect_right(marks, start, key=itemgetter(1))
        return marks[first : bisect_left(marks, stop, lo=first, key=itemgetter(0))]
