"""A range of bytes in one of the sources of a shard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shardcore.model.number_text import range_text


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of bytes, `[start, stop)`, in a source of a shard.

    Attributes:
        source: `""` for the file, a relative name for a file beside it (`info`, `_bigFiles/9f…`), or `@start-stop` for
            decoded bytes of the file.
        start: First byte.
        stop: End, exclusive.
    """

    source: str
    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"not a half-open range: {self.start}..{self.stop}")

    @property
    def size(self) -> int:
        """Bytes in the span."""
        return self.stop - self.start

    def covers(self, offset: int) -> bool:
        """Return whether the byte at `offset` is in the span."""
        return self.start <= offset < self.stop

    def holds(self, other: Span) -> bool:
        """Return whether the other span is inside, in the same source."""
        return self.source == other.source and self.start <= other.start and other.stop <= self.stop

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; `source` is omitted for the file itself."""
        place: dict[str, Any] = {"source": self.source} if self.source else {}
        return place | {"start": self.start, "stop": self.stop}

    def __str__(self) -> str:
        return range_text(self.start, self.stop, self.source)


def union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ascending ranges that do not touch, with the same bytes; empty ranges are dropped."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(one for one in ranges if one[0] < one[1]):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found
