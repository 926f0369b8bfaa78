"""Sections: the large parts that cover a file without gaps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import pairwise
from types import MappingProxyType

from shardcore.dataclasses import dataclass

MAX_SECTIONS = 64


class SectionRole(Enum):
    """Role of a section. If two sections overlap, the common bytes belong to the role that is declared first here."""

    HEADER = "header"
    INDEX = "index"
    LOOKUP = "lookup"
    DATA = "data"
    METADATA = "metadata"
    FOOTER = "footer"
    PADDING = "padding"
    TRAILING = "trailing"
    UNKNOWN = "unknown"


SECTION_LETTERS: Mapping[SectionRole, str] = MappingProxyType(
    {
        SectionRole.HEADER: "H",
        SectionRole.INDEX: "I",
        SectionRole.LOOKUP: "L",
        SectionRole.DATA: "D",
        SectionRole.METADATA: "M",
        SectionRole.FOOTER: "F",
        SectionRole.PADDING: "P",
        SectionRole.TRAILING: "T",
        SectionRole.UNKNOWN: "?",
    }
)
"""Letter of each role, for users who cannot distinguish the colours."""


@dataclass(frozen=True, slots=True)
class Section:
    """A large part of a file, such as header, index or footer.

    Attributes:
        name: Name in the specification.
        role: Role of the section.
        start: First byte.
        stop: End, exclusive.
        doc: One sentence.
    """

    name: str
    role: SectionRole
    start: int
    stop: int
    doc: str = ""

    @property
    def size(self) -> int:
        """Bytes in the section."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the files of a format. An empty part becomes a section only if `always` is True."""

    name: str
    role: SectionRole
    doc: str
    always: bool = False


def laid_out(parts: Sequence[Part], bounds: Sequence[int]) -> list[Section]:
    """Return the sections of adjacent parts; part `n` has the bytes from `bounds[n]` to `bounds[n + 1]`."""
    places = zip(parts, pairwise(bounds), strict=True)
    return [Section(p.name, p.role, *place, p.doc) for p, place in places if place[0] < place[1] or p.always]


@dataclass(frozen=True, slots=True)
class Overlap:
    owner: Section
    loser: Section
    start: int
    stop: int


def tile(claims: Sequence[Section], size: int) -> tuple[tuple[Section, ...], tuple[Overlap, ...]]:
    """Convert sections so that they cover a file, sorted and without overlaps; return them and the overlaps removed.

    Gaps become sections `unknown`. Sections are cut at the end of the file. An empty section inside another is dropped.
    If there are more than `MAX_SECTIONS`, the last ones are merged into one.
    """
    ranks = {role: rank for rank, role in enumerate(SectionRole)}
    clipped = [_clipped(claim, size) for claim in claims]
    solid = [c for c in clipped if c.size]
    cuts = sorted({0, size, *(c.start for c in solid), *(c.stop for c in solid)})
    sections: list[Section] = []
    owners: list[Section | None] = []
    overlaps: list[Overlap] = []
    for start, stop in pairwise(cuts):
        here = sorted((c for c in solid if c.start < stop and c.stop > start), key=lambda c: ranks[c.role])
        owner = here[0] if here else None
        for loser in here[1:]:
            _note_overlap(overlaps, here[0], loser, start, stop)
        if sections and owners[-1] is owner and sections[-1].stop == start:
            last = sections[-1]
            sections[-1] = Section(last.name, last.role, last.start, stop, last.doc)
        elif owner is None:
            sections.append(
                Section("unknown", SectionRole.UNKNOWN, start, stop, "These bytes are not part of any known structure.")
            )
            owners.append(None)
        else:
            sections.append(Section(owner.name, owner.role, start, stop, owner.doc))
            owners.append(owner)
    for empty in (c for c in clipped if not c.size):
        place = bisect_right([s.stop for s in sections], empty.start)
        if place == len(sections) or sections[place].start >= empty.start:
            sections.insert(place, empty)
    if len(sections) > MAX_SECTIONS:
        start = sections[MAX_SECTIONS - 1].start
        doc = f"{len(sections) - MAX_SECTIONS + 1:,} more sections; at most {MAX_SECTIONS:,} are shown."
        sections[MAX_SECTIONS - 1 :] = [Section("more", SectionRole.UNKNOWN, start, size, doc)]
    return tuple(sections), tuple(overlaps)


def _clipped(claim: Section, size: int) -> Section:
    start = min(max(claim.start, 0), size)
    return Section(claim.name, claim.role, start, min(max(claim.stop, start), size), claim.doc)


def _note_overlap(overlaps: list[Overlap], owner: Section, loser: Section, start: int, stop: int) -> None:
    for number, last in enumerate(overlaps):
        if last.owner is owner and last.loser is loser and last.stop == start:
            overlaps[number] = Overlap(owner, loser, last.start, stop)
            return
    overlaps.append(Overlap(owner, loser, start, stop))
