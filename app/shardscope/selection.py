"""What is selected, and how one selection is completed: from a byte to its object and back. No Qt here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from shardcore import DataSet, Node, ObjectRef, Objects, Shard, ShardError, Span
from shardcore.dataset import JoinedObjects
from shardcore.node import Children

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
            path = shard.explain(span.start, span.source)
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
        path = shard.explain(span.start, span.source)
    except ShardError as raised:
        error = str(raised)
    # A content without a byte of its own begins where something else does; that is not explained as the object.
    return Selection(span, row, path if span.size else (), ref, complete=True, error=error)


def main_span(ref: ObjectRef) -> Span | None:
    """The bytes by which an object is shown: the content, or what lies nearer than a content kept elsewhere."""
    inside = [s for s in ref.spans if s.source in ("", ref.shard)]
    return next(iter(inside or ref.spans), None)


def row_at(shard: Shard, span: Span, path: tuple[Node, ...]) -> int | None:
    """The row of the object that some bytes belong to: its content, its record, or an entry that points to it."""
    objects, source, first_row = shard.objects, span.source, 0
    if isinstance(shard, DataSet):
        member = next((m.name for m in shard.members if source == m.name or source.startswith(m.name + "@")), None)
        if member is None or not isinstance(objects, JoinedObjects):
            return None
        first_row = objects.first_row(member)
        objects, source = shard.member(member).objects, source[len(member) :]
    if source.startswith("@") and source.count("-") == 1:
        # Decoded bytes belong to the object whose stored bytes they come from.
        start, stop = (int(number) for number in source[1:].split("-"))
        row = _row_inside(objects, start, stop)
    else:
        row = _row_of(objects, span.start, path)
    return None if row is None else row + first_row


def _row_of(objects: Objects, offset: int, path: tuple[Node, ...]) -> int | None:
    if not len(objects):
        return None
    places = _Places.of(objects)
    if places is None:
        return None
    if (row := places.covering(offset)) is not None:
        return row
    for node in reversed(path[2:] or path[1:]):
        for start, stop in _pointed(node):
            if (row := places.only_inside(start, stop)) is not None:
                return row
    return None


def _pointed(node: Node) -> Iterator[tuple[int, int]]:
    """Ranges that may hold exactly the object that a node is about."""
    yield node.span.start, node.span.stop
    kids = node.children
    near = [node, *(kids if not isinstance(kids, Children) and len(kids) <= MANY else ())]
    for target in (near_node.target for near_node in near):
        if target is not None:
            yield target.start, target.stop


def _row_inside(objects: Objects, start: int, stop: int) -> int | None:
    places = _Places.of(objects)
    if places is None:
        return None
    row = places.covering(start)
    return places.only_inside(start, stop) if row is None else row


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
    def of(objects: Objects) -> _Places | None:
        """The places of the objects, or None while they are not known."""
        order = objects.order("offset") if "offset" in objects.orders else None
        if order is None:
            if len(objects) > SCAN_ROWS:
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
