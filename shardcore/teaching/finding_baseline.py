"""What was known of a shard before its bytes were changed: findings are held against each other by kind and place.

Not by their texts: a cut moves what follows it, and every number in a sentence with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from shardcore.errors import ShardError
from shardcore.model.finding import Finding
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.sources.base import Source
from shardcore.sources.patched import PatchedSource

_DIGITS = re.compile(r"\d[\d,]*")

_Same = tuple[str, str, int, int]


class Known:
    """Findings that were there before, each of which may be told once more.

    Args:
        findings: The findings of the file as it was.
        source: The changed file: it says where the bytes of the other one are now. None, or one without changes,
            leaves them where they were.
    """

    def __init__(self, findings: Iterable[Finding], source: Source | None) -> None:
        self._moved = source if isinstance(source, PatchedSource) else None
        self._known = Counter(_same(one, self.place(one.span)) for one in findings)

    def place(self, span: Span | None) -> Span | None:
        """Where bytes of the file as it was are now."""
        moved = self._moved
        if span is None or moved is None:
            return span
        name = SourceName.parse(span.source)
        if name.path:
            return span
        if not name.stretches:
            return Span("", *moved.now(span.start, span.stop))
        first, *inner = name.stretches
        return Span(str(SourceName("", (moved.now(*first), *inner))), span.start, span.stop)

    def fresh(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Those of some findings that were not known; they are from now on."""
        left = self._known.copy()
        new: list[Finding] = []
        seen: Counter[_Same] = Counter()
        for one in findings:
            same = _same(one, one.span)
            seen[same] += 1
            if left[same] > 0:
                left[same] -= 1
            else:
                new.append(one)
        self._known |= seen
        return tuple(new)

    def gone(self, was: Iterable[Finding], now: Iterable[Finding]) -> tuple[Finding, ...]:
        """Those of the findings before that are not among those of now."""
        there = {_same(one, one.span) for one in now}
        return tuple(one for one in was if _same(one, self.place(one.span)) not in there)


def kind_of(error: ShardError) -> str:
    """What kind of fault an error is: its sentence without the numbers in it."""
    return f"{type(error).__name__} {_DIGITS.sub('0', error.message)}"


def _same(finding: Finding, place: Span | None) -> _Same:
    """What two findings have in common that are about the same thing: code and place, or without a place the key."""
    if place is None:
        return finding.code, finding.key or "", -1, -1
    return finding.code, place.source, place.start, place.stop
