"""Names of the sources of a shard: the file, a sibling, a member, and what stretches of these decode to."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRETCH = re.compile(r"@(\d{1,20})-(\d{1,20})$", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SourceName:
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
        return self if self.path else SourceName(member, self.stretches)

    def inside(self, member: str) -> SourceName:
        return SourceName("", self.stretches) if self.path == member else self


def decoded_name(start: int, stop: int) -> str:
    return str(SourceName(stretches=((start, stop),)))
