"""Check box whose tick is visible in every theme; style sheets can only fill the box."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionButton

from shardscope.widgets import theme


class TickBox(QCheckBox):
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.isChecked():
            return
        option = QStyleOptionButton()
        self.initStyleOption(option)
        box = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(theme.of(self).base, 2)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        left, top, side = box.left() + 0.5, box.top() + 0.5, box.width()
        places = ((0.24, 0.52), (0.42, 0.70), (0.76, 0.30))
        painter.drawPolyline([QPointF(left + x * side, top + y * side) for x, y in places])
