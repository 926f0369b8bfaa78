"""Session of one opened shard: connection, request log, limits, and retries."""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from itertools import count
from typing import TypeVar

from shardcore.errors import BudgetSpent, LargeRead, Remedy, RemoteError, SourceError
from shardcore.model.number_words import plural
from shardcore.sources.read_purpose import most
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.connection_pool import LINES, Connection
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from shardcore.sources.remote.response import Broken

T = TypeVar("T")

FIRST_PAUSE = 0.2
"""Seconds before the first new attempt; each further pause is twice as long."""

LONGEST_PAUSE = 5.0

LOST_FOR = 3.0
"""Seconds in which nothing is requested of a lost source; what is read later (you try again) is requested again."""


class RemoteSession:
    """Everything that the files of one opened thing share. Thread-safe.

    Attributes:
        options: How things are reached, and how much may be fetched.
        tape: What was requested.

    Args:
        options: See above.
        tape: See above; None for a new one.
    """

    def __init__(self, options: RemoteOptions, tape: RequestLog | None = None) -> None:
        self.options = options
        self.tape = tape if tape is not None else RequestLog()
        self._lock = threading.Lock()
        self._closed = False
        self._lost: RemoteError | None = None
        self._lost_until = 0.0
        self._trouble: float | None = None
        self._asked = self._asked_bytes = 0
        self._lines: dict[tuple[str, str, str], Connection] = {}
        self._ends: list[weakref.finalize[..., RemoteSession]] = []

    def line(self, address: Address) -> Connection:
        """Return the line to an address, taken once and given back at the end.

        Raises:
            SourceError: The thing is closed, or there are no credentials for the place.
        """
        key = (address.scheme, "" if address.in_store else address.place, address.region)
        with self._lock:
            if self._closed:
                raise SourceError(f"{address.shown} is closed")
            found = self._lines.get(key)
            if found is None:
                found, lent = LINES.take(address, self.options)
                self._lines[key] = found
                # Whoever forgets to close a folder does not keep connections open.
                self._ends.append(weakref.finalize(self, LINES.give_back, lent))
            return found

    @property
    def closed(self) -> bool:
        """Return whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Give everything back."""
        with self._lock:
            self._closed = True
            ends, self._ends = self._ends, []
            self._lines.clear()
        for end in ends:
            end()

    # --- how much may be fetched ---------------------------------------------------------------------------

    def room(self, wanted: int) -> int:
        """Return how many of the bytes that would be useful may still be fetched; at least one."""
        limit = self.options.limit_fetch
        return wanted if limit is None else max(min(wanted, limit - self._asked_bytes), 1)

    def spend(self, size: int) -> None:
        """Take one request of so many bytes from what is allowed.

        Raises:
            BudgetSpent: It is not allowed.
        """
        most = self.options.limit_requests
        with self._lock:
            if most is not None and self._asked >= most:
                text = f"no more than {plural(most, 'request')} may be made"
                raise BudgetSpent(text, remedy=Remedy.LIMIT_REQUESTS)
            self._reserve(size)
            self._asked += 1

    def reserve(self, size: int) -> None:
        """Take so many bytes more from what is allowed.

        Raises:
            BudgetSpent: It is not allowed.
        """
        with self._lock:
            self._reserve(size)

    def settle(self, size: int, requests: int = 0) -> None:
        """Charge what came beyond what was taken, where it is negative give the rest back; and further requests."""
        with self._lock:
            self._asked += requests
            self._asked_bytes += size

    def _reserve(self, size: int) -> None:
        limit = self.options.limit_fetch
        if limit is not None and self._asked_bytes + size > limit:
            more = self._asked_bytes + size - limit
            text = f"no more than {plural(limit, 'byte')} may be fetched; {more:,} more would be needed"
            raise BudgetSpent(text, remedy=Remedy.LIMIT_FETCH)
        self._asked_bytes += size

    # --- trouble -------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Let nothing be requested while the thing is lost, or where the context requests nothing.

        Raises:
            RemoteError: It failed for good a moment ago.
            LargeRead: Reads of the context may fetch 0 bytes.
        """
        if most() == 0:
            raise LargeRead("this would have to be requested from another machine")
        with self._lock:
            if self._lost is not None and time.monotonic() > self._lost_until:
                self._lost = self._trouble = None
            lost = self._lost
        if lost is not None:
            raise lost.again()

    def lose(self, error: RemoteError) -> None:
        """Give the thing up: all its reads fail at once, for a while."""
        with self._lock:
            self._lost = self._lost or error
            self._lost_until = time.monotonic() + LOST_FOR

    def fine(self) -> None:
        """An answer came whole."""
        if self._trouble is not None:
            with self._lock:
                self._trouble = None

    def tried(self, attempt: Callable[[int], T], pause: Callable[[float], object], *, alone: bool = False) -> T:
        """Do something that may fail for a while, again and again, until it works or there is no use.

        An attempt that broke off with progress made (`Broken.advanced`) starts the count and the patience again.

        Args:
            attempt: Does it; is reported how often it was tried before. Raises `Broken` where another attempt may help.
            pause: Waits so many seconds; may raise to stop.
            alone: Whether its failure says nothing of the other reads.

        Raises:
            RemoteError: It failed for good, or the thing is lost.
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
                    self.fine()
                seconds = next(pauses, None)
                if seconds is None:
                    if not alone:
                        self.lose(broken.error)
                    raise broken.error from broken
                pause(self.patient(broken, seconds, alone=alone))
            else:
                self.fine()
                return found
        raise AssertionError("there is an end to pauses")

    def pauses(self) -> Iterator[float]:
        """Yield the pauses before each further attempt at a range."""
        pause = FIRST_PAUSE
        for _ in range(self.options.retries):
            yield pause * random.uniform(0.5, 1.5)
            pause = min(pause * 2, LONGEST_PAUSE)

    def patient(self, broken: Broken, pause: float, *, alone: bool = False) -> float:
        """Return how long to wait after a failure; see `tried`.

        Raises:
            RemoteError: Too much time went into trouble; the thing is lost.
        """
        pause = max(pause, broken.after)
        now = time.monotonic()
        with self._lock:
            self._trouble = self._trouble if self._trouble is not None else now
            spent = now - self._trouble
        if spent + pause > self.options.patience:
            if not alone:
                self.lose(broken.error)
            raise broken.error from broken
        return pause
