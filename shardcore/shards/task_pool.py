"""Processing the shards of a data set on threads, processes or machines, by any executor of `concurrent.futures`."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from enum import Enum
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from shardcore.codecs.safe_processes import SafeContext
from shardcore.dataclasses import replace
from shardcore.errors import (
    BudgetSpent,
    Cancelled,
    Remedy,
    RemoteError,
    ShardError,
    SourceError,
    UsageError,
    reported_as,
)
from shardcore.model.optional_packages import optional
from shardcore.model.parallel import Call, JobThreads, completed
from shardcore.model.text import short
from shardcore.progress import stopped_by
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard, Work
from shardcore.shards.tickets import ShardTicket, TaskResult, check_keys, on_shard, run_here, run_tickets, tickets_of
from shardcore.sources.base import on_failure

if TYPE_CHECKING:
    from ctypes import c_byte

    from shardcore.sources.remote.options import RemoteOptions
    from shardcore.sources.remote.request_log import RequestLog

PACKAGE = "shardcore."
_SEQUENCES: dict[str, type[Any]] = {"list": list, "tuple": tuple, "set": frozenset}


def mark_of(work: Callable[..., Any], ticket: ShardTicket, given: tuple[Any, ...]) -> str:
    """Return an ID of a call for a shard: a digest of function, shard (with its size), options and arguments."""
    options = {name: value for name, value in ticket.options.items() if name != "remote"}
    facts = [work.__module__, work.__qualname__, ticket.uri, ticket.format, ticket.name, ticket.size, options, given]
    return hashlib.sha256(json.dumps(to_plain(facts, compared=True), sort_keys=True).encode()).hexdigest()


class TaskState:
    """File of results by the ID of their call (`mark_of`), which a later run reuses. Errors are not stored."""

    def __init__(self, path: Path) -> None:
        self._lines: dict[str, Any] = {}
        with reported_as(f"cannot read or write the state file {path}"):
            self._file = path.open("a+b")
            with on_failure(self._file.close):
                self._read(path)

    def _read(self, path: Path) -> None:
        self._file.seek(0)
        kept = 0
        for number, line in enumerate(self._file, 1):
            if line.endswith(b"\n"):
                self._take(path, number, line)
                kept += len(line)
        # A killed run may leave an incomplete last line.
        self._file.truncate(kept)

    def _take(self, path: Path, number: int, line: bytes) -> None:
        try:
            found = json.loads(line)
            self._lines[found["done"]] = found["result"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise UsageError(f"{path}, line {number}: not a state file") from None

    def found(self, marks: Sequence[str]) -> dict[int, Any]:
        """Return the stored results, by index in `marks`; UsageError if another version of the program wrote them."""
        return {number: from_plain(self._lines[mark]) for number, mark in enumerate(marks) if mark in self._lines}

    def note(self, mark: str, result: Any) -> None:
        if isinstance(result, ShardError):
            return
        with reported_as(f"cannot write to the state file {self._file.name}"):
            self._file.write(json.dumps({"done": mark, "result": to_plain(result)}).encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def to_plain(value: Any, *, compared: bool = False) -> Any:
    """Convert dataclasses, enumerations, arrays and bytes to JSON values; TypeError for other objects.

    With `compared`, fields that are excluded from comparison are left out.
    """
    plain = partial(to_plain, compared=compared)
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    for name, kind in _SEQUENCES.items():
        if isinstance(value, kind):
            return {"": name, "of": list(map(plain, sorted(value) if kind is frozenset else value))}
    if isinstance(value, dict):
        return {"": "dict", "of": [[plain(key), plain(one)] for key, one in value.items()]}
    if isinstance(value, bytes):
        return {"": "bytes", "of": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        return {"": "array", "of": base64.b64encode(value.tobytes()).decode(), "dtype": value.dtype.str}
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    if isinstance(value, Enum):
        return {"": name, "of": value.name}
    if dataclasses.is_dataclass(value):
        fields = [one.name for one in dataclasses.fields(value) if one.compare or not compared]
        return {"": name, "of": {one: plain(getattr(value, one)) for one in fields}}
    raise TypeError(f"{name} cannot be stored as JSON")


def from_plain(value: Any) -> Any:
    """Convert JSON values back: the inverse of `to_plain`; UsageError for other values."""
    try:
        return _restored(value)
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, RecursionError, binascii.Error) as error:
        raise UsageError("the state file was written by another version of this program: remove it") from error


def _restored(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind, of = value[""], value["of"]
    if kind in _SEQUENCES:
        return _SEQUENCES[kind](map(_restored, of))
    if kind == "dict":
        return {_restored(key): _restored(one) for key, one in of}
    if kind == "bytes":
        return base64.b64decode(of)
    if kind == "array":
        return np.frombuffer(base64.b64decode(of), _dtype(value["dtype"])).copy()
    named = _class_of(kind)
    return named[of] if issubclass(named, Enum) else named(**{name: _restored(one) for name, one in of.items()})


def _dtype(text: str) -> np.dtype[Any]:
    found = np.dtype(text)
    if found.kind not in "biuf":
        raise ValueError(text)
    return found


@cache
def _class_of(name: str) -> Any:
    """Return a dataclass or enumeration of this library by name; a file cannot name other classes."""
    module, _, qualified = name.partition(":")
    if not module.startswith(PACKAGE):
        raise ValueError(name)
    found = getattr(import_module(module), qualified)
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or issubclass(found, Enum))):
        raise ValueError(name)
    return found


R = TypeVar("R")

BATCH = 32
"""Maximum shards per task; a task of a cluster has about 1 ms overhead."""

BATCH_BYTES = 1 << 30
"""Maximum bytes of a task with several shards."""

FEW_TASKS = 4
"""Minimum number of tasks per worker, if there are enough shards."""

UNKNOWN_WORKERS = 16
"""Assumed number of workers of an executor that does not state it."""

AHEAD = 16
"""Maximum number of finished tasks that wait for a slow earlier one, per running task; then no task is started."""

MOST_LOST = 3
"""Maximum number of processes lost in succession without a finished task."""


class TaskPool:
    """Executor, with rules for dividing the work on shards into tasks.

    Args:
        executor: Any executor of `concurrent.futures`: threads, processes, or Dask's `client.get_executor()`.
        batch: Maximum number of shards per task.
        in_flight: Maximum number of submitted tasks; default: twice the number of workers.
        keys: Whether tasks may contain credentials.
        state: Results of an earlier run; new ones are added.
        renewed: Returns a replacement for an executor whose processes ended; default: none.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        batch: int = BATCH,
        in_flight: int | None = None,
        keys: bool = False,
        state: TaskState | None = None,
        renewed: Callable[[], Executor] | None = None,
    ) -> None:
        if batch < 1 or (in_flight is not None and in_flight < 1):
            raise UsageError("batch and in_flight must be at least 1")
        self._executor, self._renewed = executor, renewed
        self.workers = workers_of(executor)
        self.batch, self.state = batch, state
        self._in_flight = in_flight or 2 * self.workers
        self._keys = keys or isinstance(executor, ProcessPoolExecutor)
        if keys and not isinstance(executor, ProcessPoolExecutor):
            check_encrypted(executor)

    @property
    def here(self) -> bool:
        return isinstance(self._executor, ThreadPoolExecutor)

    def run(self, function: Callable[..., R], *arguments: Any) -> R:
        with closing(self.calls([(function, arguments)])) as results:
            return next(results)

    def check_keys(self, ticket: ShardTicket) -> None:
        if not self._keys:
            check_keys(ticket)

    def calls(self, calls: Iterable[Call[R]]) -> Generator[R]:
        rest, sent, lost = iter(calls), deque[Call[R]](), 0

        def more() -> Iterator[Call[R]]:
            for call in rest:
                sent.append(call)
                yield call

        while True:
            again = chain(tuple(sent), more())
            try:
                with closing(completed(self._executor, again, self._in_flight, AHEAD * self._in_flight)) as done:
                    for future in done:
                        result = _outcome(future)
                        sent.popleft()
                        lost = 0
                        if isinstance(result, ShardError):
                            raise result
                        yield result
                return
            except BrokenExecutor as error:
                lost += 1
                if self._renewed is None or lost >= MOST_LOST:
                    raise _worker_lost(error) from error
                self._executor = self._renewed()

    def _check_sendable(self, *parts: Any) -> None:
        """Raise UsageError for values that cannot be pickled for a process; Dask can send more, and is not checked."""
        if isinstance(self._executor, ProcessPoolExecutor):
            try:
                pickle.dumps(parts)
            except Exception as error:
                text = f"cannot be sent to another process ({short(str(error))}): define the function in a module"
                raise UsageError(text) from error

    def each(
        self,
        shard: Shard,
        work: Work[R],
        given: tuple[Any, ...] = (),
        *,
        own: Sequence[tuple[Any, ...]] = (),
        only: Callable[[Any], R | None] = lambda own: None,
    ) -> Generator[R | ShardError]:
        """Call a function for each shard; yield the results in order, or the error of a shard.

        `own` has additional arguments per shard. `only` gets them, and returns the result, or None if a call is needed.
        """
        self._check_sendable(work, given)
        asked = _ShardCalls(shard, work, given, own, [] if self.here else tickets_of(shard, keys=self._keys))
        known = self.state.found(asked.marks) if self.state is not None else {}
        known |= {number: found for number, one in enumerate(own) if (found := only(one)) is not None}
        place, lost = 0, 0
        while place < asked.count:
            before = place
            try:
                batches = list(self._batches([n for n in range(place, asked.count) if n not in known], asked.sizes))
                calls = asked.calls(batches)
                with closing(completed(self._executor, calls, self._in_flight, AHEAD * self._in_flight)) as done:
                    for batch, future in zip(batches, done, strict=True):
                        outcome = _outcome(future)
                        results = asked.results(batch, outcome)
                        for number, result in zip(batch, results, strict=True):
                            while place < number:
                                yield known[place]
                                place += 1
                            if self.state is not None:
                                self.state.note(asked.marks[number], result)
                            place += 1
                            yield result
                yield from (known[number] for number in range(place, asked.count))
                return
            except BrokenExecutor as error:
                lost = 0 if place > before else lost + 1
                if self._renewed is None or lost >= MOST_LOST:
                    yield from (_worker_lost(error) for _ in range(place, asked.count))
                    return
                self._executor = self._renewed()

    def _batches(self, numbers: list[int], sizes: Sequence[int]) -> Iterator[list[int]]:
        """Yield the shard numbers of each task: few if the shards are large, so that a lost worker costs little."""
        most, batch, total = max(min(self.batch, len(numbers) // (FEW_TASKS * self.workers)), 1), list[int](), 0
        for number in numbers:
            if batch and (len(batch) >= most or total + sizes[number] > BATCH_BYTES):
                yield batch
                batch, total = [], 0
            batch.append(number)
            total += sizes[number]
        if batch:
            yield batch


class _ShardCalls(Generic[R]):
    """Calls of a function for shards, divided into tasks; `tickets` is empty if the tasks run in this process."""

    def __init__(
        self,
        shard: Shard,
        work: Work[R],
        given: tuple[Any, ...],
        own: Sequence[tuple[Any, ...]],
        tickets: Sequence[ShardTicket],
    ) -> None:
        self._shard, self._work, self._given, self._tickets = shard, work, given, tickets
        self._names = [member.name for member in shard.members] if isinstance(shard, DataSet) else [""]
        self._own = own or [()] * len(self._names)
        self.sizes = [member.size for member in shard.members] if isinstance(shard, DataSet) else [0]
        self._limits = TaskLimits(shard.opened_with, shard.tape)
        self.count = len(self._names)

    @cached_property
    def marks(self) -> list[str]:
        return [mark_of(self._work, one, self._arguments(number)) for number, one in enumerate(self._tickets)]

    def calls(self, batches: list[list[int]]) -> Iterator[Call[TaskResult[R]]]:
        left = sum(map(len, batches))
        for batch in batches:
            given = [self._arguments(number) for number in batch]
            if not self._tickets:
                yield run_here, (self._work, self._shard, [self._names[number] for number in batch], given)
                continue
            tickets = self._limits.shared(batch[0], [self._tickets[number] for number in batch], left)
            left -= len(batch)
            yield run_tickets, (self._work, tickets, given)

    def _arguments(self, number: int) -> tuple[Any, ...]:
        return (*self._given, *self._own[number])

    def results(self, batch: list[int], outcome: TaskResult[R] | ShardError) -> list[R | ShardError]:
        if isinstance(outcome, ShardError):
            return [outcome] * len(batch)
        if outcome.log is not None:
            self._limits.spend(batch[0], outcome.log.counts[:2], len(batch))
            if self._shard.tape is not None:
                self._shard.tape.merge(outcome.log)
        return outcome.results


class TaskLimits:
    """Limits of requests and bytes, divided among tasks; a task returns the unused part of its share."""

    def __init__(self, remote: RemoteOptions | None, log: RequestLog | None) -> None:
        self._remote = remote
        self._left: list[int | None] = [None, None]
        if remote is not None:
            spent = (log.requests, log.bytes) if log is not None else (0, 0)
            limits = (remote.limit_requests, remote.limit_fetch)
            self._left = [None if most is None else most - used for most, used in zip(limits, spent, strict=True)]
        self._shares: dict[int, list[int | None]] = {}

    @property
    def limited(self) -> bool:
        return self._left != [None, None]

    def shared(self, first: int, tickets: list[ShardTicket], left: int) -> list[ShardTicket]:
        """Return the tickets of a task with its share of the limits; BudgetSpent if nothing is left.

        `left` is the number of shards that are not submitted yet, including those of this task.
        """
        if self._remote is None or not self.limited:
            return tickets
        if any(some is not None and some < len(tickets) for some in self._left):
            raise BudgetSpent("the limit of requests or bytes is used up", remedy=Remedy.LIMIT_REQUESTS)
        each = [None if some is None else max(some // left, 1) for some in self._left]
        self._left = [
            None if some is None or part is None else some - part * len(tickets)
            for some, part in zip(self._left, each, strict=True)
        ]
        self._shares[first] = each
        mine = replace(self._remote, limit_requests=each[0], limit_fetch=each[1])
        return [replace(ticket, options={**ticket.options, "remote": mine}) for ticket in tickets]

    def spend(self, first: int, used: tuple[int, ...], count: int) -> None:
        """Subtract the requests and bytes that a task used; the unused rest of its share becomes available again."""
        for at, share in enumerate(self._shares.pop(first, ())):
            if (left := self._left[at]) is not None and share is not None:
                self._left[at] = left + max(share * count - used[at], 0)


def _outcome(future: Future[R]) -> R | ShardError:
    try:
        return future.result()
    except ShardError as error:
        return error
    except CancelledError as error:
        return _worker_lost(error)
    except Exception as error:
        # Dask gives up a task after several of its workers ended.
        if type(error).__name__ == "KilledWorker":
            return _worker_lost(error)
        raise


def _worker_lost(error: BaseException) -> RemoteError:
    return RemoteError(f"the worker ended before its task was done ({type(error).__name__})", remedy=Remedy.AGAIN)


def workers_of(executor: Executor) -> int:
    """Return the number of tasks that an executor runs in parallel; `UNKNOWN_WORKERS` if it does not report it."""
    stated = getattr(executor, "_max_workers", None)
    if isinstance(stated, int):
        return stated
    client = getattr(executor, "_client", None)
    threads = sum(client.nthreads().values()) if client is not None else 0
    return threads or UNKNOWN_WORKERS


def check_encrypted(executor: Executor) -> None:
    """Raise UsageError if credentials would be sent over an unencrypted connection."""
    scheduler = getattr(getattr(executor, "_client", None), "scheduler", None)
    if not str(getattr(scheduler, "address", "")).startswith("tls://"):
        raise UsageError("credentials are sent over TLS only: give an address that begins with tls://")


@contextmanager
def local_processes(count: int, *, state: TaskState | None = None) -> Iterator[TaskPool]:
    """Start worker processes on this machine; one that ends early is replaced, and its shards are processed again."""
    context = SafeContext()
    # Shared memory without a lock: a process killed while holding the lock of an event would block all others.
    over = context.RawValue("b", 0)
    pools: list[ProcessPoolExecutor] = []

    def renewed() -> ProcessPoolExecutor:
        pools.append(ProcessPoolExecutor(count, context, begin_worker, (over,)))
        return pools[-1]

    try:
        yield TaskPool(renewed(), state=state, renewed=renewed)
    finally:
        over.value = 1
        for pool in pools:
            pool.shutdown(wait=True, cancel_futures=True)


def begin_worker(over: c_byte) -> None:
    """Prepare a worker process: it ends at its next read after the parent process sets the flag `over`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def check() -> None:
        if over.value:
            raise Cancelled

    _stops.enter_context(stopped_by(check))


_stops = ExitStack()


@contextmanager
def dask_cluster(address: str, *, keys: bool = False, state: TaskState | None = None) -> Iterator[TaskPool]:
    """Connect to a Dask scheduler at `tcp://…`, `tls://…` or `HOST:PORT`; SourceError if it does not respond."""
    distributed = optional("distributed")
    try:
        client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SourceError(f"the scheduler at {short(address)} does not respond") from error
    try:
        yield TaskPool(client.get_executor(), keys=keys, state=state)
    finally:
        client.close()


def usual_processes() -> int:
    return os.cpu_count() or 1


CONNECT = "10s"


def map_shards(
    shard: Shard,
    function: Callable[[Shard], R],
    executor: Executor | None,
    *,
    batch: int = BATCH,
    in_flight: int | None = None,
    keys: bool = False,
) -> Generator[R | ShardError]:
    threads = executor or JobThreads(max(shard.jobs, 1))
    try:
        pool = TaskPool(threads, batch=batch, in_flight=in_flight, keys=keys)
        with closing(pool.each(shard, on_shard, (function,))) as results:
            yield from results
    finally:
        if isinstance(threads, JobThreads):
            threads.stop()
