"""Contract tests for sources, and sources for tests that count reads, fail, or need no storage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import shardcore
from shardcore.errors import Cancelled, ConnectionFailed, SourceError, UsageError
from shardcore.progress import stopped_by
from shardcore.sources.base import Entry, Folder, Source, check_name
from shardcore.sources.memory import BytesSource
from shardcore.sources.wrapper_sources import WrapperSource


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
        with self.opened(tmp_path) as source:
            for start, stop in [(0, 0), (0, 1), (5, 300), (0, len(self.data)), (len(self.data), len(self.data))]:
                assert source.read(start, stop) == self.data[start:stop]

    def test_read_past_the_end_is_truncated(self, tmp_path: Path) -> None:
        """A range that ends beyond the source raises an error with a location instead of returning fewer bytes."""
        with self.opened(tmp_path) as source, pytest.raises(shardcore.Truncated) as caught:
            source.read(len(self.data) - 3, len(self.data) + 1)
        assert caught.value.span is not None

    def test_backward_ranges_are_refused(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source, pytest.raises(UsageError):
            source.read(5, 4)

    def test_read_last(self, tmp_path: Path) -> None:
        """`read_last` returns the end, or everything if the source is shorter."""
        with self.opened(tmp_path) as source:
            assert source.read_last(10) == self.data[-10:]
            assert source.read_last(len(self.data) * 2) == self.data

    def test_read_first(self, tmp_path: Path) -> None:
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
        ranges = [(n * 7 % 9000, n * 7 % 9000 + n) for n in range(400)]
        with self.opened(tmp_path) as source, ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda r: source.read(*r), ranges)) == [self.data[a:b] for a, b in ranges]

    def test_an_unchanged_source_is_unchanged(self, tmp_path: Path) -> None:
        """`check_unchanged` raises nothing, and `identity` is stable."""
        with self.opened(tmp_path) as source:
            before = source.identity
            source.check_unchanged()
            assert source.identity == before


class CountingSource(BytesSource):
    """Source in memory that records the ranges that are read."""

    def __init__(self, data: bytes, name: str = "counted", *, folder: Folder | None = None) -> None:
        super().__init__(data, name, folder=folder)
        self.ranges: list[tuple[int, int]] = []

    def _read(self, start: int, stop: int) -> bytes:
        # Empty ranges do not count.
        if stop > start:
            self.ranges.append((start, stop))
        return super()._read(start, stop)


class _Watched(WrapperSource):
    def __init__(
        self, base: Source, folder: Folder | None, before: Callable[[Sequence[tuple[int, int]]], object]
    ) -> None:
        super().__init__(base)
        self.folder, self._before = folder, before

    def _read(self, start: int, stop: int) -> bytes:
        self._before([(start, stop)])
        return super()._read(start, stop)

    def _read_first(self, count: int) -> bytes:
        self._before([(0, min(count, self.size))])
        return super()._read_first(count)

    def _read_last(self, count: int) -> bytes:
        self._before([(max(self.size - count, 0), self.size)])
        return super()._read_last(count)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._before(ranges)
        return super()._read_many(ranges)


class CountingFolder(Folder):
    """Folder that records the ranges `(name, start, stop)` read from its files, and counts listings."""

    def __init__(self, base: Folder) -> None:
        self.base = base
        self.name, self.uri = base.name, base.uri
        self.ranges: list[tuple[str, int, int]] = []
        self.listed = 0

    def list(self, prefix: str = "") -> list[Entry]:
        self.listed += 1
        return self.base.list(prefix)

    def open(self, name: str) -> Source:
        return self._counted(name, self.base.open(name))

    def open_on_demand(self, name: str) -> Source:
        return self._counted(name, self.base.open_on_demand(name))

    def folder(self, name: str) -> Folder:
        """Return a sub-folder; reads in it are not recorded."""
        return self.base.folder(name)

    def parent(self) -> Folder | None:
        return self.base.parent()

    def _counted(self, name: str, source: Source) -> Source:
        return _Watched(source, self, lambda ranges: self.ranges.extend((name, *one) for one in ranges))


class MemoryFolder(Folder):
    """Folder of files in memory, without sub-folders."""

    def __init__(self, files: Mapping[str, bytes], name: str = "memory") -> None:
        self.name = self.uri = name
        self._files = dict(files)

    def list(self, prefix: str = "") -> list[Entry]:
        return [] if prefix else [Entry(name, len(data), False) for name, data in sorted(self._files.items())]

    def open(self, name: str) -> Source:
        if check_name(name) not in self._files:
            raise SourceError(f"there is no {name}")
        return BytesSource(self._files[name], name, folder=self)

    def folder(self, name: str) -> Folder:
        return MemoryFolder({}, check_name(name))

    def parent(self) -> Folder | None:
        return None


class FailingSource(BytesSource):
    """Source whose first `after` reads succeed, while all later ones fail, like those over a broken connection."""

    def __init__(self, data: bytes, after: int = 0) -> None:
        super().__init__(data, "failing")
        self.left = after

    def _read(self, start: int, stop: int) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise SourceError("the connection is gone")
        return super()._read(start, stop)


class LossyConnection:
    """Simulated connection to a server that is lost after `left` requests; None: it is never lost."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left
        self.requests = 0
        self._lock = threading.Lock()

    def request(self) -> None:
        """Count a request; raise ConnectionFailed if the connection is lost."""
        with self._lock:
            if self.left is not None and self.requests >= self.left:
                raise ConnectionFailed("connection refused by 192.0.2.1:9")
            self.requests += 1


class LossySource(_Watched):
    """Source that sends a request over a `LossyConnection` before each read, also in the files beside it."""

    def __init__(self, base: Source, line: LossyConnection) -> None:
        folder = None if base.folder is None else LossyFolder(base.folder, line)
        super().__init__(base, folder, lambda _: line.request())


class LossyFolder(Folder):
    def __init__(self, base: Folder, line: LossyConnection) -> None:
        self.base, self.line = base, line
        self.name, self.uri = base.name, base.uri

    def list(self, prefix: str = "") -> list[Entry]:
        self.line.request()
        return self.base.list(prefix)

    def open(self, name: str) -> Source:
        self.line.request()
        return LossySource(self.base.open(name), self.line)

    def open_on_demand(self, name: str) -> Source:
        self.line.request()
        return LossySource(self.base.open_on_demand(name), self.line)

    def folder(self, name: str) -> Folder:
        return LossyFolder(self.base.folder(name), self.line)

    def parent(self) -> Folder | None:
        parent = self.base.parent()
        return None if parent is None else LossyFolder(parent, self.line)


class PatternSource(Source):
    """Source of any size without storage; each byte is computed from its offset."""

    name = "pattern"
    uri = "pattern"

    def __init__(self, size: int) -> None:
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def _read(self, start: int, stop: int) -> bytes:
        # Each byte is the sum of the eight bytes of its offset.
        offsets = (np.arange(stop - start, dtype=np.uint64) + np.uint64(start)).astype("<u8")
        return bytes(offsets.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.uint8))
