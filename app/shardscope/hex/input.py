"""Keyboard and wheel of a hex state."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent

from shardscope.hex.keys import caret_after
from shardscope.hex.state import HexState

WHEEL_ROWS = 3
"""Rows per notch of the wheel."""

_NOTCH = 120


def wheel(state: HexState, event: QWheelEvent) -> None:
    """Scrolls by rows; with control, makes the bytes larger or smaller; with shift, scrolls sideways."""
    down, across = event.angleDelta().y() / _NOTCH, event.angleDelta().x() / _NOTCH
    if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        state.set_font_size(state.font_size + (1 if down > 0 else -1))
    elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(across) > abs(down):
        state.scroll_across(-(across or down) * 3)
    elif down:
        state.scroll_by(-down * WHEEL_ROWS)
    event.accept()


def key(state: HexState, event: QKeyEvent) -> bool:
    """Moves the caret, extends the selection with shift, selects all; False for keys that mean nothing here."""
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    if control and event.key() == Qt.Key.Key_A:
        state.select_all()
        return True
    if event.modifiers() & (Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier):
        return False
    caret = state.selection.caret
    if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and state.layout.size:
        state.activated.emit(caret)
        return True
    target = caret_after(
        event.key(), control=control, caret=caret, layout=state.layout, page=state.page_rows, sections=state.sections
    )
    if target is None:
        return False
    if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown) and not control:
        state.scroll_by(state.layout.row_of(target) - state.layout.row_of(caret))
    state.move_caret(target, extend=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
    return True
