"""Selection of bytes, node and object, and jobs that complete it. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass, field

from shardcore import Node, ObjectRef, Shard, ShardError, Span
from shardcore.model.node import named, nearest_row
from shardcore.model.span import SourceName
from shardscope.session.error_messages import error_text


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected bytes, node and object. It is announced at once, and again when it is complete.

    Attributes:
        span: The bytes; None if the file, or a row without bytes, is selected.
        path: Nodes from the source to the smallest one that holds all bytes; empty until it is known.
        origin: The selecting view, so that it recognises its own selection.
    """

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
    """Return the complete selection of some bytes; reads, so call it in a job."""
    error = ""
    if not path:
        path, error = _path_to(shard, span)
    name = named(path, span)
    row = nearest_row(name)
    ref = _ref(shard, row)
    if row is None and (ref := _ref(shard, nearest_row(path))) is not None:
        # Content that spans several nodes has no node of its own: use the object of the outer node.
        outer = main_span(ref)
        row = ref.row if outer is not None and outer.holds(span) else None
        ref = ref if row is not None else None
    return Selection(span, row, name, ref, complete=True, error=error)


def of_row(shard: Shard, row: int) -> Selection:
    ref = shard.objects.ref(row)
    span = main_span(ref)
    if span is None:
        return Selection(None, row, (), ref, complete=True)
    # Empty content has the offset of the next structure: explain its header or entry instead.
    own = next((one for one in (span, *ref.spans, ref.record) if one is not None and one.size), None)
    path, error = _path_to(shard, own) if own is not None else ((), "")
    path = named(path, own or span)
    if not span.size:
        path = path[: next((at for at, node in enumerate(path, 1) if node.row == row), len(path))]
    return Selection(span, row, path, ref, complete=True, error=error)


def main_span(ref: ObjectRef) -> Span | None:
    """Return the bytes to show for an object: its content, preferably in its own shard; without content, its record."""
    near = (SourceName(), SourceName(ref.shard))
    inside = [span for span in ref.spans if SourceName.parse(span.source) in near]
    return next(iter(inside or ref.spans), ref.record)


def _path_to(shard: Shard, span: Span) -> tuple[tuple[Node, ...], str]:
    try:
        return shard.whole_path(span.start, span.source), ""
    except ShardError as error:
        return (), error_text(error)


def _ref(shard: Shard, row: int | None) -> ObjectRef | None:
    if row is None:
        return None
    try:
        return shard.objects.ref(row)
    except ShardError:
        return None
