"""Progress of lookup steps, and the signs in front of them."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, px, sized


class Progress(Enum):
    AHEAD = "ahead"
    CURRENT = "current"
    BEHIND = "behind"


class Sign(QWidget):
    def __init__(self, mark: str, tone: str, *, size: int = 24, filled: bool = True) -> None:
        super().__init__()
        self.mark, self._tone, self._filled = mark, tone, filled
        self.setFixedSize(px(size), px(size))
        self._name()

    def set_look(self, mark: str, tone: str, *, filled: bool) -> None:
        self.mark, self._tone, self._filled = mark, tone, filled
        self._name()
        self.update()

    def _name(self) -> None:
        words = {"tick": self.tr("yes"), "none": self.tr("no"), "alarm": self.tr("damaged")}
        self.setAccessibleName(words.get(self.mark, self.mark))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.of(self)
        colour: QColor = getattr(colours, self._tone)
        disc = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(QPen(colour, 1.5))
        painter.setBrush(colour if self._filled else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(disc)
        ink = colours.base if self._filled else colour
        painter.setPen(QPen(ink, 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        self._paint_mark(painter, disc)
        painter.end()

    def _paint_mark(self, painter: QPainter, disc: QRectF) -> None:
        def at(x: float, y: float) -> QPointF:
            return QPointF(disc.x() + x * disc.width(), disc.y() + y * disc.height())

        if self.mark == "tick":
            painter.drawPolyline(QPolygonF([at(0.28, 0.52), at(0.44, 0.68), at(0.73, 0.34)]))
        elif self.mark == "none":
            painter.drawLine(at(0.3, 0.5), at(0.7, 0.5))
        elif self.mark == "alarm":
            painter.drawLine(at(0.5, 0.24), at(0.5, 0.56))
            painter.drawPoint(at(0.5, 0.76))
        else:
            font = sized(self.font(), SMALL)
            font.setBold(self._filled)
            painter.setFont(font)
            painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, self.mark)
