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
        with self._lock:
            self._users += not self._off.is_set()
            return not self._off.is_set()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            unwanted = self._users <= 0 and not self._done
        if unwanted:
            self.call_off()

    def call_off(self) -> None:
        with self._lock:
            self._off.set()
            # Under the lock, or the connection might serve somebody else when it is ended.
            if self._end is not None:
                self._end()

    @property
    def off(self) -> bool:
        return self._off.is_set()

    def check(self) -> None:
        if self._off.is_set():
            raise CalledOff

    def pause(self, seconds: float) -> None:
        self._off.wait(seconds)
        self.check()

    def waits_on(self, connection: Connection) -> None:
        with self._lock:
            self._end = partial(hang_up, connection)
        self.check()

    def carries(self, reply: Reply) -> None:
        with self._lock:
            self._end = reply.abort
        self.check()

    def carries_nothing(self) -> None:
        with self._lock:
            self._end = None

    def begin(self) -> bool:
        with self._lock:
            mine = not self.began and not self._off.is_set()
            self.began = self.began or mine
            return mine

    def land(self, data: bytes = b"", error: BaseException | None = None) -> None:
        with self._lock:
            self.data, self.error, self._done = data, error, True
            self._came = b""
            self._changed.notify_all()

    def comes(self, data: bytearray) -> None:
        with self._lock:
            self._came = data
            self._changed.notify_all()

    def wait(self, stop: int) -> None:
        while not self._wait_a_little(stop):
            check_stopped()
            if self._off.is_set():
                self.error = self.error or CalledOff()
                return

    def _wait_a_little(self, stop: int) -> bool:
        with self._lock:
            return self._changed.wait_for(lambda: self._done or stop <= self.start + len(self._came), _ASK)

    def part(self, start: int, stop: int) -> tuple[int, bytes]:
        with self._lock:
            if self._done:
                return self.start, self.data
            return start, bytes(self._came[start - self.start : stop - self.start])
