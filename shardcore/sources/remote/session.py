"""Session of one open shard: connections, request log, limits and retries."""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import count
from typing import TypeVar

from shardcore.errors import BudgetSpent, LargeRead, Remedy, RemoteError, SourceError
from shardcore.model.number_text import plural
from shardcore.sources.base import most
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.connection_pool import CONNECTIONS, Connection
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from shardcore.sources.remote.response import Broken

T = TypeVar("T")

FIRST_PAUSE = 0.2
"""Seconds before the first retry; doubled for each further one."""

LONGEST_PAUSE = 5.0

LOST_FOR = 3.0
"""Seconds during which no request is sent to a lost source."""


class RemoteSession:
    """State shared by all files of one open shard. Thread-safe."""

    def __init__(self, options: RemoteOptions, tape: RequestLog | None = None) -> None:
        self.options = options
        self.tape = tape if tape is not None else RequestLog()
        self._lock = threading.Lock()
        self._closed = False
        self._lost: RemoteError | None = None
        self._lost_until = 0.0
        self._trouble: float | None = None
        self._asked = self._asked_bytes = 0
        self._connections: dict[tuple[str, str, str], Connection] = {}
        self._ends: list[weakref.finalize[..., RemoteSession]] = []

    def connection(self, address: Address) -> Connection:
        """Return the connection for an address; it is taken from the pool on first use, and returned by `close`."""
        key = (address.scheme, "" if address.in_store else address.place, address.region)
        with self._lock:
            if self._closed:
                raise SourceError(f"{address.shown} is closed")
            found = self._connections.get(key)
            if found is None:
                found, pool_key = CONNECTIONS.acquire(address, self.options)
                self._connections[key] = found
                # Also for folders that are never closed.
                self._ends.append(weakref.finalize(self, CONNECTIONS.release, pool_key))
            return found

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        with self._lock:
            self._closed = True
            ends, self._ends = self._ends, []
            self._connections.clear()
        for end in ends:
            end()

    # --- limits --------------------------------------------------------------------------------------------

    def room(self, wanted: int) -> int:
        """Return how many of the `wanted` bytes may still be fetched within `limit_fetch`; at least 1."""
        limit = self.options.limit_fetch
        return wanted if limit is None else max(min(wanted, limit - self._asked_bytes), 1)

    def spend(self, size: int) -> None:
        """Count one request of `size` bytes; raise `BudgetSpent` if a limit does not allow it."""
        most = self.options.limit_requests
        with self._lock:
            if most is not None and self._asked >= most:
                text = f"the limit of {plural(most, 'request')} is used up"
                raise BudgetSpent(text, remedy=Remedy.LIMIT_REQUESTS)
            self._reserve(size)
            self._asked += 1

    def reserve(self, size: int) -> None:
        with self._lock:
            self._reserve(size)

    def settle(self, size: int, requests: int = 0) -> None:
        """Correct the counters after a request: by received minus reserved bytes, and by additional requests."""
        with self._lock:
            self._asked += requests
            self._asked_bytes += size

    def _reserve(self, size: int) -> None:
        limit = self.options.limit_fetch
        if limit is not None and self._asked_bytes + size > limit:
            more = self._asked_bytes + size - limit
            text = f"the limit is {plural(limit, 'byte')} fetched; {more:,} more are needed"
            raise BudgetSpent(text, remedy=Remedy.LIMIT_FETCH)
        self._asked_bytes += size

    # --- failures and retries ------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise the error of a lost source, or `LargeRead` if the context allows no requests."""
        if most() == 0:
            raise LargeRead("this needs a request to another machine")
        with self._lock:
            if self._lost is not None and time.monotonic() > self._lost_until:
                self._lost = self._trouble = None
            lost = self._lost
        if lost is not None:
            raise lost.again()

    def mark_lost(self, error: RemoteError) -> None:
        """Mark the source as lost: all reads fail immediately for `LOST_FOR` seconds."""
        with self._lock:
            self._lost = self._lost or error
            self._lost_until = time.monotonic() + LOST_FOR

    def mark_healthy(self) -> None:
        """Restart the time limit for repeated failures, after a complete response."""
        if self._trouble is not None:
            with self._lock:
                self._trouble = None

    def with_retries(self, attempt: Callable[[int], T], pause: Callable[[float], object], *, alone: bool = False) -> T:
        """Call `attempt` with the number of the attempt until it succeeds; retries only after `Broken`.

        An attempt with progress (`Broken.advanced`) resets the count. With `alone`, failures do not affect other reads.
        """
        pauses = self.pauses()
        for number in count():
            if not alone:
                self.check()
            try:
                found = attempt(number)
            except Broken as broken:
                if broken.advanced:
                    pauses = self.pauses()
                    self.mark_healthy()
                seconds = next(pauses, None)
                if seconds is None:
                    if not alone:
                        self.mark_lost(broken.error)
                    raise broken.error from broken
                pause(self.checked_pause(broken, seconds, alone=alone))
            else:
                self.mark_healthy()
                return found
        raise AssertionError("there is an end to pauses")

    def pauses(self) -> Iterator[float]:
        pause = FIRST_PAUSE
        for _ in range(self.options.retries):
            yield pause * random.uniform(0.5, 1.5)
            pause = min(pause * 2, LONGEST_PAUSE)

    def checked_pause(self, broken: Broken, pause: float, *, alone: bool = False) -> float:
        """Return the seconds to wait after a failure; raise its error if `patience` is exceeded."""
        pause = max(pause, broken.after)
        now = time.monotonic()
        with self._lock:
            self._trouble = self._trouble if self._trouble is not None else now
            spent = now - self._trouble
        if spent + pause > self.options.patience:
            if not alone:
                self.mark_lost(broken.error)
            raise broken.error from broken
        return pause
