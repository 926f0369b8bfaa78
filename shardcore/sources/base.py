"""Source of bytes, and the folder it is in.

A `Source` answers positional, thread-safe reads with exactly the bytes requested, or an error.
"""

from __future__ import annotations

import builtins
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from shardcore.errors import LimitExceeded, SourceError, Truncated, UsageError, says_absent
from shardcore.model.budget import budget
from shardcore.model.number_words import ends_text, plural
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.progress import check_stopped
from shardcore.sources.read_purpose import ReadPurpose

MERGE_GAP = 4096
"""Ranges of a local file that lie at most this many bytes apart are read as one."""

PurposeAt = Callable[[int], ReadPurpose | None]
"""Says what the bytes at an offset are for."""

WHOLE_HEAD = 1 << 16
"""Bytes of the beginning of a far file that are fetched at once where its format has its index there."""

SMALL_HEAD = 1 << 12
"""Bytes at the beginning of a file with a few fields there, which a window shows first."""

FAR_GAP = 1 << 16
"""Gap between ranges of a remote file that are joined: a request costs as much as many bytes."""

MERGE_LIMIT = 16 * 1024 * 1024
"""Merging stops at reads of this many bytes."""


RANGE = 8 * 1024 * 1024
"""Most bytes of one request: more are fetched by several at the same time."""

WHOLE_RANGE = 3 * RANGE
"""Most bytes of one request where a file comes whole: nothing of it is needed before most of it is here."""

AHEAD = 8 * RANGE
"""Bytes that are fetched before a reader of a large range needs them; several readers share them."""

PIECE = 1 << 20
"""Large ranges are read in pieces of this many bytes."""


class Source(ABC):
    """Random access to the bytes of a file, an object in a store, or a buffer.

    The public reads check their ranges and whether they are still wanted (`shardcore.progress.stopped_by`), charge the
    budget of the context (`shardcore.model.budget`), then call `_read` and its companions, which sources implement.

    Attributes:
        name: What a person calls it: the file name.
        uri: A path or an address.
        folder: The folder it lies in, or None.
        merge_gap: Ranges that lie at most this many bytes apart are cheaper to read as one.
        watchable: Whether `check_unchanged` can be asked again and again at next to no cost.
        near: Whether a read takes no time worth doing something else meanwhile.
        head_size: Bytes of its beginning that come with the first read, and are worth requesting at once.
        charged: Whether its reads are charged to the budget; False where it reads through a source that is charged.
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
        """Number of bytes; a source may learn it from its first read."""

    @property
    def stored(self) -> int:
        """Number of bytes that are really stored: fewer than `size` where a file has holes."""
        return self.size

    @property
    def identity(self) -> str:
        """Changes when the content does; caches are keyed by it."""
        return f"{self.uri}#{self.size}"

    @property
    def content_tag(self) -> str:
        """A text that only files with the same content share, wherever they are; empty when there is none."""
        return ""

    def read(self, start: int, stop: int) -> bytes:
        """Read exactly the bytes `[start, stop)`.

        Raises:
            Truncated: The range ends after the source does.
            UsageError: The range ends before it starts.
            SourceError: The bytes cannot be read.
            Cancelled: The job was cancelled.
        """
        check_stopped()
        self.check_range(start, stop)
        self._charge(stop - start)
        return self._read(start, stop)

    def read_first(self, count: int) -> bytes:
        """Read the first `count` bytes, or all when there are fewer; afterwards `size` is known.

        Raises:
            SourceError: The bytes cannot be read.
            Cancelled: The job was cancelled.
        """
        check_stopped()
        return self._charged_end(count, self._read_first)

    def read_last(self, count: int) -> bytes:
        """Read the last `count` bytes, or all when there are fewer; afterwards `size` is known.

        Raises:
            SourceError: The bytes cannot be read.
            Cancelled: The job was cancelled.
        """
        check_stopped()
        return self._charged_end(count, self._read_last)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Read several half-open ranges, in the order given; neighbours are read as one.

        Raises:
            Truncated: A range ends after the source does.
            UsageError: A range ends before it starts.
            SourceError: The bytes cannot be read.
            Cancelled: The job was cancelled.
        """
        check_stopped()
        for start, stop in ranges:
            self.check_range(start, stop)
        self._charge(sum(stop - start for start, stop in ranges))
        return self._read_many(ranges)

    def _charge(self, count: int) -> None:
        if self.charged and (current := budget()) is not None:
            current.charge_read(self, count)

    def _charged_end(self, count: int, read: Callable[[int], bytes]) -> bytes:
        if self.near:
            self._charge(min(count, self.size))
            return read(count)
        data = read(count)  # the size of a remote file may be known only now
        self._charge(len(data))
        return data

    def loaded(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """Return the parts of `[start, stop)` that a read would answer at once, as sorted half-open ranges."""
        return ((start, stop),)

    def prefetch(self, start: int, stop: int, most: int = RANGE) -> None:  # noqa: B027 - local bytes are near
        """Begin to fetch bytes that will probably be needed, and wait for nothing.

        Args:
            start: The first byte.
            stop: One past the last.
            most: Bytes of one request.
        """

    def learn_purposes(self, at: PurposeAt) -> None:  # noqa: B027 - only what has a request log cares
        """Report what the bytes at each offset are for, once the shard is open."""

    def check_unchanged(self) -> None:  # noqa: B027 - bytes in memory do not change
        """Ask whether the bytes are still those that were opened.

        Raises:
            SourceChanged: They were replaced, cut or appended to.
            SourceError: They are gone.
        """

    def close(self) -> None:  # noqa: B027 - most sources hold nothing
        """Release what the source holds; reading afterwards is an error."""

    def check_range(self, start: int, stop: int) -> None:
        """Let only half-open ranges of the source pass.

        Raises:
            Truncated: The range ends after the source does.
            UsageError: The range ends before it starts.
        """
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        size = self.size
        if stop > size:
            raise Truncated(
                f"{self.name}: bytes {ends_text(start, stop)} were requested; it ends at {size:#x}",
                span=Span("", min(start, size), size),
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _read(self, start: int, stop: int) -> bytes:
        """Read exactly the bytes `[start, stop)`, a range of the source."""

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
    count = max(-(-(stop - start) // most), 1)
    for number in range(count):
        yield start + (stop - start) * number // count, start + (stop - start) * (number + 1) // count


def merged(ranges: Sequence[tuple[int, int]], gap: int = MERGE_GAP) -> list[tuple[int, int, list[int]]]:
    joined: list[tuple[int, int, list[int]]] = []
    for number in sorted((n for n, (a, b) in enumerate(ranges) if b > a), key=lambda n: ranges[n]):
        start, stop = ranges[number]
        if joined:
            first, last, members = joined[-1]
            if start <= last + gap and max(stop, last) - first <= max(MERGE_LIMIT, last - first):
                members.append(number)
                joined[-1] = (first, max(stop, last), members)
                continue
        joined.append((start, stop, [number]))
    return joined


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    size: int
    is_folder: bool


class Folder(ABC):
    """Container of sources: a directory, a prefix of a store.

    Attributes:
        name: The last part of its address.
        uri: A path or an address.
        lists_cheaply: Whether a listing costs next to nothing; elsewhere, what is called by its name is tried first.
        listable: Whether it can be listed at all.
    """

    name: str
    uri: str
    lists_cheaply: bool = True
    listable: bool = True

    def close(self) -> None:  # noqa: B027 - most folders hold nothing
        """Release what the folder that was opened holds."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[Entry]:
        """Return what lies directly in the folder (or in its sub-folder `prefix`), sorted by name.

        Raises:
            SourceError: The folder cannot be listed.
        """

    def pages(self, prefix: str = "") -> Iterator[builtins.list[Entry]]:
        """Yield what lies directly in the folder in pages, as they come; of a store in its own order.

        Raises:
            SourceError: The folder cannot be listed.
        """
        yield self.list(prefix)

    @abstractmethod
    def open(self, name: str) -> Source:
        """Open what lies at the relative `name`.

        Raises:
            SourceError: Nothing is there, or the name leaves the folder, or a link is in the way.
        """

    def open_on_demand(self, name: str) -> Source:
        """Open what lies at the relative `name` as a source that holds nothing while it is not read.

        A data set can have more members than a process may have files open. Stores that keep no descriptor per object
        open it as usual.

        Raises:
            SourceError: Nothing is there, or the name leaves the folder, or a link is in the way.
        """
        return self.open(name)

    def at_hand(self, name: str) -> bool:
        """Return whether opening what lies at the relative `name` fetches nothing: it is near, or was opened before."""
        return True

    def open_at(self, name: str, start: int, stop: int) -> Source:
        """Open a source on demand whose bytes `[start, stop)` are read first.

        Raises:
            SourceError: Nothing is there, or the name leaves the folder, or a link is in the way.
        """
        return self.open_on_demand(name)

    def read(self, name: str, limit: int) -> bytes:
        """Return the whole content of a small file.

        Raises:
            LimitExceeded: It has more than `limit` bytes.
            SourceError: Nothing is there, the name leaves the folder, or the bytes cannot be read.
        """
        with self.open(name) as source:
            data = source.read_first(limit + 1)
            if len(data) > limit:
                raise LimitExceeded(f"{name} has {plural(source.size, 'byte')}; at most {limit:,} are read")
            return data

    @abstractmethod
    def folder(self, name: str) -> Folder:
        """Return the sub-folder `name`; the same rules as for `open`."""

    @abstractmethod
    def parent(self) -> Folder | None:
        """Return the folder around this one, or None."""

    def has(self, name: str) -> bool:
        """Return whether a source lies at the relative `name`."""
        try:
            self.open(name).close()
        except SourceError as error:
            if not says_absent(error):
                raise
            return False
        return True


NAME_LIMIT = 4096
"""Letters that a relative name may have; more than a path on disk or the key of a bucket can have."""


def check_name(name: str) -> str:
    if len(name) > NAME_LIMIT:
        raise SourceError(f"refused to follow the name {short(name)} of {len(name)} letters: at most {NAME_LIMIT}")
    parts = name.split("/")
    if not name or "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in parts):
        raise SourceError(f"refused to follow the name {name!r}: it is not a plain relative name")
    return name
