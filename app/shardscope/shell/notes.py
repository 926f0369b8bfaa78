"""Commands of notes and of the search for a key, connected to the panels and dialogs that do them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMainWindow

from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.find_key.dialog import FindKeyTask
from shardscope.views.hex.actions import HexActions
from shardscope.views.notes.panel import NotesPanel


class NotesShell(QObject):
    def __init__(
        self, session: Session, panel: NotesPanel, actions: HexActions, settings: Settings, window: QMainWindow
    ) -> None:
        super().__init__(window)
        self._session = session
        self._actions = actions
        actions.note.triggered.connect(lambda _: panel.ask())
        actions.next_note.triggered.connect(lambda _: panel.go())
        actions.previous_note.triggered.connect(lambda _: panel.go(backward=True))
        self.finding = FindKeyTask(session, settings, window)
        self.find_key = QAction(self.tr("Find &key in folder…"), window)
        self.find_key.setShortcut(QKeySequence("Ctrl+Shift+K"))
        self.find_key.triggered.connect(lambda _: self.finding.ask())
        for changed in (session.notes.changed, session.opened, session.closed):
            changed.connect(partial(self._enable))
        self._enable()

    def _enable(self, *_: object) -> None:
        notes = self._session.notes
        self._actions.note.setEnabled(notes.can_change)
        for action in (self._actions.next_note, self._actions.previous_note):
            action.setEnabled(bool(notes.all))
