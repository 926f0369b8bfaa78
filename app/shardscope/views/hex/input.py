"""Keyboard and wheel of a hex state."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent

from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.keys import caret_after
from shardscope.views.hex.state import HexState

WHEEL_ROWS = 3
"""Rows per notch of the wheel."""

_NOTCH = 120
_HEX_DIGITS = "0123456789abcdefABCDEF"


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


def is_typed(state: HexState, event: QKeyEvent) -> bool:
    """Whether a key stands for a byte or half of one: a hex digit, or in the text any character."""
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
    """Moves the caret, extends the selection with shift, selects all; False for keys that mean nothing here."""
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
