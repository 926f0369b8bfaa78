"""Actions of the hex panel, for the menus of the window, and its context menu."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from shardscope.session.copy_bytes import CopyAs
from shardscope.views.hex.row_width import RowChoice
from shardscope.widgets.save_picture import add_picture

_WINDOW = Qt.ShortcutContext.WindowShortcut


class HexActions:
    """Actions of the hex panel; the panel connects them."""

    def __init__(self, panel: QWidget) -> None:
        self._panel = panel
        self.copy = self._action(self.tr("&Copy"), QKeySequence.StandardKey.Copy)
        self.copy_as = {
            form: self._action(self.tr("Copy as {0}").format(form.value)) for form in CopyAs if form is not CopyAs.SEEN
        }
        self.copy_command = self._action(self.tr("Copy as &shardcore command"))
        self.copy_python = self._action(self.tr("Copy as P&ython lines"))
        self.copy_curl = self._action(self.tr("Copy as c&url command"))
        self.copy_curl.setVisible(False)
        self.copy_offset = self._action(self.tr("Copy &offset"), "Ctrl+Alt+C")
        self.paste = self._action(self.tr("&Paste over"), QKeySequence.StandardKey.Paste)
        self.fill = self._action(self.tr("F&ill…"))
        self.replace = self._action(self.tr("Replace all &hits…"), "Ctrl+H")
        self.select_field = self._action(self.tr("Select &field"), "Ctrl+Shift+F")
        self.select_record = self._action(self.tr("Select &record"), "Ctrl+Shift+R")
        self.select_section = self._action(self.tr("Select &section"), "Ctrl+Shift+S")
        self.note = self._action(self.tr("Add &note…"), "Ctrl+B")
        self.next_note = self._action(self.tr("Ne&xt note"), "F4")
        self.previous_note = self._action(self.tr("Previo&us note"), "Shift+F4")
        self.follow = self._action(self.tr("Follow &pointer"))
        self.references = self._action(self.tr("Find &references"), "Ctrl+Shift+W")
        self.decoded = self._action(self.tr("Show &decoded bytes"), "Ctrl+D")
        self.inside = self._action(self.tr("Open &inside"), "Ctrl+Shift+I")
        self.drawing = self._action(self.tr("Dra&wing"), "Alt+D")
        self.copy_drawing = self._action(self.tr("Copy d&rawing"))
        self.save_drawing = self._action(self.tr("Save dra&wing…"))
        self.goto = self._action(self.tr("&Go to …"), "Ctrl+G")
        self.find = self._action(self.tr("&Find …"), QKeySequence.StandardKey.Find)
        self.find_these = self._action(self.tr("Find &these bytes"), "Ctrl+F3")
        self.find_next = self._action(self.tr("Find &next"), "F3")
        self.find_previous = self._action(self.tr("Find p&revious"), "Shift+F3")
        self.letters = self._action(self.tr("Role &letters"))
        self.letters.setCheckable(True)
        self.letters.setToolTip(self.tr("Always shown in palettes for colour-blind users"))
        self.fields = self._action(self.tr("Fi&elds beside the bytes"))
        self.fields.setCheckable(True)
        self.fields.setChecked(True)
        self.fields.setToolTip(self.tr("Show names and values of the fields of each row"))
        self.fold = self._action(self.tr("Fold rows of e&qual bytes"))
        self.fold.setCheckable(True)
        self.fold.setChecked(True)
        self.fold.setToolTip(self.tr("Show rows of equal bytes as one line; click or press Enter to expand"))
        self.larger = self._action(self.tr("&Larger bytes"), "Ctrl+Alt++")
        self.smaller = self._action(self.tr("S&maller bytes"), "Ctrl+Alt+-")

    def set_open(self, is_open: bool) -> None:
        always = (self.copy, *self.copies, self.copy_offset, self.select_field, self.select_section, self.find_these)
        for action in (*always, self.references, self.goto, self.find, self.find_next, self.find_previous):
            action.setEnabled(is_open)
        for action in (self.letters, self.fields, self.fold, self.larger, self.smaller):
            action.setEnabled(is_open)

    @property
    def copies(self) -> list[QAction]:
        return [*self.copy_as.values(), self.copy_command, self.copy_python, self.copy_curl]

    def tr(self, text: str) -> str:
        """Translate in the context that `lupdate` extracts by this class name."""
        return QCoreApplication.translate("HexActions", text)

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


translate = QCoreApplication.translate


@dataclass(frozen=True)
class HexMenuActions:
    go: Callable[[], object]
    look_up: Callable[[], object]
    extract: Callable[[], object]
    report: Callable[[str, bool], object]


def add_looks(menu: QMenu, actions: HexActions, rows: RowChoice) -> None:
    rows.fill(menu)
    menu.addActions([actions.fold, actions.fields, actions.letters, actions.larger, actions.smaller])


def hex_menu(
    view: QWidget, parent: QWidget, actions: HexActions, handlers: HexMenuActions, rows: RowChoice, *, row: int | None
) -> QMenu:
    menu = QMenu(parent)
    menu.addAction(actions.copy)
    forms = menu.addMenu(translate("HexMenu", "Copy &as"))
    forms.addActions(actions.copies)
    menu.addAction(actions.copy_offset)
    menu.addActions([actions.paste, actions.fill])
    menu.addSeparator()
    menu.addActions(
        [
            actions.select_field,
            actions.select_record,
            actions.select_section,
            actions.follow,
            actions.references,
            actions.decoded,
            actions.inside,
        ]
    )
    menu.addAction(actions.note)
    menu.addSeparator()
    for text, act in (
        (translate("HexMenu", "Go to o&bject"), handlers.go),
        (translate("HexMenu", "Look &up object"), handlers.look_up),
        (translate("HexMenu", "E&xtract object…"), handlers.extract),
    ):
        menu.addAction(text, act).setEnabled(row is not None)
    menu.addSeparator()
    menu.addActions([actions.find_these, actions.find, actions.goto])
    menu.addSeparator()
    add_looks(menu, actions, rows)
    menu.addSeparator()
    add_picture(menu, view, "bytes", handlers.report)
    return menu


def open_menu(menu: QMenu, place: QPoint) -> None:
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.popup(place)
