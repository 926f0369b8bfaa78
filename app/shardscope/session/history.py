"""Places that were selected, for *back* and *forward*. No Qt here."""

from __future__ import annotations

from shardscope.session.selection import Selection

MOST = 200
"""Places that are remembered."""

NEAR = 1024
"""A selection at most this many bytes from the last one replaces it."""


class History:
    """Where the user was. The current place is one of them, or there is none yet."""

    def __init__(self) -> None:
        self._places: list[Selection] = []
        self._at = -1

    def can_go(self, step: int) -> bool:
        """Whether there is a place so many steps away; negative ones lie before."""
        return 0 <= self._at + step < len(self._places)

    def go(self, step: int) -> Selection:
        """Goes to a place that is there, and gives it."""
        self._at += step
        return self._places[self._at]

    def add(self, chosen: Selection) -> None:
        """Remembers a place after the current one; what came after that is forgotten."""
        del self._places[self._at + 1 :]
        if self._places and _near(self._places[-1], chosen):
            self._places[-1] = chosen
        else:
            self._places.append(chosen)
            del self._places[: -MOST or None]
        self._at = len(self._places) - 1

    def complete(self, chosen: Selection, found: Selection) -> None:
        """More is known of the current place, if it is that one."""
        if self._places and self._places[self._at] is chosen:
            self._places[self._at] = found

    def clear(self) -> None:
        """Forgets all."""
        self._places.clear()
        self._at = -1


def _near(last: Selection, chosen: Selection) -> bool:
    """Whether two selections are one place to a person who goes back."""
    if last.span is None or chosen.span is None:
        return last.row == chosen.row and last.span is chosen.span
    if last.row is not None and chosen.row is not None:
        return last.row == chosen.row
    same_source = last.span.source == chosen.span.source
    return same_source and abs(last.span.start - chosen.span.start) <= NEAR
