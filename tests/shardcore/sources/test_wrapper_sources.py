"""Sources around sources."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from shardcore.errors import UsageError
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.prefetched_source import PrefetchedSource
from shardcore.sources.wrapper_sources import ConcatSource, KeptSource, MeteredSource
from shardcore.testing import CountingSource, SourceContract


class TestConcat(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        cuts = [0, 0, 7, 9000, 9000, len(self.data)]
        parts = [BytesSource(self.data[a:b]) for a, b in pairwise(cuts)]
        return ConcatSource(parts, "joined")


class TestMetered(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        return MeteredSource(BytesSource(self.data))


class TestPrefetched(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        source = PrefetchedSource(BytesSource(self.data), 512)
        source.head(10)
        source.read_last(10)
        return source


class TestPrefetchedWhole(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        source = PrefetchedSource(BytesSource(self.data))
        source.head(1)
        return source


class TestKept(SourceContract):
    def opened(self, tmp_path: Path) -> Source:
        return KeptSource(BytesSource(self.data), 5, self.data[5:300])


def test_wrapped_sources_change_when_the_bytes_do() -> None:
    one, two = BytesSource(b"abcd"), BytesSource(b"abXd")
    assert ConcatSource([one, two], "j").identity != ConcatSource([two, two], "j").identity
    for wrap in (MeteredSource, PrefetchedSource, lambda base: KeptSource(base, 0, b"a")):
        assert wrap(one).identity == one.identity


class HalfLoaded(BytesSource):
    """A source of which the even hundreds are loaded."""

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        parts = ((max(start, at), min(stop, at + 100)) for at in range(0, self.size, 200))
        return tuple((a, b) for a, b in parts if a < b)


def test_what_is_loaded_is_told_in_own_offsets() -> None:
    base = HalfLoaded(bytes(1000))
    joined = ConcatSource([base, BytesSource(bytes(50))], "j")
    assert joined.loaded(750, 1050) == ((800, 900), (1000, 1050))
    assert PrefetchedSource(base).loaded(100, 300) == ((200, 300),)
    assert KeptSource(base, 100, bytes(50)).loaded(100, 150) == ((100, 150),)
    assert KeptSource(base, 100, bytes(50)).loaded(100, 220) == ((200, 220),)


def test_costs_are_counted() -> None:
    source = MeteredSource(BytesSource(bytes(100_000)))
    source.read(5, 5)
    with pytest.raises(UsageError):
        source.read(5, 4)
    assert (source.requests, source.bytes) == (0, 0)
    source.read(0, 10)
    source.read_last(6)
    assert (source.requests, source.bytes) == (2, 16)
    source.read_many([(0, 10), (10, 20), (90_000, 90_001), (7, 7)])
    assert (source.requests, source.bytes) == (4, 37)


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 500])
def test_the_ends_are_read_once(size: int) -> None:
    """Either end costs one read; a small file one in all."""
    data = bytes(n % 251 for n in range(size))
    base = CountingSource(data)
    source = PrefetchedSource(base, 10)
    for _ in range(2):
        assert source.head(4) == data[:4]
        assert source.head(10) == data[:10]
        assert source.read(0, min(3, size)) == data[:3]
    for _ in range(2):
        assert source.read_last(4) == data[-4:]
        assert source.read_last(10) == data[-10:]
        assert source.read(max(size - 2, 0), size) == data[-2:]
    assert len(base.ranges) == (0 if size == 0 else 1 if size <= 10 else 2)
