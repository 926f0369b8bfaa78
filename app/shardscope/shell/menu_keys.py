"""MenuKeys: what a menu says a key does, it does everywhere, also while a line is typed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QMainWindow

_EDITING = (
    QKeySequence.StandardKey.Copy,
    QKeySequence.StandardKey.Cut,
    QKeySequence.StandardKey.Paste,
    QKeySequence.StandardKey.Undo,
    QKeySequence.StandardKey.Redo,
    QKeySequence.StandardKey.SelectAll,
)
_COMMAND = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class MenuKeys(QObject):
    """Lines claim keys for themselves that few people know of: on X11 Ctrl+D deletes a letter, Ctrl+E goes to the end.

    Args:
        window: Its lines, as far as they exist, leave the keys of its actions alone.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        for line in window.findChildren(QLineEdit):
            line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A line is not asked whether it wants a key that a menu has."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_ours(event):
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _is_ours(self, event: QKeyEvent) -> bool:
        if not event.modifiers() & _COMMAND or any(event.matches(key) for key in _EDITING):
            return False
        keys = QKeySequence(event.keyCombination())
        return any(
            keys in action.shortcuts() and action.shortcutContext() is Qt.ShortcutContext.WindowShortcut
            for action in self._window.findChildren(QAction)
        )
