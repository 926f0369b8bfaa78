"""Open documents: the files of all tabs with their state, which one is shown, and the jobs that read it."""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from operator import attrgetter
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, Signal

from shardcore import (
    Cancelled,
    Objects,
    RemoteOptions,
    Report,
    RequestLog,
    Shard,
    ShardError,
    Span,
    StoreUntrusted,
    UsageError,
)
from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import LargeRead
from shardcore.model.budget import count_source
from shardcore.sources.base import at_most
from shardcore.sources.remote.address import is_address, is_viewer_link
from shardscope.session.display_text import failure
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.session.open_request import OpenRequest
from shardscope.session.selection import Highlight, History, ReferenceQuery, Selection, TraceWalk

MUCH = 8 << 20
"""Number of bytes above which the user is asked before they are fetched from a remote source."""

MOST_CLOSED = 20

MOST_OPEN = 200

T = TypeVar("T")

Opened = tuple[Shard, OpenRequest]
Place = Span | Callable[[], Span | None] | None

_numbers = itertools.count(1)


class IndexState(Enum):
    NONE = "none"
    LOADING = "loading"
    LOADED = "loaded"
    FAILED = "failed"


@dataclass(eq=False, repr=False)
class Document:
    """One open file and its state, which is kept while another document is shown.

    Attributes:
        number: Serial number in the order of opening, which is also the order of new tabs.
        fresh: True until it is first shown, when the bytes `select` are selected.
        typed: Shard with the bytes that the user is typing, which jobs read instead of `shard`; None if there are none.
        listing: Objects, once their number is known, so that `len` reads nothing; None until then.
        held: True while the program itself writes the file, so that changes on disk are not reported.
        agreed: Names of operations that the user allowed to fetch many bytes.
        caret: Empty span at the start of the bytes selected last; it stays when nothing is selected.
        pointed: Bytes highlighted instead of the bytes of the current lookup step; empty for none.
        views: States of the views, by name; set, like `unsaved`, only while another document is shown.
        mail: Callbacks with the results of its jobs, which are called when it is shown again.
    """

    request: OpenRequest = field(default_factory=lambda: OpenRequest(""))
    number: int = field(default_factory=lambda: next(_numbers))
    shard: Shard | None = None
    fresh: bool = True
    select: Span | None = None
    typed: Shard | None = None
    listing: Objects | None = None
    index: IndexState = IndexState.NONE
    trouble: BaseException | None = None
    held: bool = False
    agreed: set[str] = field(default_factory=set)
    selection: Selection = field(default_factory=Selection)
    caret: Span | None = None
    history: History = field(default_factory=History)
    walk: TraceWalk = field(default_factory=TraceWalk)
    pointed: tuple[Highlight, ...] = ()
    question: ReferenceQuery | None = None
    report: Report | None = None
    unsaved: bool = False
    views: dict[str, object] = field(default_factory=dict)
    mail: list[Callable[[], object]] = field(default_factory=list)

    def reset(self) -> None:
        vars(self).update(vars(Document(self.request, self.number)))

    @property
    def troubled(self) -> bool:
        return self.trouble is not None or (self.shard is not None and self.shard.damage is not None)


def titles(documents: Sequence[Document]) -> list[str]:
    """Return the tab titles; files with the same name get the first folder in which they differ."""
    requests = [document.request for document in documents]
    parts = [(one.title,) if one.inside else _parts(one.shown) for one in requests]
    found = []
    for own in parts:
        others = [other for other in parts if other is not own and other != own]
        count = 1
        while count < len(own) and any(other[-count:] == own[-count:] for other in others):
            count += 1
        found.append(own[-1] if count == 1 else f"{own[-1]} — {own[-count]}")
    return found


def _parts(uri: str) -> tuple[str, ...]:
    pure = PureWindowsPath(uri) if "\\" in uri and "/" not in uri else PurePosixPath(uri)
    return tuple(part for part in pure.parts if part) or (uri,)


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


@dataclass(frozen=True, slots=True)
class CostlyRead:
    """Operation `go` that fetches `size` bytes; `what` begins a sentence about it, such as `Verifying the content`."""

    what: str
    size: int
    go: Callable[[], object]
    refuse: Callable[[], object] = lambda: None


class ViewStateOwner(Protocol):
    def view_state(self) -> object:
        """Return the state of a view; called before another document is shown."""

    def restore_view_state(self, state: object) -> None:
        """Restore a state returned by `view_state`; called after `opened`, when the document is shown again."""


def _whole(uri: str) -> str:
    return uri if not uri or is_address(uri) else str(Path(uri).absolute())


def _alike(one: OpenRequest, other: OpenRequest) -> bool:
    way = one.remote is None or other.remote is None or one.remote == other.remote
    said = one.format == other.format and dict(one.options) == dict(other.options)
    # Content opened from inside a sandbox does not follow later changes: with other changes, it is other content.
    changed = one.sandbox == other.sandbox and (not one.inside or one.changes == other.changes)
    return said and way and changed and _whole(one.link) == _whole(other.link)


class Documents(QObject):
    """Documents of all tabs; `current` is the one shown. Use it on the GUI thread only.

    Showing another document emits `closed` and `opened`, as if another file were opened in place of the current one.

    Attributes:
        all: Documents in the order of the tabs. Without a shown file, `current` is an empty document, not in `all`.
        replacing: Whether `closed` is emitted because another file follows.
        switching: Whether `closed` and `opened` are emitted because another document is shown.
        may_leave: Called before the current file is closed, with the next request (None: closing) and a callback.
            Returns whether to continue; if False, it may call the callback later.
        may_show: Called before an opened document is shown automatically; False keeps it in the background.
        reach: Returns the connection options for an address.
        request_log: Requests of the current file, or of the one that is being opened.
    """

    changed = Signal()
    """Documents were added, removed, moved or changed, or another one is shown."""
    opening = Signal(object)
    """Carries the URI that is being opened; the current file stays until that succeeds."""
    ended = Signal(object)
    """Carries a URI: its opening succeeded or failed."""
    failed = Signal(object)
    """Carries an `OpenFailure`; the current file stays."""
    declined = Signal(object)
    """Carries an `OpenFailure` after which the user was asked and did not agree."""
    untrusted = Signal(object, object, object)
    """Carries a `StoreUntrusted`, a callback to open the file with its stores trusted, and one to refuse."""
    opened = Signal(object)
    """Carries the `Shard` of the current document, which was opened or is shown again."""
    begun = Signal()
    """Emitted after `opened` for a newly opened file: views show it, and its index is read next."""
    arrived = Signal(object)
    """Carries the `Span` to select in the current document, or None; emitted after `begun`."""
    returned = Signal()
    """A document is shown again, and the states of its views were restored."""
    switched = Signal()
    """A document is shown again; emitted after all other signals about it."""
    closed = Signal()
    request_log_changed = Signal(object)

    read_failed = Signal(object)
    recovered = Signal()
    """A job of the current document succeeded after its source had been changed or unavailable."""
    message = Signal(object)
    """Carries a sentence for the status bar, for confirmations that the user may miss."""
    troubled = Signal(object, object)
    succeeded = Signal(object)
    remedy_wanted = Signal(object)
    costly = Signal(object)

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.jobs = jobs
        self.all: list[Document] = []
        self.current = self._last = jobs.scope = Document()
        self.replacing = self.switching = False
        self.may_leave: Callable[[OpenRequest | None, Callable[[], object]], bool] = lambda _, __: True
        self.may_show: Callable[[], bool] = lambda: True
        self.reach: Callable[[str], RemoteOptions | None] = lambda _: None
        self.request_log: RequestLog | None = None
        self._keepers: dict[str, ViewStateOwner] = {}
        self._unsaved: list[Callable[[], bool]] = []
        self._coming: dict[Document, bool] = {}
        self._errors_due: list[Callable[[], None]] = []
        self._closed_requests: list[tuple[OpenRequest, Span | None]] = []

    # --- jobs on the current document ---

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

        - `failed` is called with an error, or is the beginning of the notice about it; if empty, errors are ignored
        - with `written`, the job reads the file as it is on disk, without bytes that are being typed
        - while another document is shown, the result of a job with a title waits; jobs without one are cancelled
        """
        document, shard = self.current, self.current.shard
        if shard is None:
            return None
        seen = shard if written else document.typed or shard

        def done(result: T, error: BaseException | None) -> None:
            if document.shard is not shard or not alive(take):
                return  # the file was closed, or the view was deleted
            if document is not self.current:
                if job.background:
                    document.mail.append(partial(done, result, error))
                    self.changed.emit()
            elif error is None:
                if document.trouble is not None:
                    self.recovered.emit()
                take(result)
            elif isinstance(error, Cancelled):
                if stopped is not None:
                    stopped()
            else:
                self.read_failed.emit(error)
                if callable(failed):
                    failed(error)
                elif failed:
                    self.report_error(failed, error)

        def within(job: Job) -> T:
            count_source(seen.source)
            return work(seen, job)

        job = self.jobs.submit(within, key=key, pool=pool, priority=priority, title=title, done=done)
        job.background = bool(title)
        return job

    def when_shown(self, deliver: Callable[..., object], *, closed: bool = False) -> Callable[..., None]:
        """Delay a callback until the present document is shown; if that is closed before, call it only if `closed`."""
        document = self.current

        def arrive(*values: object) -> None:
            if self.current is not document and document in self.all:
                document.mail.append(partial(deliver, *values))
                self.changed.emit()
            elif self.current is document or closed:
                deliver(*values)

        return arrive

    def set_typed(self, shard: Shard | None) -> bool:
        """Let jobs read `shard`, with bytes being typed, or the file again (None). Return whether that is a change."""
        before, self.current.typed = self.current.typed, shard
        if before is not None:
            self.jobs.call_after(partial(self._release, before))
        return before is not shard

    def with_consent(self, what: str, size: int, go: Callable[[], object], *, much: int = MUCH) -> None:
        """Call `go`. If that fetches over `much` bytes from a remote source, ask first, once per operation `what`."""
        document = self.current
        if not document.request.is_remote or size <= much or what in document.agreed:
            go()
            return

        def agreed() -> None:
            document.agreed.add(what)
            go()

        self.costly.emit(CostlyRead(what, size, agreed))

    def report_error(self, what: str, error: BaseException) -> None:
        self.troubled.emit(failure(what, error), error.remedy if isinstance(error, ShardError) else None)

    def say(self, text: str, failed: bool = False) -> None:
        if failed:
            self.troubled.emit(text, None)
        else:
            self.succeeded.emit(text)

    # --- opening ---

    def open(
        self, what: str | OpenRequest, format: str | None = None, *, select: Place = None, agreed: bool = False
    ) -> Job | None:
        """Open a file in place of the current one, which stays until this succeeds; None if unsaved changes prevent it.

        `select` may be a function, called before the old shard is closed. With `agreed`, over `MUCH` bytes may be read.
        """
        request = what if isinstance(what, OpenRequest) else OpenRequest(what, format)
        if not self.may_leave(request, partial(self._open, request, select, agreed)):
            return None
        return self._open(request, select, agreed)

    def _open(self, request: OpenRequest, select: Place, agreed: bool) -> Job:
        def done(found: Opened | None, error: BaseException | None) -> None:
            if found is not None:
                self._take(*found, select() if callable(select) else select)
                return
            if self.current.shard is not None:
                self._set_request_log(self.current.shard.tape)
            if not isinstance(error, Cancelled):
                self._not_opened(request, error, partial(self.open, select=select))

        request = self._with_way(request)
        return self._start(request, done, agreed=agreed)

    def _start(
        self,
        request: OpenRequest,
        done: Callable[[Opened | None, BaseException | None], None],
        *,
        agreed: bool,
        front: bool = True,
        beside: Document | None = None,
    ) -> Job:
        request_log = RequestLog() if request.is_remote else None

        def work(job: Job) -> Opened:
            with at_most(None if agreed else MUCH):
                whole = request.resolved()
                return whole.open(job.progress, request_log), whole

        def ended(found: Opened | None, error: BaseException | None) -> None:
            self.ended.emit(request.shown)
            done(found, error)

        if front:
            self.opening.emit(request.shown)
            if request_log is not None:
                self._set_request_log(request_log)
        return self.jobs.submit(
            work,
            key=("open", self),
            priority=JobPriority.SCREEN if front else JobPriority.SELECTED,
            done=ended,
            discard=lambda found: found[0].close(),
            scope=beside,
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

    def _not_opened(self, request: OpenRequest, error: BaseException | None, again: Callable[..., object]) -> None:
        failed = OpenFailure(request, error or ShardError("nothing was opened"))
        self.failed.emit(failed)
        refuse = partial(self.declined.emit, failed)
        if isinstance(error, StoreUntrusted):
            remote = request.remote or RemoteOptions()
            trusted = request.with_remote(replace(remote, trusted=remote.trusted | set(error.stores)))
            self.untrusted.emit(error, partial(again, trusted), refuse)
        if isinstance(error, LargeRead):
            what = self.tr("Opening {0}").format(request.title)
            self.costly.emit(CostlyRead(what, error.size, partial(again, request, agreed=True), refuse))

    def _take(self, shard: Shard, request: OpenRequest, select: Span | None) -> None:
        document = self.current
        self._close(replaced=document.shard is not None)
        document.shard, document.request, document.select = shard, request, select
        if document not in self.all:
            document.number = Document().number
            self._add(document)
        self._begin()

    def _add(self, document: Document) -> None:
        insort(self.all, document, key=attrgetter("number"))

    def _begin(self) -> None:
        document, shard = self.current, self.current.shard
        assert shard is not None
        select, document.select, document.fresh = document.select, None, False
        document.listing = shard.listing
        self._set_request_log(shard.tape)
        self.opened.emit(shard)
        self.begun.emit()
        self.arrived.emit(select)
        self.changed.emit()

    def reload(self) -> Job | None:
        document = self.current
        return self.open(document.request, select=document.selection.span) if document.request.uri else None

    # --- opening in tabs ---

    def open_tab(
        self, request: OpenRequest, select: Span | None = None, *, front: bool = True, agreed: bool = False
    ) -> Job | None:
        """Open a request in a new tab; return None if it is open already (its tab is shown) or is being opened."""
        there = next((one for one in self.all if _alike(request, one.request)), None)
        if there is not None:
            if front:
                self.show(there)
                if select is not None and self.current is there:
                    self.arrived.emit(select)
            return None
        coming = next((one for one in self._coming if _alike(request, one.request)), None)
        if coming is not None:
            coming.select = select or coming.select
            self._expect(coming, front=front)
            return None
        now = self.current.request
        same = _whole(request.link) == _whole(now.link) and not now.sandbox and not request.sandbox
        if front and same and self.current.shard is not None and not self._coming:
            # The same file, read with other options, replaces the current document.
            return self.open(request, select=select, agreed=agreed)
        if len(self.all) + len(self._coming) >= MOST_OPEN:
            self.say(self.tr("Too many tabs ({0}): close one first").format(MOST_OPEN), failed=True)
            return None
        return self._open_beside(self._with_way(request), select, front, agreed)

    def _expect(self, document: Document, *, front: bool) -> None:
        if front:
            self._coming = dict.fromkeys(self._coming, False)
        self._coming[document] = front or self._coming.get(document, False)

    def open_tabs(self, files: Sequence[tuple[OpenRequest, Span | None]], current: int = 0) -> None:
        for number, (request, select) in enumerate(files):
            self.open_tab(request, select, front=number == current)

    def _open_beside(self, request: OpenRequest, select: Span | None, front: bool, agreed: bool) -> Job:
        document = Document(request, select=select)
        self._expect(document, front=front)

        def done(found: Opened | None, error: BaseException | None) -> None:
            was_front = self._coming.pop(document)
            waits = any(self._coming.values())
            shard = self.current.shard
            if found is not None:
                document.shard, document.request = found
                self._add(document)
                self.changed.emit()
                if (shard is None and not waits) or (was_front and self.may_show()):
                    self.show(document)
            else:
                self._set_request_log(shard.tape if shard is not None else None)
                if not isinstance(error, Cancelled):
                    again = partial(self.open_tab, select=select)
                    self._errors_due.append(partial(self._not_opened, request, error, again))
                if shard is None and self.all and not waits and self._last not in self.all:
                    self.show(self.all[0])
            # Showing a document removes the notices, so errors are reported afterwards.
            while self._errors_due and not any(self._coming.values()):
                self._errors_due.pop(0)()

        return self._start(request, done, agreed=agreed, front=front, beside=document)

    # --- showing another one ---

    def keep_view(self, name: str, view: ViewStateOwner) -> None:
        self._keepers[name] = view

    def show_shard(self, shard: Shard) -> bool:
        document = next((one for one in self.all if one.shard is shard), None)
        if document is not None:
            self.show(document)
        return self.current.shard is shard

    def show(self, document: Document) -> None:
        if document is self.current or document not in self.all or document.shard is None:
            return
        self._leave()
        self._bring(document)

    def show_none(self) -> None:
        if self.current.shard is not None:
            self._last = self.current
            self._leave(Document())
            self.changed.emit()

    @property
    def welcome(self) -> bool:
        return bool(self.all) and self.current not in self.all

    def step(self, by: int) -> None:
        if self.current in self.all:
            self.show(self.all[(self.all.index(self.current) + by) % len(self.all)])
        elif self.all:
            # Return from the welcome page.
            self.show(self._last if self._last in self.all else self.all[-1])

    def move(self, start: int, stop: int) -> None:
        self.all.insert(stop, self.all.pop(start))
        self.changed.emit()

    def _leave(self, following: Document | None = None) -> None:
        """Store the states of views in the current document; cancel its jobs, except lasting and background ones."""
        document = self.current
        self.jobs.cancel_where(lambda job: job.scope is document and not job.lasting and not job.background)
        if document.shard is None:
            return
        document.views = {name: view.view_state() for name, view in self._keepers.items()}
        document.unsaved = self.unsaved
        self.set_typed(None)  # the view of typed bytes opens them again when the document is shown
        self._set_current(following or Document(document.request))
        self.replacing, self.switching = following is None, True
        self.closed.emit()
        self.replacing = self.switching = False

    def _bring(self, document: Document) -> None:
        self._set_current(document)
        if document.fresh:
            self._begin()
            return
        assert document.shard is not None
        self._set_request_log(document.shard.tape)
        self.switching = True
        self.opened.emit(document.shard)
        for name, state in document.views.items():
            self._keepers[name].restore_view_state(state)
        document.views, document.unsaved = {}, False
        self.returned.emit()
        self.switching = False
        mail, document.mail = document.mail, []
        for deliver in mail:
            deliver()
        self.switched.emit()
        self.changed.emit()

    def _set_current(self, document: Document) -> None:
        self.current = self.jobs.scope = document

    def _set_request_log(self, request_log: RequestLog | None) -> None:
        if request_log is not self.request_log:
            self.request_log = request_log
            self.request_log_changed.emit(request_log)

    # --- unsaved changes ---

    def add_unsaved(self, unsaved: Callable[[], bool]) -> None:
        self._unsaved.append(unsaved)

    @property
    def unsaved(self) -> bool:
        return any(unsaved() for unsaved in self._unsaved)

    @property
    def unsaved_document(self) -> Document | None:
        return next((one for one in self.all if one.unsaved and one is not self.current), None)

    # --- closing ---

    def close(self) -> None:
        if self.current.shard is not None and self.may_leave(None, self._dismiss):
            self._dismiss()

    def close_document(self, document: Document) -> None:
        """Close a document; one with unsaved changes is shown first, and the user confirms."""
        if document.unsaved:
            self.show(document)
        if document is self.current:
            self.close()
        elif document in self.all:
            self._forget(document)
            self._end(document)
            self.changed.emit()

    def close_all(self) -> None:
        for document in [one for one in self.all if one is not self.current]:
            self._forget(document)
            self._end(document)
        self._close()
        self.all.clear()
        self.changed.emit()

    def _dismiss(self) -> None:
        document = self.current
        if document.shard is None:
            return
        at = self.all.index(document)
        self._forget(document)
        beside = self.all[min(at, len(self.all) - 1)] if self.all else None
        self._close(replaced=beside is not None)
        if beside is not None:
            self._bring(beside)
        else:
            self._set_current(Document())
        self.changed.emit()

    def _close(self, *, replaced: bool = False) -> None:
        if self.current.shard is not None:
            self.replacing = replaced
            self._end(self.current)
            self._set_request_log(None)
            self.closed.emit()
            self.replacing = False

    def _end(self, document: Document) -> None:
        """Cancel the jobs of a document; its source is closed when the last one has ended."""
        self.jobs.cancel_all(scope=document)
        for shard in (document.shard, document.typed):
            if shard is not None:
                self.jobs.call_after(partial(self._release, shard), document)
        document.reset()

    def _release(self, shard: Shard) -> None:
        """Close a shard that no job reads, in a job: its decompression process may take time to end."""

        def done(_: None, error: BaseException | None) -> None:
            if error is not None:
                # The job was cancelled because the window closes.
                shard.close()

        self.jobs.submit(lambda _: shard.close(), priority=JobPriority.PREFETCH, lasting=True, done=done)

    # --- closed tabs ---

    @property
    def can_reopen(self) -> bool:
        return bool(self._closed_requests)

    def reopen(self) -> None:
        if self._closed_requests:
            self.open_tab(*self._closed_requests.pop())
            self.changed.emit()

    def _forget(self, document: Document) -> None:
        """Remove a document from the tabs, and record its request for `reopen`."""
        self.all.remove(document)
        # The changes of a sandbox were dropped, or saved as a copy.
        place = document.selection.span or document.select
        # Access keys are not recorded, since the user may remove them meanwhile.
        self._closed_requests.append((document.request.without_changes().with_remote(None), place))
        del self._closed_requests[:-MOST_CLOSED]
