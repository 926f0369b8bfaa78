"""Shares of a file: number of bytes per use. The shares add up to the file size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span


class Use(Enum):
    DATA = "data"
    INDEX = "index"
    LOOKUP = "lookup"
    HEADER = "header"
    METADATA = "metadata"
    FOOTER = "footer"
    PADDING = "padding"
    SLACK = "slack"
    DEAD = "dead"
    UNKNOWN = "unknown"

    @property
    def doc(self) -> str:
        return _DOCS[self]


_DOCS = {
    Use.DATA: "Stored contents of the objects.",
    Use.INDEX: "Offset and size of each object.",
    Use.LOOKUP: "Tables that map a key to its row in the index.",
    Use.HEADER: "Metadata of the file, at its beginning.",
    Use.METADATA: "Other metadata of the file or its objects.",
    Use.FOOTER: "Metadata of the file, at its end.",
    Use.PADDING: "Filler bytes, for alignment.",
    Use.SLACK: "Space that is reserved for later, or that the lookup requires.",
    Use.DEAD: "Bytes that readers no longer use: of deleted objects, or between objects.",
    Use.UNKNOWN: "Bytes that are not part of any known structure.",
}

USE_OF_SECTION = {
    SectionRole.HEADER: Use.HEADER,
    SectionRole.INDEX: Use.INDEX,
    SectionRole.LOOKUP: Use.LOOKUP,
    SectionRole.DATA: Use.DATA,
    SectionRole.METADATA: Use.METADATA,
    SectionRole.FOOTER: Use.FOOTER,
    SectionRole.PADDING: Use.PADDING,
    SectionRole.TRAILING: Use.DEAD,
    SectionRole.UNKNOWN: Use.UNKNOWN,
}
"""Default use of the bytes of a section."""


@dataclass(frozen=True, slots=True)
class Share:
    """Bytes of a file with one use, in `stretches` ranges; `span` is the first range, None if unknown."""

    use: Use
    name: str
    size: int
    span: Span | None = None
    stretches: int = 1
    doc: str = ""


def share_of(use: Use, name: str, starts: ArrayLike, stops: ArrayLike, doc: str = "") -> Share:
    """Return the share that consists of many ranges `[starts, stops)` in any order; overlapping bytes count once."""
    first, last = np.atleast_1d(np.asarray(starts, np.int64)), np.atleast_1d(np.asarray(stops, np.int64))
    solid = last > first
    first, last = first[solid], last[solid]
    if not len(first):
        return Share(use, name, 0, None, 0, doc)
    if (first[1:] < first[:-1]).any():
        order = np.argsort(first, kind="stable")
        first, last = first[order], last[order]
    reach = np.maximum.accumulate(last)
    before = np.concatenate([first[:1], reach[:-1]])
    size = int(np.maximum(last - np.maximum(first, before), 0).sum())
    breaks = np.flatnonzero(first[1:] > reach[:-1])
    end = int(reach[breaks[0]]) if len(breaks) else int(reach[-1])
    return Share(use, name, size, Span("", int(first[0]), end), len(breaks) + 1, doc)


def budget(sections: Sequence[Section], inside: Mapping[str, Sequence[Share]] | None = None) -> tuple[Share, ...]:
    """Return the shares of a file. `inside` divides sections, given by name, into parts.

    The rest of a section becomes a share of its own. If the parts are larger than the section, it stays one share.
    """
    shares: list[Share] = []
    for section in sections:
        parts = [part for part in (inside or {}).get(section.name, ()) if part.size]
        left = section.size - sum(part.size for part in parts)
        if left < 0:
            parts, left = [], section.size
        shares += parts
        if left:
            use = USE_OF_SECTION[section.role]
            name = f"rest of {section.name}" if parts else section.name
            place = None if parts else Span("", section.start, section.stop)
            shares.append(Share(use, name, left, place, 1, section.doc))
    return tuple(shares)
