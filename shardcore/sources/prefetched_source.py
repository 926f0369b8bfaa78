"""Sources that read ahead: the beginning and end of a file for detection, or a complete file in a few requests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import ClassVar, Self

from shardcore.errors import ShardError
from shardcore.sources.base import WHOLE_HEAD, WHOLE_RANGE, Source
from shardcore.sources.wrapper_sources import WrapperSource

MOST_WHOLE = 64 << 20
"""Maximum size of a file that is fetched completely before it is read; larger ones are read ahead."""

ROOM = 192 << 20
"""Maximum bytes fetched ahead by all operations; the block cache (256 MB) must keep them until they are read."""


class WholeFiles:
    """Context manager that lets an operation fetch complete remote files ahead; thread-safe.

    `room` is the number of bytes that all operations together may still fetch ahead. `most` limits the size of a file
    (default: `MOST_WHOLE`), `longest` the size of one request.
    """

    room: ClassVar[int] = ROOM
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, source: Source | None = None, most: int | None = None, *, longest: int = WHOLE_RANGE) -> None:
        self._longest = longest
        self._most = MOST_WHOLE if most is None else most
        self._taken = 0
        self._ended = False
        if source is not None:
            self.fetch(source)

    def fetch(self, source: Source) -> bool:
        """Start fetching the uncached bytes of a remote file without waiting. A later read raises the errors.

        Returns False if nothing is fetched: for a local or too large file, or if `room` is too small.
        """
        size = 0 if source.near else source.size
        with self._lock:
            if not size or not self.has_room(size):
                return False
            WholeFiles.room -= size
            self._taken += size
        with contextlib.suppress(ShardError):
            source.prefetch(0, size, self._longest)
        return True

    def has_room(self, size: int) -> bool:
        return size <= self._most and not self._ended and size <= WholeFiles.room

    def release(self, *, end: bool = False) -> None:
        """Return the bytes fetched here to `room`; they stay in the cache. With `end`, nothing is fetched after it."""
        with self._lock:
            WholeFiles.room += self._taken
            self._taken, self._ended = 0, self._ended or end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.release(end=True)


class PrefetchedSource(WrapperSource):
    """Source that keeps its first and last bytes in memory while a shard is opened. Later, the shard reads from `base`.

    The cache of remote sources cannot replace it: that cache may be small, and each read from it is in the request log.

    Attributes:
        notes: Results of detection that a format uses again when opening.
    """

    def __init__(self, base: Source, guess: int = WHOLE_HEAD) -> None:
        super().__init__(base)
        self.notes: dict[str, object] = {}
        self._guess = self.head_size = min(guess, base.head_size)
        self._tail = guess - self._guess or guess
        self._whole = guess
        self._kept: list[tuple[int, bytes]] = []

    def head(self, count: int) -> bytes:
        """Return the first `count` bytes, with at most one read. Afterwards, the size is known."""
        return self.read_first(count)

    def _read_first(self, count: int) -> bytes:
        for first, data in self._kept:
            if first == 0 and (count <= len(data) or len(data) == self.size):
                return data[:count]
        if count > self._guess:
            return self.base.read_first(count)
        data = self.base.read_first(self._guess)
        self._kept.append((0, data))
        return data[:count]

    def _read(self, start: int, stop: int) -> bytes:
        if (kept := self._kept_part(start, stop)) is not None:
            return kept
        return self._read_first(stop) if start == 0 and stop <= self._guess else self.base.read(start, stop)

    def _read_last(self, count: int) -> bytes:
        count = min(count, self.size)
        if (kept := self._kept_part(self.size - count, self.size)) is not None:
            return kept
        if count > self._tail:
            return self.base.read_last(count)
        data = self.base.read_last(self._tail)
        self._kept.append((self.size - len(data), data))
        return data[len(data) - count :]

    def _read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        parts = [self._kept_part(start, stop) for start, stop in ranges]
        missing = [number for number, part in enumerate(parts) if part is None]
        for number, part in zip(missing, self.base.read_many([ranges[n] for n in missing]), strict=True):
            parts[number] = part
        return [part or b"" for part in parts]

    def close(self) -> None:
        self._kept = []
        super().close()

    def _kept_part(self, start: int, stop: int) -> bytes | None:
        if (kept := self._kept_in(start, stop)) is not None or not self._kept or self.size > self._whole:
            return kept
        # The second read of a small file fetches all of it.
        head = self._kept[0][1]
        if self._kept[0][0] == 0 and len(head) < self.size:
            self._kept = [(0, head + self.base.read(len(head), self.size))]
        return self._kept_in(start, stop)

    def _kept_in(self, start: int, stop: int) -> bytes | None:
        for first, data in self._kept:
            if first <= start and stop <= first + len(data):
                return data[start - first : stop - first]
        return None
