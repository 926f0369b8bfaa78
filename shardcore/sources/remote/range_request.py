"""One range on its way: who waits for it, and how it is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from shardcore.progress import check_stopped
from shardcore.sources.read_purpose import ReadPriority, ReadPurpose
from shardcore.sources.remote.cancel import Connection, hang_up

if TYPE_CHECKING:
    from shardcore.sources.remote.response import Reply

_ASK = 0.05
"""Seconds after which those who wait ask whether they still want it."""


class CalledOff(Exception):
    """Nobody waits for a range any more."""


class RangeRequest:
    """A range that is being fetched, or waits for a thread.

    Attributes:
        start: First byte.
        stop: One past the last.
        priority: How soon it is needed.
        purpose: What it is for.
        data: The bytes, once they are there.
        error: Why there are none.
        began: Whether a thread works on it.
    """

    def __init__(
        self, start: int, stop: int, priority: ReadPriority, purpose: ReadPurpose, *, kept: bool = False
    ) -> None:
        self.start, self.stop = start, stop
        self.priority, self.purpose = priority, purpose
        self.data = b""
        self.error: BaseException | None = None
        self.began = False
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._off = threading.Event()
        self._users = int(kept)
        self._end: Callable[[], None] | None = None

    def join(self) -> bool:
        """Return one more waits for it; False when it was cancelled already."""
        with self._lock:
            self._users += not self._off.is_set()
            return not self._off.is_set()

    def leave(self) -> None:
        """One less waits for it; when nobody does, it is cancelled, and a transfer under way is ended."""
        with self._lock:
            self._users -= 1
            unwanted = self._users <= 0 and not self._done.is_set()
        if unwanted:
            self.call_off()

    def call_off(self) -> None:
        """End it, the waiting thread."""
        with self._lock:
            self._off.set()
            # Under the lock, or the connection might serve somebody else when it is ended.
            if self._end is not None:
                self._end()

    @property
    def off(self) -> bool:
        """Return whether it was cancelled."""
        return self._off.is_set()

    def check(self) -> None:
        """Ask whether it is still wanted.

        Raises:
            CalledOff: It is not.
        """
        if self._off.is_set():
            raise CalledOff

    def pause(self, seconds: float) -> None:
        """Wait before another attempt; no longer than it is needed."""
        self._off.wait(seconds)
        self.check()

    def waits_on(self, connection: Connection) -> None:
        """Say on which connection an answer is waited for, so that the waiting can be ended.

        Raises:
            CalledOff: The request was cancelled.
        """
        with self._lock:
            self._end = partial(hang_up, connection)
        self.check()

    def carries(self, reply: Reply) -> None:
        """Report which answer is being read, so that it can be ended.

        Raises:
            CalledOff: The request was cancelled.
        """
        with self._lock:
            self._end = reply.abort
        self.check()

    def carries_nothing(self) -> None:
        """Nothing is waited for or read any more."""
        with self._lock:
            self._end = None

    def begin(self) -> bool:
        """Return whether the caller is the one to fetch it: it was not begun before, and is still wanted."""
        with self._lock:
            mine = not self.began and not self._off.is_set()
            self.began = self.began or mine
            return mine

    def land(self, data: bytes = b"", error: BaseException | None = None) -> None:
        """It has come to its end."""
        self.data, self.error = data, error
        self._done.set()

    def wait(self) -> None:
        """Wait for the end.

        Raises:
            Cancelled: The caller does not want it any more.
        """
        while not self._done.wait(_ASK):
            check_stopped()
            if self._off.is_set():
                self.error = self.error or CalledOff()
                return
