"""Selection, and its completion: from a byte to its object and back. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass, field

from shardcore import Node, ObjectRef, Shard, ShardError, Span
from shardcore.model.node import named, nearest_row
from shardcore.model.source_name import SourceName
from shardscope.session.error_words import plain_words


@dataclass(frozen=True, slots=True)
class Selection:
    span: Span | None = None
    row: int | None = None
    path: tuple[Node, ...] = ()
    ref: ObjectRef | None = None
    complete: bool = False
    error: str = ""
    origin: object = field(default=None, compare=False)

    @property
    def is_file(self) -> bool:
        return self.span is None and self.row is None


def of_span(shard: Shard, span: Span, path: tuple[Node, ...] = ()) -> Selection:
    error = ""
    if not path:
        path, error = _path_to(shard, span)
    name = named(path, span)
    row = nearest_row(name)
    ref = _ref(shard, row)
    if row is None and (ref := _ref(shard, nearest_row(path))) is not None:
        # A content of several nodes has no node of its own.
        outer = main_span(ref)
        row = ref.row if outer is not None and outer.holds(span) else None
        ref = ref if row is not None else None
    return Selection(span, row, name, ref, complete=True, error=error)


def of_row(shard: Shard, row: int) -> Selection:
    ref = shard.objects.ref(row)
    span = main_span(ref)
    if span is None:
        return Selection(None, row, (), ref, complete=True)
    # A content without a byte of its own begins where something else does: its header or its entry explains it.
    own = next((one for one in (span, *ref.spans, ref.record) if one is not None and one.size), None)
    path, error = _path_to(shard, own) if own is not None else ((), "")
    path = named(path, own or span)
    if not span.size:
        path = path[: next((at for at, node in enumerate(path, 1) if node.row == row), len(path))]
    return Selection(span, row, path, ref, complete=True, error=error)


def main_span(ref: ObjectRef) -> Span | None:
    near = (SourceName(), SourceName(ref.shard))
    inside = [span for span in ref.spans if SourceName.parse(span.source) in near]
    return next(iter(inside or ref.spans), ref.record)


def _path_to(shard: Shard, span: Span) -> tuple[tuple[Node, ...], str]:
    try:
        return shard.whole_path(span.start, span.source), ""
    except ShardError as error:
        return (), plain_words(error)


def _ref(shard: Shard, row: int | None) -> ObjectRef | None:
    if row is None:
        return None
    try:
        return shard.objects.ref(row)
    except ShardError:
        return None
