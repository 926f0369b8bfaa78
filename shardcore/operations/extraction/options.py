"""Options of extraction, stated once: the library, the command line and the window use the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from shardcore.model.objects import State

AS_USUAL = ""
"""The parts that are files of their own in the unsharded form (the fragments of a mesh)."""

ALL_PARTS = "all"
"""Every part that an object has."""

NO_PARTS = "none"
"""The content alone."""


class Conflict(StrEnum):
    """Policy for a file that exists already. No policy follows a link or replaces a folder."""

    ERROR = "error"
    """The object has no file, and that is an error."""
    SKIP = "skip"
    """A file of the name and the size of the object stays, and no content is read for it; that is not an error.

    A file has its name only when it is complete, so that name and size are enough. Where the size of an object is not
    known before it is read (compressed chunks of Neuroglancer), the name alone counts. A file of another size stays,
    too, and that is an error.
    """
    RENAME = "rename"
    """The object gets the next free name: `name (2).txt`."""
    REPLACE = "replace"
    """The file is replaced."""


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    folders: bool = False
    conflict: Conflict = Conflict.ERROR
    guess_extension: bool = False
    skip_unused: bool = True
    deleted: bool = False
    parts: str = AS_USUAL
    manifest: bool = True
    limit: int | None = None

    @property
    def states(self) -> tuple[State, ...]:
        """The states of the rows that are taken."""
        states = (State.LIVE, State.EXTERNAL, State.DAMAGED, *(State.TOMBSTONED,) * self.deleted)
        return states if self.skip_unused else (*states, State.UNUSED, State.DELETED)
