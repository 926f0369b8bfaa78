"""Part of a dialog that scrolls vertically if it does not fit."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from shardscope.widgets.layouts import made


class _Scrolled(QScrollArea):
    def sizeHint(self) -> QSize:
        inner = self.widget()
        return inner.sizeHint() if inner is not None else super().sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._keep_heights()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest and watched is self.widget():
            self._keep_heights()
        return super().eventFilter(watched, event)

    def _keep_heights(self) -> None:
        # Qt asks for the wanted height of wrapped text only, and squeezes what has a minimum height beside it.
        inner = self.widget()
        if (column := inner.layout()) is not None and column.hasHeightForWidth():
            inner.setMinimumHeight(column.totalMinimumHeightForWidth(self.viewport().width()))


def scrolled(inner: QWidget, name: str, spoken: str, parent: QWidget) -> QScrollArea:
    area = made(_Scrolled(parent), name, accessibleName=spoken, frameShape=QFrame.Shape.NoFrame, widgetResizable=True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    return area
