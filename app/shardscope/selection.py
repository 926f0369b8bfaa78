"""What is selected, and how one selection is completed: from a byte to its object and back. No Qt here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from shardcore import DataSet, FieldRole, Node, ObjectRef, Shard, ShardError, Span
from shardcore.dataset import JoinedObjects
from shardcore.nodes.node import Children
from shardcore.nodes.placed import placed_span

SCAN_ROWS = 2_000_000
"""Rows whose places are compared one with all, where a format keeps no order of offsets."""

MANY = 64
"""Children of a node that are looked through for pointers; longer lists are tables."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is selected.

    Attributes:
        span: The bytes; None when nothing is selected, or a row without bytes.
        row: The object's row in `Shard.objects`, when there is one.
        path: The nodes from the source down to what owns the first byte; empty until that is known.
        ref: The object; None until it is known, or when there is none.
        complete: Whether `row`, `path` and `ref` have been looked up. A selection is announced at once, and again
            when it is complete.
        error: Why the bytes cannot be explained, or empty.
        origin: Who selected, so that a view knows its own selection again.
    """

    span: Span | None = None
    row: int | None = None
    path: tuple[Node, ...] = ()
    ref: ObjectRef | None = None
    complete: bool = False
    error: str = ""
    origin: object = field(default=None, compare=False)


def of_span(shard: Shard, span: Span, path: tuple[Node, ...] = ()) -> Selection:
    """The selection of some bytes: who owns the first of them, and which object they belong to.

    Args:
        shard: The opened shard.
        span: The bytes.
        path: The path to a node, when the node itself was chosen.
    """
    error = ""
    if not path:
        try:
            path = explain(shard, span)
        except ShardError as raised:
            error = str(raised)
    row = row_at(shard, span, path)
    return Selection(span, row, path, _ref(shard, row), complete=True, error=error)


def of_row(shard: Shard, row: int) -> Selection:
    """The selection of an object: its bytes, and the path to them.

    Raises:
        ShardError: The row cannot be read.
    """
    ref = shard.objects.ref(row)
    span = main_span(ref)
    if span is None:
        return Selection(None, row, (), ref, complete=True)
    path: tuple[Node, ...] = ()
    error = ""
    try:
        # A content without a byte of its own begins where something else does; that is not explained as the object.
        path = explain(shard, span) if span.size else ()
    except ShardError as raised:
        error = str(raised)
    return Selection(span, row, path, ref, complete=True, error=error)


def explain(shard: Shard, span: Span) -> tuple[Node, ...]:
    """The path to the first of some bytes, from the root of the tree: through the member and the stored bytes, too.

    Raises:
        ShardError: There is no such byte, or it cannot be read.
    """
    member = member_of(shard, span.source)
    if member is None:
        return _through_stored(shard, span)
    root = shard.tree
    place = next((node for node in root.children if node.name == member), root)
    inner = Span(span.source[len(member) :], span.start, span.stop)
    assert isinstance(shard, DataSet)
    path = _through_stored(shard.member(member), inner)
    return (root, place, *(moved(node, member) for node in path[1:]))


def moved(node: Node, member: str) -> Node:
    """A node of a member of a data set, with its places as the data set names them."""
    if not member:
        return node
    target = placed_span(node.target, member) if node.target is not None else None
    decoded = member + node.decoded if node.decoded else ""
    return replace(node, span=placed_span(node.span, member), target=target, decoded=decoded)


def _through_stored(shard: Shard, span: Span) -> tuple[Node, ...]:
    """The path to a byte; decoded bytes are reached through the node that they are decoded from."""
    path = shard.explain(span.start, span.source)
    bounds = stored_range(span.source)
    if bounds is None:
        return path
    outer = shard.explain(bounds[0])
    depth = next((n for n, node in enumerate(outer) if node.decoded == span.source), None)
    return path if depth is None else (*outer[: depth + 1], *path)


def stored_range(source: str) -> tuple[int, int] | None:
    """The bytes of the file that a source `@start-stop` is decoded from, or None for other sources."""
    start, dash, stop = source.removeprefix("@").partition("-")
    if not source.startswith("@") or not dash or not (start.isdecimal() and stop.isdecimal()):
        return None
    return int(start), int(stop)


def main_span(ref: ObjectRef) -> Span | None:
    """The bytes by which an object is shown: the content, or what lies nearer than a content kept elsewhere."""
    inside = [s for s in ref.spans if s.source in ("", ref.shard)]
    return next(iter(inside or ref.spans), None)


def row_at(shard: Shard, span: Span, path: tuple[Node, ...]) -> int | None:
    """The row of the object that some bytes belong to: its content, its record, or an entry that points to it."""
    inner, source, first_row = shard, span.source, 0
    if isinstance(shard, DataSet):
        member = member_of(shard, source)
        if member is None or not isinstance(shard.objects, JoinedObjects):
            return None
        first_row = shard.objects.first_row(member)
        inner, source = shard.member(member), source[len(member) :]
    places = _Places.of(inner)
    if places is None:
        # Offsets are not in order yet, but the key that stands beside the byte can be looked up.
        row = _row_by_key(inner, path)
        return None if row is None else row + first_row
    if (stored := stored_range(source)) is not None:
        # Decoded bytes belong to the object whose stored bytes they come from.
        row = places.covering(stored[0])
        row = places.only_inside(*stored) if row is None else row
    elif source:
        return None
    else:
        row = _row_of(inner, places, span.start, path if inner is shard else inner.explain(span.start))
    return None if row is None else row + first_row


def _row_by_key(shard: Shard, path: tuple[Node, ...]) -> int | None:
    for node in reversed(path[2:]):
        for near in _near(node):
            if near.role is FieldRole.KEY and near.text:
                try:
                    ref = shard.find(near.text)
                except ShardError:
                    continue
                return ref.row if ref.row >= 0 else None
    return None


def _near(node: Node) -> list[Node]:
    """A node, and the fields it is made of; long lists are tables and stay away."""
    kids = node.children
    return [node, *(kids if not isinstance(kids, Children) and len(kids) <= MANY else ())]


def member_of(shard: Shard, source: str) -> str | None:
    """The member of a data set that a source lies in; None for a single shard."""
    if not isinstance(shard, DataSet):
        return None
    return next((m.name for m in shard.members if source == m.name or source.startswith(m.name + "@")), None)


def _row_of(shard: Shard, places: _Places, offset: int, path: tuple[Node, ...]) -> int | None:
    if (row := _row_around(places, offset, path)) is not None:
        return row
    for node in reversed(path[2:]):
        for target in _targets(node):
            try:
                pointed = shard.explain(target.start, target.source)
            except ShardError:
                continue
            if (row := _row_around(places, target.start, pointed)) is not None:
                return row
    return None


def _row_around(places: _Places, offset: int, path: tuple[Node, ...]) -> int | None:
    """The object whose content holds a byte, or the only one in the smallest node that has one."""
    if (row := places.covering(offset)) is not None:
        return row
    found = (places.only_inside(node.span.start, node.span.stop) for node in reversed(path[2:]))
    return next((row for row in found if row is not None), None)


def _targets(node: Node) -> list[Span]:
    """Where a node, or one of the fields it is made of, points to."""
    return [n.target for n in _near(node) if n.target is not None and not n.target.source]


@dataclass(frozen=True, slots=True)
class _Places:
    """Rows in the order of their first bytes, asked one at a time.

    Attributes:
        count: How many rows have a place.
        row: The row number at a position of the order.
        extent: First byte and one past the last byte at a position; the end may be unknown, -1.
    """

    count: int
    row: Callable[[int], int]
    extent: Callable[[int], tuple[int, int]]

    @staticmethod
    def of(shard: Shard) -> _Places | None:
        """The places of the objects of a single shard, or None while they are not known."""
        objects = shard.objects
        order = objects.order("offset") if "offset" in objects.orders else None
        if order is None:
            if not shard.loaded or len(objects) > SCAN_ROWS:
                return None
            columns = objects[0 : len(objects)]
            order = np.argsort(columns.start, kind="stable")
            order = order[columns.start[order] >= 0]

        def extent(position: int) -> tuple[int, int]:
            columns = objects.columns(order[position : position + 1])
            return int(columns.start[0]), int(columns.stop[0])

        return _Places(len(order), lambda position: int(order[position]), extent)

    def first_from(self, offset: int) -> int:
        """The first position whose object does not begin before `offset`."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self.extent(middle)[0] < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def covering(self, offset: int) -> int | None:
        """The row whose content holds the byte; of several, the one that begins last."""
        position = self.first_from(offset + 1) - 1
        if position < 0:
            return None
        start, stop = self.extent(position)
        return self.row(position) if start <= offset < stop else None

    def only_inside(self, start: int, stop: int) -> int | None:
        """The row whose content lies in a range, when it is the only one."""
        found: list[int] = []
        for position in range(self.first_from(max(start, 0)), self.count):
            first, last = self.extent(position)
            if first > stop or (last > stop and first >= stop) or len(found) > 1:
                break
            # An empty content ends where its neighbour's record begins.
            if first > start or last > first or start == stop:
                found.append(self.row(position))
        return found[0] if len(found) == 1 else None


def _ref(shard: Shard, row: int | None) -> ObjectRef | None:
    if row is None:
        return None
    try:
        return shard.objects.ref(row)
    except ShardError:
        return None
