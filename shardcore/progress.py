"""Progress and cancellation of long operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Function that an operation calls repeatedly as `progress(done, total)`; it may raise `Cancelled`."""


_ASK = 0.02
"""Seconds between checks for cancellation."""


def no_progress(done: int, total: int) -> None:
    """Default `progress` callable, which does nothing."""


class context_value(AbstractContextManager[None], Generic[T]):  # noqa: N801 - used like a function
    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *error: object) -> None:
        self._variable.reset(self._token)


_stop_check: ContextVar[Callable[[], None] | None] = ContextVar("stop_check", default=None)


def stopped_by(check: Callable[[], None]) -> AbstractContextManager[None]:
    """Call `check` before each read in this context; `check` raises `Cancelled` to stop the operation.

    A context variable is used because reads happen deep inside lookups. Threads run in a copy of the context.
    """
    return context_value(_stop_check, check)


stop_check: Callable[[], Callable[[], None] | None] = _stop_check.get


def check_stopped() -> None:
    check = stop_check()
    if check is not None:
        check()


def wait_for(seconds: float) -> None:
    """Sleep for some seconds; check for cancellation every 20 ms."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check_stopped()
        time.sleep(min(left, _ASK))
