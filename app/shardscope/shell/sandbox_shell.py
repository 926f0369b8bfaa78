"""Sandbox in the window: banner, frame and marks, and the question before changes are discarded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMainWindow, QMessageBox, QVBoxLayout

from shardcore.model.text import plural
from shardcore.operations.recover import Salvage
from shardcore.shards.salvage import Condition
from shardscope.learning.sandbox.banner import SandboxBanner, SandboxFrame
from shardscope.learning.sandbox.panel import SandboxPanel
from shardscope.session.error_messages import failure
from shardscope.session.lookup_steps import TraceWalk
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.shell.notices import Notices, NoticeTone, ask
from shardscope.tasks.edit.actions import EditChip
from shardscope.tasks.recover import RecoverTask
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets.file_dialogs import ask_target


class SandboxShell(QObject):
    def __init__(
        self,
        session: Session,
        panel: SandboxPanel,
        bytes_: HexPanel,
        notices: Notices,
        show: Callable[[], object],
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session = session
        self.panel = panel
        self._bytes = bytes_
        self._notices = notices
        self._show = show
        self._window = window
        self._top, self._saw_caret = 0, False
        self._walk = TraceWalk()
        self._again = ""
        self._question: QMessageBox | None = None
        self.sandbox, self.actions = panel.sandbox, panel.actions_
        self.banner = SandboxBanner(self.sandbox, self.actions, bytes_)
        column = bytes_.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertWidget(1, self.banner)
        self.frame = SandboxFrame(self.sandbox, bytes_.view)
        session.documents.may_leave = self._may_leave
        session.documents.add_unsaved(lambda: self.sandbox.unsaved)
        session.documents.keep_view("sandbox", self.sandbox)
        self.sandbox.changed.connect(self._changed)
        self.sandbox.reopening.connect(self._keep_place)
        self.sandbox.reopened.connect(self._return_to_place)
        session.opened.connect(lambda _: self._opened())
        session.documents.failed.connect(lambda _: setattr(self, "_again", ""))
        self.sandbox.saved.connect(self._saved)
        actions = self.actions
        actions.leave_wanted.connect(lambda: self.sandbox.switch(False))
        actions.switch.triggered.connect(self._show_panel)
        actions.to_bits.triggered.connect(lambda _: self._go(panel.to_bits))
        self.salvaging = RecoverTask(session, window)
        self.salvaging.written.connect(self._salvaged)
        actions.salvage.triggered.connect(lambda _: self.salvaging.ask())
        actions.save.triggered.connect(lambda _: self.ask_save())

    @property
    def stays(self) -> bool:
        request = self._session.request
        return (request.sandbox and not request.inside) or self.sandbox.leaving

    def connect_chip(self, chip: EditChip) -> None:
        sandbox = self.sandbox
        sandbox.changed.connect(lambda: chip.show_sandbox(sandbox.count if sandbox.on else None))
        chip.sandbox_wanted.connect(self._show)

    # --- the bytes ---

    def _changed(self) -> None:
        marks = self.sandbox.marks
        if marks is not self._bytes.state.sandboxed:
            self._bytes.state.set_sandboxed(marks)
        found = () if marks is None else (*marks.new, *((place, place) for place, _ in marks.cuts))
        self._bytes.overview.set_changed(sorted(found))

    def _keep_place(self) -> None:
        state = self._bytes.state
        self._top, self._saw_caret = max(state.visible_bytes[0], 0), state.caret_seen
        walk, self._again = self._session.lookup.walk, self._session.request.uri
        if walk.steps or walk.key != self._walk.key:
            self._walk = walk

    def _return_to_place(self) -> None:
        state = self._bytes.state
        state.scroll_to(self._top)
        if self._saw_caret:
            # The banner took some of the room.
            state.show_caret()

    def _opened(self) -> None:
        again, self._again = self._again, ""
        if again and again == self._session.request.uri:
            self._session.lookup.repeat(self._walk)

    def _show_panel(self, _: bool) -> None:
        if self.sandbox.on or not self.sandbox.why_not:
            self._show()

    def _go(self, focus: Callable[[], object]) -> None:
        self._show()
        focus()

    # --- leaving ---

    def _may_leave(self, request: OpenRequest | None, go: Callable[[], object]) -> bool:
        now = self._session.request
        kept = request is not None and request.sandbox and (request.uri, request.inside) == (now.uri, now.inside)
        if kept or not self.sandbox.unsaved:
            return True
        self._ask_discard(go)
        return False

    def _ask_discard(self, go: Callable[[], object]) -> None:
        if self._question is not None:
            self._question.reject()
        text = self.tr("{0} in the sandbox will be lost.").format(plural(self.sandbox.count, "change"))
        detail = self.tr("The file on disk is unchanged. Save a copy to keep the changes.")

        def dropped() -> None:
            self.sandbox.drop()
            go()

        answers = [(self.tr("&Discard"), dropped), (self.tr("Save as a &copy…"), self.ask_save)]
        title = self.tr("Discard the sandbox?")
        box = self._question = ask(self._window, "discardSandbox", title, text, detail, answers, default=1)
        box.finished.connect(lambda _: self._answered(box))

    def _answered(self, box: QMessageBox) -> None:
        if self._question is box:
            self._question = None
        self.sandbox.stay()

    # --- copies ---

    def _salvaged(self, done: Salvage) -> None:
        there = done.count(Condition.WHOLE) + done.count(Condition.UNCHECKED)
        what = self.tr("{0} from the sandbox") if self.sandbox.on else "{0}"
        text = self.tr("{0} written to {1}").format(what.format(plural(there, "object")), done.folder)
        self._session.say(text)

    def ask_save(self) -> QFileDialog:
        name = Path(self._session.request.name)
        title, proposed = self.tr("Save the sandbox as a copy"), f"{name.stem}.broken{name.suffix}"

        def save(path: str) -> None:
            self.save_to(Path(path), agreed=True)

        dialog = ask_target(self._window, title, save, start=str(self._session.request.folder), name=proposed)
        dialog.setObjectName("saveSandbox")
        return dialog

    def save_to(self, path: Path, *, agreed: bool) -> None:
        def failed(error: BaseException) -> None:
            self._notices.add_notice(failure(self.tr("Cannot save the copy"), error), NoticeTone.ERROR)

        self.sandbox.save(path, agreed=agreed, failed=failed)

    def _saved(self, path: Path) -> None:
        text = self.tr("Sandbox saved as {0}. The original file is unchanged.").format(path)
        opens = partial(self._session.open_tab, OpenRequest(str(path)))
        self._notices.add_notice(text, NoticeTone.SUCCESS, action=self.tr("Open it"), do=opens)
