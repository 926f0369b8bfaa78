"""What a writer is going to write, and what it has written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shardcore.nodes.sections import Section
from shardcore.objects import Objects


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file that a writer is going to write, in the words of reading.

    Attributes:
        name: Relative to the target, where that is a folder, else to the folder of the target; `/` between parts.
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
    """All files that a writer is going to write, in the order of their appearance."""

    files: tuple[PlannedFile, ...]


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file that is written and complete.

    Attributes:
        path: Where.
        objects: How many objects it holds.
        size: Bytes.
        sha256: Of the whole file, hexadecimal.
    """

    path: Path
    objects: int
    size: int
    sha256: str
