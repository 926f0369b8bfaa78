"""Session of a window: its open documents, and components for the current one, such as selection and verification."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled, Depth, Objects, Report, Shard, SourceError, UsageError, detect, open_inside
from shardcore.dataclasses import replace
from shardcore.model.inside_path import InsideStep
from shardcore.model.text import short
from shardcore.shards.format import Format
from shardcore.shards.inner_source import source_inside
from shardcore.shards.registry import all_formats
from shardscope.session.documents import Document, Documents, IndexState, OpenFailure
from shardscope.session.index import DocumentIndex, verifying
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool
from shardscope.session.lookup import KeyLookup, ReferenceSearch
from shardscope.session.notes import SessionNotes
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import Selection
from shardscope.session.selector import Selector
from shardscope.session.source_watch import DocumentWatch

__all__ = ["IndexState", "OpenFailure", "Session"]


class VerificationRun(QObject):
    changed = Signal(object)
    running_changed = Signal(object)
    """Carries the job that verifies, or None when it ended."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._documents = documents

    @property
    def report(self) -> Report | None:
        return self._documents.current.report

    def set_report(self, report: Report) -> None:
        self._documents.current.report = report
        self.changed.emit(report)

    def start(self, depth: Depth) -> None:
        if (shard := self._documents.current.shard) is not None:
            what = f"Verifying the {depth.value}"
            self._documents.with_consent(what, verifying(shard, depth), lambda: self._start(depth))

    def _start(self, depth: Depth) -> None:
        def take(report: Report) -> None:
            ended()
            if job is not None:
                job.note = report.summary
            self.set_report(report)

        def failed(error: BaseException) -> None:
            if isinstance(error, SourceError) and isinstance(error.partial, Report):
                # Show the partial report; another notice reports the lost source.
                take(error.partial)
                return
            ended()
            self._documents.report_error(self.tr("Verification stopped"), error)

        def ended() -> None:
            if self._running is None:
                self.running_changed.emit(None)

        job = self._documents.ask(
            lambda shard, job: shard.verify(depth, job.progress),
            take,
            failed=failed,
            stopped=ended,
            key=("verify", self),
            pool=Pool.CPU,
            priority=JobPriority.SCAN,
            title=f"Verify {depth.value}",
        )
        if job is not None:
            self.running_changed.emit(job)

    @property
    def _running(self) -> Job | None:
        return self._documents.jobs.newest(("verify", self))

    def announce(self) -> None:
        self.changed.emit(self.report)
        self.running_changed.emit(self._running)


class Session(QObject):
    """State of a window, for use on the GUI thread. It has the methods of its components that most panels use."""

    typed_changed = Signal()
    """Bytes were typed, undone or discarded: jobs read another shard from now on."""
    notation_changed = Signal()
    member_damaged = Signal(object, object)
    """Carries the name of a shard of a data set, and the `FormatError` that prevents showing its bytes."""
    tab_wanted = Signal(object, object)
    """Carries an `OpenRequest` to open in another tab, and the `Span` to select in it, or None."""

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.jobs = jobs
        self.documents = documents = Documents(jobs, self)
        self.watch = DocumentWatch(documents)
        self.index = DocumentIndex(documents)
        self.selector = selector = Selector(documents)
        self.references = ReferenceSearch(documents)
        self.lookup = KeyLookup(documents, selector, self.references)
        self.verification = VerificationRun(documents)
        self.notes = SessionNotes(documents, self.index)

        self.open, self.open_tab = documents.open, documents.open_tab
        self.reload, self.close = documents.reload, documents.close
        self.opened, self.closed = documents.opened, documents.closed
        self.ask, self.with_consent = documents.ask, documents.with_consent
        self.say, self.report_error = documents.say, documents.report_error
        self.message, self.succeeded, self.troubled = documents.message, documents.succeeded, documents.troubled
        self.costly, self.remedy_wanted = documents.costly, documents.remedy_wanted
        self.select_span, self.select_row = selector.select_span, selector.select_row
        self.select_node, self.select_nothing = selector.select_node, selector.select_nothing
        self.selection_changed = selector.changed

        self.index.changed.connect(self._index_changed)
        documents.returned.connect(self._announce)

    # --- the current document ---

    @property
    def document(self) -> Document:
        return self.documents.current

    @property
    def shard(self) -> Shard | None:
        return self.documents.current.shard

    @property
    def format(self) -> str:
        return self.shard.format if self.shard is not None else ""

    @property
    def request(self) -> OpenRequest:
        return self.documents.current.request

    @property
    def uri(self) -> str:
        return self.documents.current.request.shown

    @property
    def listing(self) -> Objects | None:
        return self.documents.current.listing

    @property
    def selection(self) -> Selection:
        return self.documents.current.selection

    # --- what concerns several parts ---

    def _index_changed(self, state: IndexState) -> None:
        if state is IndexState.LOADED and not self.documents.switching and self.selection.row is None:
            # The selected bytes may have more nodes once the index is loaded.
            self.selector.resolve_again()

    def _announce(self) -> None:
        for part in (self.index, self.watch, self.verification, self.selector, self.references, self.lookup):
            part.announce()

    def show_typed(self, shard: Shard | None) -> None:
        """Let jobs read `shard`, which has bytes being typed, or the file again (None), and refresh the views."""
        if self.documents.set_typed(shard):
            self.typed_changed.emit()
            self.index.refresh()
        self.selector.resolve_again()

    def with_formats(self, show: Callable[[Sequence[Format]], object], owner: object) -> Job:
        """Call `show` with all formats after a job has imported them."""

        def done(formats: Sequence[Format] | None, error: BaseException | None) -> None:
            if formats is not None:
                show(formats)
            elif error is not None and not isinstance(error, Cancelled):
                self.report_error(self.tr("Cannot list the formats"), error)

        key = "formats", owner
        return self.jobs.submit(lambda _: all_formats(), key=key, priority=JobPriority.SCREEN, done=done)

    def open_inside(
        self, what: int | InsideStep, *more: InsideStep, otherwise: Callable[[], object] | None = None
    ) -> Job | None:
        """Open the content of an object in a new tab; `what` is its row, key or byte range, `more` are keys inside."""
        request = self.request

        def work(shard: Shard, _: Job) -> OpenRequest:
            step = _key_of(shard, what) if isinstance(what, int) else what
            if more:
                open_inside(shard, step, *more).close()
            else:
                with source_inside(shard, step) as source:
                    # Long content is only decoded once, by the tab, which reports the error.
                    if source.cheap:
                        detect(source)
                    elif otherwise is not None:  # it would be decoded as a whole
                        raise UsageError(f"{short(source.title)} is too long to detect its format")
            return replace(request, inside=(*request.inside, step, *more))

        def failed(error: BaseException) -> None:
            if otherwise is not None:
                otherwise()
            else:
                self.report_error(self.tr("Cannot open the content"), error)

        return self.ask(
            work,
            lambda inner: self.tab_wanted.emit(inner, None),
            failed=failed,
            key=("inside", self),
            priority=JobPriority.SCREEN,
        )


def _key_of(shard: Shard, row: int) -> str:
    """Return the key of a row for links. Raises `UsageError` if a lookup of its key does not return the row."""
    key = shard.objects.ref(row).key
    if key is None:
        raise UsageError("a link cannot contain the key of this object")
    if shard.find(key).row != row:
        raise UsageError(f"a lookup of the key {short(key)} returns another object")
    return key
