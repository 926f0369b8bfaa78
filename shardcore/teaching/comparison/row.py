"""Row of a comparison: one format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shardcore.model.section import SectionRole


@dataclass(frozen=True, slots=True)
class SectionShare:
    """A section of what is packed; sections of one name are one piece where there are many files.

    Attributes:
        name: In the words of the specification.
        role: What it is for.
        size: Bytes.
        count: Of how many sections.
        doc: One plain sentence.
    """

    name: str
    role: SectionRole
    size: int
    count: int = 1
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Cold cost of one lookup.

    Attributes:
        requests: Ranges that are fetched: to open it, to find the key, and the object's own bytes.
        opening: How many of these it took to open it.
        bytes: Bytes in them.
        rounds: How often one waits: ranges that are fetched at once are one round.
        size: Bytes of the object that came out of it.
        kind: What was looked up: an object, or what the format has for one (a chunk).
    """

    requests: int
    opening: int
    bytes: int
    rounds: int
    size: int
    kind: str


class How(Enum):
    """In which way a change is made."""

    IN_PLACE = "in place"
    """Bytes of the file change."""
    BESIDE = "beside"
    """The file stays; a small one beside it changes, or a new one is written."""
    REWRITE = "rewrite"
    """The whole file is written anew."""
    REMOVE = "remove"
    """A file is removed."""
    READ = "read"
    """Nothing changes."""
    NEVER = "never"
    """It cannot be done."""


@dataclass(frozen=True, slots=True)
class ActionCost:
    """Cost of one action.

    Attributes:
        how: In which way it is done.
        written: Bytes written.
        read: Bytes read, where that was counted.
        what: One sentence: what is done, or why it cannot be.
        exact: Whether the numbers were counted; else they are estimates.
    """

    how: How
    written: int = 0
    read: int | None = None
    what: str = ""
    exact: bool = True


@dataclass(frozen=True, slots=True)
class FormatRow:
    """One format.

    Attributes:
        format: Its name.
        title: What people call it.
        cannot: One sentence: what it cannot.
        purpose: One sentence: what it is for.
        dial: The name of its main parameter; empty where it has none.
        value: The value of that; empty where options were given instead.
        content: Bytes of the contents that were packed.
        objects: How many objects that are.
        files: How many files they became.
        pieces: The sections of these, in the order of the bytes.
        lookup: One cold lookup; None while it was not made.
        costs: What append, delete and verify cost, by these names; empty while nothing was made.
        notes: What people should know, a sentence each.
        error: Why there is nothing; empty where there is.
    """

    format: str
    title: str
    cannot: str = ""
    purpose: str = ""
    dial: str = ""
    value: str = ""
    content: int = 0
    objects: int = 0
    files: int = 0
    pieces: tuple[SectionShare, ...] = ()
    lookup: Lookup | None = None
    costs: Mapping[str, ActionCost] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(piece.size for piece in self.pieces)

    @property
    def overhead(self) -> int:
        """Bytes over those of the contents; negative where they are compressed."""
        return self.size - self.content

    @property
    def share(self) -> float:
        """The overhead as a part of the contents."""
        return self.overhead / self.content if self.content else 0.0

    @property
    def structure(self) -> int:
        """Bytes that are no contents: all sections but those of data."""
        return sum(piece.size for piece in self.pieces if piece.role is not SectionRole.DATA)
