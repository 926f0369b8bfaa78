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
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check_stopped()
        time.sleep(min(left, _ASK))
