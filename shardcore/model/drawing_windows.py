"""Which cells of many are drawn: those around what matters."""

from __future__ import annotations


def window(count: int, around: int, most: int) -> range:
    """At most `most` of `count` cells, with `around` in the middle where there is room on both sides.

    Args:
        count: How many there are.
        around: The one that matters.
        most: How many are drawn.
    """
    first = max(min(around - most // 2, count - most), 0)
    return range(first, min(first + most, count))
