"""Local files and directories.

Files are read instead of memory-mapped: a file that shrinks while open must raise an error, not kill the process.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import IO

from shardcore.errors import SourceChanged, SourceError, failed, reason_of, reported_as
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.progress import check_stopped, context_value
from shardcore.sources.base import Entry, Folder, Source, check_name, on_failure
from shardcore.system import is_link_entry, is_link_status, is_special_name, listed_name, open_file, read_at

MOST_EXTENTS = 4096
"""Maximum number of data ranges examined in a sparse file. If it has more, its allocated blocks are counted."""


_listings: ContextVar[dict[str, list[Entry]] | None] = ContextVar("listings", default=None)


@contextmanager
def listed_once() -> Iterator[None]:
    """Cache directory listings in this context, since all formats examine the same folder."""
    with context_value(_listings, {}):
        yield


class FileSource(Source):
    """A local file.

    Args:
        path: Path of the file.
        follow_links: Whether `path` may be a symbolic link; False for names that come from a file.

    Attributes:
        status: Device, inode, size and modification time (ns) when the file was opened.

    Raises:
        SourceError: The file cannot be opened, or is not a regular file or block device.
    """

    watchable = True
    size = 0
    _closed = True

    def __init__(self, path: str | Path, *, follow_links: bool = True) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.uri = str(path)
        self._descriptor = open_at_once(self.path, os.O_RDONLY, follow_links=follow_links)
        self._lock = threading.Lock()
        self._users = 1  # this source, and running reads; the last one closes the descriptor
        self._closed = False
        with on_failure(self.close), reported_as(f"cannot open {self.uri}"):
            status = os.fstat(self._descriptor)
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISBLK(status.st_mode)):
                raise SourceError(f"cannot open {self.uri}: not a regular file")
            self.size = status.st_size or os.lseek(self._descriptor, 0, os.SEEK_END)
        self.status = _identity(status)
        self._blocks = getattr(status, "st_blocks", None)
        self._absolute = self.path.absolute()

    @cached_property
    def folder(self) -> LocalFolder:  # type: ignore[override]
        return LocalFolder(self._absolute.parent)

    @cached_property
    def stored(self) -> int:
        """Bytes outside the holes of a sparse file; `size` if the file system does not report holes."""
        # Compressing file systems also allocate fewer blocks: only reported holes count.
        if self._blocks is None or self._blocks * 512 >= self.size or not hasattr(os, "SEEK_HOLE"):
            return self.size
        total, at = 0, 0
        blocks: int = self._blocks
        try:
            for _ in range(MOST_EXTENTS):
                first = os.lseek(self._descriptor, at, os.SEEK_DATA)
                at = os.lseek(self._descriptor, first, os.SEEK_HOLE)
                total += at - first
                if at >= self.size:
                    return total
        except OSError as error:
            # ENXIO: no data after this offset.
            return total if error.errno == errno.ENXIO else self.size
        return max(total, blocks * 512)

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode of the file."""
        return self.status[:2]

    @property
    def modified(self) -> int:
        """Modification time when the file was opened, in nanoseconds."""
        return self.status[3]

    @property
    def identity(self) -> str:
        """Path, device, inode, size and modification time when the file was opened."""
        return _identity_text(self.uri, self.status)

    def _read(self, start: int, stop: int) -> bytes:
        # The system reuses the number of a closed descriptor.
        with self._lock:
            if self._closed:
                raise SourceError(f"{self.name} is closed")
            self._users += 1
        parts: list[bytes] = []
        at = start
        try:
            while at < stop:
                part = read_at(self._descriptor, min(stop - at, 1 << 30), at)
                if len(part) == stop - start:
                    return part
                if not part:
                    raise SourceChanged(f"{self.name} shrank while it was open", span=Span("", at, stop))
                parts.append(part)
                at += len(part)
        except SourceChanged:
            raise
        except (OSError, OverflowError) as error:
            lost = failed(f"cannot read {self.uri}", error)
            lost.span = Span("", at, min(stop, at + (1 << 30)))
            raise lost from error
        finally:
            with self._lock:
                self._users -= 1
                last = not self._users
            if last:
                os.close(self._descriptor)
        return b"".join(parts)

    def check_same(self, descriptor: int) -> None:
        """Check that an open descriptor refers to this file.

        Raises:
            SourceChanged: It is another file, or the file was changed.
            SourceError: Its status cannot be read.
        """
        try:
            now = _identity(os.fstat(descriptor))
        except OSError as error:
            raise failed(f"cannot read {self.uri}", error) from error
        if now != self.status:
            raise SourceChanged(f"{self.name} was changed by another program")

    def check_unchanged(self) -> None:
        try:
            now = _identity(self._absolute.stat())
        except OSError as error:
            raise SourceError(f"{self.name} was deleted: {reason_of(error)}") from error
        if now != self.status:
            raise SourceChanged(f"{self.name} was changed by another program")

    def close(self) -> None:
        """Close the file. Later reads raise an error; running reads complete."""
        with self._lock:
            self._users -= not self._closed
            last = not self._closed and not self._users
            self._closed = True
        if last:
            os.close(self._descriptor)

    def __del__(self, warn: Callable[..., None] = warnings.warn) -> None:
        if not self._closed:
            self.close()
            warn(f"unclosed file {self.uri}", ResourceWarning, source=self, stacklevel=2)


class LocalFolder(Folder):
    """A directory. Names are checked, and links inside the directory are not followed."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.uri = str(self.path)

    def list(self, prefix: str = "") -> list[Entry]:
        where = self._inside(prefix) if prefix else self.path
        lead = f"{prefix}/" if prefix else ""
        known = _listings.get()
        if known is not None and (found := known.get(f"{where}\0{lead}")) is not None:
            return list(found)
        with reported_as(f"cannot list {where}"), os.scandir(where) as inside:
            entries = [entry for inner in inside if (entry := _entry(lead, inner)) is not None]
        entries.sort(key=lambda entry: entry.name)
        if known is not None:
            known[f"{where}\0{lead}"] = list(entries)
        return entries

    def open(self, name: str) -> FileSource:
        source = FileSource(self._inside(name), follow_links=False)
        source.name = name.rsplit("/", 1)[-1]
        return source

    def open_on_demand(self, name: str) -> Source:
        return OnDemandSource(self, name)

    def folder(self, name: str) -> LocalFolder:
        return LocalFolder(self._inside(name))

    def parent(self) -> LocalFolder | None:
        above = self.path.absolute().parent
        return LocalFolder(above) if above != self.path.absolute() else None

    def _inside(self, name: str) -> Path:
        check_stopped()  # a file may refer to a million others
        path = self.path / check_name(name)
        # Check every part for links, up to the first part that does not exist.
        step = str(self.path)
        for part in name.split("/"):
            if is_special_name(part):
                raise SourceError(f"refused to open {short(name)}: not a valid file name on this system")
            step = f"{step}/{part}"
            try:
                status = os.lstat(step)
            except (OSError, ValueError):
                break
            if is_link_status(status):
                raise SourceError(f"refused to follow the link {step}")
        return path


class OnDemandSource(Source):
    """A file that is open only during reads, since a data set can have more shards than a process may have open files.

    Each read opens the file again, and raises `SourceChanged` if it is another file.
    """

    watchable = True
    charged = False
    size = 0

    def __init__(self, folder: LocalFolder, name: str) -> None:
        self._folder = folder
        self._path = name
        self._closed = False
        with folder.open(name) as source:
            self.name, self.uri, self.size, self._status = source.name, source.uri, source.size, source.status

    @cached_property
    def folder(self) -> LocalFolder:  # type: ignore[override]
        return LocalFolder((self._folder.path.absolute() / self._path).parent)

    @property
    def identity(self) -> str:
        return _identity_text(self.uri, self._status)

    def _read(self, start: int, stop: int) -> bytes:
        with self._opened() as source:
            return source.read(start, stop)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        with self._opened() as source:
            return source.read_many(ranges)

    def check_unchanged(self) -> None:
        self._opened().close()

    def close(self) -> None:
        self._closed = True

    def _opened(self) -> Source:
        if self._closed:
            raise SourceError(f"{self.name} is closed")
        source = self._folder.open(self._path)
        if source.status != self._status:
            source.close()
            raise SourceChanged(f"{self.name} was changed by another program")
        return source


def open_side_file(path: str | Path, *, writable: bool = False, named: bool = False) -> IO[bytes]:
    """Open a small file that accompanies a shard: a journal, sidecar, manifest or list of keys.

    Other users may write to its folder, so links are not followed, only regular files are opened, FIFOs never block. A
    path given by the user (`named`) may also be a descriptor such as `/dev/stdin`, or a pipe. A missing file is a
    `SourceError` with the cause `FileNotFoundError`.
    """
    if named and str(path).startswith(_OWN_DESCRIPTORS):
        with reported_as(f"cannot open {path}"):
            return open(path, "rb")
    descriptor = open_at_once(Path(path), os.O_RDWR if writable else os.O_RDONLY, follow_links=False)
    with on_failure(os.close, descriptor), reported_as(f"cannot open {path}"):
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise SourceError(f"cannot open {path}: not a regular file")
        return os.fdopen(descriptor, "r+b", 0) if writable else os.fdopen(descriptor, "rb", io.DEFAULT_BUFFER_SIZE)


def read_side_file(path: str | Path, most: int = -1, *, named: bool = False) -> bytes:
    with open_side_file(path, named=named) as file, reported_as(f"cannot read {path}"):
        return file.read(most)


_OWN_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def open_at_once(path: Path, flags: int, *, follow_links: bool) -> int:
    """Open a file without blocking; return its descriptor. The caller checks the type of the file."""
    try:
        return open_file(path, flags, follow_links=follow_links)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP and not follow_links:
            raise SourceError(f"refused to follow the link {path}; give the file itself") from error
        raise failed(f"cannot open {path}", error) from error


def _entry(lead: str, inner: os.DirEntry[str]) -> Entry | None:
    """Return the entry of a listing; None for links, and for files that were deleted meanwhile."""
    try:
        if is_link_entry(inner):
            return None
        is_folder = inner.is_dir()
        return Entry(lead + listed_name(inner.name), -1 if is_folder else inner.stat().st_size, is_folder)
    except FileNotFoundError:
        return None


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _identity_text(uri: str, status: tuple[int, int, int, int]) -> str:
    return f"{uri}#{'-'.join(map(str, status))}"
