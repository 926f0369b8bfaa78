"""Sources for tests: they count reads, fail, or need no storage."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from shardcore.errors import ConnectionFailed, SourceError
from shardcore.sources.base import Entry, Folder, Source, check_name
from shardcore.sources.memory import BytesSource
from shardcore.sources.wrapper_sources import WrapperSource


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
        return _Counted(self.base.open(name), name, self)

    def open_on_demand(self, name: str) -> Source:
        return _Counted(self.base.open_on_demand(name), name, self)

    def folder(self, name: str) -> Folder:
        """Return a sub-folder; reads in it are not recorded."""
        return self.base.folder(name)

    def parent(self) -> Folder | None:
        return self.base.parent()


class _Counted(WrapperSource):
    def __init__(self, base: Source, name: str, folder: CountingFolder) -> None:
        super().__init__(base)
        self.folder = folder
        self._path = name
        self._kept = folder.ranges

    def _read(self, start: int, stop: int) -> bytes:
        self._kept.append((self._path, start, stop))
        return super()._read(start, stop)

    def _read_first(self, count: int) -> bytes:
        self._kept.append((self._path, 0, min(count, self.size)))
        return super()._read_first(count)

    def _read_last(self, count: int) -> bytes:
        self._kept.append((self._path, max(self.size - count, 0), self.size))
        return super()._read_last(count)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._kept += [(self._path, start, stop) for start, stop in ranges]
        return super()._read_many(ranges)


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
    """Source whose first few reads succeed and all others fail, like a broken connection."""

    def __init__(self, data: bytes, after: int = 0) -> None:
        super().__init__(data, "failing")
        self.left = after

    def _read(self, start: int, stop: int) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise SourceError("the connection is gone")
        return super()._read(start, stop)


class LossyConnection:
    """Connection to a server that is lost after `left` requests; None: never lost."""

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


class LossySource(WrapperSource):
    """Source read through a `LossyConnection`, as are the files beside it."""

    def __init__(self, base: Source, line: LossyConnection) -> None:
        super().__init__(base)
        self._line = line
        self.folder = None if base.folder is None else LossyFolder(base.folder, line)

    def _read(self, start: int, stop: int) -> bytes:
        self._line.request()
        return super()._read(start, stop)

    def _read_first(self, count: int) -> bytes:
        self._line.request()
        return super()._read_first(count)

    def _read_last(self, count: int) -> bytes:
        self._line.request()
        return super()._read_last(count)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._line.request()
        return super()._read_many(ranges)


class LossyFolder(Folder):
    """Folder read through a `LossyConnection`."""

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
