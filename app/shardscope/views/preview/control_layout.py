"""Layout of a picture and its controls: above and below it, or beside it in a low panel."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from shardscope.widgets.fonts import px

LOW = 330
"""Height in pixels below which the controls are beside the picture."""

SIDE = 380
"""Width of the controls beside the picture in pixels."""

_LEAST = 120


class PictureFrame(QWidget):
    def __init__(self, above: QWidget, picture: QWidget, below: QWidget | None = None) -> None:
        super().__init__()
        self.setObjectName("previewFrame")
        self.beside = False
        self._parts = above, below
        self.side = QScrollArea()
        self.side.setObjectName("previewSide")
        self.side.setAccessibleName(self.tr("Controls"))
        self.side.setFrameShape(QFrame.Shape.NoFrame)
        self.side.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.side.setWidgetResizable(True)
        self.side.setFixedWidth(px(SIDE))
        self.side.hide()
        inner = QWidget()
        self.side.setWidget(inner)
        self._inner, self._column = QVBoxLayout(inner), QVBoxLayout()
        row = QHBoxLayout(self)
        for layout in (row, self._inner, self._column):
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(0)
        self._inner.addStretch(1)
        row.addWidget(self.side)
        row.addLayout(self._column, 1)
        self._column.addWidget(picture, 1)
        self._arrange()

    def _arrange(self) -> None:
        above, below = self._parts
        if self.beside:
            self._inner.insertWidget(0, above)
            if below is not None:
                self._inner.insertWidget(1, below)
        else:
            self._column.insertWidget(0, above)
            if below is not None:
                self._column.addWidget(below)
        self.side.setVisible(self.beside)

    def reveal(self, part: QWidget) -> None:
        if self.beside:
            self.side.ensureWidgetVisible(part, 0, 0)

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        # A wide panel may be lower, since the controls are beside the picture.
        return QSize(least.width(), min(least.height(), _LEAST)) if self.width() >= 2 * px(SIDE) else least

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (event.oldSize().width() >= 2 * px(SIDE)) != (self.width() >= 2 * px(SIDE)):
            self.updateGeometry()
        beside = self.height() < px(LOW) and self.width() >= 2 * px(SIDE)
        if beside != self.beside:
            self.beside = beside
            self._arrange()
