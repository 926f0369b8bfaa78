"""Keyboard and wheel of a hex view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent

from shardscope.hex.keys import caret_after

if TYPE_CHECKING:
    from shardscope.hex.view import HexView

WHEEL_ROWS = 3
"""Rows per notch of the wheel."""

_NOTCH = 120


def wheel(view: HexView, event: QWheelEvent) -> None:
    """Scrolls by rows; with control, makes the bytes larger or smaller; with shift, scrolls sideways."""
    down, across = event.angleDelta().y() / _NOTCH, event.angleDelta().x() / _NOTCH
    if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
        view.set_font_size(view.font_size + (1 if down > 0 else -1))
    elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(across) > abs(down):
        bar = view.horizontalScrollBar()
        bar.setValue(bar.value() - round((across or down) * 3 * bar.singleStep()))
    elif down:
        view.scroll_by(-down * WHEEL_ROWS)
    event.accept()


def key(view: HexView, event: QKeyEvent) -> bool:
    """Moves the caret, extends the selection with shift, selects all; False for keys that mean nothing here."""
    control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
    if control and event.key() == Qt.Key.Key_A:
        view.select_all()
        return True
    if event.modifiers() & (Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier):
        return False
    caret = view.selection.caret
    if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and view.rows.size:
        view.activated.emit(caret)
        return True
    target = caret_after(
        event.key(), control=control, caret=caret, layout=view.rows, page=view.page_rows, sections=view.sections
    )
    if target is None:
        return False
    if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown) and not control:
        view.scroll_by(view.rows.row_of(target) - view.rows.row_of(caret))
    view.move_caret(target, extend=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
    return True
