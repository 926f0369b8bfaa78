"""A slider over a few values, with a mark for each that is seen in every theme."""

from __future__ import annotations

from PySide6.QtCore import QLine, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSlider, QStyle, QStyleOptionSlider, QWidget

from shardscope.widgets import theme

_HIGH = 4
"""Pixels of a mark."""


class TickedSlider(QSlider):
    """A horizontal slider that steps from mark to mark.

    The style paints marks in a darker shade of the window, which is not seen in a dark one.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.setTickInterval(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        colours = theme.of(self)
        painter.setPen(QPen(colours.muted if self.isEnabled() else colours.faint, 1))
        painter.drawLines([QLine(x, self.height() - 1 - _HIGH, x, self.height() - 1) for x in self.marks()])
        painter.end()

    def marks(self) -> list[int]:
        """Return where the marks stand, in pixels from the left."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style = self.style()
        length = style.pixelMetric(QStyle.PixelMetric.PM_SliderLength, option, self)
        room = style.pixelMetric(QStyle.PixelMetric.PM_SliderSpaceAvailable, option, self)
        least, most = self.minimum(), self.maximum()
        return [
            QStyle.sliderPositionFromValue(least, most, value, room) + length // 2 for value in range(least, most + 1)
        ]
