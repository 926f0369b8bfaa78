"""Flag that marks a note in bytes, overview and tree."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

FLAG = "⚑"

BOOKMARK = "Bookmark"
"""Label of a note without text."""


def paint_flag(painter: QPainter, area: QRectF, colour: QColor, edge: QColor) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pole, left, right = max(area.width() / 6, 1.0), area.left(), area.right()
    middle = area.top() + area.height() * 0.32
    pennant = QPolygonF([area.topLeft(), QPointF(right, middle), QPointF(left, area.top() + area.height() * 0.64)])
    for width, shade in ((2.0, edge), (0.0, colour)):
        painter.setPen(QPen(shade, width) if width else Qt.PenStyle.NoPen)
        painter.setBrush(shade)
        painter.drawRect(QRectF(left, area.top(), pole, area.height()))
        painter.drawPolygon(pennant)
    painter.restore()
