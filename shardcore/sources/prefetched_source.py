"""Source for detecting and opening a file, which reads the first and last bytes only once."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.sources.base import WHOLE_HEAD, Source
from shardcore.sources.wrapper_sources import WrapperSource


class PrefetchedSource(WrapperSource):
    """Keeps the first and last bytes of a source while formats detect and open it; the open shard reads from `base`.

    The cache of remote sources cannot replace it: it may be small, and each read from it is in the request log.

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
        """Return the first `count` bytes; at most one read, after which the size is known, too."""
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
