"""Child nodes that are created on access: from a row number, from a column of offsets, or by one read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.model.node import Children, Node, Runs
from shardcore.model.record import FieldRole, Record, Value
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import Span
from shardcore.model.text import letters_of, plural

GROUP_SIZE = 1000
"""Number of rows per group, if a long table is divided into groups."""


class Deferred(Children):
    """A few child nodes that cannot be created without reading the file; all are created at the first access."""

    def __init__(self, make: Callable[[], Sequence[Node]], source: str = "") -> None:
        self._make = make
        self._nodes: Sequence[Node] | None = None
        self.source = source

    @property
    def nodes(self) -> Sequence[Node]:
        if self._nodes is None:
            self._nodes = self._make()
        return self._nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def make(self, start: int, stop: int) -> list[Node]:
        return list(self.nodes[start:stop])

    def overlap(self, start: int, stop: int) -> range:
        return range(len(self.nodes))

    @property
    def expandable(self) -> bool:
        return True if self._nodes is None else len(self._nodes) > 0


class Grouped(Children):
    """A long list of nodes, divided into groups of `GROUP_SIZE`."""

    def __init__(self, base: Children) -> None:
        self.base = base
        self.source = base.source

    def __len__(self) -> int:
        return (len(self.base) + GROUP_SIZE - 1) // GROUP_SIZE

    def make(self, start: int, stop: int) -> list[Node]:
        return [self._group(number) for number in range(start, stop)]

    def overlap(self, start: int, stop: int) -> range:
        inside = self.base.overlap(start, stop)
        if not inside:
            return range(0)
        return range(inside.start // GROUP_SIZE, (inside.stop - 1) // GROUP_SIZE + 1)

    def runs(self, start: int, stop: int) -> Runs | None:
        return self.base.runs(start, stop)

    def _group(self, number: int) -> Node:
        first = number * GROUP_SIZE
        last = min(first + GROUP_SIZE, len(self.base)) - 1
        begin, end = self.base.span_of(first), self.base.span_of(last)
        span = Span(self.source, begin.start, max(begin.stop, end.stop))
        rows = RowRange(self.base, first, last + 1)
        return Node(f"[{first}..{last}]", span, text=plural(last - first + 1, "row"), children=rows)


class RowRange(Children):
    """The nodes `[first, last)` of a longer list."""

    def __init__(self, base: Children, first: int, last: int) -> None:
        self.base = base
        self.source = base.source
        self.first = first
        self.last = last

    def __len__(self) -> int:
        return self.last - self.first

    def make(self, start: int, stop: int) -> list[Node]:
        return self.base.make(self.first + start, self.first + stop)

    def overlap(self, start: int, stop: int) -> range:
        inside = self.base.overlap(start, stop)
        first, last = max(inside.start, self.first), min(inside.stop, self.last)
        return range(first - self.first, last - self.first) if first < last else range(0)


def grouped(children: Children) -> Children:
    return Grouped(children) if len(children) > GROUP_SIZE else children


class RecordTable(Children):
    """Nodes of the rows of a table, computed from the row number.

    `read` returns the rows `[first, last)`. `describe` creates the node of a row from its number and its values.
    `paint` returns the `FieldRole` of each field of each row, shape `(rows, fields)`.
    """

    def __init__(
        self,
        record: Record,
        start: int,
        rows: int,
        read: Callable[[int, int], NDArray[Any]],
        *,
        describe: Callable[[int, Any], Node] | None = None,
        paint: Callable[[NDArray[Any]], NDArray[np.uint8]] | None = None,
        source: str = "",
    ) -> None:
        self.record = record
        self.start = start
        self.rows = rows
        self.read = read
        self.describe = describe or self.row_node
        self.paint = paint
        self.source = source

    def __len__(self) -> int:
        return self.rows

    def make(self, start: int, stop: int) -> list[Node]:
        return [self.describe(start + i, row) for i, row in enumerate(self.read(start, stop))]

    def span_of(self, number: int) -> Span:
        start = self.start + number * self.record.size
        return Span(self.source, start, start + self.record.size)

    def overlap(self, start: int, stop: int) -> range:
        first = max(start - self.start, 0) // self.record.size
        last = -(-max(stop - self.start, 0) // self.record.size)
        return range(min(first, self.rows), min(last, self.rows))

    def row_node(self, number: int, row: Any) -> Node:
        """Return the node of a row, with a child node per field; default of `describe`."""
        span = self.span_of(number)
        return Node(f"[{number}]", span, children=field_nodes(self.record, row, span.start, self.source))

    def runs(self, start: int, stop: int) -> Runs | None:
        inside = self.overlap(start, stop)
        if not inside:
            return Runs.of([], [], [], [])
        fields = len(self.record.fields)
        numbers = np.arange(inside.start, inside.stop, dtype=np.int64)[:, None]
        offsets = np.fromiter(self.record.offsets.values(), np.int64)
        sizes = np.fromiter(self.record.sizes.values(), np.int64)
        starts = self.start + numbers * self.record.size + offsets
        if self.paint:
            roles = self.paint(self.read(inside.start, inside.stop))
        else:
            roles = np.broadcast_to(np.array([f.role for f in self.record.fields], np.uint8), starts.shape)
        parity = (numbers * fields + np.arange(fields)) & 1
        return Runs.of(starts, starts + sizes, roles, parity).clip(start, stop)


class Extents(Children):
    """Nodes of different lengths, sorted by first byte: objects, chunks, payloads. Lookup of a byte is `O(log n)`.

    `describe` creates the nodes `[first, last)`, `paint` returns their runs. A node ends where the next one begins.
    """

    def __init__(
        self,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        describe: Callable[[int, int], list[Node]],
        *,
        paint: Callable[[int, int], Runs] | None = None,
        source: str = "",
    ) -> None:
        self.starts = starts
        self.stops = np.minimum(stops, np.append(starts[1:], np.iinfo(np.int64).max)) if len(starts) else stops
        self.describe = describe
        self.paint = paint
        self.source = source

    def __len__(self) -> int:
        return len(self.starts)

    def make(self, start: int, stop: int) -> list[Node]:
        return self.describe(start, stop)

    def span_of(self, number: int) -> Span:
        return Span(self.source, int(self.starts[number]), int(self.stops[number]))

    def overlap(self, start: int, stop: int) -> range:
        first = max(int(np.searchsorted(self.starts, start, "right")) - 1, 0)
        return range(first, max(int(np.searchsorted(self.starts, stop, "left")), first))

    def runs(self, start: int, stop: int) -> Runs | None:
        if self.paint is None:
            return None
        inside = self.overlap(start, stop)
        return self.paint(inside.start, inside.stop).clip(start, stop) if inside else Runs.of([], [], [], [])


class BitFields(Children):
    """Values of a bit-packed array, as nodes with `bits`. `overlap` is always empty, because values share bytes."""

    def __init__(self, span: Span, rows: int, describe: Callable[[int, int], list[Node]]) -> None:
        self.source = span.source
        self.span = span
        self.rows = rows
        self.describe = describe

    def __len__(self) -> int:
        return self.rows

    def make(self, start: int, stop: int) -> list[Node]:
        return self.describe(start, stop)

    def span_of(self, number: int) -> Span:
        return self.span

    def overlap(self, start: int, stop: int) -> range:
        return range(0)


def gaps(starts: NDArray[np.int64], stops: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Return the parts of `[start, stop)` outside all ranges, shape `(m, 2)`. `starts` must be ascending."""
    reached = np.maximum.accumulate(np.concatenate([[start], stops]).astype(np.int64))
    begins = np.append(starts, stop).astype(np.int64)
    open_ones = np.flatnonzero(begins > reached)
    return np.stack([reached[open_ones], begins[open_ones]], axis=1)


_LEAF_ROLES = {
    SectionRole.DATA: FieldRole.DATA,
    SectionRole.PADDING: FieldRole.PADDING,
    SectionRole.TRAILING: FieldRole.UNUSED,
}


def section_leaf(section: Section, role: FieldRole | None = None, text: str = "", source: str = "") -> Node:
    return Node(
        section.name,
        Span(source, section.start, section.stop),
        text=text or plural(section.size, "byte"),
        role=_LEAF_ROLES.get(section.role, FieldRole.UNKNOWN) if role is None else role,
        doc=section.doc,
    )


def section_nodes(
    sections: Sequence[Section], makers: Mapping[str, Callable[[Section], Node]], source: str = ""
) -> tuple[Node, ...]:
    """Return one node per section: from the function in `makers` for its name, or a leaf if there is none."""
    return tuple(
        makers[section.name](section) if section.name in makers else section_leaf(section, source=source)
        for section in sections
    )


def field_nodes(
    record: Record,
    row: Any,
    start: int,
    source: str = "",
    *,
    texts: dict[str, str] | None = None,
    targets: dict[str, Span] | None = None,
    errors: dict[str, str] | None = None,
    roles: Sequence[int] | None = None,
    sums: dict[str, str] | None = None,
) -> tuple[Node, ...]:
    """Return the nodes of the fields of a record at offset `start`; `row` is a row of `record.read`, or its `values`.

    The keys of all mappings are field names. `sums` contains calculations such as `13 slots × 40`.
    """
    values = row if isinstance(row, dict) else record.values(row)
    nodes = []
    for number, field in enumerate(record.fields):
        at = start + record.offsets[field.name]
        value = values[field.name]
        nodes.append(
            Node(
                field.name,
                Span(source, at, at + record.sizes[field.name]),
                value=value,
                text=(texts or {}).get(field.name) or value_text(value, field.role),
                role=field.role if roles is None else FieldRole(int(roles[number])),
                doc=field.doc,
                error=(errors or {}).get(field.name, ""),
                target=(targets or {}).get(field.name),
                type=field.type_text,
                sum=(sums or {}).get(field.name, ""),
                spec=record.source,
                differs=field.differs,
            )
        )
    return tuple(nodes)


_IN_LETTERS = (FieldRole.MAGIC, FieldRole.TEXT)
"""Roles whose bytes are shown as text."""


def value_text(value: Value, role: FieldRole | None = None) -> str:
    """Return a value as displayed: offsets and bytes in hex (at most 64 digits), magic numbers and names as text."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        if role in _IN_LETTERS and (text := letters_of(value)):
            return text
        return value.hex() if len(value) <= 32 else f"{value[:32].hex()}… ({plural(len(value), 'byte')})"
    return f"{value:#x}" if role is FieldRole.OFFSET and isinstance(value, int) and value >= 0 else str(value)
