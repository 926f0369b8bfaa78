"""Hex view: the widget that paints a `HexState`, with its keys, mouse, and interface for screen readers."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleTextCursorEvent,
    QAccessibleTextInterface,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QAccessibleWidget, QFrame, QToolButton, QToolTip, QWidget
from shiboken6 import VoidPtr

from shardcore import Node
from shardscope.session.byte_marks import Range
from shardscope.session.byte_pages import PageCache
from shardscope.session.display_text import as_seen
from shardscope.views.hex.field_column import ROOM, FieldColumn
from shardscope.views.hex.layout import HexPart, cell_at_column, fold_text, hex_column
from shardscope.views.hex.painter import HexPainter
from shardscope.views.hex.state import HexState
from shardscope.views.hex.status import tip_text
from shardscope.widgets import fonts, theme
from shardscope.widgets.accessible_roles import install_roles
from shardscope.widgets.layouts import made

WHEEL_ROWS = 3

_NOTCH = 120
_HEX_DIGITS = "0123456789abcdefABCDEF"
_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_SCROLL_MILLISECONDS = 40
_FASTEST_ROWS = 40
_LOOKS = 28


class HexView(QAbstractScrollArea):
    """Paints a `HexState` and handles keys and mouse. The signals for menus carry a position on the screen."""

    menu_requested = Signal(object)
    header_menu_requested = Signal(object)
    field_chosen = Signal(object)

    # The base class sends events while it is created.
    _ready = False

    def __init__(self, pages: PageCache, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "hexView", accessibleName=self.tr("Bytes"), focusPolicy=Qt.FocusPolicy.StrongFocus)
        self.state = state = HexState(self, pages)
        self._ready = True
        self.accessibility = HexAccessibility(state)
        self.column = FieldColumn(pages, state.grid, self)
        state.beside = ROOM
        self._painter = HexPainter(state.grid, theme.of(self), self.column)
        self._part: HexPart | None = None
        self._pointer = QPointF()
        self._tip: tuple[str, int, QPoint] | None = None
        self._drag = made(QTimer(self), interval=_SCROLL_MILLISECONDS, timeout=self._drag_on)
        state.changed.connect(self.viewport().update)
        state.rows_changed.connect(self._update_rows)
        state.layout_changed.connect(self._make_painter)
        state.looks_changed.connect(self._forget)
        state.view_changed.connect(self._ask_fields)
        self.column.changed.connect(self._fields_changed)
        about, spoken = self.tr("Bytes per row, folds and fields"), self.tr("Display of the bytes")
        self.looks = made(QToolButton(self.viewport()), "bytesLooks", text="⋯", toolTip=about, accessibleName=spoken)
        self.looks.setCursor(Qt.CursorShape.ArrowCursor)
        self.looks.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.looks.clicked.connect(
            lambda: self.header_menu_requested.emit(self.looks.mapToGlobal(self.looks.rect().bottomLeft()))
        )
        install_roles()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    def spoken_interface(self) -> HexAccessible:
        return HexAccessible(self.accessibility)

    # --- painting ---

    @property
    def full_width(self) -> float:
        margin, bar = self.state.grid.margin, self.verticalScrollBar().sizeHint().width()
        return self.state.full_width + margin + self.column.most + bar

    def set_column(self, wanted: bool) -> None:
        self.column.wanted = wanted
        self.state.beside = ROOM if wanted else 0
        self.state.fit_area()
        self._fit_column()

    def _make_painter(self) -> None:
        self._fit_column()
        self._painter = HexPainter(self.state.grid, theme.of(self), self.column)

    def _fit_column(self) -> None:
        width, button = self.viewport().width(), fonts.px(_LOOKS)
        self.looks.setGeometry(width - button, 0, button, round(self.state.grid.header) - 1)
        self.column.fit(self.state.grid, width, self.state.name, self.font())

    def _ask_fields(self) -> None:
        if self.column.shown and self.state.layout.size:
            self.column.want(self.state.stretches)

    def _fields_changed(self) -> None:
        self._forget()
        self.viewport().update()
        self._ask_fields()

    def _forget(self) -> None:
        self._painter.canvas.forget()

    def _update_rows(self, part: Range | None) -> None:
        grid = self.state.grid
        if blocks := grid.blocks(*part, self.state.rows_on_screen) if part is not None else []:
            top, bottom = round(grid.row_y(blocks[0].row)), round(grid.row_y(blocks[-1].last))
            # Frames are painted around their rows.
            self.viewport().update(0, top - 2, self.viewport().width(), bottom - top + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        across = float(self.horizontalScrollBar().value())
        scene = self.state.scene(focused=self.hasFocus())
        self._painter.paint(painter, scene, self.state.cells_of, QRectF(self.viewport().rect()), across)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.state.fit_area()
        self._fit_column()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    # --- events ---

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self.state.editable:
            if self._is_typed(event):
                event.accept()
                return True
        elif event.type() == QEvent.Type.DevicePixelRatioChange:
            self.state.fit_area()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._ready:
            self.state.fit_font()
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._make_painter()
            self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        place = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            caret = self.state.byte_rect(self.state.selection.caret)
            place = self.viewport().mapToGlobal(caret.bottomLeft().toPoint())
        elif event.pos().y() < self.state.grid.header:
            self.header_menu_requested.emit(QPoint(place))
            return
        self.menu_requested.emit(QPoint(place))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    # --- keys ---

    def keyPressEvent(self, event: QKeyEvent) -> None:
        state, key = self.state, Qt.Key(event.key())
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        others = Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
        caret = state.selection.caret
        if control and key is Qt.Key.Key_A:
            state.select_all()
        elif event.modifiers() & others:
            super().keyPressEvent(event)
        elif self._is_typed(event):
            if not state.editable:
                state.read_only.emit()
            elif state.part is HexPart.TEXT:
                state.type_text(event.text())
            else:
                state.type_digit(int(event.text(), 16))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and state.layout.size:
            if not state.unfold(caret):
                state.activated.emit(caret)
        elif (target := self._section_end(key) if control else self._next_caret(key)) is None:
            super().keyPressEvent(event)
        else:
            if key in _STEPS:
                state.unfold(target)
            by_pages = key in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown) and not control
            if by_pages:
                state.keep_line(target)
            extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            state.move_caret(target, extend=extend, opens=not by_pages)

    def _is_typed(self, event: QKeyEvent) -> bool:
        state, text = self.state, event.text()
        held = event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
        if held or not text or state.name or not state.layout.size:
            return False
        if state.part is HexPart.TEXT:
            return text.isprintable() and (state.editable or text != " ")
        return len(text) == 1 and text in _HEX_DIGITS

    def _next_caret(self, key: Qt.Key) -> int | None:
        """Return the offset to which a key moves the caret; None if it is another key."""
        layout, caret, page = self.state.layout, self.state.selection.caret, self.state.page_rows
        if layout.size == 0:
            return None
        if key in _STEPS:
            return layout.clamp(caret + _STEPS[key])
        lines = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}.get(key)
        if lines is not None:
            row = self.state.folds.away(layout.row_of(caret), lines)
            if abs(lines) == 1 and not 0 <= row < layout.rows:
                return caret
            # A shorter first or last row is still reached.
            return layout.clamp(layout.row_start(row) + layout.column_of(caret))
        row_start = layout.row_start(layout.row_of(caret))
        ends = {Qt.Key.Key_Home: row_start, Qt.Key.Key_End: row_start + layout.width - 1}
        return layout.clamp(ends[key]) if key in ends else None

    def _section_end(self, key: Qt.Key) -> int | None:
        """Return the offset for a key with Control: an end of the source, or the start of another section."""
        last, caret = self.state.layout.size - 1, self.state.selection.caret
        if last < 0:
            return None
        starts = [section.start for section in self.state.sections if section.size]
        return {
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
            Qt.Key.Key_PageDown: min((start for start in starts if start > caret), default=last),
            Qt.Key.Key_PageUp: max((start for start in starts if start < caret), default=0),
        }.get(key)

    # --- mouse ---

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            self._ask_tip(event)
            return True
        if event.type() == QEvent.Type.Leave:
            self.state.set_hover(None)
            self._tip = None
        return super().viewportEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        down, across = event.angleDelta().y() / _NOTCH, event.angleDelta().x() / _NOTCH
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.state.set_zoom(fonts.zoomed(self.state.zoom, larger=down > 0))
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(across) > abs(down):
            self.state.scroll_across(-(across or down) * 3)
        elif down:
            self.state.scroll_by(-down * WHEEL_ROWS)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        state, place = self.state, event.position()
        found = state.offset_at(place)
        if event.button() == Qt.MouseButton.RightButton:
            if found is not None and not state.selection.span.covers(found[0]):
                state.move_caret(found[0], part=found[1])
        elif event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
        elif found is None:
            target = self.column.target_at(place, state.rows_on_screen)
            if target is not None:
                self.field_chosen.emit(target)
        else:
            offset, self._part = found
            extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            if not extend:
                state.unfold(offset)
            state.move_caret(offset, extend=extend, part=self._part)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._part = None
            self._drag.stop()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        found = self.state.offset_at(event.position()) if event.button() == Qt.MouseButton.LeftButton else None
        # The first click may have been on the welcome page, whose list opened the file.
        if found is not None and self.state.selection.span.covers(found[0]):
            self._part = None
            self.state.select_field(found[0])

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        state, place = self.state, event.position()
        self._pointer = place
        if self._part is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._extend()
            if self._beyond() and not self._drag.isActive():
                self._drag.start()
            return
        found = state.offset_at(place)
        field = self.column.place_at(place, state.rows_on_screen) if found is None else None
        hand = field is not None or (found is not None and state.fold_at(found[0]) is not None)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if hand else Qt.CursorShape.IBeamCursor)
        if field is not None:
            state.set_hover((field.field.span.start, field.field.span.stop))
        else:
            state.hover_at(found[0] if found is not None else None)
        if self._tip is not None and (found is None or found[0] != self._tip[1]):
            self._tip = None
            QToolTip.hideText()

    def _beyond(self) -> int:
        """Return how many rows the pointer is below the viewport; negative above it."""
        grid, y, bottom = self.state.grid, self._pointer.y(), self.viewport().rect().bottom()
        if y < grid.header:
            return -1 - int((grid.header - y) // grid.row)
        return 1 + int((y - bottom) // grid.row) if y > bottom else 0

    def _drag_on(self) -> None:
        rows = self._beyond()
        if rows == 0 or self._part is None:
            self._drag.stop()
            return
        self.state.scroll_by(min(max(rows * abs(rows), -_FASTEST_ROWS), _FASTEST_ROWS))
        self._extend()

    def _extend(self) -> None:
        grid, bottom = self.state.grid, self.viewport().rect().bottom()
        y = min(max(self._pointer.y(), grid.header), bottom - grid.row / 2)
        found = self.state.offset_at(QPointF(self._pointer.x(), y), self._part)
        if found is not None and found[0] != self.state.selection.caret:
            self.state.move_caret(found[0], extend=True)

    def _ask_tip(self, event: QHelpEvent) -> None:
        state, place = self.state, QPointF(event.pos())
        found = state.offset_at(place)
        if found is None:
            fields = self.column.tip_at(place, state.rows_on_screen)
            QToolTip.showText(event.globalPos(), fields, self.viewport())
            return
        self._tip = (state.name, found[0], event.globalPos())
        self._show_tip(*self._tip, ())
        state.pages.explain(state.name, found[0], partial(self._show_tip, *self._tip), key=("tip", id(self)))

    def _show_tip(self, name: str, offset: int, place: QPoint, path: tuple[Node, ...]) -> None:
        state = self.state
        if self._tip == (name, offset, place) and name == state.name:
            marks, notes = state.marks.at(offset), state.notes_at(offset)
            QToolTip.showText(place, tip_text(offset, path, state.sections, marks, notes), self.viewport())


# --- screen readers ---

NOT_LOADED = "not loaded"
_NULL = VoidPtr(0)


class RowText:
    """Text of the row with the caret, and conversion between offsets and columns of that text."""

    def __init__(self, state: HexState) -> None:
        layout = self._layout = state.layout
        row = layout.row_of(state.selection.caret)
        self.start = max(layout.row_start(row), 0)
        self.stop = min(layout.row_start(row) + layout.width, layout.size)
        data, proposed = state.pages.bytes_at(state.name, self.start, self.stop), state.shown_proposal
        if data is not None and proposed is not None:
            data = proposed.seen(self.start, data)
        line = state.folds.screen(row, 1)
        self._first = layout.digits + 2
        self._bytes = data is not None and not line.folds
        if data is None or line.folds:
            words = fold_text(len(line.folds[0]), data[0], more=line.more) if data and line.folds else NOT_LOADED
            self.text = f"{self.start:0{layout.digits}x}  {words}"
        else:
            seen = {"width": layout.width, "lead": layout.lead, "digits": layout.digits}
            self.text = as_seen(data, start=self.start, **seen)

    def position(self, offset: int) -> int:
        """Return the column of a byte; for a byte outside the row, the nearest end of its hex part."""
        if not self._bytes:
            return min(self._first, len(self.text))
        if offset >= self.stop:
            return self.position(self.stop - 1) + 2 if self.stop > self.start else self._first
        return self._first + hex_column(self._layout.column_of(max(offset, self.start)))

    def offset(self, position: int) -> int:
        cell = cell_at_column(position - self._first, self._layout.width)
        first = self._layout.column_of(self.start)
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
            position = RowText(self.state).position(self.state.selection.caret)
            QAccessible.updateAccessibility(QAccessibleTextCursorEvent(self.state.area, position))

    def set_location(self, place: str) -> None:
        self.place = place
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.state.area, place))

    @property
    def description(self) -> str:
        state, size = self.state, self.state.selection.span.size
        proposed, sandboxed = state.shown_proposal, state.sandboxed if not state.name else None
        side = ""
        if proposed is not None:
            side = "new bytes, not written yet" if proposed.shows_new else "old bytes"
        elif sandboxed is not None:
            caret = state.selection.caret
            side = "sandbox, changed here" if sandboxed.inside(caret, caret + 1) else "sandbox"
        selected = f"{size:,} bytes selected" if size > 1 else ""
        return ", ".join(part for part in (self.place, selected, side) if part)


class _Text(QAccessibleTextInterface):
    def __init__(self, state: HexState) -> None:
        super().__init__()
        self._state = state

    @property
    def _row(self) -> RowText:
        return RowText(self._state)

    def text(self, startOffset: int, endOffset: int) -> str:
        row = self._row.text
        return row[startOffset : len(row) if endOffset < 0 else endOffset]

    def characterCount(self) -> int:
        return len(self._row.text)

    def cursorPosition(self) -> int:
        return self._row.position(self._state.selection.caret)

    def setCursorPosition(self, position: int) -> None:
        self._state.move_caret(self._row.offset(position))

    def selectionCount(self) -> int:
        return 0

    def addSelection(self, startOffset: int, endOffset: int) -> None:
        row = self._row
        self._state.move_caret(row.offset(startOffset))
        self._state.move_caret(row.offset(max(endOffset - 1, startOffset)), extend=True)

    def setSelection(self, selectionIndex: int, startOffset: int, endOffset: int) -> None:
        self.addSelection(startOffset, endOffset)

    def removeSelection(self, selectionIndex: int) -> None:
        self._state.move_caret(self._state.selection.caret)

    def characterRect(self, offset: int) -> QRect:
        place = self._state.byte_rect(self._row.offset(offset)).toRect()
        return place.translated(self._state.area.viewport().mapToGlobal(QPoint()))

    def offsetAtPoint(self, point: QPoint) -> int:
        inside = self._state.area.viewport().mapFromGlobal(point)
        found, row = self._state.offset_at(QPointF(inside), HexPart.HEX), self._row
        return row.position(found[0]) if found is not None and row.start <= found[0] < row.stop else -1

    def scrollToSubstring(self, startIndex: int, endIndex: int) -> None:
        self._state.reveal(self._state.selection.caret)


class HexAccessible(QAccessibleWidget):
    """Accessible interface of a hex view; refers to it weakly, since Qt deletes the interface with the view."""

    def __init__(self, news: HexAccessibility) -> None:
        area = news.state.area
        super().__init__(area, QAccessible.Role.EditableText, area.accessibleName())
        self._news: HexAccessibility = weakref.proxy(news)
        self._text = _Text(weakref.proxy(news.state))

    def interface_cast(self, kind: QAccessible.InterfaceType) -> Any:
        # Any other null value, including None, crashes when a screen reader queries it.
        return self._text if kind == QAccessible.InterfaceType.TextInterface else _NULL

    def state(self) -> QAccessible.State:
        state = super().state()
        state.readOnly = True
        state.selectableText = True
        return state

    def text(self, kind: QAccessible.Text) -> str:
        if kind == QAccessible.Text.Value:
            return RowText(self._news.state).text
        if kind == QAccessible.Text.Description:
            return self._news.description
        return super().text(kind)
