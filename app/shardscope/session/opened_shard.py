"""The open shard: opening, closing, its index, and jobs that read it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from shiboken6 import delete

from shardcore import (
    Cancelled,
    DataSet,
    Objects,
    RemoteOptions,
    RequestLog,
    Shard,
    ShardError,
    Source,
    SourceChanged,
    SourceError,
    Span,
    StoreUntrusted,
    UsageError,
)
from shardcore.errors import LargeRead, source_lost
from shardcore.model.budget import count_source
from shardcore.shards.inner_source import InnerSource
from shardcore.sources.base import at_most
from shardcore.sources.remote.address import is_viewer_link
from shardscope.session.debounce import Debounce
from shardscope.session.error_messages import failure
from shardscope.session.fetch_cost import MUCH, CostlyRead, index_size
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.session.open_request import OpenRequest

SOON_MILLISECONDS = 50
"""Delay in milliseconds after a change, since programs write a file in many pieces."""

RARELY_MILLISECONDS = 15_000
"""Interval in milliseconds of checks: the system does not report changes on network file systems."""


class SourceWatch(QObject):
    """Emits `due` when the file may have changed: on a system event, when the window is activated, and periodically."""

    due = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._uri = ""
        self._files: QFileSystemWatcher | None = None
        self._soon = Debounce(self, self._emit_due, SOON_MILLISECONDS)
        self._rarely = QTimer(self)
        self._rarely.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._rarely.setInterval(RARELY_MILLISECONDS)
        self._rarely.timeout.connect(self._emit_due)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._state_changed)

    @property
    def ticks(self) -> bool:
        return self._rarely.isActive()

    def start(self, source: Source) -> None:
        self.stop()
        if not source.watchable:
            return
        self._uri = source.uri
        self._files = QFileSystemWatcher([self._uri])
        self._files.fileChanged.connect(self._changed)
        if QGuiApplication.applicationState() is Qt.ApplicationState.ApplicationActive:
            self._rarely.start()

    def stop(self) -> None:
        self._soon.stop()
        self._rarely.stop()
        self._uri = ""
        if self._files is not None:
            # Delete it on this thread: the garbage collector may run on any other.
            delete(self._files)
            self._files = None

    def _changed(self, _: str) -> None:
        self._soon.start()

    def _emit_due(self) -> None:
        if self._files is not None:
            # A file that was replaced is not watched any more; add it again.
            self._files.removePath(self._uri)
            self._files.addPath(self._uri)
        self.due.emit()

    # A declared slot is disconnected with the object; the application outlives it.
    @Slot(Qt.ApplicationState)
    def _state_changed(self, state: Qt.ApplicationState) -> None:
        if not self._uri:
            return
        if state is Qt.ApplicationState.ApplicationActive:
            self._soon.start()
            self._rarely.start()
        else:
            self._rarely.stop()


T = TypeVar("T")

AUTO_INDEX_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of a local index that is loaded right after opening."""

FAR_INDEX_BYTES = 1 << 20
"""The same for a remote index; of a larger one, only the rows on the screen are fetched."""

AUTO_MEMBERS = 16
"""Maximum number of remote shards of a data set whose indexes are loaded right after opening."""


class IndexState(Enum):
    NONE = "none"
    LOADING = "loading"
    LOADED = "loaded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class OpenFailure:
    request: OpenRequest
    error: BaseException

    @property
    def uri(self) -> str:
        return self.request.shown

    @property
    def asks(self) -> bool:
        return isinstance(self.error, (StoreUntrusted, LargeRead))


class OpenedShard(QObject):
    """The open shard, if any. Lives on the GUI thread; all reading is done by jobs.

    Attributes:
        listing: The objects, once their number is known, so that `len` does not read.
        replacing: Whether `closed` is emitted because another file is being opened.
        may_leave: Called before the shard is closed, with the next request (None: closing) and a callback. Returns
            whether to continue; if False, it may call the callback later.
    """

    opening = Signal(object)
    """Carries the URI that is being opened; the open shard stays until that succeeds."""
    opened = Signal(object)
    closed = Signal()
    failed = Signal(object)
    """Carries an `OpenFailure`; the open shard stays open."""
    declined = Signal(object)
    """Carries an `OpenFailure` after which the user was asked and did not agree."""
    ended = Signal(object)
    """Carries a URI: its opening succeeded or failed."""
    index_changed = Signal(object)
    index_loaded = Signal()
    typed_changed = Signal()
    """The shard with typed bytes, which jobs read, has changed."""
    source_trouble = Signal(object)
    """Carries a `SourceError` when the file was changed or became unavailable, and None when it is available again."""
    request_log_changed = Signal(object)
    message = Signal(object)
    """Carries a sentence for the status bar, for confirmations that the user may miss."""
    troubled = Signal(object, object)
    member_damaged = Signal(object, object)
    """Carries the name of a shard of a data set, and the `FormatError` that prevents showing its bytes."""
    succeeded = Signal(object)
    remedy_wanted = Signal(object)
    """Carries the `Remedy` whose button was clicked."""
    costly = Signal(object)
    """Carries a `CostlyRead`: the user must be asked."""

    untrusted = Signal(object, object, object)
    """Carries a `StoreUntrusted`, a callback to open the file with its stores trusted, and one to refuse."""

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.jobs = jobs
        self.shard: Shard | None = None
        self.request = OpenRequest("")
        self.index_state = IndexState.NONE
        self.listing: Objects | None = None
        self._typed: Shard | None = None
        self.replacing = False
        self.reach: Callable[[str], RemoteOptions | None] = lambda _: None
        self.request_log: RequestLog | None = None
        self._agreed: set[str] = set()
        self.trouble: BaseException | None = None
        self.may_leave: Callable[[OpenRequest | None, Callable[[], object]], bool] = lambda _, __: True
        self._held = False
        self._watch = SourceWatch(self)
        self._watch.due.connect(self.check_source)

    def ask(
        self,
        work: Callable[[Shard, Job], T],
        take: Callable[[T], None],
        *,
        failed: str | Callable[[BaseException], None] = "",
        stopped: Callable[[], None] | None = None,
        key: object = None,
        pool: Pool = Pool.IO,
        priority: JobPriority = JobPriority.SELECTED,
        title: str = "",
        written: bool = False,
    ) -> Job | None:
        """Run `work(shard, job)` in a job, then `take(result)` on the GUI thread if the same shard is still open.

        `failed` is called with an error, or is the beginning of the notice about it; if empty, errors are ignored.
        `written` reads the file without bytes that are being typed.
        """
        shard = self.shard
        if shard is None:
            return None
        seen = shard if written else self._typed or shard

        def done(result: T, error: BaseException | None) -> None:
            if not alive(take):
                return
            if self.shard is not shard:
                self._arrived_late(shard, job, partial(done, result, error))
                return
            if error is None:
                self._end_trouble()
                take(result)
            elif isinstance(error, Cancelled):
                if stopped is not None:
                    stopped()
            else:
                self.note_error(error)
                if callable(failed):
                    failed(error)
                elif failed:
                    self.report_error(failed, error)

        def within(job: Job) -> T:
            count_source(seen.source)
            return work(seen, job)

        job = self.jobs.submit(within, key=key, pool=pool, priority=priority, title=title, done=done)
        job.parks = bool(title)
        return job

    def _arrived_late(self, shard: Shard, job: Job, deliver: Callable[[], object]) -> None:
        """Handle the result of a job whose shard is not shown now; `deliver` is called if it is shown again."""

    def with_consent(self, what: str, size: int, go: Callable[[], object], *, much: int = MUCH) -> None:
        """Call `go`; ask first, once per `what`, if it would fetch more than `much` bytes from a remote source."""
        if not self.request.is_remote or size <= much or what in self._agreed:
            go()
            return

        def agreed() -> None:
            self._agreed.add(what)
            go()

        self.costly.emit(CostlyRead(what, size, agreed))

    def report_error(self, what: str, error: BaseException) -> None:
        remedy = error.remedy if isinstance(error, ShardError) else None
        self.troubled.emit(failure(what, error), remedy)

    def say(self, text: str, failed: bool = False) -> None:
        if failed:
            self.troubled.emit(text, None)
        else:
            self.succeeded.emit(text)

    # --- opening and closing ---

    @property
    def uri(self) -> str:
        return self.request.shown

    def open(
        self,
        what: str | OpenRequest,
        format: str | None = None,
        *,
        select: Span | Callable[[], Span | None] | None = None,
        agreed: bool = False,
    ) -> Job | None:
        """Open another shard; the current one stays open until this succeeds. None if the user is asked first.

        A function as `select` is called just before the old shard is closed. With `agreed`, the user is not asked.
        """
        request = what if isinstance(what, OpenRequest) else OpenRequest(what, format)
        if not self.may_leave(request, partial(self._open, request, select, agreed)):
            return None
        return self._open(request, select, agreed)

    def _open(self, request: OpenRequest, select: Span | Callable[[], Span | None] | None, agreed: bool) -> Job:
        request = self._with_way(request)
        request_log = RequestLog() if request.is_remote else None

        def done(found: tuple[Shard, OpenRequest] | None, error: BaseException | None) -> None:
            self.ended.emit(request.shown)
            if found is not None:
                place = select() if callable(select) else select
                self._take(*found)
                self._arrive(place)
                return
            if self.shard is not None:
                self._set_request_log(self.shard.tape)
            if not isinstance(error, Cancelled):
                self._not_opened(request, error, partial(self.open, select=select))

        self.opening.emit(request.shown)
        if request_log is not None:
            self._set_request_log(request_log)
        return self.jobs.submit(
            self._opener(request, request_log, agreed=agreed),
            key=("open", self),
            priority=JobPriority.SCREEN,
            done=done,
            discard=lambda found: found[0].close(),
        )

    def _with_way(self, request: OpenRequest) -> OpenRequest:
        if not request.is_remote:
            return request
        # A console URL names its store; the bucket address it resolves to does not.
        named = request.uri
        with suppress(UsageError):
            request = request.resolved()
        named = request.uri if is_viewer_link(named) else named
        return request if request.remote is not None else request.with_remote(self.reach(named))

    @staticmethod
    def _opener(
        request: OpenRequest, request_log: RequestLog | None, *, agreed: bool
    ) -> Callable[[Job], tuple[Shard, OpenRequest]]:

        def work(job: Job) -> tuple[Shard, OpenRequest]:
            with at_most(None if agreed else MUCH):
                whole = request.resolved()
                return whole.open(job.progress, request_log), whole

        return work

    def _not_opened(self, request: OpenRequest, error: BaseException | None, again: Callable[..., object]) -> None:
        failure = OpenFailure(request, error or ShardError("nothing was opened"))
        self.failed.emit(failure)
        refuse = partial(self.declined.emit, failure)
        if isinstance(error, StoreUntrusted):
            remote = request.remote or RemoteOptions()
            trusted = request.with_remote(replace(remote, trusted=remote.trusted | set(error.stores)))
            self.untrusted.emit(error, partial(again, trusted), refuse)
        if isinstance(error, LargeRead):
            what = self.tr("Opening {0}").format(request.title)
            self.costly.emit(CostlyRead(what, error.size, partial(again, request, agreed=True), refuse))

    def close(self) -> None:
        """Close the shard: its jobs are cancelled, and its source is closed when the last one has ended."""
        if self.shard is not None and self.may_leave(None, self._close):
            self._close()

    def _close(self) -> None:
        if self.shard is None:
            return
        shard, self.shard = self.shard, None
        self._watch.stop()
        self.jobs.cancel_all(then=partial(self._release, shard))
        self._reset()
        self._set_request_log(None)
        self.closed.emit()

    def _release(self, shard: Shard) -> None:
        """Close a shard that no job reads, in a job: its decompression process may take time to end."""

        def done(_: None, error: BaseException | None) -> None:
            if error is not None:
                # The job was cancelled because the window closes.
                shard.close()

        self.jobs.submit(lambda _: shard.close(), priority=JobPriority.PREFETCH, lasting=True, done=done)

    def _take(self, shard: Shard, request: OpenRequest) -> None:
        self.replacing = self.shard is not None
        self._close()
        self.replacing = False
        self.shard, self.request = shard, request
        self._reset()
        self.listing = shard.listing
        self._set_request_log(shard.tape)
        self.opened.emit(shard)
        if shard.source is not None:
            self._watch.start(shard.source.root if isinstance(shard.source, InnerSource) else shard.source)
        if shard.loaded:
            self._index_done()
        elif shard.damage is None and self.reads_index_at_once:
            self.load_index(title="")

    def _arrive(self, select: Span | None) -> None:
        """Called after `opened`; `select` are the requested bytes, or None."""

    def _reset(self) -> None:
        self._agreed = set()
        self._show_typed(None)
        self.index_state = IndexState.NONE
        self.listing = None
        self._held = False
        self._set_trouble(None)

    # --- typed bytes ---

    def show_typed(self, shard: Shard | None) -> None:
        """Make jobs read a shard with bytes that are being typed; None returns to the file. Views are refreshed."""
        if self._show_typed(shard):
            self.typed_changed.emit()
            self._look_again()

    def _show_typed(self, shard: Shard | None) -> bool:
        before, self._typed = self._typed, shard
        if before is not None:
            self.jobs.call_after(partial(self._release, before))
        return before is not shard

    def _look_again(self) -> None:
        shard = self._typed or self.shard
        self.listing = shard.listing if shard is not None else None
        self.index_loaded.emit()

    # --- the index ---

    def want_index(self) -> None:
        if self.shard is not None:
            self.with_consent(self.tr("Reading the index"), self.index_ahead, self.load_index, much=AUTO_INDEX_BYTES)

    def with_index(self, what: str, go: Callable[[], object]) -> None:
        self.with_consent(what, self.index_ahead, go)

    @property
    def reads_index_at_once(self) -> bool:
        shard, most = self.shard, FAR_INDEX_BYTES if self.request.is_remote else AUTO_INDEX_BYTES
        if shard is None or index_size(shard) is None or shard.index_cost > most:
            return False
        return not isinstance(shard, DataSet) or shard.folder.lists_cheaply or len(shard.members) <= AUTO_MEMBERS

    @property
    def index_ahead(self) -> int:
        shard = self.shard
        return 0 if shard is None or shard.loaded else index_size(shard) or 0

    def load_index(self, *, title: str = "Reading the index") -> None:
        if self.shard is None or self.index_state in (IndexState.LOADING, IndexState.LOADED):
            return
        self._set_index(IndexState.LOADING)

        def failed(error: BaseException) -> None:
            self._set_index(IndexState.FAILED)
            self.report_error(self.tr("Cannot read the index"), error)

        job = self.ask(
            lambda shard, job: shard.load_index(job.progress),
            lambda _: self._index_done(),
            failed=failed,
            stopped=lambda: self._set_index(IndexState.NONE),
            key=("index", self),
            title=title,
        )
        if job is not None:
            job.parks = True

    def _index_done(self) -> None:
        self._set_index(IndexState.LOADED)
        self._look_again()

    def _set_index(self, state: IndexState) -> None:
        self.index_state = state
        self.index_changed.emit(state)

    # --- files that change ---

    def check_source(self) -> None:
        shard = self.shard
        source = shard.source if shard is not None else None
        if source is None or self._held or self.jobs.newest(("watch", self)) is not None:
            return

        def done(_: None, error: BaseException | None) -> None:
            # Not with `ask`, which would call this method again after a source error.
            if self.shard is shard and not self._held and not isinstance(error, Cancelled):
                self._set_trouble(error)

        self.jobs.submit(
            lambda _: source.check_unchanged(), key=("watch", self), priority=JobPriority.PREFETCH, done=done
        )

    def hold_watch(self, *, held: bool) -> None:
        """Ignore changes of the file while the program writes it, until it is opened again."""
        self._held = held
        if not held:
            self.check_source()

    def note_error(self, error: BaseException | None) -> None:
        """Handle an error of a job: a `SourceError` triggers `check_source`, others are ignored."""
        if isinstance(error, SourceChanged) or (isinstance(error, SourceError) and self.shard is not None):
            shard = self.shard
            if shard is not None and shard.source is None and source_lost(error):
                # A data set has no file of its own; an error of one shard's server applies to all.
                self._set_trouble(error)
            else:
                self.check_source()

    def _end_trouble(self) -> None:
        """Clear the source error of a data set once its server responds; `check_source` does it for a single file."""
        shard, error = self.shard, self.trouble
        if shard is None or shard.source is not None or not isinstance(error, ShardError) or not source_lost(error):
            return
        records = self.request_log.records if self.request_log is not None else ()
        if records and HTTPStatus.OK <= records[-1].status < HTTPStatus.MULTIPLE_CHOICES:
            self._set_trouble(None)

    def _set_request_log(self, request_log: RequestLog | None) -> None:
        if request_log is not self.request_log:
            self.request_log = request_log
            self.request_log_changed.emit(request_log)

    def _set_trouble(self, error: BaseException | None) -> None:
        if error is None and self.trouble is None:
            return
        same = error is not None and str(error) == str(self.trouble)
        self.trouble = error
        if not same:
            self.source_trouble.emit(error)
