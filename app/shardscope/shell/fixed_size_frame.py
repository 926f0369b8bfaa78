"""Frame whose size does not depend on its content, so that its neighbours do not move."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLayout, QScrollArea, QVBoxLayout, QWidget

from shardscope.widgets.fonts import px

_WISH = QSize(320, 220)


class _Tall(QScrollArea):
    def __init__(self, part: QWidget, high: int) -> None:
        super().__init__()
        self._part, self._high = part, high
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidget(part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._part.resize(self.viewport().width(), max(self.viewport().height(), px(self._high)))


class FixedSizeFrame(QWidget):
    """Frame with a constant size hint. With `high`, the part scrolls below that height in pixels at 100 %."""

    resized = Signal()

    def __init__(self, part: QWidget, least: QSize, parent: QWidget | None = None, *, high: int = 0) -> None:
        super().__init__(parent)
        self.part = part
        self._least = least
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        column.addWidget(_Tall(part, high) if high else part)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    def sizeHint(self) -> QSize:
        return _WISH

    def minimumSizeHint(self) -> QSize:
        return self._least
