"""Keyboard of the window: shortcuts even in text fields, Escape, Return on buttons, and Tab in reading order."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, Slot
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMainWindow, QRadioButton, QWidget

from shardscope.session.session import Session

_EDITING = (
    QKeySequence.StandardKey.Copy,
    QKeySequence.StandardKey.Cut,
    QKeySequence.StandardKey.Paste,
    QKeySequence.StandardKey.Undo,
    QKeySequence.StandardKey.Redo,
    QKeySequence.StandardKey.SelectAll,
)
_COMMAND = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def press_focused(window: QWidget, event: QKeyEvent) -> bool:
    button = window.focusWidget()
    if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or not isinstance(button, QAbstractButton):
        return False
    button.click()
    return True


def accepts_tab(part: QWidget) -> bool:
    takes = part.focusPolicy() & Qt.FocusPolicy.TabFocus and part.focusProxy() is None
    return bool(takes) and part.isVisible() and part.isEnabled()


class Keyboard(QObject):
    def __init__(self, session: Session, window: QMainWindow) -> None:
        super().__init__(window)
        self._session, self._window = session, window
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._focus_changed)

    # A declared slot is disconnected with the object; the application outlives it.
    @Slot(QWidget, QWidget)
    def _focus_changed(self, _: QWidget | None, now: QWidget | None) -> None:
        if isinstance(now, QLineEdit) and now.window() is self._window:
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Give shortcuts of the window precedence over text fields (Ctrl+D and Ctrl+E on X11), except editing keys."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._is_ours(event):
            event.ignore()
            return True
        return False

    def _is_ours(self, event: QKeyEvent) -> bool:
        if not event.modifiers() & _COMMAND or any(event.matches(key) for key in _EDITING):
            return False
        keys = QKeySequence(event.keyCombination())
        return any(
            keys in action.shortcuts() and action.shortcutContext() is Qt.ShortcutContext.WindowShortcut
            for action in self._window.findChildren(QAction)
        )

    def press(self, event: QKeyEvent) -> bool:
        """Handle Return on a button and Escape; return whether the key was one of them."""
        if press_focused(self._window, event):
            return True
        if event.key() != Qt.Key.Key_Escape:
            return False
        if self._session.references.question is not None:
            self._session.references.clear()
        elif self._window.isFullScreen():
            toggle_full_screen(self._window)
        else:
            self._session.select_nothing()
        return True

    # --- Tab ---

    def move_focus(self, *, forward: bool) -> bool:
        # Do not use `nextInFocusChain`: PySide makes each widget the owner of the next one and deletes both.
        before = self._window.focusWidget()
        parts = self._window.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        parts.sort(key=lambda part: (part.x(), part.y()))
        order = [one for part in parts for one in self._reading_order(part, before)]
        at = order.index(before) if before in order else -1
        following = order[at + 1 :] + order[: max(at, 0)]
        if following:
            reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
            following[0 if forward else -1].setFocus(reason)
        return bool(following)

    def _reading_order(self, part: QWidget, before: QWidget | None) -> list[QWidget]:
        """Return the widgets inside `part` that accept Tab, line by line; nested widgets follow their container."""
        stops = [one for one in part.findChildren(QWidget) if one is before or self._takes_tab(one)]
        outer = [one for one in stops if not any(other.isAncestorOf(one) for other in stops if other is not one)]
        place = {one: QRect(one.mapTo(self._window, QPoint()), one.size()) for one in outer}
        order = [part] if part is before or self._takes_tab(part) else []
        while rest := sorted(place, key=lambda one: place[one].top()):
            first = place[rest[0]]
            line = [one for one in rest if one is rest[0] or place[one].center().y() <= first.bottom()]
            for one in sorted(line, key=lambda one: place.pop(one).left()):
                order += self._reading_order(one, before)
        return order

    def _takes_tab(self, part: QWidget) -> bool:
        if isinstance(part, QRadioButton) and not part.isChecked():
            # In a group of radio buttons, Tab stops only at the checked one.
            group = [one for one in self._window.findChildren(QRadioButton) if one.parent() is part.parent()]
            if any(one.isChecked() for one in group):
                return False
        return accepts_tab(part) and part.window() is self._window


def toggle_full_screen(window: QWidget) -> None:
    window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)
