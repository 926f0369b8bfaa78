"""Connections shared by open shards: one client, with threads and cache, per server and credentials."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from shardcore.sources.block_cache import BlockCache
from shardcore.sources.remote.address import Address
from shardcore.sources.remote.options import RemoteOptions

if TYPE_CHECKING:
    from shardcore.sources.remote.response import Transport


STEADY = 16
"""Successes in a row after which the limit of a host rises by one request."""

_ASK = 0.05
"""Seconds between checks for cancellation."""


class Workers:
    """Runs jobs by priority on up to `most` threads. Threads end when no jobs are left, so they need no stopping."""

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

    An overload response halves the limit, only once for requests sent together; `STEADY` successes in a row add one.
    """

    def __init__(self, most: int) -> None:
        self._most = self._limit = most
        self._changed = threading.Condition()
        self._under_way = self._steady = self._turn = 0

    @property
    def limit(self) -> int:
        return self._limit

    @contextmanager
    def passed(self, check: Callable[[], object]) -> Iterator[Callable[[], None]]:
        """Wait for a free slot, calling `check` meanwhile. Call the yielded function if the host is overloaded."""
        with self._changed:
            while self._under_way >= self._limit:
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
                    self._limit = max(self._limit // 2, 1)
                self._steady = 0

        try:
            yield slow_down
        finally:
            with self._changed:
                self._under_way -= 1
                self._steady += not refused
                if self._steady >= STEADY and self._limit < self._most:
                    self._limit, self._steady = self._limit + 1, 0
                self._changed.notify()


@dataclass(frozen=True, slots=True)
class _Key:
    """Key of a connection, which includes credentials; they are not in its `repr`."""

    scheme: str
    place: str
    options: tuple[object, ...]

    def __repr__(self) -> str:
        return f"_Key({self.scheme!r}, {self.place!r})"


class Connection:
    """A client of one store or server with one set of credentials, and its threads and cache."""

    def __init__(self, transport: Transport, options: RemoteOptions) -> None:
        self.transport = transport
        self.workers = Workers(options.threads)
        self.gate = RequestGate(options.threads)
        self.blocks = BlockCache(options.cache_bytes)

    def close(self) -> None:
        self.transport.close()


class ConnectionPool:
    """Connections in use. Each is created once, under a lock, and closed when no shard uses it any more."""

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
                connection, users = self._connections.get(key) or (_make(address, options), 0)
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
            try:
                unused = self._release_one()
            finally:
                self._lock.release()
            if unused is not None:
                unused.close()

    def _release_one(self) -> Connection | None:
        if not self._released:
            return None
        key = self._released.popleft()
        connection, users = self._connections[key]
        if users > 1:
            self._connections[key] = connection, users - 1
            return None
        del self._connections[key]
        return connection


CONNECTIONS = ConnectionPool()
"""Connections of this process."""


def _key(address: Address, options: RemoteOptions) -> _Key:
    one = options
    timing = (one.threads, one.cache_bytes, one.connect_timeout, one.stall_timeout)
    if not address.in_store:
        scheme, server = address.server
        return _Key("http", server, (scheme, one.profile, *timing))
    who = (one.profile, one.anonymous, one.access_key, one.secret_key, one.session_token, one.requester_pays)
    where = (one.endpoint_url, one.region, address.region, one.addressing)
    return _Key(address.scheme, "", (*who, *where, *timing))


def _make(address: Address, options: RemoteOptions) -> Connection:
    if address.in_store:
        from shardcore.sources.remote.s3 import S3Transport

        return Connection(S3Transport(options, address.scheme, address.region), options)
    from shardcore.sources.remote.headers import headers_for
    from shardcore.sources.remote.http import HttpTransport, proxy_for

    return Connection(HttpTransport(options, proxy_for(address), headers_for(address.server, options.profile)), options)
