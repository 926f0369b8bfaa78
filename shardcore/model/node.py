"""Nodes and runs, read by the tree, the colours and the explanation of a byte.

A file is a tree of nodes. Tables are not a million nodes: their children are computed from the row number when asked
for. The same tree answers `explain` (walk down to the byte) and `runs` (walk over a range), so that colours and
explanations cannot disagree.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from shardcore.model.budget import charge_items
from shardcore.model.displayed import Displayed
from shardcore.model.record import Differs, FieldRole, Value
from shardcore.model.runs import Runs
from shardcore.model.span import Span

_STEP = 1000


class Children(Sequence["Node"]):
    source: str = ""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def make(self, start: int, stop: int) -> list[Node]:
        """Return the nodes number `start` to `stop`, half-open, inside the length."""

    def span_of(self, number: int) -> Span:
        return self.make(number, number + 1)[0].span

    @abstractmethod
    def overlap(self, start: int, stop: int) -> range:
        """Return the numbers of the nodes that may touch the bytes `[start, stop)`."""

    def runs(self, start: int, stop: int) -> Runs | None:
        return None

    @property
    def expandable(self) -> bool:
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
            charge_items(max(stop - start, 0))
            return self.make(start, max(start, stop))
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        charge_items(1)
        return self.make(number, number + 1)[0]

    def __iter__(self) -> Iterator[Node]:
        for start in range(0, len(self), _STEP):
            charge_items(min(_STEP, len(self) - start))
            yield from self.make(start, min(start + _STEP, len(self)))


@dataclass(frozen=True, slots=True)
class ExternalBytes:
    text: str
    find: Callable[[], Span]


@dataclass(frozen=True, slots=True)
class Node(Displayed):
    """A named stretch of a file: a section, a record, a field, an object.

    Attributes:
        name: In the words of the specification.
        span: Its bytes.
        value: What the bytes hold, or None for a node made of others.
        text: The value as a person reads it.
        role: The role.
        doc: One plain sentence.
        error: What is wrong with it, or empty.
        children: What it is made of; computed when requested.
        bits: For a part of a bit-packed array: its bits `[first, last)`, counted from the first bit of `span`.
        target: The bytes it points to.
        decoded: The name of the source that its bytes decode to, or empty.
        row: The row in `Shard.objects` of the object it belongs to: its content, its record, an entry that points to
            it. None where there is none, or where the node around it states it.
        elsewhere: The bytes in another file that it stands for, or None.
        type: How the bytes hold the value, as the layout states it: `u64 BE`; empty where none does.
        sum: How the value adds up, in words: `13 slots × 40`; empty where it is no sum.
        spec: Where the specification states it; empty where the node around it states it, or nothing does.
        differs: Where the published page and practice do not agree on it; None where they do.
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
    row: int | None = None
    type: str = ""
    sum: str = ""
    # Not in `repr`, nor compared: it is made again with every node.
    elsewhere: ExternalBytes | None = field(default=None, repr=False, compare=False)
    spec: str = ""
    differs: Differs | None = None

    @property
    def expandable(self) -> bool:
        """Return whether there are children, without computing them."""
        return self.children.expandable if isinstance(self.children, Children) else len(self.children) > 0


def path_to(root: Node, offset: int, source: str = "") -> tuple[Node, ...]:
    path = [root]
    while (owner := _owner(path[-1], offset, source)) is not None:
        path.append(owner)
    return tuple(path)


def named(path: tuple[Node, ...], span: Span) -> tuple[Node, ...]:
    for number in range(len(path), 0, -1):
        if path[number - 1].span.holds(span):
            return path[:number]
    return path


def nearest_row(path: Sequence[Node]) -> int | None:
    return next((node.row for node in reversed(path) if node.row is not None), None)


def runs_of(root: Node, start: int, stop: int) -> Runs:
    gathered = _Gathered()
    _collect(root, max(start, root.span.start), min(stop, root.span.stop), 0, gathered)
    return gathered.joined()


def fields_of(root: Node, start: int, stop: int, limit: int) -> list[tuple[Node, ...]]:
    found: list[tuple[Node, ...]] = []
    _find_fields((root,), max(start, root.span.start), min(stop, root.span.stop), limit, found)
    return found


_MORE = 16
"""Children that are made besides twice as many as fields are needed: of some none begins in the stretch."""


def _find_fields(path: tuple[Node, ...], start: int, stop: int, limit: int, found: list[tuple[Node, ...]]) -> None:
    node, at = path[-1], start
    for _, kid, kid_start, kid_stop in _owned(node, start, stop, _MORE + 2 * limit):
        if len(found) >= limit:
            return
        if kid_start > at == node.span.start:
            found.append(path)
        _find_fields((*path, kid), kid_start, kid_stop, limit, found)
        at = kid_stop
    if at < stop and at == node.span.start and len(found) < limit:
        found.append(path)


def _owned(node: Node, start: int, stop: int, most: int | None = None) -> Iterator[tuple[int, Node, int, int]]:
    touching = _touching(node, start, stop, most)
    nexts = [kid.span.start for _, kid in touching[1:]] + [stop]
    for (number, kid), upto in zip(touching, nexts, strict=False):
        kid_start, kid_stop = max(kid.span.start, start), min(kid.span.stop, upto, stop)
        if kid_start < kid_stop:
            yield number, kid, kid_start, kid_stop


class _Gathered:
    def __init__(self) -> None:
        self._parts: list[Runs] = []
        self._single: list[tuple[int, int, int, int]] = []

    def one(self, start: int, stop: int, role: FieldRole, parity: int) -> None:
        if stop > start:
            self._single.append((start, stop, role, parity))

    def many(self, runs: Runs) -> None:
        self._flush()
        self._parts.append(runs)

    def joined(self) -> Runs:
        self._flush()
        return Runs.join(self._parts)

    def _flush(self) -> None:
        if self._single:
            self._parts.append(Runs.of(*np.array(self._single, np.int64).T))
            self._single = []


def _solid(nodes: Iterable[tuple[int, Node]], source: str) -> list[tuple[int, Node]]:
    return [pair for pair in nodes if pair[1].bits is None and pair[1].span.size and pair[1].span.source == source]


def _touching(node: Node, start: int, stop: int, most: int | None = None) -> list[tuple[int, Node]]:
    kids = node.children
    source = node.span.source
    if not isinstance(kids, Children):
        return _solid(enumerate(kids), source)
    inside = kids.overlap(start, stop)[:most] if kids.source == source else range(0)
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
    at = start
    for number, kid, kid_start, kid_stop in _owned(node, start, stop):
        if kid_start > at:
            gathered.one(at, kid_start, node.role, parity)
        _collect(kid, kid_start, kid_stop, number & 1, gathered)
        at = kid_stop
    if at < stop:
        gathered.one(at, stop, node.role, parity)


def _filled(runs: Runs, node: Node, start: int, stop: int, parity: int) -> Runs:
    edges_start = np.concatenate([[start], runs.stop])
    edges_stop = np.concatenate([runs.start, [stop]])
    holes = Runs.of(edges_start, edges_stop, node.role, parity)
    if not len(holes):
        return runs
    return Runs.join([runs, holes]).sorted()
