"""Hex view: bytes coloured by their meaning, painted from loaded pages; keys, mouse and what screen readers hear."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
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

from shardcore import Node, Section
from shardscope.session.byte_pages import PageCache
from shardscope.session.copy_bytes import as_seen
from shardscope.session.proposed_bytes import about
from shardscope.views.hex.byte_status import tip_text
from shardscope.views.hex.cells import run_at
from shardscope.views.hex.field_column import WISH, FieldColumn, FieldNames
from shardscope.views.hex.folds import fold_text
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.hex_state import HexState
from shardscope.views.hex.layout import HexLayout, ScreenRows, cell_at_column, hex_column
from shardscope.views.hex.overlays import Range
from shardscope.views.hex.painter import HexPainter
from shardscope.widgets import fonts, theme
from shardscope.widgets.accessible_roles import install_roles
from shardscope.widgets.fonts import px

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


_SCROLL_MILLISECONDS = 40
_FASTEST_ROWS = 40


class HexMouse(QObject):
    chosen = Signal(object)

    def __init__(self, state: HexState, column: FieldColumn) -> None:
        super().__init__(state)
        self._state = state
        self._column = column
        self._viewport = state.area.viewport()
        self._part: HexPart | None = None
        self._pointer = QPointF()
        self._tip: tuple[str, int, QPoint] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_SCROLL_MILLISECONDS)
        self._timer.timeout.connect(self._drag_on)

    def handle(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent):
            self._ask_tip(event)
            return True
        if isinstance(event, QMouseEvent):
            return self._mouse(event)
        if event.type() == QEvent.Type.Leave:
            self._state.set_hover(None)
            self._tip = None
        return False

    def _mouse(self, event: QMouseEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.MouseMove:
            self._move(event)
            return True
        if event.button() == Qt.MouseButton.LeftButton:
            if kind == QEvent.Type.MouseButtonPress:
                self._press(event)
            elif kind == QEvent.Type.MouseButtonDblClick:
                self._double(event)
            elif kind == QEvent.Type.MouseButtonRelease:
                self._part = None
                self._timer.stop()
            return True
        if event.button() == Qt.MouseButton.RightButton:
            if kind == QEvent.Type.MouseButtonPress:
                self._press_right(event)
            return True
        return False

    def _press(self, event: QMouseEvent) -> None:
        target = self._column.target_at(self._state.grid, event.position(), self._state.rows_on_screen)
        if target is not None:
            self.chosen.emit(target)
            return
        found = self._state.offset_at(event.position())
        if found is None:
            return
        offset, self._part = found
        extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if not extend:
            self._state.unfold(offset)
        self._state.move_caret(offset, extend=extend, part=self._part)

    def _press_right(self, event: QMouseEvent) -> None:
        found = self._state.offset_at(event.position())
        if found is not None and not self._state.selection.span.covers(found[0]):
            self._state.move_caret(found[0], part=found[1])

    def _double(self, event: QMouseEvent) -> None:
        found = self._state.offset_at(event.position())
        if found is not None:
            self._part = None
            self._state.select_field(found[0])

    def _move(self, event: QMouseEvent) -> None:
        self._pointer = event.position()
        if self._part is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._extend()
            if self._beyond() and not self._timer.isActive():
                self._timer.start()
            return
        found = self._state.offset_at(event.position())
        place = self._column.place_at(self._state.grid, event.position(), self._state.rows_on_screen)
        folded = found is not None and self._state.folds.at(self._state.layout.row_of(found[0])) is not None
        shape = Qt.CursorShape.PointingHandCursor if place is not None or folded else Qt.CursorShape.IBeamCursor
        self._viewport.setCursor(shape)
        if place is not None:
            self._state.set_hover((place.field.span.start, place.field.span.stop))
        else:
            run = run_at(self._state.pages, self._state.name, found[0]) if found is not None else None
            self._state.set_hover(run[:2] if run is not None else None)
        if self._tip is not None and (found is None or found[0] != self._tip[1]):
            self._tip = None
            QToolTip.hideText()

    def _beyond(self) -> int:
        """Return how many rows the pointer is below the viewport; negative above it."""
        grid, area = self._state.grid, self._viewport.rect()
        top = grid.header
        if self._pointer.y() < top:
            return -1 - int((top - self._pointer.y()) // grid.row)
        if self._pointer.y() > area.bottom():
            return 1 + int((self._pointer.y() - area.bottom()) // grid.row)
        return 0

    def _drag_on(self) -> None:
        rows = self._beyond()
        if rows == 0 or self._part is None:
            self._timer.stop()
            return
        self._state.scroll_by(min(max(rows * abs(rows), -_FASTEST_ROWS), _FASTEST_ROWS))
        self._extend()

    def _extend(self) -> None:
        grid, area = self._state.grid, self._viewport.rect()
        y = min(max(self._pointer.y(), grid.header), area.bottom() - grid.row / 2)
        found = self._state.offset_at(QPointF(self._pointer.x(), y), self._part)
        if found is not None and found[0] != self._state.selection.caret:
            self._state.move_caret(found[0], extend=True)

    # --- tool tips ---

    def _ask_tip(self, event: QHelpEvent) -> None:
        found = self._state.offset_at(QPointF(event.pos()))
        if found is None:
            fields = self._column.tip_at(self._state.grid, QPointF(event.pos()), self._state.rows_on_screen)
            QToolTip.showText(event.globalPos(), fields, self._viewport)
            return
        self._tip = (self._state.name, found[0], event.globalPos())
        self._show_tip(*self._tip, ())
        self._state.pages.explain(
            self._state.name, found[0], partial(self._show_tip, *self._tip), key=("tip", id(self))
        )

    def _show_tip(self, name: str, offset: int, place: QPoint, path: tuple[Node, ...]) -> None:
        if self._tip != (name, offset, place) or name != self._state.name:
            return
        marks, notes = self._state.marks.at(offset), self._state.notes_at(offset)
        QToolTip.showText(place, tip_text(offset, path, self._state.sections, marks, notes), self._viewport)


_STEPS = MappingProxyType({Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1})


def caret_after(
    key: int,
    *,
    control: bool,
    caret: int,
    layout: HexLayout,
    page: int,
    sections: Sequence[Section],
    away: Callable[[int, int], int] = operator.add,
) -> int | None:
    """Return the new offset of the caret; None if the key does not move it.

    With Control, Home and End go to the ends of the source, Page Up and Page Down to sections.
    """
    if layout.size == 0:
        return None
    if control:
        return _far(key, caret, layout, sections)
    chosen = Qt.Key(key)
    if chosen in _STEPS:
        return layout.clamp(caret + _STEPS[chosen])
    lines = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}.get(chosen)
    if lines is not None:
        row = away(layout.row_of(caret), lines)
        if abs(lines) == 1 and not 0 <= row < layout.rows:
            return caret
        # A shorter first or last row is still reached.
        return layout.clamp(layout.row_start(row) + layout.column_of(caret))
    row_start = layout.row_start(layout.row_of(caret))
    if chosen is Qt.Key.Key_Home:
        return layout.clamp(row_start)
    if chosen is Qt.Key.Key_End:
        return layout.clamp(row_start + layout.width - 1)
    return None


def _far(key: int, caret: int, layout: HexLayout, sections: Sequence[Section]) -> int | None:
    starts = [section.start for section in sections if section.size]
    if key == Qt.Key.Key_Home:
        return 0
    if key == Qt.Key.Key_End:
        return layout.size - 1
    if key == Qt.Key.Key_PageDown:
        return min((start for start in starts if start > caret), default=layout.size - 1)
    if key == Qt.Key.Key_PageUp:
        return max((start for start in starts if start < caret), default=0)
    return None


WHEEL_ROWS = 3

_NOTCH = 120
_HEX_DIGITS = "0123456789abcdefABCDEF"


def wheel(state: HexState, event: QWheelEvent) -> None:
    down, across = event.angleDelta().y() / _NOTCH, event.angleDelta().x() / _NOTCH
    if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        state.set_zoom(fonts.zoomed(state.zoom, larger=down > 0))
    elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(across) > abs(down):
        state.scroll_across(-(across or down) * 3)
    elif down:
        state.scroll_by(-down * WHEEL_ROWS)
    event.accept()


def is_typed(state: HexState, event: QKeyEvent) -> bool:
    held = event.modifiers() & ~(Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier)
    text = event.text()
    if held or not text or state.name or not state.layout.size:
        return False
    if state.part is HexPart.TEXT:
        return text.isprintable() and (state.editable or text != " ")
    return len(text) == 1 and text in _HEX_DIGITS


def _type(state: HexState, text: str) -> None:
    if not state.editable:
        state.read_only.emit()
    elif state.part is HexPart.TEXT:
        state.type_text(text)
    else:
        state.type_digit(int(text, 16))


def key(state: HexState, event: QKeyEvent) -> bool:
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    if control and event.key() == Qt.Key.Key_A:
        state.select_all()
        return True
    if event.modifiers() & (Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier):
        return False
    if is_typed(state, event):
        _type(state, event.text())
        return True
    caret = state.selection.caret
    if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and state.layout.size:
        if not state.unfold(caret):
            state.activated.emit(caret)
        return True
    target = caret_after(
        event.key(),
        control=control,
        caret=caret,
        layout=state.layout,
        page=state.page_rows,
        sections=state.sections,
        away=state.folds.away,
    )
    if target is None:
        return False
    if event.key() in _STEPS:
        state.unfold(target)
    by_pages = event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown) and not control
    if by_pages:
        state.keep_line(target)
    extend = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
    state.move_caret(target, extend=extend, opens=not by_pages)
    return True


_LOOKS = 28


class HexView(QAbstractScrollArea):
    """Paints a `HexState` and passes events on; the signals for menus carry the global position."""

    menu_requested = Signal(object)
    header_menu_requested = Signal(object)
    field_chosen = Signal(object)

    # The base class sends events while it is created.
    _mouse: HexMouse | None = None

    def __init__(self, pages: PageCache, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = HexState(self, pages)
        self.accessibility = HexAccessibility(self.state)
        self.paints = 0
        self.names = FieldNames(pages, self)
        self.column = FieldColumn(self.names, self)
        self.state.beside = WISH
        self._painter = HexPainter(self.state.grid, theme.of(self), self.column)
        self._mouse = HexMouse(self.state, self.column)
        self._mouse.chosen.connect(self.field_chosen)
        self.state.changed.connect(self.viewport().update)
        self.state.rows_changed.connect(self._update_rows)
        self.state.layout_changed.connect(self._make_painter)
        self.state.looks_changed.connect(self._forget)
        self.state.view_changed.connect(self._ask_names)
        self.names.changed.connect(self._ask_names)
        self.column.changed.connect(self._forget)
        self.column.changed.connect(self.viewport().update)
        self.looks = QToolButton(self.viewport())
        self.looks.setObjectName("bytesLooks")
        self.looks.setText("⋯")
        self.looks.setToolTip(self.tr("Bytes per row, folds and fields"))
        self.looks.setAccessibleName(self.tr("Display of the bytes"))
        self.looks.setCursor(Qt.CursorShape.ArrowCursor)
        self.looks.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.looks.clicked.connect(
            lambda: self.header_menu_requested.emit(self.looks.mapToGlobal(self.looks.rect().bottomLeft()))
        )
        install_roles()
        self.setObjectName("hexView")
        self.setAccessibleName(self.tr("Bytes"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    def spoken_interface(self) -> HexAccessible:
        return HexAccessible(self.accessibility)

    @property
    def full_width(self) -> float:
        margin, bar = self.state.grid.margin, self.verticalScrollBar().sizeHint().width()
        return self.state.full_width + margin + self.column.most + bar

    def set_column(self, wanted: bool) -> None:
        self.column.wanted = wanted
        self.state.beside = WISH if wanted else 0
        self.state.fit_area()
        self._fit_column()

    def _make_painter(self) -> None:
        self._fit_column()
        self._painter = HexPainter(self.state.grid, theme.of(self), self.column)

    def _fit_column(self) -> None:
        high = round(self.state.grid.header) - 1
        self.looks.setGeometry(self.viewport().width() - px(_LOOKS), 0, px(_LOOKS), high)
        self.column.fit(self.state.grid, self.viewport().width(), self.state.name, self.font())
        self._ask_names()

    def _ask_names(self) -> None:
        if self.column.shown and self.state.layout.size:
            self.names.want(self.state.name, self.state.stretches)

    def _forget(self) -> None:
        self._painter.forget()

    def _update_rows(self, part: Range | None) -> None:
        grid = self.state.grid
        if blocks := list(grid.blocks(*part, self.state.rows_on_screen)) if part is not None else []:
            top, bottom = round(grid.row_y(blocks[0].row)), round(grid.row_y(blocks[-1].last))
            # Frames are painted around their rows.
            self.viewport().update(0, top - 2, self.viewport().width(), bottom - top + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        self.paints += 1
        painter = QPainter(self.viewport())
        across = float(self.horizontalScrollBar().value())
        scene = self.state.scene(focused=self.hasFocus())
        self._painter.paint(painter, scene, self.state.cells_of, QRectF(self.viewport().rect()), across)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.state.fit_area()
        self._fit_column()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._mouse is not None:
            self.state.fit_font()
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._make_painter()
            self.viewport().update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self.state.editable:
            if is_typed(self.state, event):
                event.accept()
                return True
            return super().event(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self.state.fit_area()
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        handled = self._mouse is not None and self._mouse.handle(event)
        return handled or super().viewportEvent(event)

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

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        wheel(self.state, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not key(self.state, event):
            super().keyPressEvent(event)
