"""Widths of the columns of tables and trees: numbers are never cut, names take the rest, other columns are hidden.

No Qt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_ROUNDS = 3
"""Most rounds of sharing widths; it ends earlier where the room no longer changes."""


@dataclass(frozen=True, slots=True)
class Room:
    """Pixels that one column needs.

    Attributes:
        wanted: For its widest text.
        least: Less than this is not worth reading; of numbers the same as `wanted`.
        leaves: Columns with small numbers are hidden first; 0: never hidden.
    """

    wanted: int
    least: int
    leaves: int = 0


def share_room(columns: Sequence[Room], stretched: int, room: int) -> list[int]:
    """Return the width of each column, 0 for those that are hidden.

    Args:
        columns: What they need.
        stretched: The column that takes what is left.
        room: Pixels for all of them.
    """
    widths = [min(column.least, column.wanted) for column in columns]
    widths[stretched] = columns[stretched].least
    for number in sorted(range(len(columns)), key=lambda n: columns[n].leaves):
        if columns[number].leaves and sum(widths) > room:
            widths[number] = 0
    missing = [max(column.wanted - width, 0) if width else 0 for column, width in zip(columns, widths, strict=True)]
    left, all_ = max(room - sum(widths), 0), max(sum(missing), 1)
    widths = [width + min(left * more // all_, more) for width, more in zip(widths, missing, strict=True)]
    widths[stretched] += max(room - sum(widths), 0)
    return widths
