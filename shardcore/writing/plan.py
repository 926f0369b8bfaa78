"""Plan of a writer: size, sections and objects of each file before it is written; and the written files."""

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
        size: Size in bytes.
        sections: Sections that cover the file.
        objects: Its objects, in the order in which they were added, also those whose content is in another file.
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
        """Total size of all files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def overhead(self) -> int:
        """Bytes of the files minus bytes of the contents; negative if compression saves more."""
        return self.size - self.content


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """File that was written.

    Attributes:
        path: Path of the file.
        objects: Number of objects.
        size: Size in bytes.
        sha256: Digest of the whole file, in hex.
    """

    path: Path
    objects: int
    size: int
    sha256: str
