"""Part of a dialog that scrolls vertically if it does not fit."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from shardscope.widgets.layouts import made


class _Scrolled(QScrollArea):
    def sizeHint(self) -> QSize:
        inner = self.widget()
        return inner.sizeHint() if inner is not None else super().sizeHint()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize) and watched is (inner := self.widget()):
            column = inner.layout()
            if column is not None and column.hasHeightForWidth():
                # Qt gives it the height that the text wants, and squeezes fields for those with a minimum height.
                inner.setMinimumHeight(column.totalMinimumHeightForWidth(inner.width()))
        return super().eventFilter(watched, event)


def scrolled(inner: QWidget, name: str, spoken: str, parent: QWidget) -> QScrollArea:
    area = made(_Scrolled(parent), name, accessibleName=spoken, frameShape=QFrame.Shape.NoFrame, widgetResizable=True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    return area
