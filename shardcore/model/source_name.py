"""Names of the sources of a shard: the file, a sibling, a member, and what stretches of these decode to."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRETCH = re.compile(r"@(\d{1,20})-(\d{1,20})$", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class SourceName:
    """Parsed text of `Span.source`.

    The text is the path, then `@start-stop` for each stretch. In a path, `@` is written `%40` and `%` is written
    `%25`, so that a file that happens to be called `a@1-2` is no stretch.

    Attributes:
        path: `""` for the file itself; else a name relative to its folder (a sibling, or a member of a data set), or
            `xorb:<hash>`.
        stretches: Which bytes decode to the source, outermost first, each half-open `(start, stop)`: the first counts
            in the file at `path`, each further one in what the one before decodes to. Empty for stored bytes.
    """

    path: str = ""
    stretches: tuple[tuple[int, int], ...] = ()

    @classmethod
    def parse(cls, text: str) -> SourceName:
        """Return the name that a text stands for; the inverse of `str`. Every text is some name."""
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
        """Return whether it is the file itself."""
        return not self.path and not self.stretches

    @property
    def stretch(self) -> tuple[int, int] | None:
        """The bytes of `outer` that decode to the source; None for stored bytes."""
        return self.stretches[-1] if self.stretches else None

    @property
    def outer(self) -> SourceName:
        """The source that the last stretch lies in; of stored bytes the name itself."""
        return SourceName(self.path, self.stretches[:-1])

    def decoded(self, start: int, stop: int) -> SourceName:
        """Return what the bytes `[start, stop)` of this source decode to."""
        return SourceName(self.path, (*self.stretches, (start, stop)))

    def placed(self, member: str) -> SourceName:
        """Return a name in the words of a member, in the words of its data set; siblings keep theirs."""
        return self if self.path else SourceName(member, self.stretches)

    def inside(self, member: str) -> SourceName:
        """Return the inverse of `placed`."""
        return SourceName("", self.stretches) if self.path == member else self


def decoded_name(start: int, stop: int) -> str:
    """Return the text of the name of what the bytes `[start, stop)` of the file decode to."""
    return str(SourceName(stretches=((start, stop),)))
