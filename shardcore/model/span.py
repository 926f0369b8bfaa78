"""Byte ranges in a file, in a file beside it, or in bytes decoded from it, and the names of these sources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from shardcore.dataclasses import dataclass
from shardcore.model.text import range_text


# Not frozen: that makes creation five times as slow, and lists create millions.
@dataclass(slots=True, order=True, unsafe_hash=True)
class Span:
    """A half-open range of bytes, `[start, stop)`, in a source of a shard.

    Attributes:
        source: `""` for the file, a relative name for a file beside it (`info`, `_bigFiles/9f…`), or `@start-stop` for
            the bytes that this range of the file decodes to.
        start: First byte.
        stop: End, exclusive.
    """

    source: str
    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"invalid half-open range {self.start}..{self.stop}: 0 <= start <= stop is required")

    @property
    def size(self) -> int:
        """Number of bytes in the span."""
        return self.stop - self.start

    def covers(self, offset: int) -> bool:
        """Return whether the byte at `offset` is in the span."""
        return self.start <= offset < self.stop

    def holds(self, other: Span) -> bool:
        """Return whether `other` is in the same source and completely inside this span."""
        return self.source == other.source and self.start <= other.start and other.stop <= self.stop

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; `source` is omitted for the file itself."""
        place: dict[str, Any] = {"source": self.source} if self.source else {}
        return place | {"start": self.start, "stop": self.stop}

    def __str__(self) -> str:
        return range_text(self.start, self.stop, self.source)


def union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge ranges `[start, stop)` that overlap or touch; return them in ascending order, without empty ones."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(one for one in ranges if one[0] < one[1]):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        else:
            found.append((start, stop))
    return found


_STRETCH = re.compile(r"@(\d{1,20})-(\d{1,20})$", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SourceName:
    """Parsed `Span.source`: a path, then `@start-stop` per decoded range; in paths, `@` is `%40` and `%` is `%25`.

    Attributes:
        path: Empty for the file itself; else a relative name (a file beside it, a shard), or `xorb:<hash>`.
        stretches: Half-open ranges that were decoded, outermost first; each is in the decoded bytes of the one before.
    """

    path: str = ""
    stretches: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> SourceName:
        if "@" not in text and "%" not in text:
            return cls(text)
        stretches: list[tuple[int, int]] = []
        while (match := _STRETCH.search(text)) is not None:
            stretches.append((int(match[1]), int(match[2])))
            text = text[: match.start()]
        path = text.replace("%40", "@").replace("%25", "%") if "%" in text else text
        return cls(path, tuple(reversed(stretches)))

    def __str__(self) -> str:
        if not self.stretches and "%" not in self.path and "@" not in self.path:
            return self.path
        path = self.path.replace("%", "%25").replace("@", "%40")
        return path + "".join(f"@{start}-{stop}" for start, stop in self.stretches)

    @property
    def is_file(self) -> bool:
        return not self.path and not self.stretches

    @property
    def stretch(self) -> tuple[int, int] | None:
        return self.stretches[-1] if self.stretches else None

    @property
    def outer(self) -> SourceName:
        return SourceName(self.path, self.stretches[:-1])

    def decoded(self, start: int, stop: int) -> SourceName:
        return SourceName(self.path, (*self.stretches, (start, stop)))

    def placed(self, member: str) -> SourceName:
        """Return the name of the source in the data set; names of files beside the shards do not change."""
        return self if self.path else SourceName(member, self.stretches)

    def inside(self, member: str) -> SourceName:
        return SourceName("", self.stretches) if self.path == member else self


def decoded_name(start: int, stop: int) -> str:
    return str(SourceName(stretches=((start, stop),)))
