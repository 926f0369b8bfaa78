"""Files in memory that are read as if they were far away: each fetched range is counted, and kept."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import itemgetter

from shardcore.errors import NoSuchObject
from shardcore.sources.base import FAR_GAP, Entry, Folder, Source, check_name, merged
from shardcore.sources.memory import BytesSource

GUESS = 1 << 16
"""Bytes of its beginning that come with the first answer of a file, as for remote files."""


class Meter:
    """Counts what is fetched.

    Attributes:
        requests: Ranges.
        bytes: Bytes in them.
        trips: Round trips: what is asked for at once comes at once.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self.trips = 0
        self._lock = threading.Lock()

    def count(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Counts ranges that are fetched at once."""
        with self._lock:
            self.requests += len(ranges)
            self.bytes += sum(stop - start for start, stop in ranges)
            self.trips += bool(ranges)

    def ask(self) -> None:
        """Counts a question without bytes: what lies in a folder, whether a file is there."""
        with self._lock:
            self.requests += 1
            self.trips += 1


class ColdSource(BytesSource):
    """A file of which nothing is known yet. What was fetched once costs nothing more, as for remote files.

    Args:
        data: Its bytes.
        name: Its name.
        folder: Where it lies.
        meter: Counts.
        gap: Ranges that lie at most so many bytes apart are fetched as one.
    """

    near = False

    def __init__(self, data: bytes, name: str, folder: ColdFolder, meter: Meter, gap: int) -> None:
        super().__init__(data, name, folder=folder)
        self._meter = meter
        self.merge_gap = gap
        self._kept: list[tuple[int, int]] = []

    def _read(self, start: int, stop: int) -> bytes:
        self._fetch([(start, stop)])
        return super()._read(start, stop)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._fetch(ranges)
        return [self.data[start:stop] for start, stop in ranges]

    def _fetch(self, ranges: Sequence[tuple[int, int]]) -> None:
        missing = [part for start, stop in ranges for part in self._missing(start, stop)]
        asked = [(start, stop) for start, stop, _ in merged(missing, self.merge_gap)]
        self._meter.count(asked)
        for start, stop in asked:
            self._keep(start, stop)

    def _missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The parts of a range that were not fetched."""
        found = []
        for first, last in self._kept[self._before(start) :]:
            if first >= stop:
                break
            if first > start:
                found.append((start, first))
            start = max(start, last)
        return [*found, (start, stop)] if start < stop else found

    def _keep(self, start: int, stop: int) -> None:
        """Notes a range, as one with those that it touches."""
        first = last = self._before(start)
        while last < len(self._kept) and self._kept[last][0] <= stop:
            start, stop = min(start, self._kept[last][0]), max(stop, self._kept[last][1])
            last += 1
        self._kept[first:last] = [(start, stop)]

    def _before(self, start: int) -> int:
        """The first kept range that ends at a place or after it."""
        return bisect_left(self._kept, start, key=itemgetter(1))


class ColdFolder(Folder):
    """Files in memory, as a folder of a store.

    Args:
        files: Their bytes, by names with `/`.
        meter: Counts what is fetched of all of them.
        inside: The part of the names that is this folder: empty, or ending with `/`.
        gap: As in `ColdSource`.
    """

    lists_cheaply = False

    def __init__(self, files: Mapping[str, bytes], meter: Meter, inside: str = "", *, gap: int = FAR_GAP) -> None:
        self.name = inside.rstrip("/").rpartition("/")[2] or "memory"
        self.uri = f"memory/{inside}"
        self.meter = meter
        self._files = files
        self._inside = inside
        self._gap = gap
        self._opened: dict[str, ColdSource] = {}

    def list(self, prefix: str = "") -> list[Entry]:
        """What lies in it; one request."""
        self.meter.ask()
        lead = self._inside + (f"{prefix.rstrip('/')}/" if prefix else "")
        names = [name[len(self._inside) :] for name in self._files if name.startswith(lead)]
        depth = len(lead) - len(self._inside)
        files = [Entry(n, len(self._files[self._inside + n]), False) for n in names if "/" not in n[depth:]]
        folders = {n[: n.index("/", depth)] for n in names if "/" in n[depth:]}
        return sorted([*files, *(Entry(n, -1, True) for n in folders)], key=lambda entry: entry.name)

    def open(self, name: str) -> Source:
        """Opens a file; to learn that there is none is a request, too.

        Raises:
            NoSuchObject: There is none.
        """
        path = self._inside + check_name(name)
        if path not in self._files:
            self.meter.ask()
            raise NoSuchObject(f"there is no {name}")
        if path not in self._opened:
            source = ColdSource(self._files[path], path.rpartition("/")[2], self, self.meter, self._gap)
            source.read_first(GUESS)
            self._opened[path] = source
        return self._opened[path]

    def folder(self, name: str) -> Folder:
        """A folder in it."""
        return ColdFolder(self._files, self.meter, f"{self._inside}{check_name(name)}/", gap=self._gap)

    def parent(self) -> Folder | None:
        """None: nothing is around it."""
        return None
