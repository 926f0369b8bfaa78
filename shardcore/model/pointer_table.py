"""Tables whose rows point to bytes: one declaration provides tree nodes, colours, references and space used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.model.computed_children import RecordTable, field_nodes
from shardcore.model.node import Node
from shardcore.model.objects import State
from shardcore.model.record import FieldRole, Record
from shardcore.model.references import Reference, ReferenceCollector
from shardcore.model.span import Span

if TYPE_CHECKING:
    from shardcore.model.usage import Share, Use

I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """References to the bytes `[starts, stops)`. `pointer(n)` returns the span with reference `n`, and a sentence."""

    starts: I64
    stops: I64
    pointer: Callable[[int], tuple[Span, str]]
    source: str = ""

    def gather(self, into: ReferenceCollector, span: Span | None = None) -> None:
        span = span or into.span
        if span.source != self.source:
            return
        found = np.flatnonzero((self.starts < span.stop) & (self.stops > span.start))
        into.add_rows(found.tolist(), self._reference)

    def _reference(self, number: int) -> Reference:
        target = Span(self.source, int(self.starts[number]), int(self.stops[number]))
        span, why = self.pointer(number)
        return Reference(span, target, why)


class PointerTable(RecordTable):
    """Table of records in which one field points to bytes; formats declare subclasses.

    Attributes:
        layout: Layout of a row.
        row_name: Name of a row, with `{}` for its number.
        pointer: Name of the field that points to bytes; empty if no single field does.
        why: Sentence about a reference, with `{}` for the row number.
        used: Use, name and sentence of the `Share` of all rows that point to bytes.
        unused: Use, name and sentence of the `Share` of the other rows.
    """

    layout: Record
    row_name: str = "[{}]"
    row_doc: str = ""
    pointer: str = ""
    why: str = ""
    used: tuple[Use, str, str]
    unused: tuple[Use, str, str]

    def __init__(self, start: int, rows: int, read: Callable[[int, int], NDArray[Any]]) -> None:
        super().__init__(self.layout, start, rows, read, paint=self.roles)

    def _states(self, rows: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the `State` of rows: live, unused, or damaged if the pointer is invalid."""
        return np.full(len(rows), State.LIVE, np.uint8)

    def _target(self, number: int, row: Any) -> Span | None:
        """Return the bytes to which a live row points; None if the row alone does not determine them."""
        raise NotImplementedError

    def _fault(self, number: int, row: Any) -> str:
        raise NotImplementedError

    def _text(self, number: int, row: Any, state: State) -> str:
        return ""

    def _field_texts(self, number: int, row: Any, state: State) -> dict[str, str]:
        return {}

    def _object_row(self, number: int, row: Any) -> int | None:
        return number

    def pointer_span(self, number: int) -> Span:
        row = self.span_of(number)
        if not self.pointer:
            return row
        start = row.start + self.record.offsets[self.pointer]
        return Span(self.source, start, start + self.record.sizes[self.pointer])

    def roles(self, rows: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the roles of fields, shape `(rows, fields)`; all fields of an unused row are `UNUSED`."""
        roles = np.empty((len(rows), len(self.record.fields)), np.uint8)
        roles[:] = [field.role for field in self.record.fields]
        roles[self._states(rows) == State.UNUSED] = FieldRole.UNUSED
        return roles

    def row_node(self, number: int, row: Any) -> Node:
        """Return the node of a row, with its target or error. If the row has one field, it has no child nodes."""
        one = np.asarray(row).reshape(1)
        state, roles = State(int(self._states(one)[0])), self.roles(one)[0].tolist()
        span = self.span_of(number)
        target = self._target(number, row) if state is State.LIVE else None
        error = self._fault(number, row) if state is State.DAMAGED else ""
        fields = field_nodes(
            self.record,
            row,
            span.start,
            self.source,
            texts=self._field_texts(number, row, state),
            targets={self.pointer: target} if target else {},
            errors={self.pointer: error},
            roles=roles,
        )
        text, object_row = self._text(number, row, state), self._object_row(number, row)
        if len(fields) == 1:
            return replace(fields[0], name=self.row_name.format(number), row=object_row)
        return Node(
            self.row_name.format(number),
            span,
            text=text,
            doc=self.row_doc,
            error=error,
            target=None if self.pointer else target,
            children=fields,
            row=object_row,
        )

    def links(self, rows: I64, starts: I64, stops: I64) -> Links:
        def pointer(number: int) -> tuple[Span, str]:
            row = int(rows[number])
            return self.pointer_span(row), self.why.format(row)

        return Links(starts, stops, pointer)

    def shares(self, pointing: NDArray[np.bool_]) -> Sequence[Share]:
        from shardcore.model.usage import share_of

        starts = self.start + self.record.size * np.arange(self.rows, dtype=np.int64)
        parts = (starts[pointing], self.used), (starts[~pointing], self.unused)
        return [share_of(use, name, at, at + self.record.size, doc) for at, (use, name, doc) in parts]
