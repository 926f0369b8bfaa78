"""Menus of the window and their actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from PySide6.QtCore import QCoreApplication, QPoint
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from shardcore import Depth
from shardcore.model.text import shown
from shardscope.session.display_text import cut_middle
from shardscope.session.session import Session
from shardscope.shell.docks import PanelDocks
from shardscope.shell.edit_shell import EditShell
from shardscope.shell.file_tabs import FileTabBar
from shardscope.shell.lecture import LectureActions
from shardscope.shell.panels import Panel
from shardscope.shell.sandbox_shell import SandboxShell
from shardscope.startup.settings import THEMES
from shardscope.tasks.new_shard.new_shards import NewShards
from shardscope.views.diff.window import CompareShards
from shardscope.views.hex.actions import HexActions
from shardscope.views.objects.actions import ObjectActions
from shardscope.widgets.plain_text import tip

Key = QKeySequence.StandardKey

LONGEST_ENTRY = 90
"""Characters of a path in a menu; longer paths are shortened in the middle."""

_THEME_NAMES = {
    "system": "Follow system",
    "light": "Light",
    "dark": "Dark",
    "light-safe": "Light, colour-blind safe",
    "dark-safe": "Dark, colour-blind safe",
    "dark-room": "Dark room",
}


def part_mnemonics(menu: QMenu | QMenuBar) -> None:
    """Assign distinct mnemonic letters to menu entries that share one, recursively."""
    taken: set[str] = set()
    for action in menu.actions():
        if isinstance(inner := action.menu(), QMenu):
            part_mnemonics(inner)
        own = QKeySequence.mnemonic(action.text()).toString()
        if own in taken:
            plain = action.text().replace("&", "")
            words = plain.partition("\t")[0]
            letters = [n for n, letter in enumerate(words) if letter.isalpha() and f"Alt+{letter.upper()}" not in taken]
            # Prefer the first letter of a word.
            free = min(letters, key=lambda n: (n > 0 and plain[n - 1] != " ", n), default=None)
            action.setText(plain if free is None else f"{plain[:free]}&{plain[free:]}")
            own = QKeySequence.mnemonic(action.text()).toString()
        taken.update({own} - {""})


class MenuCommands(Protocol):
    """Functions of the window that the menus call."""

    def open(self, uri: str, format: str | None = None) -> None:
        """Open a path or address."""

    def ask_file(self) -> None:
        """Show the dialog that opens files."""

    def ask_folder(self) -> None:
        """Show the dialog that opens a folder as a data set."""

    def open_address(self) -> None:
        """Show the dialog that opens an S3 or GCS bucket, or a URL."""

    def open_with(self) -> None:
        """Show the dialog that opens a file with format and options."""

    def change(self) -> None:
        """Show the dialog that reopens the file with other options."""

    def clear_recent(self) -> None:
        """Empty the menu *Open recent* and its setting."""

    def show_part(self, name: str, *, focus: bool = False) -> None:
        """Show a panel; `focus` gives it the keyboard."""

    def to_filter(self) -> None:
        """Give the keyboard to the filter in the panel *Objects*."""

    def to_trace(self) -> None:
        """Show *Lookup* and focus its key field; if the object table has the focus, look up the selected object."""

    def stop_jobs(self) -> None:
        """Cancel every job in *Activity*."""

    def set_theme(self, name: str) -> None:
        """Select a theme, one of `settings.THEMES`."""

    def set_reduced_motion(self, reduced: bool) -> None:
        """Disable or enable animations."""

    def set_decimal_offsets(self, decimal: bool) -> None:
        """Switch between decimal and hexadecimal notation, everywhere in the window."""

    def default_layout(self) -> None:
        """Restore the default positions of the panels."""

    def toggle_full_screen(self) -> None:
        """Switch full screen on or off."""

    def start_lecture(self, *, full: bool = True) -> object:
        """Open the projector screen; `full` makes it cover the display."""

    def zoom(self, *, larger: bool) -> None:
        """Zoom in or out by one step."""

    def reset_zoom(self) -> None: ...

    def save_picture(self) -> None:
        """Show the dialog that saves a picture of the window."""

    def about(self) -> None:
        """Open the dialog with versions and licence."""


class WindowActions:
    def __init__(self, window: QMainWindow, commands: MenuCommands, session: Session) -> None:
        self._window = window
        self._commands = commands
        self._session = session
        self.open = self._action(self.tr("&Open…"), commands.ask_file, Key.Open)
        self.open_folder = self._action(self.tr("Open &folder…"), commands.ask_folder, "Ctrl+Shift+D")
        self.open_address = self._action(self.tr("Open a&ddress…"), commands.open_address, "Ctrl+U")
        self.open_with = self._action(self.tr("Open &as…"), commands.open_with, "Ctrl+Shift+O")
        self.change = self._action(self.tr("Reopen with o&ptions…"), commands.change)
        self.reload = self._action(self.tr("&Reload"), session.reload, Key.Refresh)
        self.close = self._action(self.tr("&Close"), session.close)
        self.close.setShortcuts([QKeySequence("Ctrl+W"), QKeySequence("Ctrl+F4")])
        self.quit = self._action(self.tr("&Quit"), window.close, Key.Quit)
        self.back = self._action(self.tr("&Back"), session.back, "Alt+Left")
        self.forward = self._action(self.tr("&Forward"), session.forward, "Alt+Right")
        self.load_index = self._action(self.tr("Load &index"), session.want_index)
        self.about = self._action(self.tr("&About Shardscope"), commands.about)
        self.default_layout = self._action(self.tr("&Default layout"), commands.default_layout)
        self.reduced_motion = QAction(self.tr("Reduced &motion"), window)
        self.reduced_motion.setCheckable(True)
        self.reduced_motion.setToolTip(self.tr("Nothing blinks, fades or plays automatically"))
        self.reduced_motion.toggled.connect(commands.set_reduced_motion)
        self.decimal_offsets = QAction(self.tr("Offsets in decima&l"), window)
        self.decimal_offsets.setCheckable(True)
        self.decimal_offsets.setToolTip(self.tr("Otherwise offsets are hexadecimal"))
        self.decimal_offsets.toggled.connect(commands.set_decimal_offsets)
        self.full_screen = self._action(self.tr("F&ull screen"), commands.toggle_full_screen, "Shift+F11")
        self.lecture = self._action(self.tr("L&ecture"), commands.start_lecture, "F11")
        self.lecturing = LectureActions(window)
        zoom_in = self._action(self.tr("&Zoom in"), partial(commands.zoom, larger=True))
        zoom_in.setShortcuts([QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")])
        zoom_out = self._action(self.tr("Zoom &out"), partial(commands.zoom, larger=False), "Ctrl+-")
        self.zooms = [zoom_in, zoom_out, self._action(self.tr("&100 %"), commands.reset_zoom, "Ctrl+0")]
        self.picture = self._action(self.tr("Save picture of the &window…"), commands.save_picture)
        self.filter = self._action(self.tr("F&ilter objects"), commands.to_filter, "Ctrl+L")
        self.trace_key = self._action(self.tr("&Look up key…"), commands.to_trace, "Ctrl+T")
        self.stop = self._action(self.tr("&Stop all jobs"), commands.stop_jobs, "Ctrl+.")
        self.verify = {
            depth: self._action(
                self.tr("Verify &{0}").format(depth.value), partial(self._verify, depth), f"Ctrl+{number}"
            )
            for number, depth in enumerate(Depth, 1)
        }
        self.themes = self._theme_actions()
        self.panels: list[QAction] = []
        self.recent = QMenu(self.tr("Open &recent"), window)
        self.samples = QMenu(self.tr("Open &sample"), window)
        self.quick = QMenu(window)
        self.quick.setAccessibleName(self.tr("Panels and files"))
        self.go_to = self._action(self.tr("&Panel or file…"), self._pop_up, "Ctrl+P")

    def tr(self, text: str) -> str:
        """Translate a text; `lupdate` finds calls by this name and class, as QObject.tr is not available here."""
        return QCoreApplication.translate("WindowActions", text)

    def _verify(self, depth: Depth) -> None:
        self._commands.show_part("findings")
        self._session.verify(depth)

    def _action(self, text: str, act: Callable[[], Any], keys: str | QKeySequence.StandardKey | None = None) -> QAction:
        action = QAction(text, self._window)
        if keys is not None:
            action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda _: act())
        return action

    def _theme_actions(self) -> dict[str, QAction]:
        group = QActionGroup(self._window)
        found = {}
        for name in THEMES:
            action = QAction(QCoreApplication.translate("Themes", _THEME_NAMES[name]), group)
            action.setCheckable(True)
            action.triggered.connect(lambda _=False, name=name: self._commands.set_theme(name))
            found[name] = action
        return found

    def build(
        self,
        docks: PanelDocks,
        panels: Sequence[Panel],
        bytes_: HexActions,
        objects: ObjectActions,
        shards: NewShards,
        changing: EditShell,
        diffing: CompareShards,
        sandbox_shell: SandboxShell,
        find_key: QAction,
    ) -> None:
        bar = self._window.menuBar()
        bar.setAccessibleName(self.tr("Menu"))
        file = self.file = bar.addMenu(self.tr("&File"))
        file.addActions([self.open, self.open_folder, self.open_address, self.open_with])
        file.addMenu(self.recent)
        file.addMenu(self.samples)
        file.addSeparator()
        file.addActions([shards.new, shards.convert])
        file.addMenu(diffing.menu)
        file.addSeparator()
        file.addActions([objects.extract, objects.extract_all])
        file.addSeparator()
        file.addActions([self.change, self.reload, self.close, self.quit])
        edit = bar.addMenu(self.tr("&Edit"))
        edit.addAction(bytes_.copy)
        edit.addMenu(self.tr("Copy &as")).addActions(bytes_.copies)
        edit.addActions([bytes_.copy_offset, objects.copy_keys, objects.copy_rows, objects.copy_json])
        edit.addActions([objects.copy_files])
        edit.addActions([bytes_.paste, bytes_.fill, bytes_.replace])
        edit.addSeparator()
        edit.addActions([bytes_.select_field, bytes_.select_record, bytes_.select_section])
        edit.addAction(bytes_.note)
        edit.addSeparator()
        edit.addActions([bytes_.find, bytes_.find_these, bytes_.find_next, bytes_.find_previous])
        changing.fill(edit)
        view = bar.addMenu(self.tr("&View"))
        view.addActions([bytes_.drawing, bytes_.copy_drawing, bytes_.save_drawing])
        view.addSeparator()
        view.addActions([bytes_.decoded, bytes_.letters, bytes_.fields, bytes_.fold, bytes_.larger, bytes_.smaller])
        view.addAction(self.decimal_offsets)
        view.addSeparator()
        view.addMenu(self.tr("&Theme")).addActions(list(self.themes.values()))
        view.addAction(self.reduced_motion)
        self._add_panels(view.addMenu(self.tr("&Panels")), docks, panels)
        view.addAction(self.default_layout)
        view.addSeparator()
        view.addActions([self.lecture, self.full_screen])
        view.addActions(self.zooms)
        view.addAction(self.picture)
        go = self.go = bar.addMenu(self.tr("&Go"))
        go.addActions([bytes_.goto, bytes_.follow, bytes_.references, bytes_.inside, self.back, self.forward])
        go.addActions([bytes_.previous_note, bytes_.next_note])
        go.addSeparator()
        go.addActions([self.filter, self.trace_key, self.go_to])
        tools = bar.addMenu(self.tr("&Tools"))
        tools.addActions(list(self.verify.values()))
        tools.addAction(objects.check)
        tools.addSeparator()
        tools.addActions([objects.trace, find_key, self.load_index, self.stop])
        sandbox_shell.fill(tools)
        self.learn = bar.addMenu(self.tr("Lea&rn"))

    def add_tabs(self, bar: FileTabBar, restore: QAction) -> None:
        self.go.insertActions(self.filter, [bar.next, bar.previous])
        self.go.insertSeparator(self.filter)
        self.file.insertActions(self.quit, [bar.reopen, restore])

    def _add_panels(self, menu: QMenu, docks: PanelDocks, panels: Sequence[Panel]) -> None:
        """Add two actions per panel: one that opens or closes it, and one with the shortcut that only shows it."""
        for panel in panels:
            go = self._action(
                f"&{panel.shown_title}", partial(self._commands.show_part, panel.name, focus=True), panel.shortcut
            )
            go.setProperty("group", menu.title().replace("&", ""))
            toggle = docks.by_name[panel.name].toggleViewAction()
            toggle.setText(f"{go.text()}\t{go.shortcut().toString(QKeySequence.SequenceFormat.NativeText)}")
            toggle.setToolTip(panel.shown_title)
            menu.addAction(toggle)
            self.panels += [go, toggle]
            self.quick.addAction(go)
            self._window.addAction(go)
        self.quick.addSeparator()
        self.quick.addMenu(self.recent)
        self.quick.addMenu(self.samples)

    def _pop_up(self) -> None:
        size = self.quick.sizeHint()
        middle = self._window.rect().center() - QPoint(size.width() // 2, size.height() // 2)
        self.quick.popup(self._window.mapToGlobal(middle))
        if first := next((action for action in self.quick.actions() if action.isEnabled()), None):
            self.quick.setActiveAction(first)

    def set_open(self, is_open: bool) -> None:
        needing = (self.change, self.reload, self.close, self.filter, self.trace_key, self.default_layout, self.lecture)
        # The window disables `load_index` again if the index is loaded or loading.
        for action in (*needing, self.load_index, *self.verify.values(), *self.panels):
            action.setEnabled(is_open)

    def fill_recent(self, names: list[str]) -> None:
        self.recent.clear()
        for name in names:
            action = self.recent.addAction(_entry(name))
            action.setToolTip(tip(name))
            action.triggered.connect(lambda _=False, name=name: self._commands.open(name))
        self.recent.setEnabled(bool(names))
        if names:
            self.recent.addSeparator()
            self.recent.addAction(self.tr("Clear")).triggered.connect(self._commands.clear_recent)

    def fill_samples(self, samples: list[tuple[str, str]]) -> None:
        for title, path in samples:
            self.samples.addAction(_entry(title)).triggered.connect(
                lambda _=False, path=path: self._commands.open(path)
            )
        self.samples.setEnabled(bool(samples))


def _entry(text: str) -> str:
    """Return an untrusted text (path, title) as a menu entry: shortened, escaped, without mnemonic."""
    return shown(cut_middle(text, LONGEST_ENTRY)).replace("&", "&&")
