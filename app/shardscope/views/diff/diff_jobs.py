"""Jobs of a *Diff* window, which open two shards and compare their objects and bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from shardcore import Cancelled, DataSet, Section, Shard, ShardDiff, diff
from shardcore.dataclasses import dataclass
from shardcore.model.record import Value
from shardcore.operations.byte_diff import ByteDiff, byte_diff
from shardcore.operations.diff import field_pairs
from shardcore.operations.diff_columns import columns_at
from shardcore.sources.base import on_failure
from shardscope.session.display_text import error_text
from shardscope.session.jobs import Job, JobPriority, Jobs, Pool, alive
from shardscope.session.open_request import OpenRequest

T = TypeVar("T")
I64 = NDArray[np.int64]


class ShardPair:
    """Two open shards, closed after `close` as soon as no job uses them. Thread-safe."""

    def __init__(self, first: Shard, second: Shard) -> None:
        self.first, self.second = first, second
        self._lock = threading.Lock()
        # The first user is the opener, until it calls `close`.
        self._users = 1
        self._closing = False

    @contextmanager
    def used(self) -> Iterator[ShardPair]:
        """Keep the shards open during a `with` block; raises `Cancelled` after `close`."""
        with self._lock:
            if self._closing:
                raise Cancelled
            self._users += 1
        try:
            yield self
        finally:
            self._release()

    def close(self) -> None:
        with self._lock:
            if self._closing:
                return
            self._closing = True
        self._release()

    def _release(self) -> None:
        with self._lock:
            self._users -= 1
            unused = not self._users
        if unused:
            self.first.close()
            self.second.close()


@dataclass(frozen=True)
class DiffColumns:
    """Size, offset and shard number of each object on one side; size and offset are -1 if unknown or missing there."""

    size: I64
    start: I64
    member: NDArray[np.int32]
    members: tuple[str, ...]


@dataclass(frozen=True)
class ComparedPair:
    pair: ShardPair
    found: ShardDiff
    fields: tuple[tuple[str, Value | None, Value | None], ...]
    columns: tuple[DiffColumns, DiffColumns]

    def damage(self, names: Iterable[str]) -> str:
        """Return names and errors of damaged shards, which were compared only in part; empty if both are intact."""
        pairs = zip(names, (self.pair.first.damage, self.pair.second.damage), strict=True)
        return "; ".join(f"{name}: {error_text(error)}" for name, error in pairs if error is not None)


@dataclass(frozen=True)
class BytesSideBySide:
    """Aligned bytes of two files; `names` are their names in their data sets, empty for single shards."""

    bytes: ByteDiff
    names: tuple[str, str]
    sizes: tuple[int, int]
    sections: tuple[tuple[Section, ...], tuple[Section, ...]]


class DiffJobs(QObject):
    """Jobs of one *Diff* window. They do not depend on open documents, so they continue when tabs are closed."""

    compared = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    progressed = Signal(object)

    def __init__(self, jobs: Jobs, requests: tuple[OpenRequest, OpenRequest]) -> None:
        super().__init__()
        self.requests = requests
        self.pair: ShardPair | None = None
        self.job: Job | None = None
        self._jobs = jobs
        jobs.changed.connect(self._progressed)

    @property
    def remote(self) -> bool:
        return any(request.is_remote for request in self.requests)

    def begin(self, *, contents: bool) -> None:
        title = self.tr("Diff {0} and {1}").format(*(request.name for request in self.requests))
        work = partial(_compared, self.pair, self.requests, contents)
        self.job = self._jobs.submit(
            work,
            key="compare",
            pool=Pool.CPU,
            title=title,
            done=self._take,
            discard=lambda found: found.pair.close(),
            scope=self,
        )

    def cancel(self) -> None:
        if self.job is not None:
            self.job.cancel()

    def ask(
        self,
        work: Callable[[ShardPair, Job], T],
        take: Callable[[T], object],
        *,
        key: str,
        failed: Callable[[str], object] | None = None,
        pool: Pool = Pool.IO,
    ) -> None:
        pair = self.pair
        if pair is None:
            return

        def run(job: Job) -> T:
            with pair.used():
                return work(pair, job)

        def done(result: Any, error: BaseException | None) -> None:
            if not alive(self.ask) or isinstance(error, Cancelled):
                return
            if error is None:
                take(result)
            else:
                (failed or self.failed.emit)(error_text(error))

        self._jobs.submit(run, key=key, pool=pool, priority=JobPriority.SCREEN, done=done, scope=self)

    def align(self, found: ShardDiff, names: tuple[str, str], take: Callable[[BytesSideBySide], object]) -> None:
        def work(pair: ShardPair, _: Job) -> BytesSideBySide:
            aligned = byte_diff(found, pair.first, pair.second, members=names)
            sections = pair.first.sections_of(names[0]), pair.second.sections_of(names[1])
            sizes = aligned.sources[0].size, aligned.sources[1].size
            return BytesSideBySide(aligned, names, sizes, sections)

        self.ask(work, take, key="align")

    def stop(self) -> None:
        """Cancel all jobs; the shards are closed when the last one ends."""
        self._jobs.cancel_where(lambda job: job.scope is self)
        if self.pair is not None:
            self.pair.close()

    def _progressed(self, job: Job) -> None:
        if job is self.job and not job.state.ended:
            self.progressed.emit(job)

    def _take(self, found: ComparedPair | None, error: BaseException | None) -> None:
        self.job = None
        if found is not None:
            self.pair = found.pair
            self.compared.emit(found)
        elif isinstance(error, Cancelled):
            self.cancelled.emit()
        else:
            self.failed.emit(error_text(error))


def _compared(
    pair: ShardPair | None, requests: tuple[OpenRequest, OpenRequest], contents: bool, job: Job
) -> ComparedPair:
    opened = pair is None
    if pair is None:
        first = requests[0].open(job.progress)
        with on_failure(first.close):
            second = requests[1].open(job.progress)
        pair = ShardPair(first, second)
    try:
        with pair.used():
            found = diff(pair.first, pair.second, contents=contents, progress=job.progress)
            columns = _columns(pair.first, found.first, contents), _columns(pair.second, found.second, contents)
            return ComparedPair(pair, found, field_pairs(pair.first, pair.second), columns)
    except BaseException:
        if opened:
            pair.close()
        raise


def _columns(shard: Shard, rows: I64, contents: bool) -> DiffColumns:
    size, start = np.full(len(rows), -1, np.int64), np.full(len(rows), -1, np.int64)
    member = np.zeros(len(rows), np.int32)
    near = shard.source is not None and shard.source.near
    for part, found in columns_at(shard.objects, rows, sizes=contents or near):
        size[part], start[part], member[part] = found.size, found.start, found.shard
    members = tuple(one.name for one in shard.members) if isinstance(shard, DataSet) else ("",)
    return DiffColumns(size, start, member, members)
