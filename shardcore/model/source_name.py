"""Names of sources: the file, a file beside it, a shard of a data set, or decoded bytes of one of these."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRETCH = re.compile(r"@(\d{1,20})-(\d{1,20})$", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SourceName:
    """Parsed `Span.source`: a path, then `@start-stop` per decoded range; in paths, `@` is `%40` and `%` is `%25`.

    Attributes:
        path: Empty for the file itself; else a relative name (a file beside it, a shard), or `xorb:<hash>`.
        stretches: Half-open ranges that were decoded, outermost first; each is relative to the decoded bytes before.
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
