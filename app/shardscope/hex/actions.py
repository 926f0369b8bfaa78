"""The actions of the hex panel, for its menu and for the menus of the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from shardscope.copying import CopyAs

_WINDOW = Qt.ShortcutContext.WindowShortcut


class HexActions:
    """Makes the actions; the panel says what they do.

    Attributes:
        copy: As seen.
        copy_as: The other forms.
        copy_offset: The offset of the selection.
        select_field: What owns the byte with the caret.
        select_section: The section of the byte with the caret.
        follow: To where the field points.
        decoded: Between stored and decoded bytes.
        goto: To the address field.
        find: To the search bar.
        find_next: The next hit.
        find_previous: The hit before.
        letters: Whether runs begin with a letter.
        larger: Larger bytes.
        smaller: Smaller bytes.
    """

    def __init__(self, panel: QWidget) -> None:
        self._panel = panel
        self.copy = self._action(self.tr("&Copy"), QKeySequence.StandardKey.Copy)
        self.copy_as = {form: self._action(f"Copy as {form.value}") for form in CopyAs if form is not CopyAs.SEEN}
        self.copy_offset = self._action(self.tr("Copy &offset"), "Ctrl+Alt+C")
        self.select_field = self._action(self.tr("Select &field"), "Ctrl+Shift+F")
        self.select_section = self._action(self.tr("Select &section"), "Ctrl+Shift+S")
        self.follow = self._action(self.tr("Follow &pointer"))
        self.decoded = self._action(self.tr("Show &decoded bytes"), "Ctrl+D")
        self.goto = self._action(self.tr("&Go to …"), "Ctrl+G")
        self.find = self._action(self.tr("&Find …"), QKeySequence.StandardKey.Find)
        self.find_next = self._action(self.tr("Find &next"), "F3")
        self.find_previous = self._action(self.tr("Find p&revious"), "Shift+F3")
        self.letters = self._action(self.tr("Role &letters"))
        self.letters.setCheckable(True)
        self.letters.setToolTip(self.tr("The palettes for colour-blind eyes always show them"))
        self.larger = self._action(self.tr("&Larger bytes"), QKeySequence.StandardKey.ZoomIn)
        self.smaller = self._action(self.tr("S&maller bytes"), QKeySequence.StandardKey.ZoomOut)

    def set_open(self, is_open: bool) -> None:
        """Whether there are bytes; where the caret stands enables *follow* and *decoded*."""
        always = (self.copy, *self.copy_as.values(), self.copy_offset, self.select_field, self.select_section)
        for action in (*always, self.goto, self.find, self.find_next, self.find_previous):
            action.setEnabled(is_open)
        for action in (self.letters, self.larger, self.smaller):
            action.setEnabled(is_open)

    def tr(self, text: str) -> str:
        """A text in the language of the window; `lupdate` finds it by this name and class."""
        return QCoreApplication.translate("HexActions", text)

    def menu(self, widths: Sequence[tuple[str, Callable[[], None]]]) -> QMenu:
        """The menu of the hex view.

        Args:
            widths: The choices of the row width: what they are called, and what they do.
        """
        menu = QMenu(self._panel)
        menu.addAction(self.copy)
        forms = menu.addMenu(self.tr("Copy &as"))
        forms.addActions(list(self.copy_as.values()))
        menu.addAction(self.copy_offset)
        menu.addSeparator()
        menu.addActions([self.select_field, self.select_section, self.follow, self.decoded])
        menu.addSeparator()
        menu.addActions([self.goto, self.find])
        menu.addSeparator()
        rows = menu.addMenu(self.tr("&Row width"))
        for name, act in widths:
            rows.addAction(name).triggered.connect(partial(_called, act))
        menu.addActions([self.letters, self.larger, self.smaller])
        return menu

    def _action(
        self,
        text: str,
        shortcut: str | QKeySequence.StandardKey | None = None,
    ) -> QAction:
        action = QAction(text, self._panel)
        if shortcut is not None:
            action.setShortcut(QKeySequence(shortcut))
            action.setShortcutContext(_WINDOW)
        self._panel.addAction(action)
        return action


def open_menu(menu: QMenu, place: QPoint) -> None:
    """Opens a menu without waiting for it; it is gone when it closes."""
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(place)


def _called(act: Callable[[], None], checked: bool) -> None:
    act()
