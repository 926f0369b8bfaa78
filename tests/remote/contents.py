"""What the test servers serve: bytes, files, and contents of many gigabytes that exist nowhere."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping
from pathlib import Path


class Content(ABC):
    """Bytes that a server can give in ranges.

    Attributes:
        size: How many.
        etag: Its strong entity tag, in quotes.
    """

    size: int
    etag: str

    @abstractmethod
    def read(self, start: int, stop: int) -> bytes:
        """The bytes `[start, stop)`, a range of the content."""


class Held(Content):
    """Bytes in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.etag = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'

    def read(self, start: int, stop: int) -> bytes:
        """A slice."""
        return self.data[start:stop]


class Stored(Content):
    """A file, opened anew for each read: it may be replaced, and no descriptor stays open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        status = path.stat()
        self.size = status.st_size
        self.etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'

    def read(self, start: int, stop: int) -> bytes:
        """A range of the file."""
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)


class Made(Content):
    """A content of any size whose bytes a function makes when they are asked for."""

    def __init__(self, size: int, make: Callable[[int, int], bytes]) -> None:
        self.size = size
        self.etag = f'"made-{size:x}"'
        self._make = make

    def read(self, start: int, stop: int) -> bytes:
        """What the function makes of the range."""
        return self._make(start, stop)


class Sparse(Content):
    """Zeros, with some pieces laid over them: a file of many gigabytes in a few megabytes of memory.

    Args:
        size: Bytes of the whole.
        pieces: Bytes by offset; they do not overlap.
    """

    def __init__(self, size: int, pieces: Mapping[int, bytes]) -> None:
        self.size = size
        self.etag = f'"sparse-{size:x}"'
        self._starts = sorted(pieces)
        self._pieces = [pieces[start] for start in self._starts]

    def read(self, start: int, stop: int) -> bytes:
        """The pieces that reach into the range, and zeros between them."""
        found = bytearray(stop - start)
        for number in range(max(bisect_right(self._starts, start) - 1, 0), len(self._starts)):
            first, piece = self._starts[number], self._pieces[number]
            if first >= stop:
                break
            low, high = max(first, start), min(first + len(piece), stop)
            if low < high:
                found[low - start : high - start] = piece[low - first : high - first]
        return bytes(found)
