"""Session of one open shard: limits and retries. Connections shared by sessions: client, threads and cache."""

from __future__ import annotations

import heapq
import random
import threading
import time
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from shardcore.dataclasses import replace
from shardcore.errors import BudgetSpent, LargeRead, Remedy, RemoteError, SourceError
from shardcore.model.text import plural
from shardcore.sources.base import Piece, missing, most
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.http import HttpTransport, headers_for, proxy_for
from shardcore.sources.remote.options import RemoteOptions
from shardcore.sources.remote.request_log import RequestLog
from shardcore.sources.remote.response import Broken, Transport

T = TypeVar("T")

FIRST_PAUSE = 0.2
"""Seconds before the first retry; doubled for each further retry, up to `LONGEST_PAUSE`."""

LONGEST_PAUSE = 5.0

LOST_FOR = 3.0
"""Seconds without requests after all attempts have failed."""

STEADY = 16
"""Number of successful requests in a row after which one more parallel request to the host is allowed."""

_ASK = 0.05
"""Seconds between checks for cancellation."""


# --- connections -----------------------------------------------------------------------------------------


class Workers:
    """Runs jobs by priority on up to `most` threads. Threads end when no job is left, so there is no method `stop`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._busy = 0

    def submit(self, priority: int, job: Callable[[], None]) -> None:
        """Queue a job, which must not raise; jobs of equal priority run in order."""
        with self._lock:
            heapq.heappush(self._waiting, (priority, next(self._order), job))
            more = self._busy < self._most
            self._busy += more
        if more:
            threading.Thread(target=self._work, name="shardcore-range", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                _, _, job = heapq.heappop(self._waiting)
            job()


class RequestGate:
    """Limit on parallel requests to one host. Thread-safe.

    Overload halves the limit, only once for requests that run together. `STEADY` successes in a row raise it by one.
    """

    def __init__(self, most: int) -> None:
        self._most = self.limit = most
        self._changed = threading.Condition()
        self._under_way = self._steady = self._turn = 0

    @contextmanager
    def passed(self, check: Callable[[], object]) -> Iterator[Callable[[], None]]:
        """Wait until a request may be sent, calling `check` meanwhile. Yields a function to call on overload."""
        with self._changed:
            while self._under_way >= self.limit:
                self._changed.wait(_ASK)
                check()
            self._under_way += 1
            turn = self._turn
        refused = False

        def slow_down() -> None:
            nonlocal refused
            refused = True
            with self._changed:
                if turn == self._turn:
                    self._turn += 1
                    self.limit = max(self.limit // 2, 1)
                self._steady = 0

        try:
            yield slow_down
        finally:
            with self._changed:
                self._under_way -= 1
                self._steady += not refused
                if self._steady >= STEADY and self.limit < self._most:
                    self.limit, self._steady = self.limit + 1, 0
                self._changed.notify()


class BlockCache:
    """Cache of fetched ranges, by identity of their file. The least recently used are dropped first. Thread-safe.

    A block is a fetched range: blocks of a fixed length would cause more or larger requests. Blocks of one file do not
    overlap.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.RLock()
        self._starts: dict[str, list[int]] = {}
        self._blocks: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._held: set[str] = set()
        self.size = 0

    def pieces(self, identity: str, start: int, stop: int) -> list[Piece]:
        """Return the cached blocks that overlap `[start, stop)`, in order."""
        with self._lock:
            starts = self._starts.get(identity, [])
            found: list[Piece] = []
            for first in starts[max(bisect_right(starts, start) - 1, 0) : bisect_left(starts, stop)]:
                block = self._blocks[identity, first]
                if first + len(block) > start:
                    self._blocks.move_to_end((identity, first))
                    found.append((first, block))
            return found

    def put(self, identity: str, start: int, data: bytes, *, hold: bool = False) -> None:
        """Add bytes of a file, except those already cached. With `hold`, the file is not dropped before `release`."""
        with self._lock:
            if hold:
                self._held.add(identity)
            for first, last in missing(self.pieces(identity, start, start + len(data)), start, start + len(data)):
                part = data if last - first == len(data) else data[first - start : last - start]
                insort(self._starts.setdefault(identity, []), first)
                self._blocks[identity, first] = part
                self.size += len(part)
            self._trim()

    def release(self, identity: str) -> None:
        with self._lock:
            self._held.discard(identity)
            self._trim()

    def _trim(self) -> None:
        held = 0
        while self.size > self.limit and held < len(self._blocks):
            name, first = next(iter(self._blocks))
            if name in self._held:
                self._blocks.move_to_end((name, first))
                held += 1
                continue
            self.size -= len(self._blocks.pop((name, first)))
            starts = self._starts[name]
            del starts[bisect_left(starts, first)]
            if not starts:
                del self._starts[name]


_Key = tuple[str, str, str, RemoteOptions]
"""Scheme, server, region, and the options that a connection depends on. Its `repr` contains no credentials."""


class Connection:
    """A client of one store or server with one set of credentials, and its threads and cache."""

    def __init__(self, address: Address, options: RemoteOptions) -> None:
        self.transport: Transport
        if address.in_store:
            from shardcore.sources.remote.s3 import S3Transport

            self.transport = S3Transport(options, address.scheme, address.region)
        else:
            own = headers_for(address.server, options.profile)
            self.transport = HttpTransport(options, proxy_for(address), own)
        self.workers = Workers(options.threads)
        self.gate = RequestGate(options.threads)
        self.blocks = BlockCache(options.cache_bytes)

    def close(self) -> None:
        self.transport.close()


class ConnectionPool:
    """Connections in use. Each is created once, and closed when no open shard uses it any more. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[_Key, tuple[Connection, int]] = {}
        self._released: deque[_Key] = deque()

    def acquire(self, address: Address, options: RemoteOptions) -> tuple[Connection, _Key]:
        """Return the connection for an address, and a key for `release`; may raise `CredentialsRefused`."""
        key = _key(address, options)
        # Creating a client is slow and not thread-safe: others wait.
        try:
            with self._lock:
                connection, users = self._connections.get(key) or (Connection(address, options), 0)
                self._connections[key] = connection, users + 1
            return connection, key
        finally:
            self._process_released()

    def release(self, key: _Key) -> None:
        """Return a connection to the pool. Never blocks, since the garbage collector may call it during `acquire`."""
        self._released.append(key)
        self._process_released()

    def _process_released(self) -> None:
        """Close connections that are no longer used; if another thread holds the lock, that thread does it."""
        while self._released and self._lock.acquire(blocking=False):
            unused = None
            try:
                if self._released:
                    key = self._released.popleft()
                    connection, users = self._connections.pop(key)
                    if users > 1:
                        self._connections[key] = connection, users - 1
                    else:
                        unused = connection
            finally:
                self._lock.release()
            if unused is not None:
                unused.close()


CONNECTIONS = ConnectionPool()


def _key(address: Address, options: RemoteOptions) -> _Key:
    if address.in_store:
        # Trust, limits and retries belong to the session.
        none = replace(options, trusted=frozenset(), limit_requests=None, limit_fetch=None)
        shared = replace(none, retries=0, patience=0.0, give_up_slow=False)
        return address.scheme, "", address.region, shared
    shared = RemoteOptions(
        profile=options.profile,
        cache_bytes=options.cache_bytes,
        threads=options.threads,
        connect_timeout=options.connect_timeout,
        stall_timeout=options.stall_timeout,
    )
    return *address.server, "", shared


# --- session ---------------------------------------------------------------------------------------------


class RemoteSession:
    """Connections, limits and failures of one open shard, shared by all its files. Thread-safe."""

    def __init__(self, options: RemoteOptions, tape: RequestLog | None = None) -> None:
        self.options = options
        self.tape = tape if tape is not None else RequestLog()
        self._lock = threading.RLock()
        self.closed = False
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
            if self.closed:
                raise SourceError(f"{address.shown} is closed")
            found = self._connections.get(key)
            if found is None:
                found, pool_key = CONNECTIONS.acquire(address, self.options)
                self._connections[key] = found
                # A finalizer, since some folders are never closed.
                self._ends.append(weakref.finalize(self, CONNECTIONS.release, pool_key))
            return found

    def close(self) -> None:
        with self._lock:
            self.closed = True
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
            self.reserve(size)
            self._asked += 1

    def reserve(self, size: int) -> None:
        limit = self.options.limit_fetch
        with self._lock:
            if limit is not None and self._asked_bytes + size > limit:
                more = self._asked_bytes + size - limit
                text = f"at most {plural(limit, 'byte')} may be fetched; {more:,} more are needed"
                raise BudgetSpent(text, remedy=Remedy.LIMIT_FETCH)
            self._asked_bytes += size

    def settle(self, size: int, requests: int = 0) -> None:
        """Correct the counters after a request: `size`: received minus reserved bytes; `requests`: redirects."""
        with self._lock:
            self._asked += requests
            self._asked_bytes += size

    # --- failures and retries ------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise the error given to `mark_lost`, or `LargeRead` if this context allows no requests (`at_most`)."""
        if most() == 0:
            raise LargeRead("this needs a request to another machine")
        with self._lock:
            if self._lost is not None and time.monotonic() > self._lost_until:
                self._lost = self._trouble = None
            lost = self._lost
        if lost is not None:
            raise lost.again()

    def mark_lost(self, error: RemoteError) -> None:
        """Let all reads fail with this error for `LOST_FOR` seconds, without a request."""
        with self._lock:
            self._lost = self._lost or error
            self._lost_until = time.monotonic() + LOST_FOR

    def mark_healthy(self) -> None:
        """End a series of failures, after a complete response: `patience` counts from the next failure."""
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
        raise AssertionError("unreachable: the number of pauses is limited")

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
