"""The actions of the sandbox, for the menus and the panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QKeySequence

from shardcore.model.text import shown
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.widgets.plain_text import tip


class SandboxActions(QObject):
    leave_wanted = Signal()

    def __init__(self, sandbox: Sandbox, parent: QObject) -> None:
        super().__init__(parent)
        self._sandbox = sandbox
        self.switch = self._action(self.tr("Use sand&box"), "Ctrl+Alt+B", self._switched)
        self.switch.setObjectName("breakItSafely")
        self.switch.setCheckable(True)
        self.to_bits = self._action(self.tr("&Flip a bit…"), "Ctrl+Alt+F", None)
        self.bits = [self._action(self.tr("Flip bit &{0}").format(n), "", partial(sandbox.flip, n)) for n in range(8)]
        self.cut = self._action(self.tr("&Cut the selected bytes out"), "Ctrl+Alt+X", sandbox.cut)
        self.cut_rest = self._action(self.tr("Cut from here to the &end"), "Ctrl+Alt+End", sandbox.cut_rest)
        self.undo = self._action(self.tr("&Undo the last change"), "Ctrl+Z", sandbox.undo)
        self.redo = self._action(self.tr("&Redo"), "Ctrl+Shift+Z", sandbox.redo)
        self.start_over = self._action(self.tr("&Start over"), "Ctrl+Alt+Z", sandbox.start_over)
        self.save = self._action(self.tr("Save as a &copy…"), "Ctrl+Alt+S", None)
        self.salvage = self._action(self.tr("Recover &objects…"), "Ctrl+Alt+E", None)
        self.missions = self._action(self.tr("&Missions…"), "Ctrl+Alt+M", None)
        sandbox.changed.connect(self.update)
        self.update()

    @property
    def inside(self) -> list[QAction]:
        return [self.to_bits, self.cut, self.cut_rest, self.undo, self.redo, self.start_over, self.save]

    def _action(self, text: str, keys: str, act: Callable[[], object] | None) -> QAction:
        action = QAction(text, self)
        if keys:
            action.setShortcut(QKeySequence(keys))
        if act is not None:
            action.triggered.connect(lambda _=False: act())
        return action

    def _switched(self) -> None:
        if self._sandbox.on:
            self.leave_wanted.emit()
        else:
            self._sandbox.switch(True)
        # Its check mark shows the actual state.
        self.switch.setChecked(self._sandbox.on)

    def update(self) -> None:
        sandbox, why_not = self._sandbox, self._sandbox.why_not
        self.switch.setEnabled(sandbox.on or not why_not)
        self.switch.setChecked(sandbox.on)
        safe = self.tr("Changes in memory only: the file on disk is not changed")
        if sandbox.member:
            safe = self.tr("Opens {0} alone. {1}").format(shown(sandbox.member), safe)
        self.switch.setToolTip(tip(why_not or safe))
        first = self.tr("Choose Tools > Sandbox > Use sandbox first")
        for action in (*self.inside, *self.bits):
            action.setEnabled(sandbox.on)
            action.setToolTip(tip("" if sandbox.on else first))
        for action, there in (
            (self.undo, sandbox.changes),
            (self.redo, sandbox.undone),
            (self.start_over, sandbox.changes),
        ):
            action.setEnabled(sandbox.on and bool(there))
        self.undo.setText(
            self.tr("&Undo: {0}").format(sandbox.changes[-1].what)
            if sandbox.changes
            else self.tr("&Undo the last change")
        )
        self.save.setEnabled(sandbox.on and bool(sandbox.changes))
        no_file = self.tr("Open one of the files of the folder first") if sandbox.member else why_not
        self.salvage.setEnabled(not no_file)
        self.salvage.setToolTip(tip(no_file or self.tr("Works without an index, if the format allows it")))
