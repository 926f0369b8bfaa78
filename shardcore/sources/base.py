"""What a source of bytes is, and the folder it lies in.

A `Source` answers positional, thread-safe reads with exactly the bytes asked for, or an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from shardcore.errors import SourceError, Truncated, UsageError
from shardcore.span import Span

MERGE_GAP = 4096
"""Ranges that lie at most this many bytes apart are read as one."""

MERGE_LIMIT = 16 * 1024 * 1024
"""Merging stops at reads of this many bytes."""


class Source(ABC):
    """Random access to the bytes of one thing: a file, an object in a store, a buffer.

    Attributes:
        name: What a person calls it: the file name.
        uri: Where it is: a path or an address.
        folder: The folder it lies in, or None.
    """

    name: str
    uri: str
    folder: Folder | None = None

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of bytes; may be learned with the first read."""

    @property
    def identity(self) -> str:
        """Changes when the content does; caches are keyed by it."""
        return f"{self.uri}#{self.size}"

    @abstractmethod
    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly the bytes `[start, stop)`.

        Raises:
            Truncated: The range ends after the source does.
            SourceError: The bytes cannot be had.
        """

    def read_last(self, count: int) -> bytes:
        """Reads the last `count` bytes, or all when there are fewer."""
        return self.read(max(self.size - count, 0), self.size)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Reads several half-open ranges, in the order given; neighbours are read as one.

        Raises:
            Truncated: A range ends after the source does.
            UsageError: A range ends before it starts.
            SourceError: The bytes cannot be had.
        """
        for start, stop in ranges:
            self._check_range(start, stop)
        parts: list[bytes] = [b""] * len(ranges)
        for start, stop, members in merged(ranges):
            block = self.read(start, stop)
            for number in members:
                first, last = ranges[number]
                parts[number] = block[first - start : last - start]
        return parts

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """The parts of `[start, stop)` that a read would answer at once, as sorted half-open ranges."""
        return ((start, stop),)

    def check_unchanged(self) -> None:  # noqa: B027 - bytes in memory do not change
        """Asks whether the bytes are still those that were opened.

        Raises:
            SourceChanged: They were replaced, cut or appended to.
            SourceError: They are gone.
        """

    def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """Releases what the source holds; reading afterwards is an error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_range(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        if stop > self.size:
            raise Truncated(
                f"{self.name}: bytes {start}..{stop} asked for, {self.size} are there",
                span=Span("", min(start, self.size), self.size),
            )


def merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int, list[int]]]:
    """Joins ranges that touch or nearly touch: `(start, stop, numbers of the ranges inside)`; empty ones join none."""
    joined: list[tuple[int, int, list[int]]] = []
    for number in sorted((n for n, (a, b) in enumerate(ranges) if b > a), key=lambda n: ranges[n]):
        start, stop = ranges[number]
        if joined:
            first, last, members = joined[-1]
            if start <= last + MERGE_GAP and max(stop, last) - first <= max(MERGE_LIMIT, last - first):
                members.append(number)
                joined[-1] = (first, max(stop, last), members)
                continue
        joined.append((start, stop, [number]))
    return joined


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a folder.

    Attributes:
        name: Relative to the folder that was listed, with `/` between parts.
        size: Bytes; -1 for a folder.
        is_folder: Whether it is a folder.
    """

    name: str
    size: int
    is_folder: bool


class Folder(ABC):
    """A place that holds sources: a directory, a prefix of a store.

    Attributes:
        name: The last part of its address.
        uri: Where it is.
    """

    name: str
    uri: str

    @abstractmethod
    def list(self, prefix: str = "") -> list[Entry]:
        """What lies directly in the folder (or in its sub-folder `prefix`), sorted by name.

        Raises:
            SourceError: The folder cannot be listed.
        """

    @abstractmethod
    def open(self, name: str) -> Source:
        """Opens what lies at the relative `name`.

        Raises:
            SourceError: Nothing is there, or the name leaves the folder, or a link stands in the way.
        """

    @abstractmethod
    def folder(self, name: str) -> Folder:
        """The sub-folder `name`; the same rules as for `open`."""

    @abstractmethod
    def parent(self) -> Folder | None:
        """The folder around this one, or None."""

    def has(self, name: str) -> bool:
        """Whether a source lies at the relative `name`."""
        try:
            self.open(name).close()
        except SourceError:
            return False
        return True


def check_name(name: str) -> str:
    """Lets only names pass that stay inside a folder: relative, normalised, without `..`, NUL or backslash.

    Raises:
        SourceError: The name is none of these.
    """
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in parts):
        raise SourceError(f"refused to follow the name {name!r}: it is not a plain relative name")
    return name
