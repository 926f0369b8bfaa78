"""Key spaces of a data set as cards, where one is to be chosen before there are bytes."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from shardcore import DataSet
from shardcore.model.number_words import plural
from shardscope.widgets import theme
from shardscope.widgets.wrap_text import WrapText

MOST_CARDS = 60
"""Cards; the tree and the places list all key spaces."""

_COLUMNS = 2


class KeySpaceCard(QAbstractButton):
    """Opens a key space: by a click, by Return, by the space bar."""

    def __init__(self, folder: str, details: tuple[str, ...]) -> None:
        super().__init__()
        self.setText(folder)
        self.setAccessibleName(self.tr("Open the key space {0}: {1}").format(folder, ", ".join(details)))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(2)
        self.lines = [WrapText(folder, bold=True), *(WrapText(one, tone="muted") for one in details)]
        for line in self.lines:
            line.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            line.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            column.addWidget(line)
        column.addStretch(1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colours = QPainter(self), theme.of(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        strong = self.hasFocus()
        painter.setPen(QPen(colours.accent if strong else colours.border, 2 if strong else 1))
        painter.setBrush(colours.raised if self.underMouse() or self.isDown() else colours.base)
        painter.drawRoundedRect(self.rect().toRectF().adjusted(1, 1, -1, -1), 8, 8)
        painter.end()


class KeySpaceCards(QScrollArea):
    """A card for each key space of a data set; `chosen` carries the address of one."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("keySpaces")
        self.setAccessibleName(self.tr("Key spaces"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.cards: list[KeySpaceCard] = []

    def fill(self, shard: DataSet) -> None:
        """Show the key spaces of a data set."""
        page = QWidget()
        grid = QGridLayout(page)
        grid.setContentsMargins(16, 16, 16, 16)
        grid.setSpacing(10)
        spaces = shard.key_space_details
        heading = WrapText(self.tr("Choose one of {0}").format(plural(len(spaces), "key space")), bold=True)
        grid.addWidget(heading, 0, 0, 1, _COLUMNS)
        self.cards = []
        for number, (folder, details) in enumerate(list(spaces.items())[:MOST_CARDS]):
            card = KeySpaceCard(folder, details)
            where = f"{shard.folder.uri.rstrip('/')}/{folder}"
            card.clicked.connect(lambda _=False, where=where: self.chosen.emit(where))
            grid.addWidget(card, 1 + number // _COLUMNS, number % _COLUMNS)
            self.cards.append(card)
        if more := len(spaces) - len(self.cards):
            grid.addWidget(WrapText(self.tr("… and {0} more in Places").format(f"{more:,}")), grid.rowCount(), 0)
        grid.setRowStretch(grid.rowCount(), 1)
        self.setWidget(page)
        self.setFocusProxy(next(iter(self.cards), None))
