"""Mouse input of a hex view: selecting, hovering and tooltips."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip

from shardcore import Node
from shardscope.views.hex.byte_status import tip_text
from shardscope.views.hex.cells import run_at
from shardscope.views.hex.field_column import FieldColumn
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.hex_state import HexState

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
