"""Progress and cancellation of long operations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Called as `progress(done, total)`, often; may raise `Cancelled`."""


_ASK = 0.02
"""Seconds after which somebody who waits is asked whether it is still wanted."""


def no_progress(done: int, total: int) -> None:
    """The `progress` of those who do not want to know."""


_stop_check: ContextVar[Callable[[], None] | None] = ContextVar("stop_check", default=None)


@contextmanager
def stopped_by(check: Callable[[], None]) -> Iterator[None]:
    """Let every read in this context ask whether it is still wanted.

    Reads have no parameter for it: they happen deep inside lookups, trees and streams. The check belongs to the context
    (`contextvars`) of whoever started the work; a source that reads on threads of its own runs them in a copy of it.

    Args:
        check: Called before each read and while a source waits; raises `Cancelled` to stop.
    """
    token = _stop_check.set(check)
    try:
        yield
    finally:
        _stop_check.reset(token)


def check_stopped() -> None:
    """Ask the check of the context, if there is one.

    Raises:
        Cancelled: Nobody wants the result any more.
    """
    check = _stop_check.get()
    if check is not None:
        check()


def wait_for(seconds: float) -> None:
    """Wait, and ask meanwhile whether anybody still wants to.

    Raises:
        Cancelled: Nobody does.
    """
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check_stopped()
        time.sleep(min(left, _ASK))
