"""Plan of a writer, and the files that it has written."""

from __future__ import annotations

from pathlib import Path

from shardcore.dataclasses import dataclass
from shardcore.model.objects import Objects
from shardcore.model.section import Section


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """File that a writer will write.

    Attributes:
        name: Relative to the target folder, or to the folder of a target file, with `/`. Empty if there is no target.
        size: Bytes.
        sections: Sections that cover it.
        objects: Its objects, in the order of adding; includes contents stored elsewhere.
    """

    name: str
    size: int
    sections: tuple[Section, ...]
    objects: Objects


@dataclass(frozen=True, slots=True)
class Plan:
    """All files that a writer will write, in order.

    Attributes:
        files: The files.
        exact: Whether all numbers are exact; otherwise sizes are estimates, shown with `≈`.
        content: Bytes of the added contents.
    """

    files: tuple[PlannedFile, ...]
    exact: bool = True
    content: int = 0

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def overhead(self) -> int:
        """Bytes of the files minus bytes of the contents; negative if compression saves more."""
        return self.size - self.content


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """File that was written.

    Attributes:
        path: Its path.
        objects: Number of objects.
        size: Bytes.
        sha256: Digest of the whole file, in hex.
    """

    path: Path
    objects: int
    size: int
    sha256: str
