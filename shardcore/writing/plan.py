"""Plan of a writer, and the files it has written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shardcore.model.objects import Objects
from shardcore.model.section import Section


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file that a writer is going to write, in the words of reading.

    Attributes:
        name: Relative to the target, where that is a folder, else to the folder of the target; `/` between parts.
            Empty where the target has no name, because it is only planned.
        size: Bytes.
        sections: They tile it.
        objects: What it will hold, in the order of adding; content that is kept elsewhere included.
    """

    name: str
    size: int
    sections: tuple[Section, ...]
    objects: Objects


@dataclass(frozen=True, slots=True)
class Plan:
    """All files that a writer is going to write, in the order of their appearance.

    Attributes:
        files: The files.
        exact: Whether every number is the one that is going to be written; else sizes are estimates, shown with `≈`.
        content: Bytes of the contents that were added.
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
        """Bytes over those of the contents; negative where they are compressed."""
        return self.size - self.content


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file that is written and complete.

    Attributes:
        path: Where.
        objects: Number of objects.
        size: Bytes.
        sha256: Of the whole file, hexadecimal.
    """

    path: Path
    objects: int
    size: int
    sha256: str
