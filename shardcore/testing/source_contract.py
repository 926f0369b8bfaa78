"""Contract tests for sources."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

import shardcore
from shardcore.errors import Cancelled, UsageError
from shardcore.progress import stopped_by
from shardcore.sources.base import Source


class SourceContract:
    """Contract tests for sources; derive from it, and implement `opened`."""

    data: ClassVar[bytes] = bytes(range(256)) * 40

    def opened(self, tmp_path: Path) -> Source:
        """Return a source with the bytes of `data`."""
        raise NotImplementedError

    def test_size_is_the_number_of_bytes(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            assert source.size == len(self.data)

    def test_read_gives_exactly_the_range(self, tmp_path: Path) -> None:
        """Reading returns exactly the requested range, even an empty one."""
        with self.opened(tmp_path) as source:
            for start, stop in [(0, 0), (0, 1), (5, 300), (0, len(self.data)), (len(self.data), len(self.data))]:
                assert source.read(start, stop) == self.data[start:stop]

    def test_read_past_the_end_is_truncated(self, tmp_path: Path) -> None:
        """A range that ends beyond the source raises an error with a location instead of returning fewer bytes."""
        with self.opened(tmp_path) as source, pytest.raises(shardcore.Truncated) as caught:
            source.read(len(self.data) - 3, len(self.data) + 1)
        assert caught.value.span is not None

    def test_backward_ranges_are_refused(self, tmp_path: Path) -> None:
        """A range that ends before it starts is a usage error."""
        with self.opened(tmp_path) as source, pytest.raises(UsageError):
            source.read(5, 4)

    def test_read_last(self, tmp_path: Path) -> None:
        """`read_last` returns the end, or everything if the source is shorter."""
        with self.opened(tmp_path) as source:
            assert source.read_last(10) == self.data[-10:]
            assert source.read_last(len(self.data) * 2) == self.data

    def test_read_first(self, tmp_path: Path) -> None:
        """`read_first` returns the beginning, or everything if the source is shorter."""
        with self.opened(tmp_path) as source:
            assert source.read_first(10) == self.data[:10]
            assert source.read_first(0) == b""
            assert source.read_first(len(self.data) * 2) == self.data

    def test_reads_check_for_cancellation(self, tmp_path: Path) -> None:
        """Every kind of read first calls the cancellation check of its context."""

        def stop() -> None:
            raise Cancelled

        with self.opened(tmp_path) as source, stopped_by(stop):
            for read in (
                lambda: source.read(0, 1),
                lambda: source.read_first(1),
                lambda: source.read_last(1),
                lambda: source.read_many([(0, 1)]),
            ):
                with pytest.raises(Cancelled):
                    read()

    def test_read_many_keeps_the_order(self, tmp_path: Path) -> None:
        """Ranges are returned in the requested order, even if they touch, overlap or are empty."""
        ranges = [(9000, 9100), (3, 3), (0, 10), (5, 20), (20, 30), (10000, 10240)]
        with self.opened(tmp_path) as source:
            assert source.read_many(ranges) == [self.data[a:b] for a, b in ranges]

    def test_threads_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        """Concurrent reads return the right bytes."""
        ranges = [(n * 7 % 9000, n * 7 % 9000 + n) for n in range(400)]
        with self.opened(tmp_path) as source, ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda r: source.read(*r), ranges)) == [self.data[a:b] for a, b in ranges]

    def test_an_unchanged_source_is_unchanged(self, tmp_path: Path) -> None:
        """`check_unchanged` raises nothing, and `identity` is stable."""
        with self.opened(tmp_path) as source:
            before = source.identity
            source.check_unchanged()
            assert source.identity == before
