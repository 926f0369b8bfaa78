"""The menus of the window, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu

from shardcore import Depth
from shardscope.settings import THEMES

if TYPE_CHECKING:
    from shardscope.window.main_window import MainWindow

Key = QKeySequence.StandardKey

_THEME_NAMES = {
    "system": "As the system",
    "light": "Light",
    "dark": "Dark",
    "light-safe": "Light, colour-blind safe",
    "dark-safe": "Dark, colour-blind safe",
}


class WindowActions:
    """Makes the menus of a window; the window says what the actions do.

    Attributes:
        recent: The menu of recent files.
        themes: The choices of the theme, by name.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        session = window.session
        self.open = self._action("&Open…", window.ask_file, Key.Open)
        self.open_folder = self._action("Open &folder…", window.ask_folder, "Ctrl+Shift+D")
        self.open_with = self._action("Open &with…", window.ways.ask, "Ctrl+Shift+O")
        self.change = self._action("Change &how it is read…", window.ways.change)
        self.change.setEnabled(False)
        self.reload = self._action("&Reload", session.reload, Key.Refresh)
        self.close = self._action("&Close", session.close, Key.Close)
        self.quit = self._action("&Quit", window.close, Key.Quit)
        self.back = self._action("&Back", session.back, "Alt+Left")
        self.forward = self._action("&Forward", session.forward, "Alt+Right")
        self.load_index = self._action("Read the &index", session.load_index)
        self.about = self._action("&About Shardscope", window.about)
        self.default_layout = self._action("&Default layout", window.default_layout)
        self.full_screen = self._action("F&ull screen", window.toggle_full_screen, Key.FullScreen)
        self.filter = self._action("F&ilter objects", window.to_filter, "Ctrl+L")
        self.trace_key = self._action("&Look up a key…", window.to_trace, "Ctrl+T")
        self.copy_files = self._action("Copy objects as fi&les", window.drag_out.copy_files, "Ctrl+Shift+C")
        self.stop = self._action("&Stop all jobs", window.stop_jobs, "Ctrl+.")
        self.verify = {
            depth: self._action(f"Verify &{depth.value}", self._verifier(depth), f"Ctrl+{number}")
            for number, depth in enumerate(Depth, 1)
        }
        self.themes = self._theme_actions()
        self.recent = QMenu("Open &recent", window)
        self.samples = QMenu("Open &sample", window)
        self._build()

    def _verifier(self, depth: Depth) -> Callable[[], None]:
        def verify() -> None:
            self._window.show_part("findings")
            self._window.session.verify(depth)

        return verify

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
            action = QAction(_THEME_NAMES[name], group)
            action.setCheckable(True)
            action.triggered.connect(lambda _=False, name=name: self._window.set_theme(name))
            found[name] = action
        return found

    def _build(self) -> None:
        window, bar = self._window, self._window.menuBar()
        bytes_, objects = window.hex.actions_, window.objects.actions_
        file = bar.addMenu("&File")
        file.addActions([self.open, self.open_folder, self.open_with])
        file.addMenu(self.recent)
        file.addMenu(self.samples)
        file.addSeparator()
        file.addAction(objects.extract)
        file.addSeparator()
        file.addActions([self.change, self.reload, self.close, self.quit])
        edit = bar.addMenu("&Edit")
        edit.addAction(bytes_.copy)
        edit.addMenu("Copy &as").addActions(list(bytes_.copy_as.values()))
        edit.addActions([bytes_.copy_offset, objects.copy_keys, self.copy_files])
        edit.addSeparator()
        edit.addActions([bytes_.select_field, bytes_.select_section])
        edit.addSeparator()
        edit.addActions([bytes_.find, bytes_.find_next, bytes_.find_previous])
        view = bar.addMenu("&View")
        view.addActions([bytes_.decoded, bytes_.letters, bytes_.larger, bytes_.smaller])
        view.addSeparator()
        themes = view.addMenu("&Theme")
        themes.addActions(list(self.themes.values()))
        panels = view.addMenu("&Panels")
        panels.addActions([dock.toggleViewAction() for dock in window.docks.values()])
        view.addAction(self.default_layout)
        view.addAction(self.full_screen)
        go = bar.addMenu("&Go")
        go.addActions([bytes_.goto, bytes_.follow, self.back, self.forward])
        go.addSeparator()
        go.addActions([self.filter, self.trace_key])
        go.addSeparator()
        for number, (name, dock) in enumerate(window.docks.items(), 1):
            action = self._action(f"To {dock.windowTitle().lower()}", self._shower(name), f"Alt+{number}")
            go.addAction(action)
        tools = bar.addMenu("&Tools")
        tools.addActions(list(self.verify.values()))
        tools.addAction(objects.check)
        tools.addSeparator()
        tools.addActions([objects.trace, self.load_index, self.stop])
        bar.addMenu("&Help").addAction(self.about)

    def _shower(self, name: str) -> Callable[[], None]:
        return lambda: self._window.show_part(name, focus=True)

    def fill_recent(self, names: list[str]) -> None:
        """Lists the recent files."""
        self.recent.clear()
        for name in names:
            self.recent.addAction(name.replace("&", "&&")).triggered.connect(
                lambda _=False, name=name: self._window.open(name)
            )
        self.recent.setEnabled(bool(names))
        if names:
            self.recent.addSeparator()
            self.recent.addAction("Clear").triggered.connect(self._window.clear_recent)

    def fill_samples(self, samples: list[tuple[str, str]]) -> None:
        """Lists the samples: title and path."""
        for title, path in samples:
            self.samples.addAction(title.replace("&", "&&")).triggered.connect(
                lambda _=False, path=path: self._window.open(path)
            )
        self.samples.setEnabled(bool(samples))
