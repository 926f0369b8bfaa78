"""Label for Markdown that wraps at any width, and the painting of the card behind such labels."""

from __future__ import annotations

import re
from math import ceil

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QTextDocument
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from shardscope.widgets import theme
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.plain_text import without_resources

_LEAST = 60

_FORMULA = re.compile(r"(?<=\b\w) (=|·|mod|//) (?=\w{1,2}\b)")
"""Matches an operator between two short names, around which no line may break."""

# Keys may be too long for a line; optional breaks are put into them.
_LONG = re.compile(r"(?<![\w/(])[0-9A-Za-z]{24,}")

_LINK = re.compile(r"(?<!\\)\]\(")
_FOLLOWS = Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard


def _prepared(text: str) -> str:
    text = without_resources(text)
    text = _LONG.sub(lambda found: "\u200b".join(found[0][at : at + 8] for at in range(0, len(found[0]), 8)), text)
    return _FORMULA.sub("\u00a0\\1\u00a0", text)


class Prose(QLabel):
    clicked = Signal()

    def __init__(self, *, tone: str = "text", bold: bool = False, large: bool = False) -> None:
        super().__init__()
        self._tone, self._bold, self._large = tone, bold, large
        self.setTextFormat(Qt.TextFormat.MarkdownText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._apply_style()

    def set_text(self, text: str) -> None:
        """Show Markdown, without images and other resources; an empty text hides the label."""
        text = _prepared(text)
        flags = _FOLLOWS if _LINK.search(text) is not None else Qt.TextInteractionFlag.NoTextInteraction
        if flags != self.textInteractionFlags():
            self.setTextInteractionFlags(flags)
        self.setText(text)
        if not text:
            self.hide()
        elif self.parentWidget() is not None:
            # Without a parent it would become a window of its own.
            self.show()

    def height_of(self, text: str, width: int) -> int:
        """Return the height in pixels that a text needs at a width; 0 if the text is empty."""
        if not text:
            return 0
        document = QTextDocument(documentMargin=0)
        document.setDefaultFont(self.font())
        document.setMarkdown(_prepared(text))
        document.setTextWidth(width)
        return ceil(document.size().height())

    def set_tone(self, tone: str) -> None:
        self._tone = tone
        self._apply_style()

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST, self.fontMetrics().height())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._apply_style()
        elif event.type() == QEvent.Type.FontChange and (text := self.text()):
            # Qt keeps the size of code and of gaps between paragraphs until another text is set.
            self.setText("")
            self.setText(text)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.pos()):
            self.clicked.emit()

    def _apply_style(self) -> None:
        colour = getattr(theme.of(self), self._tone).name()
        size = f"font-size: {LARGE}px;" if self._large else ""
        style = f"color: {colour}; {size} font-weight: {600 if self._bold else 400};"
        if style != self.styleSheet():
            self.setStyleSheet(style)


def paint_card(widget: QWidget, edge: QColor) -> None:
    painter = QPainter(widget)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(edge)
    painter.setBrush(theme.of(widget).raised)
    painter.drawRoundedRect(QRectF(widget.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 7, 7)
    painter.end()
