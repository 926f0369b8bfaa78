"""Base classes of sources and folders. A source returns exactly the requested bytes, or raises an error."""

from __future__ import annotations

import builtins
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from enum import Enum, IntEnum
from typing import Self, TypeVar

from shardcore.dataclasses import dataclass
from shardcore.errors import LimitExceeded, SourceError, Truncated, UsageError, raise_unless_absent
from shardcore.model.budget import budget
from shardcore.model.span import Span
from shardcore.model.text import ends_text, plural, short
from shardcore.progress import check_stopped, context_value, stop_check

T = TypeVar("T")


@contextmanager
def on_failure(undo: Callable[..., object], *arguments: object, **options: object) -> Iterator[None]:
    try:
        yield
    except BaseException:
        undo(*arguments, **options)
        raise


class ReadPriority(IntEnum):
    """Priority of a read; waiting reads with lower values are started first."""

    SCREEN = 0
    """Visible on the screen."""
    SELECTED = 1
    """Selected or requested by the user."""
    PREFETCH = 2
    """Probably needed soon."""
    SCAN = 3
    """Long operations that read everything."""


class ReadPurpose(Enum):
    HEAD = "head"
    FOOTER = "footer"
    INDEX = "index"
    LOOKUP = "lookup"
    PAYLOAD = "payload"
    LISTING = "listing"
    PROBE = "probe"


MERGE_GAP = 4096
"""Maximum gap in bytes between ranges of a local file that are read as one."""

PurposeAt = Callable[[int], ReadPurpose | None]
"""Function that returns the purpose of a read at an offset; None if unknown."""

WHOLE_HEAD = 1 << 16
"""Default size of the first request for a remote file: most formats need no more of its beginning."""

MOST_PLAIN = 1 << 20
"""Maximum size of a remote file that is read in one request if all of it is needed."""

SMALL_HEAD = 1 << 12
"""Size of the first request for a remote file that has only a few fields at the beginning."""

FAR_GAP = 1 << 16
"""Maximum gap in bytes between ranges of a remote file that are fetched as one."""

MERGE_LIMIT = 16 * 1024 * 1024
"""Maximum size of a range that is merged from several."""

RANGE = 8 * 1024 * 1024
"""Maximum bytes of one request; larger ranges are fetched by several in parallel."""

WHOLE_RANGE = 3 * RANGE
"""Maximum bytes of one request when a complete file is fetched and cannot be used before most of it has arrived."""

AHEAD = 8 * RANGE
"""Maximum bytes prefetched for all readers of large ranges together."""

PIECE = 1 << 20
"""Size of the pieces in which a large range is read."""


_priority: ContextVar[ReadPriority] = ContextVar("priority", default=ReadPriority.SELECTED)
_purpose: ContextVar[ReadPurpose | None] = ContextVar("purpose", default=None)
_all: ContextVar[bool] = ContextVar("all", default=False)
_most: ContextVar[int | None] = ContextVar("most", default=None)


def wanted(priority: ReadPriority) -> AbstractContextManager[None]:
    return context_value(_priority, priority)


def reading_for(purpose: ReadPurpose) -> AbstractContextManager[None]:
    """Set the purpose of reads in this context; an outer setting takes precedence."""
    return context_value(_purpose, _purpose.get() or purpose)


def opening_whole(needed: bool = True) -> AbstractContextManager[None]:
    """Open remote files in this context with a first request that is large enough to fetch most files completely."""
    return context_value(_all, needed)


def opens_whole() -> bool:
    return _all.get()


def at_most(size: int | None) -> AbstractContextManager[None]:
    """Raise `LargeRead` for reads in this context that would fetch more than `size` bytes from another machine.

    Callers can then ask the user. None: no limit; 0: no request is allowed.
    """
    return context_value(_most, size)


def most() -> int | None:
    return _most.get()


def priority() -> ReadPriority:
    return _priority.get()


def purpose() -> ReadPurpose | None:
    return _purpose.get()


class Source(ABC):
    """Random access to the bytes of a file, an object in a store, or a buffer. Thread-safe.

    The public reads check the range, check for cancellation and charge the budget of the context
    (`shardcore.model.budget`). Then they call `_read` or another method of the subclass.

    Attributes:
        name: File name, for display.
        uri: Path or address.
        folder: Folder of the file, or None.
        merge_gap: Maximum gap in bytes between ranges that are read as one.
        watchable: Whether `check_unchanged` is cheap enough to be called repeatedly.
        near: Whether reads are fast enough for the caller to wait, as for local files.
        head_size: Number of bytes at the beginning of the file that the first read fetches.
        charged: Whether reads are charged to the budget; False for a wrapper of a charged source.
    """

    name: str
    uri: str
    folder: Folder | None = None
    merge_gap: int = MERGE_GAP
    watchable: bool = False
    near: bool = True
    head_size: int = WHOLE_HEAD
    charged: bool = True

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of bytes. A remote source may request it, or learn it from its first read."""

    @property
    def stored(self) -> int:
        """Bytes on disk; less than `size` for a sparse file."""
        return self.size

    @property
    def identity(self) -> str:
        """Text that changes with the content; used as the key of caches."""
        return f"{self.uri}#{self.size}"

    @property
    def content_tag(self) -> str:
        """Text that is equal only for equal contents, even at different addresses; empty if unknown."""
        return ""

    def read(self, start: int, stop: int) -> bytes:
        """Read exactly the bytes `[start, stop)`.

        Raises:
            Truncated: The range ends after the source does.
            UsageError: The range ends before it starts.
            SourceError: The bytes cannot be read.
            Cancelled: The job was cancelled.
        """
        # Without calls: a lookup has several of these.
        if (check := stop_check()) is not None:
            check()
        if not 0 <= start <= stop <= self.size:
            self.check_range(start, stop)
        if self.charged and (current := budget()) is not None:
            current.charge_read(self, stop - start)
        return self._read(start, stop)

    def read_first(self, count: int) -> bytes:
        """Read the first `count` bytes, or all of a shorter file; afterwards `size` is known.

        Raises:
            SourceError: The bytes cannot be read.
            Cancelled: The job was cancelled.
        """
        check_stopped()
        return self._charged_end(count, self._read_first)

    def read_last(self, count: int) -> bytes:
        """Read the last `count` bytes, or all of a shorter file; otherwise like `read_first`."""
        check_stopped()
        return self._charged_end(count, self._read_last)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read half-open ranges, returned in this order. Ranges close together are read as one. Errors: as `read`."""
        check_stopped()
        for start, stop in ranges:
            self.check_range(start, stop)
        if self.charged and (current := budget()) is not None:
            current.charge_read(self, sum(stop - start for start, stop in ranges))
        return self._read_many(ranges)

    def _charged_end(self, count: int, read: Callable[[int], bytes]) -> bytes:
        current = budget() if self.charged else None
        if current is not None and self.near:
            current.charge_read(self, min(count, self.size))
        data = read(count)  # now the size of a remote file is known
        if current is not None and not self.near:
            current.charge_read(self, len(data))
        return data

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """Return the parts of `[start, stop)` that can be read without a request, as sorted half-open ranges."""
        return ((start, stop),)

    def prefetch(self, start: int, stop: int, most: int = RANGE) -> None:  # noqa: B027 - only remote sources prefetch
        """Start to fetch `[start, stop)`, without waiting for it, by requests of at most `most` bytes."""

    def learn_purposes(self, at: PurposeAt) -> None:  # noqa: B027 - only for sources with a request log
        """Set the function that returns the purpose of a read at an offset, for the request log, after opening."""

    def check_unchanged(self) -> None:  # noqa: B027 - bytes in memory do not change
        """Check that the file is still the one that was opened.

        Raises:
            SourceChanged: It was replaced, truncated or appended to.
            SourceError: It was deleted.
        """

    def close(self) -> None:  # noqa: B027 - most sources have no resources
        """Release resources. Later reads raise an error."""

    def check_range(self, start: int, stop: int) -> None:
        """Check a half-open range.

        Raises:
            Truncated: The range ends after the source does.
            UsageError: The range ends before it starts.
        """
        if not 0 <= start <= stop:
            raise UsageError(f"invalid half-open range {start}..{stop}: 0 <= start <= stop is required")
        size = self.size
        if stop > size:
            raise Truncated(
                f"{self.name}: bytes {ends_text(start, stop)} were requested; the file ends at {size:#x}",
                span=Span("", min(start, size), size),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @abstractmethod
    def _read(self, start: int, stop: int) -> bytes:
        """Read exactly `[start, stop)`; the caller has checked the range."""

    def _read_first(self, count: int) -> bytes:
        return self._read(0, min(count, self.size))

    def _read_last(self, count: int) -> bytes:
        size = self.size
        return self._read(max(size - count, 0), size)

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        parts: list[bytes] = [b""] * len(ranges)
        for start, stop, members in merged(ranges, self.merge_gap):
            block = self._read(start, stop)
            for number in members:
                first, last = ranges[number]
                parts[number] = block[first - start : last - start]
        return parts


class _Readers:
    """Counter of the readers of large ranges, which share the prefetch limit `AHEAD`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        with self._lock:
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1

    @property
    def share(self) -> int:
        return max(AHEAD // max(self._count, 1), RANGE)


_READERS = _Readers()


def read_pieces(source: Source, start: int, stop: int, size: int = PIECE) -> Iterator[bytes]:
    """Yield `[start, stop)` in pieces of `size` bytes, while the next ranges are prefetched in parallel.

    A range of up to `RANGE // 2` bytes is one request. In a longer range, the first piece is a request of its own.
    """
    if start >= stop:
        return
    ahead = min(start + size, stop)
    if ahead < stop <= start + RANGE // 2:
        source.prefetch(start, stop)
    yield source.read(start, ahead)
    if ahead == stop:
        return
    with _READERS.one_more():
        for at in range(ahead, stop, size):
            while ahead < min(at + _READERS.share, stop):
                last = min(ahead + RANGE, stop)
                source.prefetch(ahead, last)
                ahead = last
            yield source.read(at, min(at + size, stop))


def range_cuts(start: int, stop: int, most: int = RANGE) -> Iterator[tuple[int, int]]:
    """Divide `[start, stop)` of a remote file into requests of about equal length, at most `most` bytes each."""
    count = max(-(-(stop - start) // most), 1)
    for number in range(count):
        yield start + (stop - start) * number // count, start + (stop - start) * (number + 1) // count


def merged(ranges: Sequence[tuple[int, int]], gap: int = MERGE_GAP) -> list[tuple[int, int, list[int]]]:
    """Merge ranges at most `gap` bytes apart into `(start, stop, numbers of the ranges)`; empty ranges are dropped."""
    found: list[tuple[int, int, list[int]]] = []
    for number in sorted((n for n, (a, b) in enumerate(ranges) if b > a), key=lambda n: ranges[n]):
        start, stop = ranges[number]
        if found:
            first, last, members = found[-1]
            if start <= last + gap and max(stop, last) - first <= max(MERGE_LIMIT, last - first):
                members.append(number)
                found[-1] = (first, max(stop, last), members)
                continue
        found.append((start, stop, [number]))
    return found


Piece = tuple[int, bytes]
"""A block of bytes: its offset, and the bytes."""


def missing(pieces: list[Piece], start: int, stop: int) -> list[tuple[int, int]]:
    """Return the parts of `[start, stop)` that are in none of the sorted blocks."""
    return uncovered(((first, first + len(data)) for first, data in pieces), start, stop)


def uncovered(ranges: Iterable[tuple[int, int]], start: int, stop: int) -> list[tuple[int, int]]:
    """Return the parts of `[start, stop)` that are in none of the sorted ranges."""
    holes: list[tuple[int, int]] = []
    at = start
    for first, last in ranges:
        if first > at:
            holes.append((at, min(first, stop)))
        at = max(at, last)
        if at >= stop:
            return holes
    if at < stop:
        holes.append((at, stop))
    return holes


def present(pieces: list[Piece], start: int, stop: int) -> tuple[tuple[int, int], ...]:
    """Return the parts of `[start, stop)` that are in one of the sorted blocks."""
    holes = missing(pieces, start, stop)
    edges = [start, *(edge for hole in holes for edge in hole), stop]
    return tuple((first, last) for first, last in zip(edges[::2], edges[1::2], strict=True) if first < last)


def joined(pieces: list[Piece], start: int, stop: int) -> bytes:
    """Return the bytes `[start, stop)` from blocks that contain all of them, in any order; blocks may overlap."""
    parts: list[bytes] = []
    at = start
    for first, data in sorted(pieces, key=lambda piece: (piece[0], -len(piece[1]))):
        last = first + len(data)
        if first <= at < last and at < stop:
            parts.append(data if first == at and last <= stop else data[at - first : min(stop, last) - first])
            at = min(last, stop)
    return parts[0] if len(parts) == 1 else b"".join(parts)


MOST_AHEAD = 16 << 20
"""Maximum bytes of read-ahead."""


class ReadAhead:
    """Read-ahead of a sequential reader: fetches as many bytes ahead as were read in sequence, up to `MOST_AHEAD`."""

    def __init__(self) -> None:
        self._next = self._run = 0

    def fetch_stop(self, start: int, stop: int, size: int, *, lookup: bool) -> int:
        """Return the offset up to which to fetch if `[start, stop)` is missing. A `lookup` does not read ahead."""
        before = self._run if start == self._next else 0
        more = 0 if lookup else min(before, MOST_AHEAD)
        self._next = max(min(stop + more, size), stop)
        self._run = before + self._next - start if start else 0
        return self._next


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder in a listing. `name` is relative to the listed folder; the size of a folder is -1."""

    name: str
    size: int
    is_folder: bool


class Folder(ABC):
    """Folder of files: a directory, or a prefix of an object store.

    Attributes:
        name: Last part of the address.
        uri: Path or address.
        lists_cheaply: Whether listing is cheap; otherwise files are tried by name first.
        listable: Whether listing is possible.
    """

    name: str
    uri: str
    lists_cheaply: bool = True
    listable: bool = True

    def close(self) -> None:  # noqa: B027 - most folders have no resources
        """Release resources."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[Entry]:
        """Return the direct children of the folder (or of its sub-folder `prefix`), sorted by name.

        Raises:
            SourceError: The folder cannot be listed.
        """

    def pages(self, prefix: str = "") -> Iterator[builtins.list[Entry]]:
        """Yield the direct children in pages, as they are received, in the order of the store; errors: see `list`."""
        yield self.list(prefix)

    @abstractmethod
    def open(self, name: str) -> Source:
        """Open the file with a relative name.

        Raises:
            SourceError: There is no such file, the name leaves the folder, or a link is on the path.
        """

    def open_on_demand(self, name: str) -> Source:
        """Open a file as `open` does; no descriptor stays open between reads.

        A data set can have more shards than a process may have open files.
        """
        return self.open(name)

    def at_hand(self, name: str) -> bool:
        """Return whether opening a file needs no request, because it is local or was opened before."""
        return True

    def open_at(self, name: str, start: int, stop: int) -> Source:
        """Open a file as `open_on_demand` does, and read `[start, stop)` first."""
        return self.open_on_demand(name)

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a small file.

        Raises:
            LimitExceeded: It has more than `limit` bytes.
            SourceError: There is no such file, the name leaves the folder, or it cannot be read.
        """
        with self.open(name) as source:
            data = source.read_first(limit + 1)
            if len(data) > limit:
                raise LimitExceeded(f"{name} has {plural(source.size, 'byte')}; at most {limit:,} are read")
            return data

    @abstractmethod
    def folder(self, name: str) -> Folder:
        """Return a sub-folder; names are checked as in `open`."""

    @abstractmethod
    def parent(self) -> Folder | None:
        """Return the parent folder; None at the root of the disk or store."""

    def has(self, name: str) -> bool:
        """Return whether there is a file with a relative name."""
        try:
            self.open(name).close()
        except SourceError as error:
            raise_unless_absent(error)
            return False
        return True


NAME_LIMIT = 4096
"""Maximum number of characters of a relative name. Paths and bucket keys are always shorter."""


def check_name(name: str) -> str:
    """Return a relative, normalised name; SourceError if it leaves its folder or contains NUL or a backslash."""
    if len(name) > NAME_LIMIT:
        raise SourceError(f"refused to open {short(name)}: {len(name)} characters, at most {NAME_LIMIT} are allowed")
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in parts):
        raise SourceError(f"refused to open {name!r}: not a relative name inside the folder")
    return name
