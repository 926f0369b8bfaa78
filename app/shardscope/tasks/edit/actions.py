"""Actions that change the open file, and the status label that shows whether editing is allowed."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from shardcore.model.text import plural
from shardcore.writing.declaration import REKEY, VERBS, EditSubject, Verb
from shardscope.tasks.edit.edit_switch import EditSwitch
from shardscope.tasks.edit.editor import Editor, title_of
from shardscope.tasks.edit.typed_bytes import TypedBytes
from shardscope.widgets.fonts import px
from shardscope.widgets.layouts import made, new_action
from shardscope.widgets.plain_text import tip

ROOM = 9
"""Horizontal padding of the status label in pixels at 100 %."""


class EditActions(QObject):
    def __init__(self, switch: EditSwitch, editor: Editor, typed: TypedBytes, parent: QObject) -> None:
        super().__init__(parent)
        self._switch = switch
        self._typed = typed
        self._selected = 0
        self.allow = made(QAction(self.tr("&Allow changes to this file"), self), "allowChanges", checkable=True)
        self.allow.triggered.connect(switch.allow)
        self.verbs: dict[tuple[str, bool], QAction] = {}
        self._of: list[tuple[Verb, QAction]] = []
        for verb in VERBS:
            for back in (False, True) if verb.back else (False,):
                action = new_action(self, f"{title_of(verb, back=back)}…", partial(editor.ask, verb, back=back))
                self.verbs[verb.name, back] = action
                self._of.append((verb, action))
        self.rekey = QAction(f"{title_of(REKEY)}…", self)
        self.rekey.setToolTip(tip(QCoreApplication.translate("Verbs", REKEY.help)))
        ask = lambda: editor.ask_bytes(typed.changes)  # noqa: E731
        self.write = new_action(self, self.tr("&Write typed bytes…"), ask, "Ctrl+S")
        self.discard = new_action(self, self.tr("&Discard typed bytes"), typed.discard)
        typed.changed.connect(self.update)
        switch.changed.connect(self.update)
        self.update()

    @property
    def for_objects(self) -> list[QAction]:
        return [action for verb, action in self._of if verb.takes is EditSubject.KEYS]

    @property
    def all(self) -> list[QAction]:
        return [*(action for _, action in self._of), self.write, self.discard, self.rekey]

    def set_selected(self, count: int) -> None:
        if bool(count) != bool(self._selected):
            self._selected = count
            self.update()

    def update(self) -> None:
        switch, there = self._switch, self._switch.edit_permission.verbs
        possible = not switch.edit_permission.why_not
        self.allow.setEnabled(possible)
        self.allow.setChecked(switch.allowed)
        safe = self.tr("Off whenever a file is opened, to prevent accidental changes")
        words = safe if possible else switch.edit_permission.why_not
        self.allow.setToolTip(tip(words))
        for verb, action in self._of:
            action.setVisible(verb in there)
            why_not = switch.why_not
            if not why_not and verb.takes is EditSubject.KEYS and not self._selected:
                why_not = self.tr("Select objects in the table first")
            action.setEnabled(verb in there and not why_not)
            action.setToolTip(tip(why_not or QCoreApplication.translate("Verbs", verb.help)))
        self.rekey.setVisible(bool(switch.edit_permission.rekey))
        for action in (self.write, self.discard):
            action.setEnabled(bool(self._typed.changes))
            action.setVisible(switch.allowed)


class EditChip(QToolButton):
    """Label *Read-only* or *Editing on*; a click switches. In a sandbox, a click emits `sandbox_wanted`."""

    sandbox_wanted = Signal()

    def __init__(self, switch: EditSwitch, actions: EditActions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._switch = switch
        self._allow = actions.allow
        self._changes: int | None = None
        made(self, "editChip", checkable=True, focusPolicy=Qt.FocusPolicy.TabFocus, clicked=self._clicked)
        self._texts = {False: self.tr("⊘ Read-only"), True: self.tr("✎ Editing on")}
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        switch.changed.connect(self._update)
        self._update()

    def show_sandbox(self, changes: int | None) -> None:
        self._changes = changes
        self.updateGeometry()
        self._update()

    def _in_memory(self, changes: int) -> str:
        return self.tr("▨ Sandbox copy · {0}").format(plural(changes, "change"))

    def sizeHint(self) -> QSize:
        texts = list(self._texts.values()) if self._changes is None else [self._in_memory(max(self._changes, 99))]
        metrics = self.fontMetrics()
        return QSize(max(map(metrics.horizontalAdvance, texts)) + 2 * px(ROOM), metrics.height() + 1)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _clicked(self, _: bool) -> None:
        if self._changes is not None:
            self.sandbox_wanted.emit()
        elif self._allow.isEnabled():
            self._allow.trigger()
        self._update()

    def _update(self) -> None:
        allowed, changes = self._switch.allowed and self._changes is None, self._changes
        if changes is not None:
            words = self.tr("A copy in memory with {0}. The file on disk is unchanged. Click to show the sandbox.")
            words = words.format(plural(changes, "change"))
        elif allowed:
            words = self.tr("Editing is on. Click to switch back to read-only.")
        else:
            why_not = self._switch.edit_permission.why_not
            words = why_not or self.tr("Read-only. Click to allow changes to this file.")
        text = self._texts[allowed] if changes is None else self._in_memory(changes)
        self.setText(text)
        self.setChecked(allowed)
        self.setAccessibleName(text[2:])
        self.setToolTip(tip(words))
