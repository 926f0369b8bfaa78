"""Column widths of tables and trees: numbers are never cut, one column takes the remaining width. No Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

MOST_ROUNDS = 3
"""Maximum number of layout passes; fewer if the available width does not change."""


@dataclass(frozen=True, slots=True)
class ColumnWidth:
    """Preferred and minimum width of a column in pixels; equal for numbers, which are never cut."""

    wanted: int
    least: int


def share_width(
    columns: Sequence[ColumnWidth], stretched: int, room: int, by_hand: Mapping[int, int] = MappingProxyType({})
) -> list[int]:
    """Return the width of each column in pixels; their sum exceeds `room` if the minimum widths do.

    Column `stretched` takes the remaining width. `by_hand` are widths set by the user, by column index.
    """
    columns = [ColumnWidth(by_hand[n], by_hand[n]) if n in by_hand else column for n, column in enumerate(columns)]
    widths = [min(column.least, column.wanted) for column in columns]
    widths[stretched] = columns[stretched].least
    missing = [max(column.wanted - width, 0) for column, width in zip(columns, widths, strict=True)]
    left, all_ = max(room - sum(widths), 0), max(sum(missing), 1)
    widths = [width + min(left * more // all_, more) for width, more in zip(widths, missing, strict=True)]
    if stretched not in by_hand:
        widths[stretched] += max(room - sum(widths), 0)
    return widths
