"""Files in memory of which is noted what was read: each byte counts once, however often somebody reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shardcore.sources.base import Folder, Source
from shardcore.sources.memory import BytesFolder, BytesSource

Ranges = dict[str, list[tuple[int, int]]]


class NotedFolder(BytesFolder):
    """Files in memory.

    Args:
        files: Their bytes, by names with `/`.
        inside: As in `BytesFolder`.
        ranges: Where reads are noted, by the names of the files.
    """

    def __init__(self, files: Mapping[str, bytes], inside: str = "", ranges: Ranges | None = None) -> None:
        super().__init__(files, inside)
        self._ranges: Ranges = {} if ranges is None else ranges

    def open(self, name: str) -> Source:
        """Opens a file.

        Raises:
            SourceError: There is none of that name.
        """
        source = super().open(name)
        path = self._inside + name
        return _Noted(self._files[path], source.name, self, self._ranges.setdefault(path, []))

    def folder(self, name: str) -> Folder:
        """A folder in it."""
        inner = super().folder(name)
        return NotedFolder(self._files, inner.uri.removeprefix("memory/"), self._ranges)

    @property
    def read_bytes(self) -> int:
        """Bytes that were read, of all files."""
        return sum(map(_covered, self._ranges.values()))


class _Noted(BytesSource):
    """One of the files."""

    def __init__(self, data: bytes, name: str, folder: Folder, ranges: list[tuple[int, int]]) -> None:
        super().__init__(data, name, folder=folder)
        self._ranges = ranges

    def _read(self, start: int, stop: int) -> bytes:
        self._ranges.append((start, stop))
        return super()._read(start, stop)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        self._ranges += ranges
        return [self.data[start:stop] for start, stop in ranges]


def _covered(ranges: list[tuple[int, int]]) -> int:
    """Bytes in ranges that may overlap."""
    found = at = 0
    for start, stop in sorted(ranges):
        found += max(stop - max(start, at), 0)
        at = max(at, stop)
    return found
