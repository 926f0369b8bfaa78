"""Parallel work on many things, with the results in their order."""

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
"""Seconds after which the waiting thread asks whether the result is still wanted."""

Call = tuple[Callable[..., R], tuple[Any, ...]]
"""A function and its arguments."""


class JobThreads(ThreadPoolExecutor):
    """Threads that work in copies of the caller's context; `stop` ends what is under way, too.

    Args:
        jobs: Number of threads.
    """

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs, thread_name_prefix="shardcore-job")
        self._over = threading.Event()
        self._context = copy_context()
        self._begun: WeakSet[Future[Any]] = WeakSet()

    def submit(self, function: Callable[..., R], /, *arguments: Any, **named: Any) -> Future[R]:
        """Start a call; see `Executor.submit`."""
        future = super().submit(copy_context().run, self._stoppable, partial(function, *arguments, **named))
        self._begun.add(future)
        return future

    def stop(self, wake: Callable[[], None] = lambda: None) -> None:
        """Cancel what has not begun, and let the rest end at its next read.

        Args:
            wake: Called again and again until all has ended: wakes what waits for another machine.
        """
        self._over.set()
        self.shutdown(wait=False, cancel_futures=True)
        wake()
        # Once may be too early: a connection that is just being made is ended the next time.
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
    """Do some work for each thing on several threads; give the results in the order of the things.

    Few results wait at any time, so that memory stays bounded however many things there are. The threads work in
    copies of the caller's context. When the caller stops, or work fails, what is under way is stopped, too.

    Args:
        work: Called with each thing.
        things: The things, taken as they are needed.
        jobs: Number of threads; 1 for none but the caller's.
        stop: Called again and again when the caller stops, or work fails: wakes what waits for another machine.

    Raises:
        Cancelled: The caller does not want the results any more.
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
    """Start calls on an executor and yield their futures in order, each when it is done.

    Args:
        executor: Any executor of `concurrent.futures`.
        calls: The calls, taken as they are started.
        in_flight: Calls that are under way at most.
        ahead: Calls that are under way or done and not yet taken, at most: one slow call holds up the order of the
            others, not their work.

    Raises:
        Cancelled: The caller does not want the results any more.
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
