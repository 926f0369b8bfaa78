"""Sources that count, fail, or need no storage."""

from __future__ import annotations

import numpy as np

from shardcore.errors import SourceError
from shardcore.sources.base import Folder, Source
from shardcore.sources.memory import BytesSource


class CountingSource(BytesSource):
    """Counts and keeps the ranges that are read."""

    def __init__(self, data: bytes, name: str = "counted", *, folder: Folder | None = None) -> None:
        super().__init__(data, name, folder=folder)
        self.ranges: list[tuple[int, int]] = []

    def _read(self, start: int, stop: int) -> bytes:
        # An empty range is free.
        if stop > start:
            self.ranges.append((start, stop))
        return super()._read(start, stop)


class FailingSource(BytesSource):
    """Fails every read after the first few, as a broken connection does."""

    def __init__(self, data: bytes, after: int = 0) -> None:
        super().__init__(data, "failing")
        self.left = after

    def _read(self, start: int, stop: int) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise SourceError("the connection is gone")
        return super()._read(start, stop)


class PatternSource(Source):
    """A source of any size without storage: each byte follows from its offset."""

    name = "pattern"
    uri = "pattern"

    def __init__(self, size: int) -> None:
        self._size = size

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self._size

    def _read(self, start: int, stop: int) -> bytes:
        # The sum of the eight bytes of each offset.
        offsets = (np.arange(stop - start, dtype=np.uint64) + np.uint64(start)).astype("<u8")
        return bytes(offsets.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.uint8))
