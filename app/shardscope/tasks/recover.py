"""Dialog that lists the recoverable objects of a damaged file and extracts them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, count
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialogButtonBox, QWidget

from shardcore import SourceError
from shardcore.errors import source_lost
from shardcore.model.text import plural, shown, shown_lines, size_text
from shardcore.operations.description import Recover
from shardcore.operations.recover import REPORT, Salvage, Saved
from shardcore.shards.salvage import Condition
from shardscope.session.display_text import cut_middle, error_text, grouped, pace_text
from shardscope.session.jobs import Job, Pool
from shardscope.session.session import Session
from shardscope.tasks.form import switch
from shardscope.tasks.task_dialog import Task, TaskDialog, thin_progress
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_folder
from shardscope.widgets.fonts import LARGE
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.playback import show_progress
from shardscope.widgets.table import Column, RowTable, TableModel

CONDITIONS = {
    Condition.WHOLE: ("✓", "intact"),
    Condition.UNCHECKED: ("●", "unverified"),
    Condition.DAMAGED: ("✖", "damaged"),
    Condition.LOST: ("▲", "lost"),
}


def _reason(one: Saved) -> str:
    more = "; found without the index" if one.without_index and one.sha256 and not one.raw else ""
    return grouped((one.why or one.checked_by or "nothing") + more)


COLUMNS = (
    Column("Condition", lambda one: "● raw" if one.raw else " ".join(CONDITIONS[one.condition])),
    Column("Name", lambda one: one.path or one.name, 120, tip=lambda one: f"{one.path or one.name}\n{one.sha256}"),
    Column("Size", lambda one: size_text(one.size) if one.size >= 0 else "", number=True),
    Column("Check or reason", _reason, 220, stretched=True),
)


class RecoverDialog(TaskDialog):
    """List of recoverable objects. Closing it cancels the search; an extraction continues in another tab."""

    name = "salvageSheet"
    words = "Recover objects"
    modal = False

    def __init__(self, session: Session, window: QWidget, written: Callable[[Salvage], object]) -> None:
        super().__init__(session, window)
        self.request, self._document = session.request, session.document
        self._written, self._writing = written, False
        of = self.tr("the sandbox copy of {0}, not the file on disk") if self.request.sandbox else "{0}"
        words = self.tr("Objects that can be recovered from {0}").format(of.format(cut_middle(self.request.name, 60)))
        self.title = plain_label(self.tr("Searching for intact objects …"), wrap=True)
        self.progress = thin_progress(self.tr("Progress"))
        self.progress.setRange(0, 0)
        self.model = TableModel(self, COLUMNS)
        self.rows = RowTable(self.model, self, "salvageRows", self.tr("Recovered objects"), self._chosen)
        self.raw = made(switch(Recover, "raw", "b"), changed=lambda: self.run(None), visible=False)
        self.take = made(self.add_button(self.tr("&Extract to a folder…"), self._ask_folder), enabled=False)
        self.job: Job | None = None
        self.hide_button = self.add_button(self.tr("Run in &background"), self.run_in_background)
        self.retry = self.add_button(self.tr("&Retry"), lambda: self.run(None), name="salvageRetry")
        self.retry.hide()
        self.add_close(QDialogButtonBox.StandardButton.Close)
        heading = plain_label(shown(words), size=LARGE, wrap=True)
        parts = [heading, self.title, self.progress, self.rows, self.raw]
        self.lay_out(parts, "salvageArea", self.tr("Recovered objects"), tall=self.rows)
        self.resize(760, 460)
        session.jobs.changed.connect(self._progressed)

    def _ask_folder(self) -> None:
        def take(path: str) -> None:
            self.run(_empty_folder(Path(path), self.request.name))

        title = self.tr("Folder for the recovered objects")
        ask_folder(self, title, take, start=str(self.request.folder)).setObjectName("salvageFolder")

    def run(self, folder: Path | None) -> None:
        raw, self._writing = bool(self.raw.value()), folder is not None
        self.retry.hide()
        self.take.setEnabled(False)
        for part in (self.progress, self.hide_button):
            part.show()

        def take(done: Salvage) -> None:
            if not self.is_closed:
                self._show_end()
                self.show_result(done)
            if folder is not None:
                self._written(done)

        def failed(error: BaseException) -> None:
            if not self.is_closed:
                self._show_end()
                self._failed(error)

        self.job = job = self.session.ask(
            lambda _, job: self.request.salvage(folder, job.progress, raw=raw),
            take,
            failed=failed,
            key=("salvage", self),
            pool=Pool.CPU,
            title=self.tr("Search for intact objects") if folder is None else self.tr("Recover objects"),
        )
        if job is not None:
            job.unit = "byte"
            self.show_in_activity(job)

    def show_again(self) -> None:
        self.session.documents.show(self._document)
        super().show_again()

    def _progressed(self, job: Job) -> None:
        if job is self.job and not job.state.ended:
            show_progress(self.progress, job)
            if pace := pace_text(job):
                self._show_title(f"{job.title} … {pace}", "text")

    def _show_end(self) -> None:
        for part in (self.progress, self.hide_button):
            part.hide()
        if self.isHidden():
            self.session.say(self.tr("{0}: done. Activity shows the result").format(self.windowTitle()))

    def _end(self) -> None:
        super()._end()
        if self.job is not None and not (self._writing and self.session.documents.switching):
            self.job.cancel()

    def show_result(self, done: Salvage) -> None:
        counts = done.counts
        outcomes = [f"{sign} {counts[one.value]:,} {word}" for one, (sign, word) in CONDITIONS.items()]
        keyless = plural(counts["without_key"], "object")
        more = [self.tr("{0} without a key.").format(keyless)] if counts["without_key"] else []
        if done.opens:
            more.append(self.tr("The file is damaged: {0}.").format(done.opens))
        more += [f"{note}." for note in (*done.notes, *done.left_out)]
        if done.folder is not None:
            more.append(self.tr("Written to {0}, with {1}.").format(done.folder, REPORT))
        self._show_title(grouped("  ·  ".join(outcomes) + ". " + " ".join(more)), "text")
        self.model.show_things(done.items)
        self.raw.setVisible(bool(done.unclaimed) and done.folder is None)
        self.take.setEnabled(bool(counts["whole"] + counts["unchecked"] + counts["raw"]) and done.folder is None)

    def _failed(self, error: BaseException) -> None:
        if not (isinstance(error, SourceError) and source_lost(error)):
            self._show_title(error_text(error), "error")
            self.take.setEnabled(self._writing)
            return
        before = ""
        if error.partial is not None:
            self.show_result(error.partial)
            before = f"{self.title.text()}\n" if error.partial.items else ""
        words = self.tr("Source unreachable: {0}. More may be found later.")
        self._show_title(before + words.format(error_text(error)), "warning")
        self.take.setEnabled(False)
        self.retry.show()

    def _show_title(self, text: str, tone: str) -> None:
        self.title.setText(shown_lines(text))
        theme.write_in(self.title, tone)

    def _chosen(self, row: int) -> None:
        if spans := self.model.things[row].spans:
            self.session.select_span(spans[0])


class RecoverTask(Task):
    written = Signal(Salvage)
    sheet: RecoverDialog | None = None

    def ask(self) -> RecoverDialog | None:
        shard = self._session.shard
        if shard is None or shard.source is None:
            return None
        if self.sheet is not None and not self.sheet.is_closed:
            self.sheet.reject()
        sheet = self.sheet = RecoverDialog(self._session, self._window, self.written.emit)
        sheet.raise_to(sheet.rows)
        self._session.with_consent(self.tr("Scanning the file"), shard.source.size, lambda: sheet.run(None))
        return sheet


def _empty_folder(chosen: Path, name: str) -> Path:
    try:
        if not any(chosen.iterdir()):
            return chosen
    except OSError:
        # The job reports the reason.
        return chosen
    first = f"{Path(name).stem or 'objects'}-recovered"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(chosen / one for one in names if not (chosen / one).exists())
