"""Jobs: work on thread pools, with results delivered on the GUI thread. Only this module uses thread pools."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, QRunnable, Qt, QThreadPool, Signal

from shardcore import Cancelled
from shardcore.dataclasses import dataclass, field
from shardcore.model.budget import budgeted
from shardcore.progress import stopped_by
from shardcore.sources.base import ReadPriority, wanted

IO_THREADS = 12
"""Number of threads for jobs that mostly wait for bytes."""

CPU_THREADS = 2
"""Number of threads for jobs that mostly compute."""

PROGRESS_SECONDS = 0.05

RATE_SECONDS = 0.5
SMOOTH_SECONDS = 3.0

SHUTDOWN_MILLISECONDS = 10_000


class Pool(Enum):
    IO = "io"
    CPU = "cpu"


class JobPriority(IntEnum):
    """Priority of a job; its reads from a remote source have the `ReadPriority` of the same name."""

    SCAN = 0
    PREFETCH = 1
    SELECTED = 2
    SCREEN = 3


class JobState(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BROKEN = "interrupted"
    """Ended early but can be resumed; set by the code that submitted the job."""

    @property
    def ended(self) -> bool:
        return self not in (JobState.WAITING, JobState.RUNNING)


@dataclass
class Rate:
    """Progress per second, smoothed over `SMOOTH_SECONDS`; 0 while unknown."""

    per_second: float = 0.0
    _done: int = 0
    _at: float = 0.0

    def add(self, done: int, now: float) -> None:
        seconds = now - self._at
        if not self._at or done < self._done:
            self.per_second = 0.0
        elif seconds < RATE_SECONDS:
            return
        else:
            found = (done - self._done) / seconds
            weight = 1 - math.exp(-seconds / SMOOTH_SECONDS) if self.per_second else 1.0
            self.per_second += weight * (found - self.per_second)
        self._done, self._at = done, now

    def now(self, now: float) -> float:
        return self.per_second * math.exp(-max(now - self._at - SMOOTH_SECONDS, 0.0) / SMOOTH_SECONDS)


Work = Callable[["Job"], Any]
Done = Callable[[Any, BaseException | None], None]


@dataclass(eq=False, repr=False)
class Job:
    """One unit of work. It reports exactly once: a result, the error it raised, or `Cancelled`.

    The code that submits it sets `unit`, `background`, `completes`, `resume`, `show`, `open_result`, `note`, `details`.

    Attributes:
        key: A newer job with the same key in the same document cancels this one; None for no key.
        title: Shown in Activity; empty for jobs that are not listed.
        lasting: Whether the job continues when its shard is closed.
        done_amount: Amount of work done, of `total_amount`, which is 0 while unknown; both count `unit`.
        unit: Noun for what the two amounts count, such as `byte`; empty if it has no name.
        show: Callback that shows the dialog of the job again; None if there is none.
        background: Whether the job continues, and its result waits, while another document is shown.
        completes: Whether closing the window waits for the job instead of cancelling it.
        started: Value of `time.monotonic()` at the start, 0 before; `ended` likewise.
    """

    _jobs: Jobs
    _work: Work | None
    key: object
    title: str
    lasting: bool
    number: int
    priority: JobPriority
    scope: object
    _slot: tuple[object, object]
    state: JobState = JobState.WAITING
    done_amount: int = 0
    total_amount: int = 0
    error: BaseException | None = None
    note: str = ""
    details: str = ""
    unit: str = ""
    rate: Rate = field(default_factory=Rate)
    background: bool = False
    completes: bool = False
    resume: Callable[[], object] | None = None
    show: Callable[[], object] | None = None
    open_result: Callable[[], object] | None = None
    started: float = 0.0
    ended: float = 0.0
    _cancel: threading.Event = field(default_factory=threading.Event)
    _reported: float = 0.0

    @property
    def cancelled(self) -> bool:
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Request the job to stop; it reports `Cancelled` soon. Callable from any thread; no effect after the end."""
        self._jobs._cancel(self)

    def check(self) -> None:
        if self._cancel.is_set():
            raise Cancelled

    def progress(self, done: int, total: int) -> None:
        """Report progress; pass it to shardcore as `progress`. Raises `Cancelled` if the job was cancelled."""
        self.check()
        self.done_amount, self.total_amount = done, total
        now = time.monotonic()
        self.rate.add(done, now)
        if self.title and (now - self._reported >= PROGRESS_SECONDS or done == total):
            self._reported = now
            self._jobs._courier.progressed.emit(self)


class _Courier(QObject):
    reported = Signal()
    progressed = Signal(object)


class _Turn(QRunnable):
    """Task of a thread pool: runs the waiting job that has the highest priority when a thread becomes free."""

    def __init__(self, jobs: Jobs, pool: Pool) -> None:
        super().__init__()
        self.setAutoDelete(False)
        self._jobs = jobs
        self._pool = pool

    def run(self) -> None:
        self._jobs._run_next(self._pool)


class Jobs(QObject):
    """Runner of jobs on two thread pools. Create and use it on the GUI thread.

    Signals carry a `Job`: `added` and `changed` for jobs with a title, `trouble` for errors of jobs without `done`.
    New jobs belong to the shown document `scope`; a lasting job without a title belongs to the window.
    """

    added = Signal(object)
    changed = Signal(object)
    trouble = Signal(object)

    def __init__(self, parent: QObject | None = None, *, io: int = IO_THREADS, cpu: int = CPU_THREADS) -> None:
        super().__init__(parent)
        self.scope: object = None
        self.submitted = 0
        self.reported = 0
        self._lock = threading.Lock()
        self._closed = False
        self._numbers = itertools.count(1)
        self._waiting: dict[Pool, list[tuple[int, int, Job]]] = {pool: [] for pool in Pool}
        self._newest: dict[tuple[object, object], Job] = {}
        self._open: dict[Job, tuple[Done | None, Callable[[Any], None] | None]] = {}
        self._after: list[tuple[object, int, Callable[[], object]]] = []
        self._courier = _Courier()
        self._news: deque[tuple[Job, Any, BaseException | None]] = deque()
        self._courier.reported.connect(self._deliver_all, Qt.ConnectionType.QueuedConnection)
        self._courier.progressed.connect(self._deliver_progress, Qt.ConnectionType.QueuedConnection)
        self._pools = {Pool.IO: QThreadPool(), Pool.CPU: QThreadPool()}
        self._pools[Pool.IO].setMaxThreadCount(io)
        self._pools[Pool.CPU].setMaxThreadCount(cpu)
        self._turns = {pool: _Turn(self, pool) for pool in Pool}

    def submit(
        self,
        work: Work,
        *,
        key: object = None,
        pool: Pool = Pool.IO,
        priority: JobPriority = JobPriority.SELECTED,
        title: str = "",
        lasting: bool = False,
        done: Done | None = None,
        discard: Callable[[Any], None] | None = None,
        scope: object = None,
    ) -> Job:
        """Run `work(job)` on a thread of a pool; it must not touch widgets.

        - `done(result, error)` is called once on the GUI thread, but not if its QObject was deleted
        - `discard(result)` releases the resources of a result that arrives after cancellation
        """
        scope = self.scope if scope is None else scope
        slot = None if lasting and not title else scope, key
        job = Job(self, work, key, title, lasting, next(self._numbers), priority, scope, slot)
        if key is not None:
            if (older := self._newest.get(slot)) is not None:
                older.cancel()
            self._newest[slot] = job
        self._open[job] = (done, discard)
        self.submitted += 1
        if title:
            self.added.emit(job)
        if self._closed:
            job.cancel()
            return job
        with self._lock:
            heapq.heappush(self._waiting[pool], (-int(priority), job.number, job))
        self._pools[pool].start(self._turns[pool])
        return job

    def newest(self, key: object) -> Job | None:
        return self._newest.get((self.scope, key)) or self._newest.get((None, key))

    def cancel(self, key: object) -> None:
        if (job := self.newest(key)) is not None:
            job.cancel()

    @property
    def open_jobs(self) -> tuple[Job, ...]:
        return tuple(self._open)

    def cancel_all(self, scope: object = None) -> None:
        """Cancel the jobs of a document, except lasting ones."""
        scope = self.scope if scope is None else scope
        self.cancel_where(lambda job: job.scope is scope and not job.lasting)

    def call_after(self, then: Callable[[], object], scope: object = None) -> None:
        """Call `then` once all jobs submitted for a document so far, including lasting ones, have reported."""
        self._after.append((self.scope if scope is None else scope, next(self._numbers), then))
        self._call_after()

    def cancel_where(self, chosen: Callable[[Job], bool]) -> None:
        for job in self.open_jobs:
            if chosen(job):
                job.cancel()

    def shutdown(self) -> bool:
        """Cancel jobs without `completes`, and deliver all reports; return False if a thread did not end in time."""
        self._closed = True
        self.cancel_where(lambda job: not job.completes)
        ended = True
        for pool in self._pools.values():
            ended = pool.waitForDone(SHUTDOWN_MILLISECONDS) and ended
        self._deliver_all()
        after, self._after = self._after, []
        for _, _, then in after:
            then()
        # Jobs that these callbacks submitted were cancelled at once; deliver that.
        self._deliver_all()
        return ended

    # --- on the threads of the pools ---

    def _run_next(self, pool: Pool) -> None:
        with self._lock:
            if not self._waiting[pool]:
                return
            job = heapq.heappop(self._waiting[pool])[2]
            work, job._work = job._work, None
            if work is None or job.state.ended:
                return
            job.state = JobState.RUNNING
            job.started = time.monotonic()
        if job.title:
            self._courier.progressed.emit(job)
        result: Any = None
        error: BaseException | None = None
        try:
            job.check()
            # A cancelled job stops at its next read, however deep in a lookup or a tree.
            # A job with a title shows progress and can be stopped, so its work may grow with its output.
            # With `unread=False`, unforeseen errors before the first read are bugs of the window and pass unchanged.
            within = budgeted(taking=bool(job.title), unread=False)
            with stopped_by(job.check), wanted(ReadPriority[job.priority.name]), within:
                result = work(job)
        except BaseException as raised:  # noqa: BLE001 - whatever it was, the job must report
            error = raised
        self._end(job, error)
        self._news.append((job, result, error))
        self._courier.reported.emit()

    def _end(self, job: Job, error: BaseException | None) -> None:
        job.error = error
        job.ended = time.monotonic()
        if error is None:
            job.state = JobState.DONE
        else:
            job.state = JobState.CANCELLED if isinstance(error, Cancelled) else JobState.FAILED

    def _cancel(self, job: Job) -> None:
        job._cancel.set()
        with self._lock:
            if job.state is not JobState.WAITING:
                return
            job._work = None
            self._end(job, Cancelled())
        self._news.append((job, None, job.error))
        self._courier.reported.emit()

    # --- on the GUI thread ---

    def _deliver_all(self) -> None:
        while self._news:
            self._deliver(*self._news.popleft())

    def _deliver(self, job: Job, result: Any, error: BaseException | None) -> None:
        done, discard = self._open.pop(job)
        self.reported += 1
        if job.key is not None and self._newest.get(job._slot) is job:
            del self._newest[job._slot]
        if error is None and job._cancel.is_set():
            if discard is not None:
                discard(result)
            result, error = None, Cancelled()
            self._end(job, error)
        try:
            if done is None:
                if error is not None and not isinstance(error, Cancelled):
                    self.trouble.emit(job)
            elif alive(done):
                done(result, error)
            elif error is None and discard is not None:
                discard(result)
        finally:
            if job.title:
                self.changed.emit(job)
            if self._after:
                self._call_after()

    def _deliver_progress(self, job: Job) -> None:
        if job in self._open:
            self.changed.emit(job)

    def _call_after(self) -> None:
        waits = [one for one in self._after if any(job.scope is one[0] and job.number < one[1] for job in self._open)]
        ready = [one[2] for one in self._after if one not in waits]
        self._after = waits
        for then in ready:
            then()


def alive(callback: Callable[..., Any]) -> bool:
    """Return False if the QObject that a bound method belongs to was deleted."""
    owner = getattr(callback, "__self__", None)
    return not isinstance(owner, QObject) or shiboken6.isValid(owner)
