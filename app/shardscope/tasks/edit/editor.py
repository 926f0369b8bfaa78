"""Edits of the open file: dialog, job and outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from shardcore import Cancelled, Depth, Report, Severity, Shard, SourceChanged, Span, UsageError
from shardcore.model.options import Option
from shardcore.model.text import plural
from shardcore.sources.patched_source import Change
from shardcore.writing.declaration import EditSubject, Verb
from shardcore.writing.journal import Journal
from shardscope.session.byte_marks import Proposed
from shardscope.session.error_messages import error_text, failure
from shardscope.session.jobs import Job, JobPriority, Pool
from shardscope.session.open_request import OpenRequest
from shardscope.session.row_ranges import RowRanges
from shardscope.session.session import Session
from shardscope.tasks.edit.dialog import EditDialog
from shardscope.tasks.edit.edit_preview import (
    WRITE,
    ChangeRow,
    EditRequest,
    Proposal,
    propose,
    propose_bytes,
    propose_undo,
    put_back,
)
from shardscope.tasks.edit.edit_switch import EditSwitch


def title_of(verb: Verb, *, back: bool = False) -> str:
    return QCoreApplication.translate("Verbs", verb.back if back else verb.title)


@dataclass(frozen=True)
class EditOutcome:
    text: str
    bad: bool = False
    action: str = ""
    do: Callable[[], object] | None = None


class Editor(QObject):
    """Shows edit dialogs and runs the edits in jobs; `now` returns the time for the journal, ISO 8601 in UTC."""

    opened = Signal(object)
    proposed = Signal(object)
    """Carries the `Proposed` bytes to show, or None."""
    place_wanted = Signal(object)
    """Carries the `Span` to scroll to."""
    reloading = Signal()
    """The file was changed and is about to be reopened."""
    reloaded = Signal()
    news = Signal(object)

    def __init__(self, session: Session, switch: EditSwitch, chosen: Callable[[], RowRanges], window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._switch = switch
        self._chosen = chosen
        self._window = window
        self._shown: dict[str, Proposed] = {}
        self._after: EditOutcome | None = None
        self.sheet: EditDialog | None = None
        self.now: Callable[[], str] = lambda: datetime.now(UTC).isoformat().replace("+00:00", "Z")
        session.opened.connect(self._opened)
        session.failed.connect(lambda _: self._not_opened())
        session.closed.connect(self._close_sheet)

    # --- asking ---

    def ask(self, verb: Verb, *, back: bool = False, keys: tuple[str, ...] = ()) -> EditDialog | None:
        """Show the dialog of a verb, by default for the selected rows; None if the file cannot be changed."""
        if self._session.shard is None or self._switch.why_not:
            return None
        rows = self._chosen() if verb.takes is EditSubject.KEYS and not keys else RowRanges()
        title = title_of(verb, back=back)
        sheet = self._sheet(
            title,
            QCoreApplication.translate("Verbs", verb.back_help if back else verb.help),
            title.partition(" ")[0],
            () if back else verb.options,
            takes_files=verb.takes is EditSubject.FILES,
        )
        asked = EditRequest(verb, keys, back=back)

        def work(shard: Shard, job: Job, asked: EditRequest) -> tuple[EditRequest, Proposal]:
            if verb.takes is not EditSubject.KEYS:
                return asked, propose(shard, asked)
            found, left_out = (asked.keys, 0) if asked.keys else _keys(shard, rows, job)
            asked = replace(asked, keys=found)
            proposal = propose(shard, asked)
            if not left_out:
                return asked, proposal
            more = f"{plural(left_out, 'row')} without an object skipped."
            return asked, replace(proposal, remark=f"{proposal.remark} {more}".strip())

        def look() -> None:
            wanted = replace(asked, paths=sheet.paths, values=sheet.values, now=self.now())
            self._look(sheet, lambda shard, job: work(shard, job, wanted))

        sheet.asked.connect(look)
        if sheet.ready:
            look()
        return sheet

    def ask_bytes(self, changes: Sequence[Change]) -> EditDialog | None:
        """Show the dialog that writes typed bytes; checksums are not updated."""
        if self._session.shard is None or self._switch.why_not or not changes:
            return None
        sheet = self._sheet(
            self.tr("Write typed bytes"),
            self.tr("Overwrite bytes of the file. Checksums are not updated."),
            self.tr("Write"),
        )
        asked = EditRequest(WRITE)
        self._look(sheet, lambda shard, _: (asked, propose_bytes(shard, changes)))
        return sheet

    def ask_undo(self) -> EditDialog | None:
        if self._session.shard is None:
            return None
        sheet = self._sheet(
            self.tr("Undo the last edit"),
            self.tr("Restore the bytes that it changed. The undo file is removed."),
            self.tr("Undo"),
        )
        self._look(sheet, lambda shard, _: (None, propose_undo(shard)))
        return sheet

    def _sheet(
        self, title: str, help: str, act: str, options: tuple[Option, ...] = (), *, takes_files: bool = False
    ) -> EditDialog:
        self._close_sheet()
        sheet = EditDialog(
            title,
            help,
            act,
            options,
            takes_files=takes_files,
            parent=self._window,
        )
        self.sheet = sheet
        sheet.row_chosen.connect(self._row_chosen)
        sheet.side_chosen.connect(self._side_chosen)
        sheet.finished.connect(lambda _: self._sheet_closed(sheet))
        sheet.show()
        self.opened.emit(sheet)
        return sheet

    def _look(self, sheet: EditDialog, work: Callable[[Shard, Job], tuple[EditRequest | None, Proposal]]) -> None:

        def take(found: tuple[EditRequest | None, Proposal]) -> None:
            if self.sheet is not sheet:
                return
            asked, proposal = found
            self._shown = dict(proposal.proposed)
            sheet.wanted.disconnect()
            sheet.wanted.connect(lambda keep: self._go(sheet, proposal, asked, keep=keep))
            sheet.show_proposal(proposal)
            self._show()

        def failed(error: BaseException) -> None:
            if self.sheet is sheet:
                self._shown = {}
                self._show()
                sheet.show_error(error_text(error))

        sheet.wanted.connect(lambda _: None)
        self._session.ask(
            work,
            take,
            failed=failed,
            key=("propose", self),
            pool=Pool.CPU,
            priority=JobPriority.SCREEN,
            written=True,
        )

    # --- showing ---

    def _row_chosen(self, row: ChangeRow) -> None:
        self._show(row)
        self._see(row)

    def _side_chosen(self, _: bool) -> None:
        self._show()
        if self.sheet is not None and (row := self.sheet.row) is not None and row.start != row.old_start:
            self._see(row)

    def _see(self, row: ChangeRow) -> None:
        if row.source is not None and self.sheet is not None:
            start = row.start if self.sheet.new.isChecked() else row.old_start
            self.place_wanted.emit(Span(row.source, start, start + 1))

    def _show(self, row: ChangeRow | None = None) -> None:
        sheet = self.sheet
        if sheet is None:
            return
        row = row or sheet.row
        found = self._shown.get(row.source) if row is not None and row.source is not None else None
        if found is None or row is None:
            self.proposed.emit(None)
            return
        new = sheet.new.isChecked()
        self.proposed.emit(replace(found, shows_new=new, current=row.start if new else row.old_start))

    def _close_sheet(self) -> None:
        if self.sheet is not None:
            self.sheet.reject()

    def _sheet_closed(self, sheet: EditDialog) -> None:
        if self.sheet is sheet:
            self.sheet, self._shown = None, {}
            if (job := self._session.jobs.newest(("propose", self))) is not None:
                job.cancel()
            self.proposed.emit(None)
            # Some desktops do not return the keyboard to the window.
            self._window.activateWindow()

    # --- doing ---

    def _go(self, sheet: EditDialog, proposal: Proposal, asked: EditRequest | None, *, keep: bool) -> None:
        shard, path = self._session.shard, Path(self._session.uri)
        sheet.accept()
        if shard is None:
            return
        text = self.tr("{0} was changed: {1}").format(proposal.name or path.name, proposal.what)
        news = EditOutcome(text) if asked is not None else self._undone(path.name)
        if proposal.kept and keep:
            news = EditOutcome(text, action=self.tr("Undo"), do=lambda: self.put_back(str(path)))
        elif asked is not None and asked.verb.back and not asked.back:
            verb, keys = asked.verb, tuple(asked.keys)
            action = f"{title_of(verb, back=True)}…"
            news = EditOutcome(text, action=action, do=lambda: self.ask(verb, back=True, keys=keys))
        self._run(
            lambda job: proposal.make(keep, job.progress), proposal.what, news, stops=keep and bool(proposal.kept)
        )

    def put_back(self, uri: str, journal: Journal | None = None) -> Job:
        """Start a job that undoes the last edit, or completes an interrupted one without undo file, and reopens."""
        name = Path(uri).name
        if journal is not None and not journal.kept:
            what = f"finish {journal.what}"
            news = EditOutcome(self.tr("{0} was changed: {1}").format(name, journal.what))
        else:
            what, news = f"undo the edit of {name}", self._undone(name)
        return self._run(lambda job: put_back(Path(uri), job.progress), what, news, uri=uri)

    def _undone(self, name: str) -> EditOutcome:
        return EditOutcome(self.tr("{0} restored to its state before the edit").format(name))

    def _run(
        self, work: Callable[[Job], None], what: str, news: EditOutcome, *, stops: bool = False, uri: str = ""
    ) -> Job:
        """Change the file in a lasting job, then reopen it; `stops`: cancelling leaves the file unchanged."""
        session, shard, name = self._session, self._session.shard, Path(uri or self._session.uri).name
        session.hold_watch(held=True)

        def done(_: None, error: BaseException | None) -> None:
            here = session.shard is shard
            stopped = isinstance(error, Cancelled) and stops
            if error is not None and not isinstance(error, Cancelled):
                self._after = EditOutcome(failure(self.tr("Cannot change {0}").format(name), error), bad=True)
            else:
                self._after = EditOutcome(self.tr("Stopped: the file is unchanged")) if stopped else news
            if not here:
                session.say(self._after.text, failed=self._after.bad)
                self._after = None
            elif isinstance(error, (SourceChanged, UsageError)) or (self._after.bad and shard is None):
                # Nothing was written, or no file is open that could be reopened.
                session.hold_watch(held=False)
                self._emit_news()
            else:
                self._reload(uri)

        title, home = what[:1].upper() + what[1:], session.when_shown(done, closed=True)
        return session.jobs.submit(work, title=title, lasting=True, priority=JobPriority.SELECTED, done=home)

    def _reload(self, uri: str) -> None:
        if self._session.shard is None or (uri and uri != self._session.uri):
            self._session.open_tab(OpenRequest(uri))
            return
        self._switch.stay()
        self.reloading.emit()
        self._session.reload()

    def _opened(self, _: Shard) -> None:
        if self._after is not None:
            # After all slots of `opened`, and after the selection is restored.
            QTimer.singleShot(0, self, self._reloaded)

    def _reloaded(self) -> None:
        self.reloaded.emit()
        news = self._after
        self._emit_news()
        if news is not None and not news.bad:
            self._verify(news)

    def _verify(self, news: EditOutcome) -> None:
        """Verify the index in a job after an edit; only errors are shown."""

        def take(report: Report) -> None:
            wrong = [one for one in report.findings if one.severity is Severity.ERROR]
            if wrong:
                text = self.tr("{0}, but verification failed: {1}").format(news.text, wrong[0].message)
                self.news.emit(replace(news, text=text, bad=True))

        self._session.ask(
            lambda shard, job: shard.verify(Depth.INDEX, job.progress),
            take,
            key=("edited", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
        )

    def _not_opened(self) -> None:
        self._after = None

    def _emit_news(self) -> None:
        news, self._after = self._after, None
        if news is not None:
            self.news.emit(news)


def _keys(shard: Shard, rows: RowRanges, job: Job) -> tuple[tuple[str, ...], int]:
    """Return the distinct keys of some rows, and the number of rows without a key."""
    found: dict[str, None] = {}
    left_out = 0
    for piece in rows.pieces():
        job.check()
        for key in shard.objects.key_texts(piece):
            if key is None:
                left_out += 1
            else:
                found[key] = None
    if not found:
        raise UsageError("the selected rows have no objects: select others")
    return tuple(found), left_out
