"""Findings as marks on bytes, sorted for fast access to those on the screen."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from shardcore import Finding, Severity

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
        self.all: Sequence[Mark] = sorted(marks, key=lambda mark: mark.start)
        self._starts = [mark.start for mark in self.all]
        self._reach = list(accumulate((mark.stop for mark in self.all), max))

    def __len__(self) -> int:
        return len(self.all)

    def inside(self, start: int, stop: int, most: int = 500) -> list[Mark]:
        """Return at most `most` marks that touch `[start, stop)`, the worst last, so that it is painted on top."""
        last = bisect_left(self._starts, stop)
        first = bisect_left(self._reach, start + 1, 0, last)
        touching = [mark for mark in self.all[first:last] if mark.stop > start]
        return sorted(touching, key=lambda mark: _RANK[mark.severity])[-most:]

    def at(self, offset: int) -> list[Mark]:
        return self.inside(offset, offset + 1)[::-1]
