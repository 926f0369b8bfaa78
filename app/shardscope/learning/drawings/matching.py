"""Which items of a drawing stand for some bytes. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore import Span
from shardcore.model.drawing import Drawing


def items_with(drawing: Drawing | None, spans: Sequence[Span]) -> frozenset[int]:
    """The numbers of the items that stand for bytes of some spans: of those that overlap, the nearest in size."""
    if drawing is None or not spans:
        return frozenset()
    found: dict[int, int] = {}
    for number, item in enumerate(drawing.items):
        sizes = [own.size for own in item.spans for span in spans if _overlap(own, span)]
        if sizes:
            found[number] = min(sizes)
    wanted = sum(span.size for span in spans)
    nearest = min((abs(size - wanted) for size in found.values()), default=0)
    return frozenset(number for number, size in found.items() if abs(size - wanted) == nearest)


def _overlap(a: Span, b: Span) -> bool:
    return a.source == b.source and a.start < max(b.stop, b.start + 1) and b.start < max(a.stop, a.start + 1)
