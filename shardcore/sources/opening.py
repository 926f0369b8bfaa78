"""The source through which a file is recognised and opened: its two ends are read once."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.errors import UsageError
from shardcore.sources.base import Source
from shardcore.sources.wrapped import AroundSource


class PrefetchedSource(AroundSource):
    """Keeps the first and last bytes of a source while it is recognised and opened, so that they are read once.

    Args:
        base: The source.
        guess: How many bytes to fetch at once from either end.

    Attributes:
        notes: What a format found out while it recognised the source and wants to know again when it opens it.
    """

    def __init__(self, base: Source, guess: int = 65536) -> None:
        super().__init__(base)
        self.notes: dict[str, object] = {}
        self._guess = guess
        self._kept: list[tuple[int, bytes]] = []

    def head(self, count: int) -> bytes:
        """The first `count` bytes, or all when there are fewer; at most one read."""
        count = min(count, self.size)
        return self.read(0, count)

    def read(self, start: int, stop: int) -> bytes:
        """Reads exactly the bytes `[start, stop)`; the first bytes of the source are fetched with a guess."""
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        if (kept := self._kept_part(start, stop)) is not None:
            return kept
        self._check_range(start, stop)
        if start == 0 and stop <= self._guess:
            data = self.base.read(0, min(self._guess, self.size))
            self._kept.append((0, data))
            return data[:stop]
        return self.base.read(start, stop)

    def read_last(self, count: int) -> bytes:
        """Reads the last `count` bytes, or all when there are fewer, with a guess."""
        count = min(count, self.size)
        if (kept := self._kept_part(self.size - count, self.size)) is not None:
            return kept
        if count <= self._guess:
            data = self.base.read_last(self._guess)
            self._kept.append((self.size - len(data), data))
            return data[len(data) - count :]
        return self.base.read_last(count)

    def read_many(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Reads several ranges: those that are kept from memory, the others as the source reads several."""
        parts = {number: self._kept_part(*wanted) for number, wanted in enumerate(ranges) if wanted[0] <= wanted[1]}
        missing = [number for number in range(len(ranges)) if parts.get(number) is None]
        fresh = self.base.read_many([ranges[number] for number in missing]) if missing else []
        parts.update(zip(missing, fresh, strict=True))
        return [parts[number] or b"" for number in range(len(ranges))]

    def close(self) -> None:
        """Closes the source that is opened, and forgets what was kept."""
        self._kept = []
        super().close()

    def _kept_part(self, start: int, stop: int) -> bytes | None:
        for first, data in self._kept:
            if first <= start and stop <= first + len(data):
                return data[start - first : stop - first]
        return None
