"""What the tree, the colours and "what is this byte?" read: sections, nodes and runs.

A file is a tree of nodes. Tables are not a million nodes: their children are computed from the row number when asked
for. The same tree answers `explain` (walk down to the byte) and `runs` (walk over a range), so that colours and
explanations cannot disagree.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import Span
from shardcore.record import FieldRole, Value

MAX_SECTIONS = 64

_STEP = 1000


class SectionRole(Enum):
    """What a coarse part of a file is for; where two parts claim the same bytes, the earlier role owns them."""

    HEADER = "header"
    INDEX = "index"
    LOOKUP = "lookup"
    DATA = "data"
    METADATA = "metadata"
    FOOTER = "footer"
    PADDING = "padding"
    TRAILING = "trailing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Section:
    """A coarse part of a file.

    Attributes:
        name: In the words of the specification.
        role: What it is for.
        start: First byte.
        stop: One past the last byte.
        doc: One plain sentence.
    """

    name: str
    role: SectionRole
    start: int
    stop: int
    doc: str = ""

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two sections that claim the same bytes; `owner` got them."""

    owner: Section
    loser: Section
    start: int
    stop: int


def tile(claims: Sequence[Section], size: int) -> tuple[tuple[Section, ...], tuple[Overlap, ...]]:
    """Makes sections tile a file: sorted, no overlap, no hole.

    Args:
        claims: The parts that the format's rules claim; clipped to the file. Empty parts are kept, unless they lie
            inside another.
        size: Bytes of the file.

    Returns:
        The sections, with `unknown` where nobody claims, and the overlaps that were settled. What is more than
        `MAX_SECTIONS` is one `unknown` section at the end.
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
                Section("unknown", SectionRole.UNKNOWN, start, stop, "No rule of the format claims these bytes.")
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
        doc = f"{len(sections) - MAX_SECTIONS + 1} more parts: a file is shown as {MAX_SECTIONS} at most."
        sections[MAX_SECTIONS - 1 :] = [Section("more", SectionRole.UNKNOWN, start, size, doc)]
    return tuple(sections), tuple(overlaps)


def _clipped(claim: Section, size: int) -> Section:
    start = min(max(claim.start, 0), size)
    return Section(claim.name, claim.role, start, min(max(claim.stop, start), size), claim.doc)


def _note_overlap(overlaps: list[Overlap], owner: Section, loser: Section, start: int, stop: int) -> None:
    """Takes an overlap; one that goes on where the last of the same two ended makes that longer."""
    for number, last in enumerate(overlaps):
        if last.owner is owner and last.loser is loser and last.stop == start:
            overlaps[number] = Overlap(owner, loser, last.start, stop)
            return
    overlaps.append(Overlap(owner, loser, start, stop))


@dataclass(frozen=True, slots=True)
class Runs:
    """Consecutive ranges of equal meaning, for painting.

    Attributes:
        start: First byte of each run, int64, ascending.
        stop: One past the last byte, int64.
        role: `FieldRole` of the smallest thing that owns the bytes, uint8.
        parity: 0 or 1, alternating between neighbours of one kind, uint8.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    role: NDArray[np.uint8]
    parity: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def of(start: Any, stop: Any, role: Any, parity: Any) -> Runs:
        """Runs from array-likes; empty ranges are dropped."""
        starts, stops = np.asarray(start, np.int64).ravel(), np.asarray(stop, np.int64).ravel()
        roles = np.broadcast_to(np.asarray(role, np.uint8).ravel(), starts.shape)
        parities = np.broadcast_to(np.asarray(parity, np.uint8).ravel(), starts.shape)
        keep = stops > starts
        return Runs(starts[keep], stops[keep], roles[keep], parities[keep])

    @staticmethod
    def join(parts: Sequence[Runs]) -> Runs:
        """One after the other."""
        if not parts:
            return Runs.of([], [], [], [])
        return Runs(
            np.concatenate([p.start for p in parts]),
            np.concatenate([p.stop for p in parts]),
            np.concatenate([p.role for p in parts]),
            np.concatenate([p.parity for p in parts]),
        )

    def clip(self, start: int, stop: int) -> Runs:
        """The part inside `[start, stop)`."""
        return Runs.of(np.maximum(self.start, start), np.minimum(self.stop, stop), self.role, self.parity)


class Children(Sequence["Node"]):
    """Nodes computed when asked for, sorted by their first byte, all in one source.

    Computing may read; the window fetches children through jobs. Where two neighbours overlap, the later one owns the
    common bytes.
    """

    source: str = ""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def make(self, start: int, stop: int) -> list[Node]:
        """The nodes number `start` to `stop`, half-open, inside the length."""

    @abstractmethod
    def overlap(self, start: int, stop: int) -> range:
        """The numbers of the nodes that may touch the bytes `[start, stop)`."""

    def runs(self, start: int, stop: int) -> Runs | None:
        """The runs of all leaves in `[start, stop)`, or None when they must be collected node by node."""
        return None

    @property
    def expandable(self) -> bool:
        """Whether there are nodes at all, without computing them."""
        return len(self) > 0

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> list[Node]: ...
    def __getitem__(self, index: int | slice) -> Node | list[Node]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[i] for i in range(start, stop, step)]
            return self.make(start, max(start, stop))
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        return self.make(number, number + 1)[0]

    def __iter__(self) -> Iterator[Node]:
        for start in range(0, len(self), _STEP):
            yield from self.make(start, min(start + _STEP, len(self)))


@dataclass(frozen=True, slots=True)
class Node:
    """One thing in a file: a section, a record, a field, an object.

    Attributes:
        name: In the words of the specification.
        span: Its bytes.
        value: What the bytes hold, or None for a thing made of others.
        text: The value as a person reads it.
        role: What it is for.
        doc: One plain sentence.
        error: What is wrong with it, or empty.
        children: What it is made of; computed when asked for.
        bits: For a part of a bit-packed array: its bits `[first, last)`, counted from the first bit of `span`.
        target: The bytes it points to.
        decoded: The name of the source that its bytes decode to, or empty.
    """

    name: str
    span: Span
    value: Value = None
    text: str = ""
    role: FieldRole = FieldRole.GROUP
    doc: str = ""
    error: str = ""
    # Not in `repr`: a path in a notebook would print the whole tree, once for each of its nodes.
    children: Sequence[Node] = field(default=(), repr=False)
    bits: tuple[int, int] | None = None
    target: Span | None = None
    decoded: str = ""

    @property
    def expandable(self) -> bool:
        """Whether there are children, without computing them."""
        return self.children.expandable if isinstance(self.children, Children) else len(self.children) > 0


def path_to(root: Node, offset: int, source: str = "") -> tuple[Node, ...]:
    """The nodes from `root` down to the smallest one that owns the byte at `offset` of `source`."""
    path = [root]
    while (owner := _owner(path[-1], offset, source)) is not None:
        path.append(owner)
    return tuple(path)


def runs_of(root: Node, start: int, stop: int) -> Runs:
    """The leaves of a tree in `[start, stop)`, as runs; agrees with `path_to` byte by byte."""
    gathered = _Gathered()
    _collect(root, max(start, root.span.start), min(stop, root.span.stop), 0, gathered)
    return gathered.joined()


class _Gathered:
    """Runs on their way: single ones are kept as numbers until many are made into arrays at once."""

    def __init__(self) -> None:
        self._parts: list[Runs] = []
        self._single: list[tuple[int, int, int, int]] = []

    def one(self, start: int, stop: int, role: FieldRole, parity: int) -> None:
        """Takes a run; an empty one is dropped."""
        if stop > start:
            self._single.append((start, stop, role, parity))

    def many(self, runs: Runs) -> None:
        """Takes runs that are arrays already."""
        self._flush()
        self._parts.append(runs)

    def joined(self) -> Runs:
        """All of them, in order."""
        self._flush()
        return Runs.join(self._parts)

    def _flush(self) -> None:
        if self._single:
            self._parts.append(Runs.of(*np.array(self._single, np.int64).T))
            self._single = []


def _solid(nodes: Iterable[tuple[int, Node]], source: str) -> list[tuple[int, Node]]:
    return [pair for pair in nodes if pair[1].bits is None and pair[1].span.size and pair[1].span.source == source]


def _touching(node: Node, start: int, stop: int) -> list[tuple[int, Node]]:
    """The children that own bytes of `[start, stop)`, with their numbers."""
    kids = node.children
    source = node.span.source
    if not isinstance(kids, Children):
        return _solid(enumerate(kids), source)
    inside = kids.overlap(start, stop) if kids.source == source else range(0)
    return _solid(zip(inside, kids.make(inside.start, inside.stop), strict=False), source) if inside else []


def _owner(node: Node, offset: int, source: str) -> Node | None:
    if node.span.source != source:
        return None
    before = [kid for _, kid in _touching(node, offset, offset + 1) if kid.span.start <= offset]
    return before[-1] if before and offset < before[-1].span.stop else None


def _collect(node: Node, start: int, stop: int, parity: int, gathered: _Gathered) -> None:
    if start >= stop:
        return
    kids = node.children
    if isinstance(kids, Children) and kids.source == node.span.source and (ready := kids.runs(start, stop)) is not None:
        gathered.many(_filled(ready, node, start, stop, parity))
        return
    touching = _touching(node, start, stop)
    nexts = [kid.span.start for _, kid in touching[1:]] + [stop]
    at = start
    for (number, kid), upto in zip(touching, nexts, strict=False):
        kid_start, kid_stop = max(kid.span.start, start), min(kid.span.stop, upto, stop)
        if kid_start >= kid_stop:
            continue
        if kid_start > at:
            gathered.one(at, kid_start, node.role, parity)
        _collect(kid, kid_start, kid_stop, number & 1, gathered)
        at = kid_stop
    if at < stop:
        gathered.one(at, stop, node.role, parity)


def _filled(runs: Runs, node: Node, start: int, stop: int, parity: int) -> Runs:
    """Runs with the holes between them given to the parent."""
    edges_start = np.concatenate([[start], runs.stop])
    edges_stop = np.concatenate([runs.start, [stop]])
    holes = Runs.of(edges_start, edges_stop, node.role, parity)
    if not len(holes):
        return runs
    both = Runs.join([runs, holes])
    order = np.argsort(both.start, kind="stable")
    return Runs(both.start[order], both.stop[order], both.role[order], both.parity[order])
