"""Keyboard and wheel input of a hex view."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import MappingProxyType

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent

from shardcore import Section
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.hex_state import HexState
from shardscope.views.hex.layout import HexLayout
from shardscope.widgets import fonts

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
