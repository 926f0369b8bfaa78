"""Areas that scroll vertically if their content does not fit."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from shardscope.widgets.layouts import made


class ScrollArea(QScrollArea):
    """Vertical scroll area; while it handles a resize of its content, it ignores further ones.

    Otherwise, for text that fits only without the scroll bar, Qt adds and removes the bar until the stack overflows.
    """

    _resizing = False

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, frameShape=QFrame.Shape.NoFrame, widgetResizable=True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.Resize:
            return super().eventFilter(watched, event)
        if self._resizing:
            return False
        self._resizing = True
        try:
            return super().eventFilter(watched, event)
        finally:
            self._resizing = False


class _Scrolled(ScrollArea):
    def sizeHint(self) -> QSize:
        inner = self.widget()
        return inner.sizeHint() if inner is not None else super().sizeHint()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize) and watched is (inner := self.widget()):
            column = inner.layout()
            if column is not None and column.hasHeightForWidth():
                # Otherwise Qt reserves too little height, and squeezes fields that have no minimum height.
                inner.setMinimumHeight(column.totalMinimumHeightForWidth(inner.width()))
        return super().eventFilter(watched, event)


def scrolled(inner: QWidget, name: str, spoken: str, parent: QWidget) -> ScrollArea:
    area = made(_Scrolled(parent), name, accessibleName=spoken)
    area.setWidget(inner)
    return area
