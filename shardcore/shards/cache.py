"""Values that are computed on first use, and an LRU cache. Locks are released during a computation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from shardcore.progress import check_stopped

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_WAIT = 0.05
"""Seconds after which a waiting caller checks again whether its operation was cancelled."""


class Once(Generic[T]):
    """Value that is computed on first use; concurrent callers wait for it.

    An exception is raised only to the caller that computed; the next caller computes again.

    Attributes:
        value: The value, or None if it is not computed yet.
    """

    # Slots save memory: a dozen instances per shard, and thousands of open shards in a data set.
    __slots__ = ("_busy", "_lock", "_made", "_maker", "value")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: threading.Event | None = None
        self._maker = 0
        self._made: tuple[T, ...] = ()
        self.value: T | None = None

    def get(self, make: Callable[[], T]) -> T:
        """Return the value, computed by `make` if necessary; Cancelled if the caller's operation was stopped."""
        while not self._made:
            with self._lock:
                if self._made:
                    break
                busy, mine = self._busy, self._busy is None
                if busy is None:
                    busy = self._busy = threading.Event()
                    self._maker = threading.get_ident()
                elif self._maker == threading.get_ident():
                    raise RuntimeError("a cached value depends on itself")
            if mine:
                self._make(make, busy)
            else:
                while not busy.wait(_WAIT):
                    check_stopped()
        return self._made[0]

    def put(self, value: T) -> None:
        with self._lock:
            if not self._made:
                self._made, self.value = (value,), value

    def _make(self, make: Callable[[], T], busy: threading.Event) -> None:
        try:
            self.put(make())
        finally:
            with self._lock:
                self._busy = None
            busy.set()


class OnceEach(Generic[K, T]):
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._each: dict[K, Once[T]] = {}

    def get(self, key: K, make: Callable[[], T]) -> T:
        with self._lock:
            once = self._each.setdefault(key, Once())
        return once.get(make)

    def value(self, key: K) -> T | None:
        once = self._each.get(key)
        return once.value if once is not None else None

    def values(self) -> list[T]:
        with self._lock:
            each = list(self._each.values())
        return [value for once in each if (value := once.value) is not None]

    def forget(self, key: K) -> T | None:
        """Remove a key, and return its value; None if it has none, or if the value is still being computed."""
        with self._lock:
            once = self._each.get(key)
            if once is None or once.value is None:
                return None
            del self._each[key]
        return once.value

    def clear(self) -> list[T]:
        kept = self.values()
        with self._lock:
            self._each.clear()
        return kept


class LruCache(Generic[K, T]):
    """Cache that drops the least recently used values above `limit` (bytes or entries); the newest always stays."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[T, int]] = OrderedDict()
        self._size = 0

    def get(self, key: K) -> T | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: K, value: T, size: int = 1) -> T:
        with self._lock:
            return self._put(key, value, size)

    def setdefault(self, key: K, value: T, size: int = 1) -> T:
        with self._lock:
            if key not in self._kept:
                return self._put(key, value, size)
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def drop(self, key: K, value: T) -> None:
        with self._lock:
            if key in self._kept and self._kept[key][0] is value:
                self._size -= self._kept.pop(key)[1]

    def clear(self) -> list[T]:
        with self._lock:
            kept = [value for value, _ in self._kept.values()]
            self._kept.clear()
            self._size = 0
        return kept

    def _put(self, key: K, value: T, size: int) -> T:
        self._size += size - self._kept.pop(key, (None, 0))[1]
        self._kept[key] = (value, size)
        while self._size > self._limit and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1][1]
        return value
