"""Bytes at an offset: sources, and the folders they lie in.

A `Source` answers positional, thread-safe reads with exactly the bytes asked for, or an error. Files are read with
`pread`, not mapped: a file that shrinks while it is open must give an error, not kill the process.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from shardcore.errors import SourceChanged, SourceError, Span, Truncated, UsageError, decoded_name

__all__ = [
    "BytesSource",
    "Entry",
    "FileSource",
    "Folder",
    "LocalFolder",
    "Source",
    "Span",
    "check_name",
    "decoded_name",
    "merged",
]

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


class FileSource(Source):
    """A local file.

    Args:
        path: The file.
        follow_links: Whether a symbolic link may stand at `path`; False for names that a file names.

    Raises:
        SourceError: The file cannot be opened, or is not a regular file or block device.
    """

    def __init__(self, path: str | Path, *, follow_links: bool = True) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.uri = str(path)
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        if not follow_links:
            flags |= getattr(os, "O_NOFOLLOW", 0)
        try:
            self._descriptor = os.open(self.path, flags)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot open {self.uri}: {_reason(error)}") from error
        self._lock = threading.Lock()
        self._seeking = threading.Lock()
        self._readers = 0
        self._closed = False
        try:
            status = os.fstat(self._descriptor)
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISBLK(status.st_mode)):
                raise SourceError(f"cannot open {self.uri}: not a regular file")
            self._size = status.st_size or os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError as error:
            self.close()
            raise SourceError(f"cannot open {self.uri}: {_reason(error)}") from error
        except BaseException:
            self.close()
            raise
        self._status = _identity(status)
        self._absolute = self.path.absolute()
        self.folder = LocalFolder(self._absolute.parent)

    @property
    def size(self) -> int:
        """Number of bytes when the file was opened."""
        return self._size

    @property
    def identity(self) -> str:
        """Device, inode, size and modification time when the file was opened."""
        return f"{self.uri}#{'-'.join(map(str, self._status))}"

    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly the bytes `[start, stop)`.

        Raises:
            Truncated: The range ends after the file did when it was opened.
            SourceChanged: The file became shorter since.
            SourceError: The file is closed, or the system refuses the read.
        """
        self._check_range(start, stop)
        parts: list[bytes] = []
        at = start
        while at < stop:
            part = self._pread(min(stop - at, 1 << 30), at)
            if not part:
                raise SourceChanged(f"{self.name} shrank while it was open", span=Span("", at, stop))
            parts.append(part)
            at += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def check_unchanged(self) -> None:
        """Compares the file at the path with the one that was opened.

        Raises:
            SourceChanged: Size, modification time or the file itself differ.
            SourceError: There is no file at the path any more.
        """
        try:
            now = _identity(self._absolute.stat())
        except OSError as error:
            raise SourceError(f"{self.name} is gone: {_reason(error)}") from error
        if now != self._status:
            raise SourceChanged(f"{self.name} was changed by another program")

    def close(self) -> None:
        """Closes the file; reading afterwards is an error. Reads under way come to their end."""
        with self._lock:
            last = not self._closed and not self._readers
            self._closed = True
        if last:
            os.close(self._descriptor)

    def _pread(self, count: int, at: int) -> bytes:
        # The number of a closed descriptor is given to the next file that is opened. So the last reader closes it.
        with self._lock:
            if self._closed:
                raise SourceError(f"{self.name} is closed")
            self._readers += 1
        try:
            if hasattr(os, "pread"):
                return os.pread(self._descriptor, count, at)
            with self._seeking:
                os.lseek(self._descriptor, at, os.SEEK_SET)
                return os.read(self._descriptor, count)
        except (OSError, OverflowError) as error:
            raise SourceError(f"cannot read {self.uri}: {_reason(error)}", span=Span("", at, at + count)) from error
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._readers -= 1
            last = self._closed and not self._readers
        if last:
            os.close(self._descriptor)


class BytesSource(Source):
    """Bytes in memory.

    Args:
        data: The bytes.
        name: What to call them; `@start-stop` for decoded bytes.
    """

    def __init__(self, data: bytes, name: str = "bytes", *, folder: Folder | None = None) -> None:
        self.data = data
        self.name = name
        self.uri = name
        self.folder = folder

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.data)

    @cached_property
    def identity(self) -> str:
        """Name, size and a digest: other bytes of the same name and size are something else."""
        return f"{self.uri}#{self.size}-{hashlib.blake2b(self.data, digest_size=16).hexdigest()}"

    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly the bytes `[start, stop)`.

        Raises:
            Truncated: The range ends after the bytes do.
        """
        self._check_range(start, stop)
        return self.data[start:stop]


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


class LocalFolder(Folder):
    """A directory. Names are checked, and links below it are not followed."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.uri = str(self.path)

    def list(self, prefix: str = "") -> list[Entry]:
        """What lies directly in the directory (or in its sub-directory `prefix`), sorted by name; links are left out.

        Raises:
            SourceError: The directory cannot be listed.
        """
        where = self._inside(prefix) if prefix else self.path
        lead = f"{prefix}/" if prefix else ""
        try:
            with os.scandir(where) as found:
                entries = [entry for inner in found if (entry := _entry(lead, inner)) is not None]
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot list {where}: {_reason(error)}") from error
        return sorted(entries, key=lambda entry: entry.name)

    def open(self, name: str) -> FileSource:
        """Opens the file at the relative `name`.

        Raises:
            SourceError: Nothing is there, or the name leaves the directory, or a link stands in the way.
        """
        source = FileSource(self._inside(name), follow_links=False)
        source.name = name.rsplit("/", 1)[-1]
        return source

    def folder(self, name: str) -> LocalFolder:
        """The sub-directory `name`; the same rules as for `open`."""
        return LocalFolder(self._inside(name))

    def parent(self) -> LocalFolder | None:
        """The directory around this one, or None at the root."""
        above = self.path.absolute().parent
        return LocalFolder(above) if above != self.path.absolute() else None

    def _inside(self, name: str) -> Path:
        path = self.path
        for part in check_name(name).split("/"):
            path = path / part
            if os.path.islink(path):  # noqa: PTH114 - Path.is_symlink raises for names that are too long
                raise SourceError(f"refused to follow the link {path}")
        return path


def _entry(lead: str, inner: os.DirEntry[str]) -> Entry | None:
    """What a listing says of one thing; None for links, and for what went away meanwhile."""
    try:
        if inner.is_symlink():
            return None
        is_folder = inner.is_dir()
        return Entry(lead + inner.name, -1 if is_folder else inner.stat().st_size, is_folder)
    except FileNotFoundError:
        return None


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
