"""Text with line numbers, syntax colours and search; each line is linked to its bytes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import islice
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
)
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget

from shardcore import ObjectRef, Shard, TextContent
from shardcore.model.text import plural, size_text, visible
from shardscope.session.session import Session
from shardscope.views.preview import ContentView, Preview, button, row, value_line
from shardscope.widgets import theme
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.fonts import NORMAL, mono
from shardscope.widgets.layouts import lay, made

Token = tuple[int, int, str]
"""Token of a text: start, stop and colour name."""

MOST_COLOURED = 1 << 16
"""Maximum number of characters with syntax colours."""

FIRST = 1 << 18
"""Number of characters shown at first."""

MOST = 1 << 22
"""Maximum number of characters shown after *Show all*."""

MOST_LINE = 10_000
"""Maximum number of characters of a line; Qt lays out longer lines slowly."""

MOST_FOUND = 10_000

_MARKED = 1000
_BEYOND = re.compile("[\U00010000-\U0010ffff]")

_ROLES = (
    ("Token.Comment", "muted"),
    ("Token.Keyword", "accent"),
    ("Token.Name.Tag", "accent"),
    ("Token.Literal.String", "ok"),
    ("Token.Literal.Number", "note"),
    ("Token.Name.Function", "warning"),
    ("Token.Name.Class", "warning"),
)


def shown_text(text: str) -> str:
    lines = visible(text.replace("\r\n", "\n"), keep="\n\t").split("\n")
    return "\n".join(
        line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]} … ({len(line):,} characters)" for line in lines
    )


def qt_position(text: str) -> Callable[[int], int]:
    """Return a function from text offsets to Qt positions, where characters beyond U+FFFF count twice."""
    wide = [match.start() for match in _BEYOND.finditer(text)]
    return lambda offset: offset + bisect_left(wide, offset)


def tokens_of(text: str, language: str) -> list[Token]:
    """Return the tokens found by Pygments in a text that have a colour; they contain Qt positions."""
    from pygments.lexers import find_lexer_class

    lexer = find_lexer_class(language) if language else None
    if lexer is None:
        return []
    found: list[Token] = []
    text = text[:MOST_COLOURED]
    position = qt_position(text)
    for start, kind, value in lexer().get_tokens_unprocessed(text):
        name = str(kind)
        role = next((role for prefix, role in _ROLES if name.startswith(prefix)), "")
        if role and value:
            found.append((position(start), position(start + len(value)), role))
    return found


class _Colours(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument, view: QWidget) -> None:
        super().__init__(document)
        self._view = view
        self.tokens: list[Token] = []
        self._stops: list[int] = []
        self._forms: dict[str, QTextCharFormat] = {}

    def show_tokens(self, tokens: list[Token]) -> None:
        self.tokens, self._stops = tokens, [stop for _, stop, _ in tokens]
        colours = theme.of(self._view)
        self._forms = {}
        for role in {role for _, _, role in tokens}:
            self._forms[role] = QTextCharFormat()
            self._forms[role].setForeground(getattr(colours, role))

    def highlightBlock(self, text: str) -> None:
        begin, length = self.currentBlock().position(), self.currentBlock().length() - 1
        for start, stop, role in self.tokens[bisect_right(self._stops, begin) :]:
            if start >= begin + length:
                break
            first = max(start, begin) - begin
            self.setFormat(first, min(stop - begin, length) - first, self._forms[role])


class _Numbers(QWidget):
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
    """Text with line numbers; `pointed(line)` and `chosen(line)` count from 0, -1 for none."""

    pointed = Signal(int)
    chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "previewText", accessibleName=self.tr("Text of the object"), readOnly=True)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        made(self, tabChangesFocus=True, mouseTracking=True, frameShape=QPlainTextEdit.Shape.NoFrame)
        made(self, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap, font=mono(NORMAL))
        self.viewport().setMouseTracking(True)
        self._colours = _Colours(self.document(), self)
        self._numbers = _Numbers(self)
        self._marked: list[int] = []
        self.found: list[tuple[int, int]] = []
        self.at = -1
        self.blockCountChanged.connect(lambda _: self._make_room())
        self.updateRequest.connect(self._follow)
        self._make_room()

    def show_text(self, text: str, tokens: list[Token]) -> None:
        self._colours.show_tokens(tokens)
        self._marked, self.found, self.at = [], [], -1
        self.setPlainText(text)
        self._paint_selections()

    def mark(self, first: int, last: int) -> None:
        blocks = map(self.document().findBlockByNumber, range(first, min(last, first + _MARKED) + 1))
        self._marked = [block.position() for block in blocks if block.isValid()]
        self._paint_selections()
        if self._marked:
            seen = self._visible(first)
            cursor = self.textCursor()
            cursor.setPosition(self._marked[0])
            self.setTextCursor(cursor)
            if not seen:
                self.centerCursor()

    def find_all(self, text: str) -> int:
        self.found, self.at = [], -1
        if text:
            whole = self.toPlainText()
            position = qt_position(whole)
            matches = islice(re.finditer(re.escape(text), whole, re.IGNORECASE), MOST_FOUND)
            self.found = [(position(match.start()), position(match.end())) for match in matches]
        if self.found:
            begin = self.textCursor().selectionStart()
            self.at = next((n for n, (start, _) in enumerate(self.found) if start >= begin), 0) - 1
            self.step(1)
        else:
            self._paint_selections()
        return len(self.found)

    def step(self, by: int) -> None:
        if not self.found:
            return
        self.at = (self.at + by) % len(self.found)
        cursor = self.textCursor()
        start, stop = self.found[self.at]
        cursor.setPosition(start)
        cursor.setPosition(stop, cursor.MoveMode.KeepAnchor)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()
        self._paint_selections()

    def _paint_selections(self) -> None:
        colours = theme.of(self)
        selections = [self._selection(start, start, colours.selection, whole=True) for start in self._marked]
        first, shade = max(self.at - _MARKED // 2, 0), QColor(colours.warning)
        shade.setAlpha(90)
        found = self.found[first : first + _MARKED]
        selections += [self._selection(start, stop, shade, whole=False) for start, stop in found]
        self.setExtraSelections(selections)

    def _selection(self, start: int, stop: int, colour: QColor, *, whole: bool) -> Any:
        selection = QTextEdit.ExtraSelection()
        selection.format.setBackground(colour)
        selection.format.setProperty(QTextCharFormat.Property.FullWidthSelection, whole)
        cursor = self.textCursor()
        cursor.setPosition(start)
        cursor.setPosition(stop, cursor.MoveMode.KeepAnchor)
        selection.cursor = cursor
        return selection

    def _visible(self, line: int) -> bool:
        top = self.firstVisibleBlock().blockNumber()
        rows = self.viewport().height() // max(self.fontMetrics().lineSpacing(), 1)
        return top <= line < top + rows

    # --- numbers ---

    def numbers_width(self) -> int:
        return self.fontMetrics().horizontalAdvance("9") * max(len(str(self.blockCount())), 2) + 14

    def paint_numbers(self, strip: QWidget, area: QRect) -> None:
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
        cursor = self.cursorForPosition(place)
        return cursor.blockNumber() if place.y() <= self.cursorRect(cursor).bottom() else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if not event.buttons():
            self.pointed.emit(self.line_at(event.position().toPoint()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        line = self.line_at(event.position().toPoint())
        if event.button() is Qt.MouseButton.LeftButton and line >= 0 and not self.textCursor().hasSelection():
            self.chosen.emit(line)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        before = self.textCursor().blockNumber()
        super().keyPressEvent(event)
        cursor = self.textCursor()
        if cursor.blockNumber() != before and not cursor.hasSelection():
            self.chosen.emit(cursor.blockNumber())

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit(-1)
        super().leaveEvent(event)


class _FindLine(QLineEdit):
    stepped = Signal(int)
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.stepped.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self.stepped.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        else:
            super().keyPressEvent(event)


class FindBar(QWidget):
    def __init__(self, lines: TextLines) -> None:
        super().__init__()
        self.setObjectName("previewFind")
        self._lines = lines
        about = self.tr("Find in the text")
        self.field = made(_FindLine(), "previewFindText", accessibleName=about, placeholderText=about)
        self.count = made(Elided(), "previewFindCount")
        before, after, close = self.tr("Previous"), self.tr("Next"), self.tr("Close")
        buttons = (
            button("previewFind-1", "↑", lambda: self.step(-1), tip=before, spoken=before),
            button("previewFind1", "↓", lambda: self.step(1), tip=after, spoken=after),
            button("previewFind0", "✕", self.close_line, tip=close, spoken=close),
        )
        lay(QHBoxLayout(self), (self.field, 1), self.count, *buttons, margins=(8, 2, 8, 4), spacing=4)
        self.field.textChanged.connect(lambda _: self.search())
        self.field.stepped.connect(self.step)
        self.field.left.connect(self.close_line)
        self.hide()

    def open_line(self) -> None:
        chosen = self._lines.textCursor().selectedText()
        self.show()
        if chosen and "\u2029" not in chosen:
            self.field.setText(chosen)
        self.field.selectAll()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search()

    def close_line(self) -> None:
        self._lines.find_all("")
        self.hide()
        self._lines.setFocus(Qt.FocusReason.OtherFocusReason)

    def search(self) -> None:
        if self.isVisible():
            self._lines.find_all(self.field.text())
            self._show_count()

    def step(self, by: int) -> None:
        self._lines.step(by)
        self._show_count()

    def _show_count(self) -> None:
        count = len(self._lines.found)
        if not self.field.text():
            self.count.clear()
        elif not count:
            self.count.set_text(self.tr("Not found"))
        else:
            more = "+" if count >= MOST_FOUND else ""
            self.count.set_text(self.tr("{0} of {1}").format(f"{self._lines.at + 1:,}", f"{count:,}{more}"))


class TextView(ContentView):
    label = "Text"
    has_find = True

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.keys = self.lines = TextLines()
        self.find_bar = FindBar(self.lines)
        self._content = TextContent("", 0, b"")
        self._length = FIRST
        self.about = value_line("previewEncoding")
        self.all = button("previewShowAll", self.tr("Show all"), self._show_all)
        tip = self.tr("Find in the text (Ctrl+F)")
        self.find_button = button("previewFindButton", self.tr("Find"), self.open_find, tip=tip)
        tip = self.tr("Break long lines")
        self.wrap = button("previewWrap", self.tr("Wrap"), self._wrap, tip=tip, checkable=True)
        bar = row(self.about, self.all, self.find_button, self.wrap)
        lay(QVBoxLayout(self), bar, self.find_bar, self.lines)
        self.lines.pointed.connect(lambda line: self.pointed.emit(*self._line_bytes(line)))
        self.lines.chosen.connect(lambda line: self.chosen.emit(*self._line_bytes(line)))

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: TextContent) -> tuple[str, list[Token]]:
        text = shown_text(content.text[:MOST])
        return text, tokens_of(text, content.language)

    def show_preview(self, preview: Preview) -> None:
        assert isinstance(preview.content, TextContent)
        self._content = one = preview.content
        self._text, self._tokens = preview.prepared
        self._length = FIRST
        # Show the language unless the kind of content already implies it.
        language = one.language if one.kind == "text" else ""
        encoding = one.encoding.upper().replace("UTF-8-SIG", "UTF-8 with BOM")
        self.about.set_text(" · ".join(filter(None, (language, encoding, plural(len(one.line_starts), "line")))))
        self._fill()

    def _fill(self) -> None:
        text = self._text
        cut = len(text) > self._length
        if cut:
            # Only whole lines.
            text = text[: text.rfind("\n", 0, self._length) if "\n" in text[: self._length] else self._length]
        self.all.setVisible(cut and self._length < MOST)
        self.all.setText(self.tr("Show all {0}").format(size_text(len(self._content.data))))
        self.lines.show_text(text, [token for token in self._tokens if token[1] <= len(text)])
        self.find_bar.search()

    def _show_all(self) -> None:
        self._length = MOST
        self._fill()

    def _wrap(self) -> None:
        mode = QPlainTextEdit.LineWrapMode
        self.lines.setLineWrapMode(mode.WidgetWidth if self.wrap.isChecked() else mode.NoWrap)

    def open_find(self) -> None:
        self.find_bar.open_line()

    def copy(self) -> None:
        chosen = self.lines.textCursor().selectedText().replace("\u2029", "\n")
        copy_lines(chosen or self._content.text.replace("\r\n", "\n"))

    def mark(self, start: int, stop: int) -> None:
        first, last = self._content.line_at(start), self._content.line_at(max(stop - 1, start))
        if first >= self.lines.blockCount() and self.all.isVisible():
            self._show_all()
        self.lines.mark(first, last)

    def _line_bytes(self, line: int) -> tuple[int, int]:
        return self._content.line_bytes(line) if 0 <= line < len(self._content.line_starts) else (0, 0)
