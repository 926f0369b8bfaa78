"""Fetching whole remote files with a few large ranges, where an operation needs all of their bytes."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from shardcore.errors import ShardError
from shardcore.sources.read_purpose import most

if TYPE_CHECKING:
    from shardcore.sources.base import Source

MOST_WHOLE = 64 << 20
"""Bytes of the largest file that is fetched whole; longer ones are read ahead as they are read."""

ROOM = 192 << 20
"""Bytes of files that are fetched whole at the same time: the block cache keeps 256 MB until they are read."""


class _Room:
    """Bytes that all operations together may still fetch ahead."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Return whether there is room for so many bytes; then they are taken."""
        with self._lock:
            fits = size <= self._left
            self._left -= size if fits else 0
            return fits

    def give_back(self, size: int) -> None:
        """Let others have so many bytes."""
        with self._lock:
            self._left += size


_room = _Room(ROOM)


class WholeFiles:
    """Remote files that an operation fetches whole. A context manager.

    Args:
        source: The first one; None where a shard has no file of its own.
    """

    def __init__(self, source: Source | None = None) -> None:
        self._taken = 0
        self._ended = False
        if source is not None:
            self.fetch(source)

    def fetch(self, source: Source) -> bool:
        """Begin to fetch the bytes of a remote file that are not in the cache, and wait for nothing.

        Nothing is fetched of local files, of long ones, where other files have taken the room, and where the user wants
        to be asked first. An error is reported by the read that needs the bytes.

        Returns:
            Whether it was begun.
        """
        size = 0 if self._ended or source.near else source.size
        limit = most()
        if not 0 < size <= MOST_WHOLE or (limit is not None and size > limit) or not _room.take(size):
            return False
        self._taken += size
        with contextlib.suppress(ShardError):
            source.prefetch(0, size)
        return True

    def release(self) -> None:
        """Let others have the room; what was fetched stays in the cache as long as that has room."""
        taken, self._taken = self._taken, 0
        _room.give_back(taken)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self.release()
