"""Options of extraction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from shardcore.model.objects import State

AS_USUAL = ""
"""Default parts: those that are separate files in the unsharded format (fragments of a mesh)."""

ALL_PARTS = "all"

NO_PARTS = "none"


class Conflict(StrEnum):
    """Policy for a file that exists already. No policy follows a link or replaces a folder."""

    ERROR = "error"
    """The object is not written, which is an error."""
    SKIP = "skip"
    """A file with the name and size of the object is kept, and no content is read for it.

    Name and size suffice, since a file gets its name only when it is complete. If the size is unknown before reading
    (compressed chunks of Neuroglancer), the name suffices. A file of another size is kept, which is an error."""
    RENAME = "rename"
    """The object gets the next free name: `name (2).txt`."""
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class ExtractOptions:
    """Options of extraction.

    Attributes:
        folders: Whether a key that is a relative path (`a/b/c.txt`) is extracted into sub-folders.
        conflict: Policy for existing files.
        guess_extension: Whether a name without an extension gets one, detected from the content.
        skip_unused: Whether slots without an object are left out; otherwise the manifest lists them.
        deleted: Whether tombstoned objects are included, if the shard was opened to return them.
        parts: Parts written beside the content: `AS_USUAL`, `ALL_PARTS`, `NO_PARTS`, or the name of one part.
        manifest: Whether `manifest.json` is written.
        limit: Maximum bytes of one object; None for no limit.
    """

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
        """States of the rows that are extracted."""
        states = (State.LIVE, State.EXTERNAL, State.DAMAGED, *(State.TOMBSTONED,) * self.deleted)
        return states if self.skip_unused else (*states, State.UNUSED, State.DELETED)
