"""Accessibility of the hex view.

A source is too long to be one text, so the accessible text is the row of the caret as it is displayed and copied.
"""

from __future__ import annotations

import weakref
from typing import Any

from PySide6.QtCore import QObject, QPoint, QPointF, QRect
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleTextCursorEvent,
    QAccessibleTextInterface,
)
from PySide6.QtWidgets import QAccessibleWidget
from shiboken6 import VoidPtr

from shardscope.session.copy_bytes import as_seen
from shardscope.session.proposed_bytes import about
from shardscope.views.hex.folds import fold_text
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.hex_state import HexState
from shardscope.views.hex.layout import HexLayout, ScreenRows, cell_at_column, hex_column

NOT_LOADED = "not loaded"
_NULL = VoidPtr(0)


class RowText:
    """Row of the caret as text, with the column of each byte; `data` is None until it is loaded. No Qt."""

    def __init__(self, layout: HexLayout, caret: int, data: bytes | None, rows: ScreenRows | None = None) -> None:
        self.layout = layout
        row = layout.row_of(caret)
        self.start = max(layout.row_start(row), 0)
        self.stop = min(layout.row_start(row) + layout.width, layout.size)
        seen = {"width": layout.width, "lead": layout.lead, "digits": layout.digits}
        folded = rows is not None and rows.folds
        if data is None or folded:
            words = fold_text(len(folded[0]), data[0], more=rows.more) if data and rows and folded else NOT_LOADED
            self.text = f"{self.start:0{layout.digits}x}  {words}"
        else:
            self.text = as_seen(data, start=self.start, **seen)
        self._loaded = data is not None and not folded

    @property
    def first_column(self) -> int:
        return self.layout.digits + 2

    def position(self, offset: int) -> int:
        """Return the column of a byte; for a byte outside the row, the nearest end of its hex part."""
        if not self._loaded:
            return min(self.first_column, len(self.text))
        if offset >= self.stop:
            return self.position(self.stop - 1) + 2 if self.stop > self.start else self.first_column
        return self.first_column + hex_column(self.layout.column_of(max(offset, self.start)))

    def offset(self, position: int) -> int:
        cell = cell_at_column(position - self.first_column, self.layout.width)
        first = self.layout.column_of(self.start)
        return min(max(self.start + cell - first, self.start), max(self.stop - 1, self.start))


class HexAccessibility(QObject):
    """Reports changes of a hex view to screen readers; `place` is the path of the caret, empty until it is loaded."""

    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self.state = state
        self.place = ""
        state.caret_changed.connect(self._caret_changed)

    def _caret_changed(self) -> None:
        self.place = ""
        if QAccessible.isActive():
            position = self.row_text().position(self.state.selection.caret)
            QAccessible.updateAccessibility(QAccessibleTextCursorEvent(self.state.area, position))

    def set_location(self, place: str) -> None:
        self.place = place
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.state.area, place))

    @property
    def description(self) -> str:
        size = self.state.selection.span.size
        proposed = about(self.state.proposed, self.state.name)
        side = "" if proposed is None else "new bytes, not written yet" if proposed.shows_new else "old bytes"
        sandboxed = self.state.sandboxed if not self.state.name else None
        if sandboxed is not None and not side:
            caret = self.state.selection.caret
            side = "sandbox, changed here" if sandboxed.inside(caret, caret + 1) else "sandbox"
        selected = f"{size:,} bytes selected" if size > 1 else ""
        return ", ".join(part for part in (self.place, selected, side) if part)

    def row_text(self) -> RowText:
        rows, caret = self.state.layout, self.state.selection.caret
        start = rows.row_start(rows.row_of(caret))
        start, stop = max(start, 0), min(start + rows.width, rows.size)
        data = self.state.pages.bytes_at(self.state.name, start, stop)
        proposed = about(self.state.proposed, self.state.name)
        line = self.state.folds.screen(rows.row_of(caret), 1)
        return RowText(rows, caret, data if data is None or proposed is None else proposed.seen(start, data), line)


class _Text(QAccessibleTextInterface):
    def __init__(self, news: HexAccessibility) -> None:
        super().__init__()
        self._weak = weakref.ref(news)

    @property
    def _news(self) -> HexAccessibility:
        return _alive(self._weak)

    @property
    def _state(self) -> HexState:
        return self._news.state

    def text(self, startOffset: int, endOffset: int) -> str:
        row = self._news.row_text().text
        return row[startOffset : len(row) if endOffset < 0 else endOffset]

    def characterCount(self) -> int:
        return len(self._news.row_text().text)

    def cursorPosition(self) -> int:
        return self._news.row_text().position(self._state.selection.caret)

    def setCursorPosition(self, position: int) -> None:
        self._state.move_caret(self._news.row_text().offset(position))

    def selectionCount(self) -> int:
        return 0

    def addSelection(self, startOffset: int, endOffset: int) -> None:
        row = self._news.row_text()
        self._state.move_caret(row.offset(startOffset))
        self._state.move_caret(row.offset(max(endOffset - 1, startOffset)), extend=True)

    def setSelection(self, selectionIndex: int, startOffset: int, endOffset: int) -> None:
        self.addSelection(startOffset, endOffset)

    def removeSelection(self, selectionIndex: int) -> None:
        self._state.move_caret(self._state.selection.caret)

    def characterRect(self, offset: int) -> QRect:
        place = self._state.byte_rect(self._news.row_text().offset(offset)).toRect()
        return place.translated(self._state.area.viewport().mapToGlobal(QPoint()))

    def offsetAtPoint(self, point: QPoint) -> int:
        inside = self._state.area.viewport().mapFromGlobal(point)
        found = self._state.offset_at(QPointF(inside), HexPart.HEX)
        row = self._news.row_text()
        return row.position(found[0]) if found is not None and row.start <= found[0] < row.stop else -1

    def scrollToSubstring(self, startIndex: int, endIndex: int) -> None:
        self._state.reveal(self._state.selection.caret)


class HexAccessible(QAccessibleWidget):
    """Accessible interface of a hex view; holds it weakly, since Qt deletes the interface with the view."""

    def __init__(self, news: HexAccessibility) -> None:
        area = news.state.area
        super().__init__(area, QAccessible.Role.EditableText, area.accessibleName())
        self._weak = weakref.ref(news)
        self._text = _Text(news)

    def interface_cast(self, kind: QAccessible.InterfaceType) -> Any:
        # Any other null value, including None, crashes when a screen reader queries it.
        return self._text if kind == QAccessible.InterfaceType.TextInterface else _NULL

    def state(self) -> QAccessible.State:
        state = super().state()
        state.readOnly = True
        state.selectableText = True
        return state

    def text(self, kind: QAccessible.Text) -> str:
        news = _alive(self._weak)
        if kind == QAccessible.Text.Value:
            return news.row_text().text
        if kind == QAccessible.Text.Description:
            return news.description
        return super().text(kind)


def _alive(weak: weakref.ref[HexAccessibility]) -> HexAccessibility:
    news = weak()
    assert news is not None, "Qt deletes the interface with the view"
    return news
