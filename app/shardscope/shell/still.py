"""A frame around a part of the window: whatever happens inside, its neighbours keep their sizes."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLayout, QVBoxLayout, QWidget

_WISH = QSize(320, 220)


class FixedSizeFrame(QWidget):
    resized = Signal()

    def __init__(self, part: QWidget, least: QSize, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.part = part
        self._least = least
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        column.addWidget(part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def sizeHint(self) -> QSize:
        return _WISH

    def minimumSizeHint(self) -> QSize:
        return self._least
