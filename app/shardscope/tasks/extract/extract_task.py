"""Dialog and jobs for the extraction of objects, with resuming."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from shardcore import Cancelled
from shardcore.errors import source_lost
from shardcore.model.text import plural
from shardcore.operations.extraction import Conflict
from shardscope.session.error_messages import error_text
from shardscope.session.extraction import (
    ExtractionOutcome,
    ExtractionPreview,
    ExtractionRequest,
    existing,
    preview_extraction,
    write,
)
from shardscope.session.fetch_cost import whole
from shardscope.session.jobs import Job, JobPriority, JobState, Pool
from shardscope.session.row_ranges import RowRanges
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.extract.dialog import ExtractDialog
from shardscope.tasks.extract.saved_choices import Choices, first_folder


@dataclass(frozen=True, slots=True)
class Result:
    wanted: ExtractionRequest
    found: ExtractionOutcome
    job: Job

    @property
    def text(self) -> str:
        return self.found.text(self.wanted.where)

    @property
    def rest(self) -> ExtractionRequest:
        """Request for the objects that were not written; reopens the shard if the connection was lost."""
        if self.found.stopped or self.found.cancelled:
            return _going_on(replace(self.wanted, afresh=self.found.lost))
        rows = [row for row in self.found.again if row >= 0]
        rest = replace(self.wanted, afresh=self.found.lost)
        return replace(rest, rows=RowRanges.of([range(row, row + 1) for row in rows]), counted=None) if rows else rest


class ExtractTask(QObject):
    """Shows the dialog and extracts in lasting jobs; `started` and `finished` carry a `Result`."""

    started = Signal(object)
    finished = Signal(object)

    def __init__(self, session: Session, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.session = session
        self._settings = settings
        self._window = parent
        self._last: dict[str, str] = {}

    def ask(self, rows: RowRanges | None) -> ExtractDialog | None:
        """Show the dialog; `rows` of `Shard.objects`, or None for everything."""
        if self.session.shard is None or (rows is not None and not len(rows)):
            return None
        # Do not mix the objects of several files: each file has its own default folder.
        own = self._last.get(self.session.request.uri) or first_folder(self.session.request)
        folders = list(dict.fromkeys([own, *self._settings.folders]))
        sheet = ExtractDialog(Choices.of(self._settings.extraction), folders, self._window)
        open_ = _Open(sheet)
        sheet.changed.connect(lambda: self._count(sheet, rows, open_))
        sheet.wanted.connect(lambda: self._wanted(sheet, rows, open_))
        self.session.closed.connect(sheet.reject)
        # Some desktops do not return the keyboard to the window.
        sheet.finished.connect(lambda _: self._window.window().activateWindow())
        sheet.open()
        self._count(sheet, rows, open_)
        return sheet

    def start(self, wanted: ExtractionRequest) -> Job:
        """Run an extraction in a lasting job, which continues when another file is opened."""
        found = ExtractionOutcome()

        def done(_: ExtractionOutcome | None, error: BaseException | None) -> None:
            if error is not None:
                found.cancelled = isinstance(error, Cancelled)
                found.stopped = "" if found.cancelled else error_text(error)
                found.lost = found.lost or source_lost(error)
                if self.session.shard is wanted.shard:
                    self.session.note_error(error)
            elif found.failed and not found.files:
                job.state = JobState.FAILED
            job.note = result.text
            if found.lost:
                self.session.check_source()
                job.note += "; " + self.tr("press Resume to extract the rest")
                self._leave_open(job, result.rest)
            self.finished.emit(result)

        what = plural(len(wanted.rows), "object") if wanted.rows is not None else "all objects"
        job = self.session.jobs.submit(
            lambda job: write(wanted, job.progress, found),
            priority=JobPriority.SCAN,
            title=f"Extract {what}",
            lasting=True,
            done=done,
        )
        result = Result(wanted, found, job)
        self.started.emit(result)
        return job

    def _when_agreed(self, wanted: ExtractionRequest) -> None:
        total = wanted.shard.listing
        share = 1.0 if wanted.rows is None or not total else min(len(wanted.rows) / max(len(total), 1), 1.0)
        size = int(whole(wanted.shard) * share)
        self.session.with_consent(self.tr("Extracting"), size, lambda: self.start(wanted))

    def retry(self, result: Result) -> Job | None:
        """Extract the rest of a result in its tab; None if its shard is not open any more."""
        wanted = result.rest
        if not self.session.show_shard(wanted.shard) and not wanted.afresh:
            self.session.say(self.tr("Open {0} to try again").format(wanted.request.name), failed=True)
            return None
        return self.start(wanted)

    def _leave_open(self, job: Job, rest: ExtractionRequest) -> None:
        job.state, job.resume = JobState.BROKEN, partial(self._resume, job, rest)

    def _resume(self, job: Job, wanted: ExtractionRequest) -> Job:
        """Continue an interrupted extraction once; existing files are skipped."""
        job.resume, job.note = None, self.tr("resumed")
        self.session.jobs.changed.emit(job)
        return self.start(replace(_going_on(wanted), afresh=True))

    # --- the dialog ---

    def _extraction(self, sheet: ExtractDialog, rows: RowRanges | None, open_: _Open) -> ExtractionRequest | None:
        shard = self.session.shard
        if shard is None or not open_:
            return None
        wanted = ExtractionRequest(shard, self.session.request, rows, sheet.folder, sheet.options)
        counted = open_.counted
        if counted is None or replace(counted, where=wanted.where) != wanted:
            return wanted
        return replace(counted, where=wanted.where)

    def _count(self, sheet: ExtractDialog, rows: RowRanges | None, open_: _Open) -> None:
        wanted = self._extraction(sheet, rows, open_)
        if wanted is None:
            return
        if wanted.counted is not None:
            sheet.show_preview(wanted.counted)
            return

        def take(found: ExtractionPreview) -> None:
            if open_:
                open_.counted = replace(wanted, counted=found)
                sheet.show_preview(found)

        self.session.ask(
            lambda _, job: preview_extraction(wanted, job.progress),
            take,
            failed=lambda error: sheet.show_error(error) if open_ else None,
            key=("preview_extraction", self),
            pool=Pool.CPU,
        )

    def _wanted(self, sheet: ExtractDialog, rows: RowRanges | None, open_: _Open) -> None:
        wanted = self._extraction(sheet, rows, open_)
        if wanted is None:
            return
        if not sheet.asks:
            self._go(sheet, wanted)
            return

        def take(count: int) -> None:
            if not open_:
                return
            if count:
                sheet.ask_conflicts(count)
            else:
                self._go(sheet, wanted)

        sheet.show_busy()
        self.session.ask(
            lambda _, job: existing(wanted, job.progress),
            take,
            failed=lambda error: sheet.show_error(error) if open_ else None,
            key=("existing", self),
            priority=JobPriority.SCREEN,
        )

    def _go(self, sheet: ExtractDialog, wanted: ExtractionRequest) -> None:
        self._settings.extraction = sheet.choices.kept()
        self._settings.add_folder(str(wanted.where))
        self._last[wanted.request.uri] = str(wanted.where)
        sheet.accept()
        self._when_agreed(wanted)


def _going_on(wanted: ExtractionRequest) -> ExtractionRequest:
    """Return the request with existing files skipped instead of refused."""
    if wanted.options.conflict is not Conflict.ERROR:
        return wanted
    return replace(wanted, options=replace(wanted.options, conflict=Conflict.SKIP))


class _Open:
    """True while a dialog is open; `counted` is the last request whose preview was computed."""

    def __init__(self, sheet: ExtractDialog) -> None:
        self._open = True
        self.counted: ExtractionRequest | None = None
        sheet.finished.connect(self._close)
        # Closing the window deletes dialogs without `finished`.
        sheet.destroyed.connect(lambda _: self._close(0))

    def _close(self, _: int) -> None:
        self._open = False

    def __bool__(self) -> bool:
        return self._open
