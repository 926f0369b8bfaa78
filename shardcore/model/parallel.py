"""Parallel work on many things, with the results in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from shardcore.errors import Cancelled
from shardcore.progress import check_stopped, stopped_by

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

_ASK = 0.05
"""Seconds after which the waiting thread asks whether the result is still wanted."""


def in_order(
    work: Callable[[T], R], things: Iterable[T], jobs: int, *, stop: Callable[[], None] = lambda: None
) -> Generator[R]:
    """Do some work for each thing on several threads; give the results in the order of the things.

    Few results wait at any time, so that memory stays bounded however many things there are. The threads work in
    copies of the caller's context. When the caller stops, or work fails, what is under way is stopped, too.

    Args:
        work: Called with each thing.
        things: The things, taken as they are needed.
        jobs: How many threads; 1 for none but the caller's.
        stop: Called again and again when the caller stops, or work fails: wakes what waits for another machine.

    Raises:
        Cancelled: The caller does not want the results any more.
    """
    if jobs <= 1:
        yield from map(work, things)
        return
    from concurrent.futures import ThreadPoolExecutor, wait

    over = threading.Event()
    context = copy_context()

    def check() -> None:
        if over.is_set():
            raise Cancelled
        context.copy().run(check_stopped)

    def one(thing: T) -> R:
        with stopped_by(check):
            return work(thing)

    pool = ThreadPoolExecutor(jobs, thread_name_prefix="shardcore-job")
    waiting: deque[Future[R]] = deque()
    try:
        for thing in things:
            waiting.append(pool.submit(copy_context().run, one, thing))
            if len(waiting) >= 2 * jobs:
                yield _result(waiting)
        while waiting:
            yield _result(waiting)
    except BaseException:
        over.set()
        pool.shutdown(wait=False, cancel_futures=True)
        stop()
        # Once may be too early: a connection that is just being made is ended the next time.
        while wait([one for one in waiting if not one.cancelled()], _ASK).not_done:
            stop()
        raise
    finally:
        over.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _result(waiting: deque[Future[R]]) -> R:
    """Wait for the first, and take it away when it is done."""
    while True:
        try:
            found = waiting[0].result(_ASK)
        except TimeoutError:
            if waiting[0].done():
                raise
            check_stopped()
        else:
            waiting.popleft()
            return found
