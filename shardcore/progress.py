"""Progress and cancellation of long operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Called as `progress(done, total)`, often; may raise `Cancelled`."""


_ASK = 0.02
"""Seconds between checks for cancellation."""


def no_progress(done: int, total: int) -> None:
    """Default `progress` callable, which does nothing."""


_stop_check: ContextVar[Callable[[], None] | None] = ContextVar("stop_check", default=None)


@contextmanager
def stopped_by(check: Callable[[], None]) -> Iterator[None]:
    """Call `check` before each read in this context; it raises `Cancelled` to stop the operation.

    A context variable is used because reads happen deep inside lookups. Threads run in a copy of the context.
    """
    token = _stop_check.set(check)
    try:
        yield
    finally:
        _stop_check.reset(token)


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
