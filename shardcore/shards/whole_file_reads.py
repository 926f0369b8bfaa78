"""Fetching whole remote files in a few large ranges, for operations that need all bytes."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from shardcore.errors import ShardError
from shardcore.sources.base import WHOLE_RANGE

if TYPE_CHECKING:
    from shardcore.sources.base import Source

MOST_WHOLE = 64 << 20
"""Maximum size of a file that is fetched whole; larger ones are read ahead."""

ROOM = 192 << 20
"""Bytes fetched ahead by all operations: the block cache keeps 256 MB until they are read."""


class WholeFiles:
    """Remote files that an operation fetches whole; a context manager, thread-safe.

    `room` is the number of bytes that all operations together may still fetch ahead. `most` limits the size of a file
    (default: `MOST_WHOLE`), `longest` that of one request.
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
        """Start fetching the uncached bytes of a remote file without waiting. Errors are raised by the later read.

        Returns False for local files and large files, and if the limit of bytes ahead is reached.
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
        """Let other operations fetch ahead again; fetched bytes stay in the cache. `end`: nothing more is fetched."""
        with self._lock:
            WholeFiles.room += self._taken
            self._taken, self._ended = 0, self._ended or end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release(end=True)
