"""A scroll bar for any number of rows: the bar is only a scaled thumb, the top row is a Python integer."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QAbstractSlider, QScrollBar

THUMB = 100_000
"""Positions of the bar when there are more rows than that."""


class RowScroller:
    """Holds the top row, and keeps a scroll bar in step with it.

    Args:
        bar: The bar. Its values are 32-bit; nothing but this class reads them.
        moved: Called when the top row changed.
    """

    def __init__(self, bar: QScrollBar, moved: Callable[[], None]) -> None:
        self._bar = bar
        self._moved = moved
        self._total = 1
        self._visible = 1
        self._rest = 0.0
        self.top = 0
        bar.actionTriggered.connect(self._act)

    @property
    def last_top(self) -> int:
        """The top row when the last row is at the bottom."""
        return max(self._total - self._visible, 0)

    @property
    def visible(self) -> int:
        """Rows that are completely on the screen."""
        return self._visible

    def resize(self, total: int, visible: int) -> None:
        """Set the number of rows and of those that fit; keep the top row, or the last one at the bottom."""
        at_end = total == self._total and 0 < self.top == self.last_top
        self._total, self._visible = total, max(visible, 1)
        last = self.last_top
        self._bar.setRange(0, min(last, THUMB))
        self._bar.setPageStep(self._visible if last <= THUMB else max(THUMB * self._visible // total, 1))
        self.go(last if at_end else self.top)

    def go(self, top: int) -> None:
        """Scroll to a top row, as far as there are rows."""
        before, self.top = self.top, min(max(top, 0), self.last_top)
        self._bar.setValue(self._value(self.top))
        if self.top != before:
            self._moved()

    def roll(self, rows: float) -> None:
        """Scroll by parts of rows, as fine wheels do; what is less than a row is kept for the next time."""
        if rows * self._rest < 0:
            self._rest = 0.0
        whole, self._rest = divmod(abs(rows) + abs(self._rest), 1)
        sign = -1 if rows < 0 else 1
        self._rest *= sign
        self.go(self.top + sign * int(whole))

    def show(self, row: int, *, centre: bool = False) -> None:
        """Scroll as little as needed to show a row; with `centre`, to a third of the screen when it was not shown."""
        if self.top <= row < self.top + self._visible:
            return
        if centre:
            self.go(row - self._visible // 3)
        else:
            self.go(row if row < self.top else row - self._visible + 1)

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
            top = self.top + steps[chosen]
        else:
            position, last = self._bar.sliderPosition(), self.last_top
            top = position if last <= THUMB else position * last // THUMB
        top = min(max(top, 0), self.last_top)
        # The bar takes this position when the action is done.
        self._bar.setSliderPosition(self._value(top))
        before, self.top = self.top, top
        if top != before:
            self._moved()
