"""Directions of the arrow keys, and the first arrow key in a list without a selected row."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QItemSelectionModel, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView

ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}
"""Movement (across, down) per arrow key."""

_WALK = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


def select_current(view: QAbstractItemView, event: QEvent) -> bool:
    """If no row is selected, let an arrow or page key select the current row, not another; return whether it did."""
    if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress or event.key() not in _WALK:
        return False
    chosen, index = view.selectionModel(), view.currentIndex()
    if not index.isValid() or chosen.hasSelection():
        return False
    chosen.select(index, QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows)
    return True
