"""Text with line numbers and colours; each line knows its bytes in the content."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget

from shardcore import Content, ObjectRef, Shard, TextContent
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.widgets import theme
from shardscope.widgets.fonts import NORMAL, mono

Token = tuple[int, int, str]
"""Start and stop of a token in the text, and its role: a name of a colour of the theme."""

MOST_COLOURED = 1 << 18
"""Characters that get colours."""

_ROLES = (
    ("Token.Comment", "muted"),
    ("Token.Keyword", "accent"),
    ("Token.Name.Tag", "accent"),
    ("Token.Literal.String", "ok"),
    ("Token.Literal.Number", "note"),
    ("Token.Name.Function", "warning"),
    ("Token.Name.Class", "warning"),
)


def tokens_of(text: str, language: str) -> list[Token]:
    """Return the tokens of a text that get a colour; by Pygments, whose name of the language is given."""
    from pygments.lexers import find_lexer_class

    lexer = find_lexer_class(language) if language else None
    if lexer is None:
        return []
    found: list[Token] = []
    for start, kind, value in lexer().get_tokens_unprocessed(text[:MOST_COLOURED]):
        name = str(kind)
        role = next((role for prefix, role in _ROLES if name.startswith(prefix)), "")
        if role and value:
            found.append((start, start + len(value), role))
    return found


class _Colours(QSyntaxHighlighter):
    """Colours of tokens that were found before."""

    def __init__(self, document: QTextDocument, view: QWidget) -> None:
        super().__init__(document)
        self._view = view
        self.tokens: list[Token] = []
        self._stops: list[int] = []

    def show_tokens(self, tokens: list[Token]) -> None:
        """Show other tokens."""
        self.tokens, self._stops = tokens, [stop for _, stop, _ in tokens]
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        begin = self.currentBlock().position()
        colours = theme.of(self._view)
        for start, stop, role in self.tokens[bisect_right(self._stops, begin) :]:
            if start >= begin + len(text):
                break
            first = max(start, begin) - begin
            form = QTextCharFormat()
            form.setForeground(getattr(colours, role))
            self.setFormat(first, min(stop - begin, len(text)) - first, form)


class _Numbers(QWidget):
    """Numbers of the lines, beside them."""

    spoken_role = QAccessible.Role.RowHeader

    def __init__(self, view: TextLines) -> None:
        super().__init__(view)
        self.setAccessibleName(self.tr("Line numbers"))
        self._view = view

    def sizeHint(self) -> QSize:
        return QSize(self._view.numbers_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_numbers(self, event.rect())


class TextLines(QPlainTextEdit):
    """Text with line numbers.

    `pointed(line)` carries the line under the pointer, -1 for none; `chosen(line)` a line that was clicked.
    """

    pointed = Signal(int)
    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("previewText")
        self.setAccessibleName(self.tr("Text of the object"))
        self.setReadOnly(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(mono(NORMAL))
        self.setMouseTracking(True)
        self.viewport().setMouseTracking(True)
        self._colours = _Colours(self.document(), self)
        self._numbers = _Numbers(self)
        self.blockCountChanged.connect(lambda _: self._make_room())
        self.updateRequest.connect(self._follow)
        self._make_room()

    def show_text(self, text: str, tokens: list[Token]) -> None:
        """Show another text."""
        self._colours.tokens = []
        self.setPlainText(text.replace("\r\n", "\n").replace("\r", "\n") if not tokens else text)
        self._colours.show_tokens(tokens)
        self.setExtraSelections([])

    def mark(self, first: int, last: int) -> None:
        """Mark lines `first` to `last`, both included, and show the first."""
        selections: list[Any] = []
        colour = QColor(theme.of(self).selection)
        for line in range(first, min(last, first + 1000) + 1):
            block = self.document().findBlockByNumber(line)
            if not block.isValid():
                break
            selection = QTextEdit.ExtraSelection()
            selection.format.setBackground(colour)
            selection.format.setProperty(QTextCharFormat.Property.FullWidthSelection, True)
            cursor = self.textCursor()
            cursor.setPosition(block.position())
            selection.cursor = cursor
            selections.append(selection)
        self.setExtraSelections(selections)
        if selections and not self._visible(first):
            self.setTextCursor(selections[0].cursor)
            self.centerCursor()

    def _visible(self, line: int) -> bool:
        top = self.firstVisibleBlock().blockNumber()
        rows = self.viewport().height() // max(self.fontMetrics().lineSpacing(), 1)
        return top <= line < top + rows

    # --- numbers ---

    def numbers_width(self) -> int:
        """Return the width of the numbers of the lines."""
        return self.fontMetrics().horizontalAdvance("9") * max(len(str(self.blockCount())), 2) + 14

    def paint_numbers(self, strip: QWidget, area: QRect) -> None:
        """Paint the numbers of the lines."""
        colours = theme.of(self)
        painter = QPainter(strip)
        painter.fillRect(area, colours.raised)
        painter.setPen(colours.muted)
        painter.setFont(QFont(self.font()))
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        while block.isValid() and top <= area.bottom():
            height = self.blockBoundingRect(block).height()
            box = QRect(0, round(top), strip.width() - 7, self.fontMetrics().height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight, str(block.blockNumber() + 1))
            block, top = block.next(), top + height

    def _make_room(self) -> None:
        self.setViewportMargins(self.numbers_width(), 0, 0, 0)

    def _follow(self, area: QRect, moved: int) -> None:
        if moved:
            self._numbers.scroll(0, moved)
        else:
            self._numbers.update(0, area.y(), self._numbers.width(), area.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inner = self.contentsRect()
        self._numbers.setGeometry(inner.left(), inner.top(), self.numbers_width(), inner.height())

    # --- mouse ---

    def line_at(self, place: QPoint) -> int:
        """Return the line at a place of the viewport; -1 below the last one."""
        cursor = self.cursorForPosition(place)
        box = self.cursorRect(cursor)
        return cursor.blockNumber() if place.y() <= box.bottom() else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if not event.buttons():
            self.pointed.emit(self.line_at(event.position().toPoint()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        line = self.line_at(event.position().toPoint())
        if event.button() is Qt.MouseButton.LeftButton and line >= 0 and not self.textCursor().hasSelection():
            self.chosen.emit(line)

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit(-1)
        super().leaveEvent(event)


class TextView(ContentView):
    """Text of a content; each line has its bytes."""

    label = "Text"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.lines = TextLines()
        self.setFocusProxy(self.lines)
        self._content = TextContent("", 0, b"")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.lines)
        self.lines.pointed.connect(lambda line: self.pointed.emit(*self._line_bytes(line)))
        self.lines.chosen.connect(lambda line: self.chosen.emit(*self._line_bytes(line)))

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, TextContent)

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> list[Token]:
        assert isinstance(content, TextContent)
        return tokens_of(content.text, content.language)

    def show_preview(self, preview: Preview) -> None:
        assert isinstance(preview.content, TextContent)
        self._content = preview.content
        self.lines.show_text(self._content.text, preview.prepared)

    def mark(self, start: int, stop: int) -> None:
        self.lines.mark(self._content.line_at(start), self._content.line_at(max(stop - 1, start)))

    def _line_bytes(self, line: int) -> tuple[int, int]:
        return self._content.line_bytes(line) if 0 <= line < len(self._content.line_starts) else (0, 0)
