"""A line of text that takes whatever room there is: what does not fit is cut in the middle, and stands in the tip."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from shardscope.looks.shown import tip


class CutLabel(QLabel):
    """Never asks for more room because of what it says."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(0, self.fontMetrics().height() + 2)

    def minimumSizeHint(self) -> QSize:
        """One line."""
        return self.sizeHint()

    def cut_text(self) -> str:
        """What is painted."""
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideMiddle, self.width())

    def paintEvent(self, event: QPaintEvent) -> None:
        """As much as fits."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), self.cut_text())
        painter.end()

    def event(self, event: QEvent) -> bool:
        """The tip is there when something is cut."""
        if event.type() == QEvent.Type.ToolTip:
            self.setToolTip(tip(self.text()) if self.cut_text() != self.text() else "")
        return super().event(event)
