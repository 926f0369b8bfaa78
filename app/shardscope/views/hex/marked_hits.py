"""Hits of a search among the bytes on the screen; only bytes in memory are searched."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.operations.search import Pattern, find_any
from shardscope.session.pages import PAGE, PageCache
from shardscope.views.hex.scene import Range

MOST = 2000
"""Hits on one screen that are marked."""


def hits_in(
    pages: PageCache, name: str, patterns: Sequence[Pattern], start: int, stop: int, size: int
) -> tuple[Range, ...]:
    """The bytes in `[start, stop)` that a pattern fits, those that reach in from outside included; ascending.

    Args:
        pages: Where the bytes are, as far as they are in memory.
        name: Which source.
        patterns: What is searched for.
        start: First byte.
        stop: One past the last byte.
        size: Of the source.
    """
    if not patterns or stop <= start:
        return ()
    reach = max(pattern.size for pattern in patterns) - 1
    found: list[Range] = []
    # A page that is missing parts the bytes.
    for first, last in _loaded(pages, name, max(start - reach, 0), min(stop + reach, size)):
        data = pages.bytes_at(name, first, last)
        if data is None:
            continue
        offsets, which = find_any(data, patterns)
        for offset, number in zip((offsets + first).tolist(), which.tolist(), strict=True):
            end = offset + patterns[number].size
            if end > start and offset < stop:
                found.append((offset, end))
    return tuple(found[:MOST])


def _loaded(pages: PageCache, name: str, start: int, stop: int) -> list[Range]:
    """The stretches of `[start, stop)` that are in memory."""
    stretches: list[Range] = []
    for number in range(start // PAGE, -(-stop // PAGE)):
        first, last = max(start, number * PAGE), min(stop, (number + 1) * PAGE)
        page = pages.get(name, number)
        if page is None or page.stop < last:
            continue
        if stretches and stretches[-1][1] == first:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    return stretches
