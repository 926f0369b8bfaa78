"""Progress and cancellation of long operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Called as `progress(done, total)`, often; may raise `Cancelled`."""


_ASK = 0.02
"""Seconds between checks for cancellation."""


def no_progress(done: int, total: int) -> None:
    """Default `progress` callable, which does nothing."""


@contextmanager
def context_value(variable: ContextVar[T], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


_stop_check: ContextVar[Callable[[], None] | None] = ContextVar("stop_check", default=None)


def stopped_by(check: Callable[[], None]) -> AbstractContextManager[None]:
    """Call `check` before each read in this context; it raises `Cancelled` to stop the operation.

    A context variable is used because reads happen deep inside lookups. Threads run in a copy of the context.
    """
    return context_value(_stop_check, check)


def check_stopped() -> None:
    check = _stop_check.get()
    if check is not None:
        check()


def wait_for(seconds: float) -> None:
    """Sleep for some seconds; check for cancellation every 20 ms."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check_stopped()
        time.sleep(min(left, _ASK))
