"""Menus built from tables of entries: text, shortcut, tooltip, and the condition that enables an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from PySide6.QtCore import QCoreApplication, QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar, QWidget

from shardcore.dataclasses import dataclass
from shardscope.session.session import Session
from shardscope.shell.docks import PanelDocks

Condition: TypeAlias = Callable[[Session], bool]

# While one file replaces another, actions stay enabled: a disabled button would lose the keyboard.
FILE_OPEN: Condition = lambda session: session.shard is not None or session.documents.replacing  # noqa: E731
INDEX_MISSING: Condition = lambda session: session.index.missing  # noqa: E731
CAN_GO_BACK: Condition = lambda session: session.selector.can_go_back  # noqa: E731
CAN_GO_FORWARD: Condition = lambda session: session.selector.can_go_forward  # noqa: E731
SEVERAL_TABS: Condition = lambda session: len(session.documents.all) + session.documents.welcome > 1  # noqa: E731
TAB_CLOSED: Condition = lambda session: session.documents.can_reopen  # noqa: E731


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """Menu entry. It is checkable if `checked`, its first state, is set; `run` gets its state, but not in a `group`."""

    name: str
    text: str
    run: Callable[..., object]
    keys: str | QKeySequence.StandardKey | tuple[str, ...] = ()
    enabled: Condition | None = None
    tip: str = ""
    checked: bool | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class Menu:
    text: str
    rows: Sequence[Row]


LINE = None

Row: TypeAlias = "MenuEntry | Menu | QAction | QMenu | Sequence[Row] | None"


class WindowActions(QObject):
    """Actions of the window by name. Menus also contain actions that panels and dialogs create and enable."""

    def __init__(self, session: Session, window: QMainWindow) -> None:
        super().__init__(window)
        self._session, self._window = session, window
        self.named: dict[str, QAction] = {}
        self._groups: dict[str, QActionGroup] = {}
        self._enabled: dict[Condition, list[QAction]] = {}
        others = session.selector.history_changed, session.index.changed, session.documents.changed
        for changed in (session.opened, session.closed, *others):
            changed.connect(self._update)

    def __getitem__(self, name: str) -> QAction:
        return self.named[name]

    def fill(self, menu: QMenu | QMenuBar, rows: Iterable[Row]) -> None:
        for row in rows:
            if row is None:
                menu.addSeparator()
            elif isinstance(row, Menu):
                below = menu.addMenu(_translated(row.text))
                below.setToolTipsVisible(True)
                self.fill(below, row.rows)
            elif isinstance(row, QMenu):
                menu.addMenu(row)
            elif isinstance(row, Sequence):
                self.fill(menu, row)
            else:
                menu.addAction(self.add(row) if isinstance(row, MenuEntry) else row)

    def add(self, entry: MenuEntry) -> QAction:
        action = self.named[entry.name] = QAction(_translated(entry.text), self._window)
        if isinstance(entry.keys, tuple):
            action.setShortcuts([QKeySequence(keys) for keys in entry.keys])
        else:
            action.setShortcut(QKeySequence(entry.keys))
        if entry.tip:
            action.setToolTip(_translated(entry.tip))
        if entry.group:
            self._groups.setdefault(entry.group, QActionGroup(self._window)).addAction(action)
        if entry.checked is not None:
            action.setCheckable(True)
            action.setChecked(entry.checked)
        if entry.checked is None or entry.group:
            action.triggered.connect(lambda _: entry.run())
        else:
            action.toggled.connect(entry.run)
        if entry.enabled is not None:
            self._enable(action, entry.enabled)
        return action

    def _enable(self, action: QAction, holds: Condition) -> None:
        self._enabled.setdefault(holds, []).append(action)
        action.setEnabled(holds(self._session))

    def _update(self, *_: object) -> None:
        for holds, actions in self._enabled.items():
            now = holds(self._session)
            for action in actions:
                action.setEnabled(now)

    def panel_rows(self, docks: PanelDocks) -> list[QAction]:
        """Return menu actions that show or hide a panel. The shortcuts belong to other actions, which only show one."""
        rows = []
        for panel in docks.panels:
            show = partial(docks.show, panel.name, focus=True)
            go = self.add(MenuEntry(f"panel {panel.name}", f"&{panel.shown_title}", show, panel.shortcut, FILE_OPEN))
            go.setProperty("group", self.tr("Panels"))
            self._window.addAction(go)
            toggle = docks.by_name[panel.name].toggleViewAction()
            toggle.setText(f"{go.text()}\t{go.shortcut().toString(QKeySequence.SequenceFormat.NativeText)}")
            toggle.setToolTip(self.tr("Show or hide the panel"))
            self._enable(toggle, FILE_OPEN)
            rows.append(toggle)
        return rows


LECTURE_KEYS: Mapping[str, tuple[str, tuple[str, ...], Callable[[Any], object]]] = MappingProxyType(
    {
        "next": ("Lecture: next", ("Right", "Space", "PgDown"), lambda screen: screen.go_on()),
        "back": ("Lecture: back", ("Left", "PgUp", "Backspace"), lambda screen: screen.go_back()),
        "first": ("Lecture: first step", ("Home",), lambda screen: screen.show_slide(0)),
        "last": ("Lecture: last step", ("End",), lambda screen: screen.show_slide(screen.count - 1)),
        "play": ("Lecture: play", ("P",), lambda screen: screen.toggle_play()),
        "speed": ("Lecture: speed", ("S",), lambda screen: screen.next_speed()),
        "blank": ("Lecture: blank screen", ("B", "."), lambda screen: screen.overlay.toggle("blank")),
        "ring": ("Lecture: pointer ring", ("L",), lambda screen: screen.overlay.toggle("ring")),
        "dark": ("Lecture: dark room", ("D",), lambda screen: screen.toggle_dark()),
        "leave": ("Lecture: leave", ("Esc", "F11"), lambda screen: screen.close()),
    }
)


class LectureActions(QActionGroup):
    """Actions with the keys of a lecture; enabled only while its screen is shown."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.all = {name: QAction(self.tr(text), self) for name, (text, _, _) in LECTURE_KEYS.items()}
        for name, action in self.all.items():
            action.setData(name)
            action.setProperty("group", self.tr("Lecture"))
            action.setShortcuts([QKeySequence(key) for key in LECTURE_KEYS[name][1]])
            self.addAction(action)
        self.setEnabled(False)


def _translated(text: str) -> str:
    return QCoreApplication.translate("WindowActions", text)


def part_mnemonics(menu: QMenu | QMenuBar) -> None:
    """Assign distinct mnemonic letters to menu entries that share one."""
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
