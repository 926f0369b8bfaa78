"""Menus from a table of rows: entries, shortcuts, tool tips, when an action is enabled, and the list of panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from PySide6.QtCore import QCoreApplication, QEvent, QObject, SignalInstance
from PySide6.QtGui import QAction, QActionGroup, QHelpEvent, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QMenuBar

from shardscope.session.session import IndexState, Session
from shardscope.shell.docks import PanelDocks


@dataclass(frozen=True, slots=True)
class EnabledWhile:
    """Condition that enables actions, tested again at signals of the session."""

    holds: Callable[[Session], bool]
    signals: Callable[[Session], Sequence[SignalInstance]]


def _index_missing(session: Session) -> bool:
    return session.shard is not None and session.index.state in (IndexState.NONE, IndexState.FAILED)


# While one file replaces another, actions stay enabled: a disabled button would lose the keyboard.
FILE_OPEN = EnabledWhile(
    lambda session: session.shard is not None or session.documents.replacing,
    lambda session: (session.opened, session.closed),
)
INDEX_MISSING = EnabledWhile(_index_missing, lambda session: (session.opened, session.closed, session.index.changed))
CAN_GO_BACK = EnabledWhile(
    lambda session: session.selector.can_go_back, lambda session: (session.selector.history_changed,)
)
CAN_GO_FORWARD = EnabledWhile(
    lambda session: session.selector.can_go_forward, lambda session: (session.selector.history_changed,)
)
SEVERAL_TABS = EnabledWhile(
    lambda session: len(session.documents.all) + session.documents.welcome > 1,
    lambda session: (session.documents.changed,),
)
TAB_CLOSED = EnabledWhile(lambda session: session.documents.can_reopen, lambda session: (session.documents.changed,))


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """Menu entry with an action of the window.

    Attributes:
        run: Called when it is triggered; if it is checkable without a group, with the new state when it is toggled.
        checked: Initial state of a checkable action; None for others.
        group: Of the checkable actions with one group, one is checked.
    """

    name: str
    text: str
    run: Callable[..., object]
    keys: str | QKeySequence.StandardKey | tuple[str, ...] = ()
    enabled: EnabledWhile | None = None
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
    """Actions of the window by name. Menus also contain actions of panels and dialogs, which enable them themselves."""

    def __init__(self, session: Session, window: QMainWindow) -> None:
        super().__init__(window)
        self._session, self._window = session, window
        self.named: dict[str, QAction] = {}
        self._groups: dict[str, QActionGroup] = {}
        self._enabled: dict[EnabledWhile, list[QAction]] = {}

    def __getitem__(self, name: str) -> QAction:
        return self.named[name]

    def fill(self, menu: QMenu | QMenuBar, rows: Iterable[Row]) -> None:
        for row in rows:
            if row is None:
                menu.addSeparator()
            elif isinstance(row, Menu):
                below = menu.addMenu(_translated(row.text))
                below.setToolTipsVisible(True)
                # Only while it is shown: a hidden menu gets an event for each change of an action.
                below.aboutToShow.connect(partial(below.installEventFilter, self))
                below.aboutToHide.connect(partial(below.removeEventFilter, self))
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

    def _enable(self, action: QAction, condition: EnabledWhile) -> None:
        if condition not in self._enabled:
            self._enabled[condition] = []
            for signal in condition.signals(self._session):
                signal.connect(partial(self._update, condition))
        self._enabled[condition].append(action)
        action.setEnabled(condition.holds(self._session))

    def _update(self, condition: EnabledWhile, *_: object) -> None:
        holds = condition.holds(self._session)
        for action in self._enabled[condition]:
            action.setEnabled(holds)

    def panel_rows(self, docks: PanelDocks) -> list[QAction]:
        """Return actions that open or close a panel, for a menu. Actions that only show one have the keys."""
        rows = []
        for panel in docks.panels:
            go = self.add(
                MenuEntry(
                    f"panel {panel.name}",
                    f"&{panel.shown_title}",
                    lambda name=panel.name: docks.show(name, focus=True),
                    panel.shortcut,
                    FILE_OPEN,
                )
            )
            go.setProperty("group", self.tr("Panels"))
            self._window.addAction(go)
            toggle = docks.by_name[panel.name].toggleViewAction()
            toggle.setText(f"{go.text()}\t{go.shortcut().toString(QKeySequence.SequenceFormat.NativeText)}")
            toggle.setToolTip(panel.shown_title)
            self._enable(toggle, FILE_OPEN)
            rows.append(toggle)
        return rows

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show no tool tip that only repeats an entry."""
        if not isinstance(watched, QMenu) or not isinstance(event, QHelpEvent):
            return False
        here = watched.actionAt(event.pos())
        return not any(one is here and _plain(one.toolTip()) != _plain(one.text()) for one in watched.actions())


def _translated(text: str) -> str:
    return QCoreApplication.translate("WindowActions", text)


def _plain(text: str) -> str:
    return text.partition("\t")[0].replace("&", "").removesuffix("…")


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
