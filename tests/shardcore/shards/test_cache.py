"""What is made once, and what is kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shardcore.errors import Cancelled
from shardcore.progress import stopped_by
from shardcore.shards.cache import LruCache, Once


def test_made_once_however_many_ask() -> None:
    once: Once[object] = Once()
    started = threading.Barrier(8)
    made: list[int] = []

    def make() -> object:
        made.append(1)
        return object()

    def ask(_: int) -> object:
        started.wait(10)
        return once.get(make)

    assert once.value is None
    with ThreadPoolExecutor(8) as pool:
        found = set(map(id, pool.map(ask, range(8))))
    assert (len(found), len(made)) == (1, 1)
    assert id(once.value) in found


def test_a_failure_is_not_kept() -> None:
    once: Once[int] = Once()
    with pytest.raises(ZeroDivisionError):
        once.get(lambda: 1 // 0)
    assert once.get(lambda: 5) == 5
    once.put(6)
    assert once.value == 5


def test_who_waits_can_be_stopped() -> None:
    """The work goes on for others that wait for it."""
    once: Once[int] = Once()
    begun, go = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        go.wait(10)
        return 1

    def stop() -> None:
        raise Cancelled

    with ThreadPoolExecutor(1) as pool:
        maker = pool.submit(once.get, slow)
        assert begun.wait(10)
        with pytest.raises(Cancelled), stopped_by(stop):
            once.get(lambda: 2)
        go.set()
        assert maker.result(10) == 1
    assert once.value == 1


def test_a_value_that_needs_itself_is_a_mistake() -> None:
    once: Once[int] = Once()
    with pytest.raises(RuntimeError, match="depends on itself"):
        once.get(lambda: once.get(lambda: 1))


def test_what_was_used_last_is_kept() -> None:
    cache: LruCache[str, str] = LruCache(10)
    for key in "abc":
        assert cache.put(key, key.upper(), 4) == key.upper()
        assert cache.get("a") == "A"
    assert [cache.get(key) for key in "abc"] == ["A", None, "C"]
    cache.put("a", "again", 9)
    assert [cache.get(key) for key in "ac"] == ["again", None]
    cache.put("huge", "x", 1000)
    assert (cache.get("huge"), cache.get("a")) == ("x", None)
    assert cache.clear() == ["x"]
    assert cache.get("huge") is None


def test_what_is_kept_first_stays() -> None:
    """Of two threads that compute one key, both get the first value."""
    cache: LruCache[str, list[int]] = LruCache(2)
    first, second = [1], [2]
    assert cache.setdefault("a", first) is cache.setdefault("a", second) is first
    cache.drop("a", second)
    assert cache.get("a") is first
    cache.drop("a", first)
    assert cache.get("a") is None
    for key in "abc":
        cache.setdefault(key, [ord(key)])
    assert [cache.get(key) for key in "abc"] == [None, [98], [99]]
