"""Scroll bar for any number of rows: the top row is a Python integer, to which the bar is scaled."""

from __future__ import annotations

import operator
from collections.abc import Callable

from PySide6.QtWidgets import QAbstractSlider, QScrollBar

THUMB = 100_000
"""Maximum of the bar; more rows are scaled."""


class RowScroller:
    """Keeps the top row and a scroll bar in step; only this class may read the bar, whose values are scaled to 32 bits.

    `away` returns the row some lines below a row; with folded rows, this is not an addition.
    """

    def __init__(
        self, bar: QScrollBar, moved: Callable[[], None], away: Callable[[int, int], int] = operator.add
    ) -> None:
        self._bar = bar
        self._moved = moved
        self._away = away
        self._total = 1
        self._visible = 1
        self._rest = 0.0
        self.top = self.last_top = 0
        bar.actionTriggered.connect(self._act)

    @property
    def visible(self) -> int:
        return self._visible

    def resize(self, total: int, visible: int) -> None:
        """Set the total and visible number of rows; keeps the top row, or the end if it is visible."""
        at_end = total == self._total and 0 < self.top == self.last_top
        self._total, self._visible = total, max(visible, 1)
        last = self.last_top = max(self._away(total, -self._visible), 0)
        self._bar.setRange(0, min(last, THUMB))
        self._bar.setPageStep(self._visible if last <= THUMB else max(THUMB * self._visible // total, 1))
        # After folding there may be no rows below; keep the rows above in place.
        self._to(last if at_end else min(self.top, max(total - self._visible, 0)))

    def go(self, top: int) -> None:
        self._to(min(max(top, 0), self.last_top))

    def _to(self, top: int) -> None:
        before, self.top = self.top, top
        self._bar.setValue(self._value(top))
        if top != before:
            self._moved()

    def _lines_away(self, lines: int) -> int:
        return min(max(self._away(self.top, lines), 0), max(self.last_top, self.top))

    def roll(self, rows: float) -> None:
        if rows * self._rest < 0:
            self._rest = 0.0
        whole, self._rest = divmod(abs(rows) + abs(self._rest), 1)
        sign = -1 if rows < 0 else 1
        self._rest *= sign
        self._to(self._lines_away(sign * int(whole)))

    def show(self, row: int, *, centre: bool = False) -> None:
        """Scroll minimally to show a row; with `centre`, to a third of the screen."""
        if self.top <= row < self._away(self.top, self._visible):
            return
        above = self._visible // 3 if centre else 0 if row < self.top else self._visible - 1
        self.go(self._away(row, -above))

    def _value(self, top: int) -> int:
        last = self.last_top
        return top if last <= THUMB else top * THUMB // last

    def _act(self, action: int) -> None:
        kind = QAbstractSlider.SliderAction
        steps = {
            kind.SliderSingleStepAdd: 1,
            kind.SliderSingleStepSub: -1,
            kind.SliderPageStepAdd: self._visible,
            kind.SliderPageStepSub: -self._visible,
        }
        chosen = kind(action)
        if chosen in steps:
            top = self._lines_away(steps[chosen])
        else:
            position, last = self._bar.sliderPosition(), self.last_top
            top = min(max(position if last <= THUMB else position * last // THUMB, 0), last)
        # The bar moves to this position after the action.
        self._bar.setSliderPosition(self._value(top))
        before, self.top = self.top, top
        if top != before:
            self._moved()
