"""Calls on several threads, with results in the order of the calls, and cancellation."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from shardcore.errors import Cancelled
from shardcore.progress import check_stopped, stopped_by

T = TypeVar("T")
R = TypeVar("R")

_ASK = 0.05
"""Seconds between checks for cancellation."""

Call = tuple[Callable[..., R], tuple[Any, ...]]


class JobThreads(ThreadPoolExecutor):
    """Thread pool whose calls see the context variables of the caller; `stop` ends running calls at their next read."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, thread_name_prefix="shardcore-job")
        self._over = threading.Event()
        self._context = copy_context()
        self._begun: WeakSet[Future[Any]] = WeakSet()

    def submit(self, function: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:
        future = super().submit(copy_context().run, self._stoppable, partial(function, *arguments, **named))
        self._begun.add(future)
        return future

    def stop(self, wake: Callable[[], None] = lambda: None) -> None:
        """Cancel waiting calls, let the others end at their next read, and call `wake` until they have ended."""
        self._over.set()
        self.shutdown(wait=False, cancel_futures=True)
        wake()
        # Repeated: a connection may be opened after the first call.
        while wait([one for one in self._begun if not one.cancelled()], _ASK).not_done:
            wake()
        self.shutdown(wait=True)

    def _check(self) -> None:
        if self._over.is_set():
            raise Cancelled
        self._context.copy().run(check_stopped)

    def _stoppable(self, call: Callable[[], R]) -> R:
        with stopped_by(self._check):
            return call()


def in_order(
    work: Callable[[T], R], things: Iterable[T], jobs: int, *, stop: Callable[[], None] = lambda: None
) -> Generator[R]:
    """Call `work` for each thing on `jobs` threads; yield the results in order. Runs at most `2 * jobs` calls ahead.

    If a call fails or the caller stops iterating, `stop` is called until all calls have ended, to end network waits.
    """
    if jobs <= 1:
        yield from map(work, things)
        return
    pool = JobThreads(jobs)
    calls = ((work, (thing,)) for thing in things)
    try:
        with closing(completed(pool, calls, 2 * jobs, 2 * jobs)) as done:
            for future in done:
                yield future.result()
    except BaseException:
        pool.stop(stop)
        raise
    finally:
        pool.stop()


def completed(executor: Executor, calls: Iterable[Call[R]], in_flight: int, ahead: int) -> Generator[Future[R]]:
    """Start calls and yield their futures in order, each when it is done.

    At most `in_flight` calls run. At most `ahead` are started and not yet yielded, so that calls after a slow one run.
    """
    left: Iterator[Call[R]] | None = iter(calls)
    waiting: deque[Future[R]] = deque()
    running: set[Future[R]] = set()
    try:
        while waiting or left is not None:
            while left is not None and len(running) < in_flight and len(waiting) < ahead:
                if (call := next(left, None)) is None:
                    left = None
                    break
                waiting.append(executor.submit(call[0], *call[1]))
                running.add(waiting[-1])
            if waiting and waiting[0].done():
                yield waiting.popleft()
            elif waiting:
                wait(running, _ASK, FIRST_COMPLETED)
                check_stopped()
            running = {future for future in running if not future.done()}
    finally:
        for future in waiting:
            future.cancel()
