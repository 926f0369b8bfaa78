"""Space used in a file: bytes per purpose, which add up to the file size; and distributions such as keys per slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import lgamma

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shardcore.dataclasses import dataclass, field
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.progress import Progress

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Distribution: the number of things (such as keys) in each place (such as a slot, bucket, minishard or file).

    Attributes:
        title: Title, such as `Keys in each minishard`.
        place: Noun for one place, such as `minishard`.
        thing: Noun for one thing, such as `key`.
        doc: One or two sentences.
        ideal: Ideal number of things per place: one number, or one for each place; None if there is no ideal.
        by_chance: Whether a hash distributes the things, so that counts follow a binomial distribution.
        row_bounds: Place i has the objects `[row_bounds[i], row_bounds[i + 1])`; None if they are not contiguous.
        starts: Offset of each place; None if places have no bytes.
        stops: End of each place.
        key_prefixes: Common prefix of the keys in each place, if the prefix determines the place; else empty.
        names: Name of each place, for the files of a data set; empty: places are numbered.
    """

    title: str
    place: str
    thing: str
    counts: I64
    doc: str
    ideal: float | F64 | None = None
    ideal_name: str = "evenly spread"
    by_chance: bool = False
    row_bounds: I64 | None = None
    starts: I64 | None = None
    stops: I64 | None = None
    key_prefixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def places(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def ideals(self) -> F64 | None:
        return None if self.ideal is None else np.broadcast_to(np.asarray(self.ideal, np.float64), (self.places,))

    def rows_in(self, first: int, last: int) -> tuple[int, int] | None:
        if self.row_bounds is None:
            return None
        return int(self.row_bounds[first]), int(self.row_bounds[last])

    def bytes_in(self, first: int, last: int) -> tuple[int, int] | None:
        if self.starts is None or self.stops is None:
            return None
        starts, stops = self.starts[first:last], self.stops[first:last]
        solid = stops > starts
        return (int(starts[solid].min()), int(stops[solid].max())) if solid.any() else None


@dataclass(frozen=True, slots=True)
class LoadSource:
    """A `Load` that is computed on request: `make` computes it, and reads at most `reads` bytes."""

    name: str
    title: str
    reads: int
    make: Callable[[Progress], Load] = field(compare=False)


def counts_of(numbers: NDArray[np.integer], places: int) -> I64:
    return np.bincount(numbers.astype(np.int64, copy=False), minlength=places)[:places].astype(np.int64)


def binomial(things: int, places: int, most: int) -> F64:
    """Return the expected number of places that contain 0, 1, … `most` things, shape `(most + 1,)`."""
    found = np.zeros(most + 1)
    if places <= 1:
        if things <= most:
            found[things] = places
        return found
    p, whole = 1.0 / places, lgamma(things + 1)
    inside, outside = np.log(p), np.log1p(-p)
    for k in range(min(most, things) + 1):
        log = whole - lgamma(k + 1) - lgamma(things - k + 1) + k * inside + (things - k) * outside
        found[k] = places * np.exp(log)
    return found


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
    """Bytes of a file with the same use. They form `stretches` ranges; `span` is the first range, None if unknown."""

    use: Use
    name: str
    size: int
    span: Span | None = None
    stretches: int = 1
    doc: str = ""


def share_of(use: Use, name: str, starts: ArrayLike, stops: ArrayLike, doc: str = "") -> Share:
    """Return the share of the bytes in the ranges `[starts, stops)`, in any order. Overlapping bytes count once."""
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
    """Return the shares of a file, one per section. `inside` divides a section, by its name, into several shares.

    Remaining bytes of a section become one more share. If the shares exceed the section, it is not divided.
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
