"""Byte ranges that views mark: sections, notes, findings, hits of a search, and changed bytes. No Qt here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from operator import attrgetter, itemgetter

import numpy as np
from numpy.typing import NDArray

from shardcore import Finding, Section, Severity, Source, Span
from shardcore.dataclasses import dataclass
from shardcore.operations.notes import Note
from shardcore.operations.search import MAX_HITS, NO_HITS, ContentHit, HitColumns, Searched, search

Range = tuple[int, int]

_START, _STOP = attrgetter("start"), attrgetter("stop")

# --- sections and notes ---


def sections_in(sections: Sequence[Section], start: int, stop: int) -> list[Section]:
    """Return the non-empty sections with bytes in `[start, stop)`; `sections` must be sorted and without gaps."""
    first = max(bisect_right(sections, start, key=_START) - 1, 0)
    last = bisect_left(sections, stop, lo=first, key=_START)
    return [section for section in sections[first:last] if start < section.stop > section.start]


def section_at(sections: Sequence[Section], offset: int) -> Section | None:
    found = sections_in(sections, offset, offset + 1)
    return found[0] if found else None


def notes_in(notes: Sequence[Note], start: int, stop: int) -> list[Note]:
    return [note for note in notes if note.span.start < stop and max(note.span.stop, note.span.start + 1) > start]


# --- findings ---

_RANK = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.NOTE: 0}


@dataclass(frozen=True)
class Mark:
    """Bytes `[start, stop)` marked for a finding: at least one byte, even if the finding has none."""

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
        """Return the `most` most severe marks that overlap `[start, stop)`; the most severe is last, painted on top."""
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
        new: The new bytes, possibly only the first of them; None if the file will end before `start`.
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
    """Proposed changes of one source: sorted, disjoint ranges. `old_marks` and `new_marks` default to these."""

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
        """Return the marks that overlap `[start, stop)`, unclipped: of the new bytes if shown, else of the old."""
        marks = self.new_marks if self.shows_new else self.old_marks
        if marks is None:
            return [(one.start, one.stop) for one in self.inside(start, stop)]
        first = bisect_right(marks, start, key=itemgetter(1))
        return marks[first : bisect_left(marks, stop, lo=first, key=itemgetter(0))]


# --- hits of a search ---

_PARTS = 4096


def thinned(offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the hits to draw: of more than 4,096, only the first and last in each of 4,096 parts of a source."""
    if len(offsets) <= _PARTS:
        return offsets
    first = np.flatnonzero(np.diff(offsets // max(size // _PARTS, 1), prepend=-1))
    return np.union1d(offsets[first], offsets[np.append(first[1:], len(offsets)) - 1])


@dataclass(frozen=True, eq=False)
class HitList:
    """Hits of a search. `count` includes hits that are not listed; `more` is True if the search ended early."""

    source: str = ""
    what: str = ""
    patterns: Sequence[Searched] = ()
    found: HitColumns = NO_HITS
    count: int = 0
    more: bool = False
    contents: Sequence[ContentHit] = ()
    on_a_strip: Sequence[int] = ()

    @staticmethod
    def of_contents(what: str, patterns: Sequence[Searched], hits: Sequence[ContentHit]) -> HitList:
        rows = [(hit.offset, 0, patterns.index(hit.pattern)) for hit in hits]
        found = HitColumns(*np.array(rows, np.int64).reshape(-1, 3).T)
        return HitList("", what, patterns, found, len(hits), contents=tuple(hits))

    @staticmethod
    def listed(
        source: Source,
        name: str,
        what: str,
        patterns: Sequence[Searched],
        progress: Callable[[int, int], None],
        most: int = 0,
    ) -> HitList:
        strip = [NO_HITS.offsets]
        mark = lambda at: strip.append(thinned(at, source.size))  # noqa: E731
        hits = search(source, patterns, progress, found=mark, limit=most or MAX_HITS, ends=bool(most))
        seen = thinned(np.concatenate(strip), source.size).tolist()
        return HitList(name, what, patterns, hits.found, hits.count, hits.more, on_a_strip=seen)

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def offsets(self) -> NDArray[np.int64]:
        return self.found.offsets

    @property
    def counted(self) -> str:
        return f"{self.count:,}{'+' if self.more else ''}"

    def span(self, number: int) -> Span | None:
        """Return the bytes of a hit in the file; None if they differ from the searched bytes (compressed content)."""
        if self.contents:
            return self.contents[number].span
        start = int(self.offsets[number])
        return Span(self.source, start, start + int(self.found.sizes[number]))

    def pattern(self, number: int) -> Searched:
        return self.patterns[int(self.found.which[number])]

    def inside(self, start: int, stop: int) -> list[Range]:
        stops = self.offsets + self.found.sizes
        part = slice(bisect_right(stops, start), bisect_left(self.offsets, stop))
        return list(zip(self.offsets[part].tolist(), stops[part].tolist(), strict=True))

    def number_at(self, offset: int) -> int | None:
        """Return the index of the hit that begins at `offset`, or None; O(log n)."""
        at = bisect_left(self.offsets, offset)
        return at if at < len(self.offsets) and int(self.offsets[at]) == offset else None


# --- differences between a sandbox and the file on disk ---


@dataclass(frozen=True)
class SandboxChanges:
    new: tuple[Range, ...] = ()
    cuts: tuple[tuple[int, int], ...] = ()

    def inside(self, start: int, stop: int) -> Sequence[Range]:
        first = bisect_right(self.new, start, key=lambda one: one[1])
        return self.new[first : bisect_left(self.new, stop, lo=first, key=lambda one: one[0])]

    @cached_property
    def ranges(self) -> list[Range]:
        """Changed ranges in the order of the file; an empty range stands for removed bytes."""
        return sorted((*self.new, *((place, place) for place, _ in self.cuts)))

    def cuts_in(self, start: int, stop: int) -> Sequence[tuple[int, int]]:
        first = bisect_left(self.cuts, start, key=lambda one: one[0])
        return self.cuts[first : bisect_right(self.cuts, stop, lo=first, key=lambda one: one[0])]
