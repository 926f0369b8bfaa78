"""Sources made of other sources: joined, counted, kept in part, opened when read."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from shardcore.errors import SourceChanged, SourceError
from shardcore.sources.base import Folder, Source, merged


class SliceSource(Source):
    """A half-open part of another source, with offsets of its own."""

    def __init__(self, base: Source, start: int, stop: int, name: str = "") -> None:
        base._check_range(start, stop)
        self.base = base
        self.start = start
        self._size = stop - start
        self.name = name or f"{base.name}[{start}:{stop}]"
        self.uri = f"{base.uri}#{start}-{stop}"
        self.folder = base.folder

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self._size

    @property
    def identity(self) -> str:
        """Changes with the source it is a part of."""
        return f"{self.base.identity}#{self.start}-{self.start + self._size}"

    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly the bytes `[start, stop)` of the part.

        Raises:
            Truncated: The range ends after the part does.
            SourceError: The bytes cannot be had.
        """
        self._check_range(start, stop)
        return self.base.read(self.start + start, self.start + stop)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Reads several ranges of the part, as the source it is a part of reads several."""
        for start, stop in ranges:
            self._check_range(start, stop)
        return self.base.read_many([(self.start + start, self.start + stop) for start, stop in ranges])

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """As the source it is a part of, in offsets of the part."""
        there = self.base.loaded(self.start + start, self.start + stop)
        return tuple((first - self.start, last - self.start) for first, last in there)

    def check_unchanged(self) -> None:
        """As the source it is a part of."""
        self.base.check_unchanged()


class ConcatSource(Source):
    """Several sources as one, end to end."""

    def __init__(self, parts: Sequence[Source], name: str) -> None:
        self.parts = tuple(parts)
        self.name = name
        self.uri = "+".join(part.uri for part in self.parts)
        self.folder = self.parts[0].folder if self.parts else None
        self._starts = [0, *accumulate(part.size for part in self.parts)]

    @property
    def size(self) -> int:
        """Number of bytes of all parts."""
        return self._starts[-1]

    @property
    def identity(self) -> str:
        """Changes with any of the parts."""
        return "+".join(part.identity for part in self.parts)

    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly the bytes `[start, stop)`, from one part or several.

        Raises:
            Truncated: The range ends after the last part does.
            SourceError: The bytes cannot be had.
        """
        self._check_range(start, stop)
        pieces = []
        number = bisect_right(self._starts, start) - 1
        while start < stop:
            first, last = self._starts[number], self._starts[number + 1]
            upto = min(stop, last)
            if upto > start:
                pieces.append(self.parts[number].read(start - first, upto - first))
            start = max(start, upto)
            number += 1
        return b"".join(pieces)

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """As the parts say."""
        found: list[tuple[int, int]] = []
        for part, begin in zip(self.parts, self._starts, strict=False):
            first, last = max(start, begin), min(stop, begin + part.size)
            if first >= last:
                continue
            for a, b in part.loaded(first - begin, last - begin):
                if found and found[-1][1] == a + begin:
                    found[-1] = (found[-1][0], b + begin)
                else:
                    found.append((a + begin, b + begin))
        return tuple(found)

    def check_unchanged(self) -> None:
        """Asks every part."""
        for part in self.parts:
            part.check_unchanged()

    def close(self) -> None:
        """Closes every part."""
        for part in self.parts:
            part.close()


class AroundSource(Source):
    """A source that passes on what it does not do itself.

    Attributes:
        base: The source underneath.
    """

    def __init__(self, base: Source) -> None:
        self.base = base
        self.name, self.uri, self.folder = base.name, base.uri, base.folder

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.base.size

    @property
    def identity(self) -> str:
        """As the source underneath."""
        return self.base.identity

    def read(self, start: int, stop: int) -> bytes:
        """As the source underneath."""
        return self.base.read(start, stop)

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """As the source underneath."""
        return self.base.loaded(start, stop)

    def check_unchanged(self) -> None:
        """As the source underneath."""
        self.base.check_unchanged()

    def close(self) -> None:
        """Closes the source underneath."""
        self.base.close()


class MeteredSource(AroundSource):
    """Counts what is read through it; the cost of a lookup is told with it.

    Attributes:
        requests: Number of ranges read.
        bytes: Number of bytes in them.
    """

    def __init__(self, base: Source) -> None:
        super().__init__(base)
        self.requests = 0
        self.bytes = 0
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> bytes:
        """Reads and counts; an empty range costs nothing, and neither does one that is refused."""
        data = self.base.read(start, stop)
        self._count(int(stop > start), len(data))
        return data

    def read_last(self, count: int) -> bytes:
        """Reads the last bytes and counts."""
        data = self.base.read_last(count)
        self._count(int(len(data) > 0), len(data))
        return data

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Reads several ranges; neighbours count as one."""
        parts = self.base.read_many(ranges)
        joined = merged(ranges)
        self._count(len(joined), sum(stop - start for start, stop, _ in joined))
        return parts

    def _count(self, requests: int, size: int) -> None:
        with self._lock:
            self.requests += requests
            self.bytes += size


class KeptSource(AroundSource):
    """A source of which one stretch is in memory; reads inside it cost nothing.

    Args:
        base: The source.
        start: Where the stretch begins.
        data: Its bytes.
    """

    def __init__(self, base: Source, start: int, data: bytes) -> None:
        super().__init__(base)
        self._start = start
        self._data = data

    def read(self, start: int, stop: int) -> bytes:
        """Reads from memory where the range is inside the stretch."""
        if self._holds(start, stop):
            return self._data[start - self._start : stop - self._start]
        return self.base.read(start, stop)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Reads from memory where all ranges are inside the stretch."""
        if all(self._holds(start, stop) for start, stop in ranges):
            return [self.read(start, stop) for start, stop in ranges]
        return self.base.read_many(ranges)

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """Everything, when it is inside the stretch; else as the source underneath."""
        return ((start, stop),) if self._holds(start, stop) else self.base.loaded(start, stop)

    def _holds(self, start: int, stop: int) -> bool:
        return self._start <= start <= stop <= self._start + len(self._data)


class OnDemandSource(Source):
    """A file of a folder that is open only while it is read.

    A data set can have more members than a process may have files open.

    Args:
        folder: The folder, a local one: opening has to cost next to nothing.
        name: The relative name of the file.

    Raises:
        SourceError: Nothing is there, or the name leaves the folder.
    """

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._path = name
        self._closed = False
        with folder.open(name) as source:
            self.name, self.uri, self.folder = source.name, source.uri, source.folder
            self._size, self._identity = source.size, source.identity

    @property
    def size(self) -> int:
        """Number of bytes when the file was first opened."""
        return self._size

    @property
    def identity(self) -> str:
        """As the file had it when it was first opened."""
        return self._identity

    def read(self, start: int, stop: int) -> bytes:
        """Opens, reads exactly the bytes `[start, stop)`, and closes.

        Raises:
            Truncated: The range ends after the file did when it was first opened.
            SourceChanged: Another file is there now.
            SourceError: The bytes cannot be had.
        """
        self._check_range(start, stop)
        with self._opened() as source:
            return source.read(start, stop)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Reads several ranges of one opening, in the order given."""
        for start, stop in ranges:
            self._check_range(start, stop)
        with self._opened() as source:
            return source.read_many(ranges)

    def check_unchanged(self) -> None:
        """Compares the file at the path with the one that was first opened."""
        self._opened().close()

    def close(self) -> None:
        """Reading afterwards is an error."""
        self._closed = True

    def _opened(self) -> Source:
        if self._closed:
            raise SourceError(f"{self.name} is closed")
        source = self._folder.open(self._path)
        if source.identity != self._identity:
            source.close()
            raise SourceChanged(f"{self.name} was changed by another program")
        return source
