"""A layout that puts parts side by side, and begins another row where there is no room."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

_BETWEEN = 4


class FlowLayout(QLayout):
    """Parts in rows, each as large as it likes to be."""

    def __init__(self, parent: QWidget | None = None, *, gap: int = 14) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap

    def addItem(self, item: QLayoutItem) -> None:
        """Puts a part last."""
        self._items.append(item)

    def count(self) -> int:
        """How many parts there are."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        """A part, or None."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        """Takes a part out."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        """It takes no more than it needs."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        """Narrower is higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Pixels that the rows need."""
        return self._laid(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        """Places the parts."""
        super().setGeometry(rect)
        self._laid(rect, move=True)

    def sizeHint(self) -> QSize:
        """As `minimumSize`."""
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        """Room for the largest part."""
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size.grownBy(self.contentsMargins())

    def _laid(self, rect: QRect, *, move: bool) -> int:
        inside = rect.marginsRemoved(self.contentsMargins())
        y = inside.y()
        for row in self._rows(inside.width()):
            high = max(item.sizeHint().height() for item in row)
            x = inside.x()
            for item in row if move else ():
                wish = item.sizeHint()
                wide = min(wish.width(), inside.width())
                item.setGeometry(QRect(x, y + (high - wish.height()) // 2, wide, wish.height()))
                x += wish.width() + self._gap
            y += high + _BETWEEN
        return y - _BETWEEN - rect.y() + self.contentsMargins().bottom()

    def _rows(self, width: int) -> list[list[QLayoutItem]]:
        """The parts, row by row."""
        rows: list[list[QLayoutItem]] = []
        taken = 0
        for item in self._items:
            wish = item.sizeHint().width()
            if not rows or taken + self._gap + wish > width:
                rows.append([])
                taken = -self._gap
            rows[-1].append(item)
            taken += self._gap + wish
        return rows
