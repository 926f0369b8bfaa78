"""Part of a dialog that scrolls vertically if it does not fit."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from shardscope.widgets.layouts import made


class _Scrolled(QScrollArea):
    def sizeHint(self) -> QSize:
        inner = self.widget()
        return inner.sizeHint() if inner is not None else super().sizeHint()


def scrolled(inner: QWidget, name: str, spoken: str, parent: QWidget) -> QScrollArea:
    area = made(_Scrolled(parent), name, accessibleName=spoken, frameShape=QFrame.Shape.NoFrame, widgetResizable=True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inner)
    return area
