"""A range request: the readers that wait for it, and its cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from shardcore.progress import check_stopped
from shardcore.sources.base import ReadPriority, ReadPurpose
from shardcore.sources.remote.cancellation import Connection, shut_down

if TYPE_CHECKING:
    from shardcore.sources.remote.response import Reply

_ASK = 0.05
"""Seconds between checks for cancellation."""


class RequestCancelled(Exception):
    """A request was cancelled because no reader waits for it."""


class RangeRequest:
    """A range `[start, stop)` that is queued or being fetched. Thread-safe.

    Attributes:
        began: Whether a thread fetches it.
        kept: Whether it continues without waiting readers (prefetch); its bytes can be read while they arrive.
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
        self._changed = threading.Condition(self._lock)
        self._done = False
        self._came: bytes | bytearray = b""
        self._off = threading.Event()
        self.kept, self._users = kept, int(kept)
        self._end: Callable[[], None] | None = None

    def join(self) -> bool:
        """Add a waiting reader; False if the request was already cancelled."""
        with self._lock:
            self._users += not self._off.is_set()
            return not self._off.is_set()

    def leave(self) -> None:
        """Remove a waiting reader; if none is left, cancel the request and its transfer."""
        with self._lock:
            self._users -= 1
            unwanted = self._users <= 0 and not self._done
        if unwanted:
            self.cancel()

    def cancel(self) -> None:
        """Cancel the request and its transfer."""
        with self._lock:
            self._off.set()
            # Under the lock, or the connection might already be used by another request.
            if self._end is not None:
                self._end()

    @property
    def cancelled(self) -> bool:
        return self._off.is_set()

    def check(self) -> None:
        if self._off.is_set():
            raise RequestCancelled

    def pause(self, seconds: float) -> None:
        self._off.wait(seconds)
        self.check()

    def set_connection(self, connection: Connection) -> None:
        """Set the connection to shut down on cancellation; raises `RequestCancelled` if that happened already."""
        with self._lock:
            self._end = partial(shut_down, connection)
        self.check()

    def set_reply(self, reply: Reply) -> None:
        """Set the reply to abort on cancellation; raises `RequestCancelled` if that happened already."""
        with self._lock:
            self._end = reply.abort
        self.check()

    def clear_transfer(self) -> None:
        with self._lock:
            self._end = None

    def begin(self) -> bool:
        """Return whether the caller must fetch the range: no other thread does, and it is not cancelled."""
        with self._lock:
            mine = not self.began and not self._off.is_set()
            self.began = self.began or mine
            return mine

    def finish(self, data: bytes = b"", error: BaseException | None = None) -> None:
        """Store the result and wake the readers."""
        with self._lock:
            self.data, self.error, self._done = data, error, True
            self._came = b""
            self._changed.notify_all()

    def publish(self, data: bytearray) -> None:
        """Let readers use the bytes received so far; `data` grows."""
        with self._lock:
            self._came = data
            self._changed.notify_all()

    def wait(self, stop: int) -> None:
        """Wait until the request ends or, if `kept`, until the bytes before `stop` have arrived; raises `Cancelled`."""
        while not self._wait_a_little(stop):
            check_stopped()
            if self._off.is_set():
                self.error = self.error or RequestCancelled()
                return

    def _wait_a_little(self, stop: int) -> bool:
        with self._lock:
            return self._changed.wait_for(lambda: self._done or stop <= self.start + len(self._came), _ASK)

    def part(self, start: int, stop: int) -> tuple[int, bytes]:
        """Return received bytes that include `[start, stop)`, and their offset; call `wait` first."""
        with self._lock:
            if self._done:
                return self.start, self.data
            return start, bytes(self._came[start - self.start : stop - self.start])
