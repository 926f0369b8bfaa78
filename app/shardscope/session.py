"""What is open and what is selected. Views ask the session and follow its signals; they hold no state of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from shardcore import Cancelled, Depth, FileSource, Node, Report, Shard, ShardError, SourceChanged, SourceError, Span
from shardscope import selection as completing
from shardscope.jobs import Job, Jobs, Pool, Priority
from shardscope.opening import OpenRequest
from shardscope.selection import Selection

AUTO_INDEX_BYTES = 64 * 1024 * 1024
"""Indexes up to this many bytes are read as soon as a shard is open."""

WATCH_MILLISECONDS = 1000

HISTORY = 200
"""Places that *back* remembers."""

NEAR = 1024
"""A selection at most this many bytes from the last one replaces it in the history."""


class IndexState(Enum):
    """What is known of the index of the open shard."""

    NONE = "none"
    LOADING = "loading"
    LOADED = "loaded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class OpenFailure:
    """Something could not be opened.

    Attributes:
        request: What, and how.
        error: Why.
    """

    request: OpenRequest
    error: BaseException

    @property
    def uri(self) -> str:
        """What could not be opened."""
        return self.request.uri


class Session(QObject):
    """The only holder of what is open and selected. Lives on the GUI thread; everything that reads is a job.

    Attributes:
        jobs: Runs the work.
        shard: What is open, or None.
        request: How it was opened; of what is closed again, the last.
        selection: What is selected.
        index_state: What is known of the index.
        report: The last verification, or None.
    """

    opening = Signal(object)
    """A uri: it is being opened; what was open stays until that works."""
    opened = Signal(object)
    """The shard."""
    closed = Signal()
    failed = Signal(object)
    """An `OpenFailure`; what was open stays open."""
    selection_changed = Signal(object)
    """The `Selection`: at once when something is selected, and again when it is complete."""
    history_changed = Signal()
    index_changed = Signal(object)
    """The `IndexState`."""
    index_loaded = Signal()
    findings_changed = Signal(object)
    """The `Report`, or None when there is none (any more)."""
    verifying_changed = Signal(object)
    """The running `Job`, or None."""
    source_trouble = Signal(object)
    """A `SourceError`: the file was changed or is gone; None when that is over."""
    message = Signal(object)
    """A sentence for the status bar."""

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.jobs = jobs
        self.shard: Shard | None = None
        self.request = OpenRequest("")
        self.selection = Selection()
        self.index_state = IndexState.NONE
        self.report: Report | None = None
        self.trouble: BaseException | None = None
        self._history: list[Selection] = []
        self._place = -1
        self._watch = QTimer(self)
        self._watch.setInterval(WATCH_MILLISECONDS)
        self._watch.timeout.connect(self.check_source)

    # --- opening and closing ---

    @property
    def uri(self) -> str:
        """Where what is open came from, or empty."""
        return self.request.uri

    def open(self, what: str | OpenRequest, format: str | None = None, *, select: Span | None = None) -> Job:
        """Opens a path or address; damage gives a shard with `damage` set. What is open stays until that works.

        Args:
            what: What to open, or that and how.
            format: The name of a format, instead of recognising it; of no account when `what` says how.
            select: What to select afterwards.
        """
        request = what if isinstance(what, OpenRequest) else OpenRequest(what, format)

        def work(job: Job) -> Shard:
            return request.open(job.progress)

        def done(shard: Shard | None, error: BaseException | None) -> None:
            if shard is not None:
                self._take(shard, request, select)
            elif not isinstance(error, Cancelled):
                self.failed.emit(OpenFailure(request, error or ShardError("nothing was opened")))

        self.opening.emit(request.uri)
        return self.jobs.submit(
            work, key=("open", self), priority=Priority.SCREEN, done=done, discard=lambda shard: shard.close()
        )

    def close(self) -> None:
        """Closes what is open: its jobs are cancelled, and its bytes are closed when the last one has ended."""
        if self.shard is None:
            return
        shard, self.shard = self.shard, None
        self._watch.stop()
        self.jobs.cancel_all(then=partial(self._release, shard))
        self._reset()
        self.closed.emit()

    def reload(self) -> Job | None:
        """Opens the same place again, the same way and with the same bytes selected; for files that changed."""
        if not self.uri:
            return None
        return self.open(self.request, select=self.selection.span)

    def _release(self, shard: Shard) -> None:
        """Closes a shard that nothing reads any more, in a job: its own process may take a while to end."""

        def done(_: None, error: BaseException | None) -> None:
            if error is not None:
                # The window closes: the job never ran.
                shard.close()

        self.jobs.submit(lambda _: shard.close(), priority=Priority.PREFETCH, lasting=True, done=done)

    def _take(self, shard: Shard, request: OpenRequest, select: Span | None) -> None:
        self.close()
        self.shard, self.request = shard, request
        self._reset()
        self.opened.emit(shard)
        if isinstance(shard.source, FileSource):
            self._watch.start()
        if shard.loaded:
            self._index_done(None)
        elif shard.damage is None and shard.index_bytes <= AUTO_INDEX_BYTES:
            self.load_index(title="")
        place = select or (shard.damage.span if shard.damage is not None else None)
        if place is not None:
            self.select_span(self._inside(place), self)

    def _reset(self) -> None:
        self._history.clear()
        self._place = -1
        self.index_state = IndexState.NONE
        self.report = None
        self.selection = Selection()
        self._set_trouble(None)
        self.history_changed.emit()

    def _inside(self, span: Span) -> Span:
        """A place that exists: damage may point past the end of the file, and a reloaded file may be shorter."""
        source = self.shard.source if self.shard is not None else None
        if source is None or span.source:
            return span
        start = min(span.start, max(source.size - 1, 0))
        return Span("", start, max(min(span.stop, source.size), start))

    # --- the index ---

    def load_index(self, *, title: str = "Reading the index") -> None:
        """Reads what is needed to explain every byte and to sort the objects."""
        shard = self.shard
        if shard is None or self.index_state in (IndexState.LOADING, IndexState.LOADED):
            return
        self._set_index(IndexState.LOADING)

        def work(job: Job) -> None:
            shard.load_index(job.progress)

        def done(_: None, error: BaseException | None) -> None:
            if self.shard is shard:
                self._index_done(error)

        self.jobs.submit(work, key=("index", self), title=title, done=done)

    def _index_done(self, error: BaseException | None) -> None:
        if error is not None:
            cancelled = isinstance(error, Cancelled)
            self._set_index(IndexState.NONE if cancelled else IndexState.FAILED)
            if not cancelled:
                self.note_trouble(error)
                self.message.emit(f"The index cannot be read: {error}")
            return
        self._set_index(IndexState.LOADED)
        self.index_loaded.emit()
        if self.selection.span is not None and self.selection.row is None:
            # The tree grew: what was found before, or is being looked for, may be less than is known now.
            self.selection = replace(self.selection, complete=False, path=(), ref=None)
            self._complete(self.selection)

    def _set_index(self, state: IndexState) -> None:
        self.index_state = state
        self.index_changed.emit(state)

    # --- the selection ---

    def select_span(self, span: Span, origin: object = None, *, remember: bool = True) -> None:
        """Selects bytes; whose they are is found out by a job.

        Args:
            span: The bytes; an empty span is a place between bytes.
            origin: Who selects; `Selection.origin` carries it back.
            remember: Whether *back* may return here.
        """
        if self.shard is not None:
            self._select(Selection(span, origin=origin), remember)

    def select_row(self, row: int, origin: object = None, *, remember: bool = True) -> None:
        """Selects an object by its row."""
        if self.shard is not None and 0 <= row < len(self.shard.objects):
            self._select(Selection(None, row, origin=origin), remember)

    def select_node(self, path: tuple[Node, ...], origin: object = None, *, remember: bool = True) -> None:
        """Selects a node of the tree, given by the path from the root down to it."""
        if self.shard is not None and path:
            self._select(Selection(path[-1].span, None, path, origin=origin), remember)

    def back(self) -> None:
        """Returns to what was selected before."""
        self._travel(-1)

    def forward(self) -> None:
        """Takes a step back back."""
        self._travel(1)

    @property
    def can_go_back(self) -> bool:
        """Whether there is a place before."""
        return self._place > 0

    @property
    def can_go_forward(self) -> bool:
        """Whether there is a place after."""
        return self._place + 1 < len(self._history)

    def _travel(self, step: int) -> None:
        if 0 <= self._place + step < len(self._history):
            self._place += step
            self._select(replace(self._history[self._place], origin=self), remember=False)
            self.history_changed.emit()

    def _select(self, chosen: Selection, remember: bool) -> None:
        self.selection = chosen
        if remember:
            self._remember(chosen)
        self.selection_changed.emit(chosen)
        self._complete(chosen)

    def _remember(self, chosen: Selection) -> None:
        del self._history[self._place + 1 :]
        if self._history and _near(self._history[-1], chosen):
            self._history[-1] = chosen
        else:
            self._history.append(chosen)
            del self._history[: -HISTORY or None]
        self._place = len(self._history) - 1
        self.history_changed.emit()

    def _complete(self, chosen: Selection) -> None:
        shard = self.shard
        if shard is None:
            return

        def work(job: Job) -> Selection:
            if chosen.row is not None and not (chosen.span and chosen.path):
                return completing.of_row(shard, chosen.row)
            return completing.of_span(shard, chosen.span or Span("", 0, 0), chosen.path)

        def done(found: Selection | None, error: BaseException | None) -> None:
            if isinstance(error, Cancelled) or self.shard is not shard or self.selection is not chosen:
                return
            if found is None:
                self.note_trouble(error)
                found = replace(chosen, complete=True, error=str(error))
            self.selection = replace(found, origin=chosen.origin)
            if self._history and self._history[self._place] is chosen:
                self._history[self._place] = self.selection
            self.selection_changed.emit(self.selection)

        self.jobs.submit(work, key=("select", self), priority=Priority.SELECTED, done=done)

    # --- verification ---

    def verify(self, depth: Depth) -> None:
        """Checks the shard to a depth, as a job in `transfers`."""
        shard = self.shard
        if shard is None:
            return

        def work(job: Job) -> Report:
            return shard.verify(depth, job.progress)

        def done(report: Report | None, error: BaseException | None) -> None:
            if self.shard is not shard:
                return
            if self.jobs.newest(("verify", self)) is None:
                self.verifying_changed.emit(None)
            if report is not None:
                self.report = report
                job.note = f"{report.objects:,} objects, {len(report.findings):,} findings"
                self.findings_changed.emit(report)
            elif not isinstance(error, Cancelled):
                self.note_trouble(error)
                self.message.emit(f"Verification stopped: {error}")

        job = self.jobs.submit(
            work, key=("verify", self), pool=Pool.CPU, priority=Priority.SCAN, title=f"Verify {depth.value}", done=done
        )
        self.verifying_changed.emit(job)

    # --- files that change ---

    def check_source(self) -> None:
        """Asks, in a job, whether the file is still what was opened."""
        shard = self.shard
        source = shard.source if shard is not None else None
        if source is None or self.jobs.newest(("watch", self)) is not None:
            return

        def done(_: None, error: BaseException | None) -> None:
            if self.shard is shard and not isinstance(error, Cancelled):
                self._set_trouble(error)

        self.jobs.submit(lambda _: source.check_unchanged(), key=("watch", self), priority=Priority.PREFETCH, done=done)

    def note_trouble(self, error: BaseException | None) -> None:
        """Tells that bytes could not be had; views hand in what their jobs raised, and only source errors count."""
        if isinstance(error, SourceChanged) or (isinstance(error, SourceError) and self.shard is not None):
            self.check_source()

    def _set_trouble(self, error: BaseException | None) -> None:
        if error is None and self.trouble is None:
            return
        same = error is not None and str(error) == str(self.trouble)
        self.trouble = error
        if not same:
            self.source_trouble.emit(error)


def _near(last: Selection, chosen: Selection) -> bool:
    """Whether two selections are one place to a person who goes back."""
    if last.span is None or chosen.span is None:
        return last.row == chosen.row and last.span is chosen.span
    if last.row is not None and chosen.row is not None:
        return last.row == chosen.row
    same_source = last.span.source == chosen.span.source
    return same_source and abs(last.span.start - chosen.span.start) <= NEAR
