"""Tree of a file: a node per section, record, field and object; and the byte ranges of its leaves, for colours.

The children of a table are computed from the row number on access. `path_to` (explanation of a byte) and `runs_of`
(colours) use the same tree, so they always agree.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field
from shardcore.model.budget import charge_items
from shardcore.model.record import Differs, FieldRole, Value
from shardcore.model.span import Span
from shardcore.model.text import Displayed

_STEP = 1000


class Children(Sequence["Node"]):
    """Child nodes that are computed on access, sorted by first byte, all in one source.

    Computing may read the file, so the window does it in jobs. If two overlap, the later one owns the common bytes.
    """

    source: str = ""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def make(self, start: int, stop: int) -> list[Node]:
        """Return the nodes with the numbers `[start, stop)`, which must exist."""

    def span_of(self, number: int) -> Span:
        """Return the span of one node; tables compute it without reading the row."""
        return self.make(number, number + 1)[0].span

    @abstractmethod
    def overlap(self, start: int, stop: int) -> range:
        """Return the numbers of the nodes that may overlap the bytes `[start, stop)`."""

    def runs(self, start: int, stop: int) -> Runs | None:
        """Return the runs of all leaves in the bytes `[start, stop)`; None if they must be collected from the nodes."""
        return None

    @property
    def expandable(self) -> bool:
        """True if there are nodes; does not compute them."""
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
    """Bytes in another file. `find` returns their location; it may read. ShardError if the file is missing."""

    text: str
    find: Callable[[], Span]


@dataclass(frozen=True, slots=True)
class Node(Displayed):
    """A named range of a file: a section, record, field or object.

    Attributes:
        name: Name in the specification.
        span: Its bytes.
        value: Value of the bytes; None for a node with children.
        text: Value as displayed.
        role: Role, which determines colour and display.
        doc: One sentence.
        error: Reason why the node is invalid; may be empty.
        children: Child nodes; may be computed on access.
        bits: Range of bits `[first, last)` of a value in a bit-packed array, from the first bit of `span`.
        target: Bytes that the value points to.
        decoded: Name of the source that has the decoded bytes; may be empty.
        row: Row in `Shard.objects` of the object that the node stores or describes; None for other nodes.
        elsewhere: Bytes in another file, if any.
        type: Type in the layout, such as `u64 BE`; may be empty.
        sum: Calculation behind the value, such as `13 slots × 40`; may be empty.
        spec: Section of the specification; empty if it is that of the parent.
        differs: Difference between specification and practice, if any.
    """

    name: str
    span: Span
    value: Value = None
    text: str = ""
    role: FieldRole = FieldRole.GROUP
    doc: str = ""
    error: str = ""
    # Not in `repr`: a path would print the whole tree once per node.
    children: Sequence[Node] = field(default=(), repr=False)
    bits: tuple[int, int] | None = None
    target: Span | None = None
    decoded: str = ""
    row: int | None = None
    type: str = ""
    sum: str = ""
    # Not in `repr` or comparisons: it is created again with every node.
    elsewhere: ExternalBytes | None = field(default=None, repr=False, compare=False)
    spec: str = ""
    differs: Differs | None = None

    @property
    def expandable(self) -> bool:
        """True if there are children; does not compute them."""
        return self.children.expandable if isinstance(self.children, Children) else len(self.children) > 0


def path_to(root: Node, offset: int, source: str = "") -> tuple[Node, ...]:
    path = [root]
    while (owner := _owner(path[-1], offset, source)) is not None:
        path.append(owner)
    return tuple(path)


def named(path: tuple[Node, ...], span: Span) -> tuple[Node, ...]:
    """Return the path to the smallest node that contains all bytes of a span."""
    for number in range(len(path), 0, -1):
        if path[number - 1].span.holds(span):
            return path[:number]
    return path


def nearest_row(path: Sequence[Node]) -> int | None:
    return next((node.row for node in reversed(path) if node.row is not None), None)


def runs_of(root: Node, start: int, stop: int) -> Runs:
    """Return the leaves in the bytes `[start, stop)` as runs. Each byte is in the run of the last node of `path_to`."""
    gathered = _Gathered()
    _collect(root, max(start, root.span.start), min(stop, root.span.stop), 0, gathered)
    return gathered.joined()


def fields_of(root: Node, start: int, stop: int, limit: int) -> list[tuple[Node, ...]]:
    """Return the first `limit` leaves that begin in `[start, stop)`, each as the path from the root."""
    found: list[tuple[Node, ...]] = []
    _find_fields((root,), max(start, root.span.start), min(stop, root.span.stop), limit, found)
    return found


_MORE = 16
"""Number of children to create beyond twice the limit, since some have no field that begins in the range."""


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
    """Collector of runs; single runs are kept as numbers and converted to arrays in bulk."""

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
    """Return the children that overlap the bytes `[start, stop)`, with their numbers; at most the first `most`.

    Without `most`, it could be millions: in a damaged index, all objects may begin at the same byte.
    """
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


@dataclass(frozen=True, slots=True)
class Runs:
    """Consecutive byte ranges of equal role, for painting.

    Attributes:
        start: First byte of each run, int64, ascending.
        stop: End of each run, int64.
        role: `FieldRole` of the smallest node at these bytes, uint8.
        parity: 0 or 1, different for neighbours, so that they can be distinguished; uint8.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    role: NDArray[np.uint8]
    parity: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def of(start: Any, stop: Any, role: Any, parity: Any) -> Runs:
        """Create runs from array-likes; empty ranges are dropped."""
        starts, stops = np.asarray(start, np.int64).ravel(), np.asarray(stop, np.int64).ravel()
        roles = np.broadcast_to(np.asarray(role, np.uint8).ravel(), starts.shape)
        parities = np.broadcast_to(np.asarray(parity, np.uint8).ravel(), starts.shape)
        keep = stops > starts
        return Runs(starts[keep], stops[keep], roles[keep], parities[keep])

    @staticmethod
    def join(parts: Sequence[Runs]) -> Runs:
        """Concatenate runs in the given order. For painting, the result must be ascending (see `sorted`)."""
        if not parts:
            return Runs.of([], [], [], [])
        return Runs(*(np.concatenate([getattr(part, name) for part in parts]) for name in Runs.__slots__))

    def sorted(self) -> Runs:
        """Return the runs ordered by first byte."""
        order = np.argsort(self.start, kind="stable")
        return Runs(self.start[order], self.stop[order], self.role[order], self.parity[order])

    def clip(self, start: int, stop: int) -> Runs:
        """Return the runs inside the bytes `[start, stop)`, cut at both ends."""
        return Runs.of(np.maximum(self.start, start), np.minimum(self.stop, stop), self.role, self.parity)
