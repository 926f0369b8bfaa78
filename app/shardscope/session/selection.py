"""Selection, and its completion: from a byte to its object and back. No Qt here."""

from __future__ import annotations

from dataclasses import dataclass, field

from shardcore import Node, ObjectRef, Shard, ShardError, Span
from shardcore.model.node import named, nearest_row
from shardcore.model.source_name import SourceName
from shardscope.session.error_words import plain_words


@dataclass(frozen=True, slots=True)
class Selection:
    """Selected bytes, node and object.

    Attributes:
        span: The bytes; None when the file is selected, or a row without bytes.
        row: The object's row in `Shard.objects`, when there is one.
        path: The nodes from the source down to the one that is named: the smallest that holds all the bytes. Empty
            until that is known.
        ref: The object; None until it is known, or when there is none.
        complete: Whether `row`, `path` and `ref` have been looked up. A selection is announced at once, and again
            when it is complete.
        error: Reason why the bytes cannot be explained, or empty.
        origin: Who selected, so that a view knows its own selection again.
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
        """Return whether no bytes and no object are selected: that is the file as a whole."""
        return self.span is None and self.row is None


def of_span(shard: Shard, span: Span, path: tuple[Node, ...] = ()) -> Selection:
    """Return the selection of some bytes: what they are, and which object they belong to.

    Args:
        shard: The opened shard.
        span: The bytes.
        path: The path to a node, when the node itself was chosen.
    """
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
    """Return the selection of an object: its bytes, and the path to them."""
    ref = shard.objects.ref(row)
    span = main_span(ref)
    if span is None:
        return Selection(None, row, (), ref, complete=True)
    # A content without a byte of its own begins where something else does; that is not explained as the object.
    path, error = _path_to(shard, span) if span.size else ((), "")
    return Selection(span, row, named(path, span), ref, complete=True, error=error)


def main_span(ref: ObjectRef) -> Span | None:
    """Return the bytes by which an object is shown: the content, or what lies nearer than a content kept elsewhere.

    A row without a content is shown by its record: a slot that is not used has bytes, too.
    """
    near = (SourceName(), SourceName(ref.shard))
    inside = [span for span in ref.spans if SourceName.parse(span.source) in near]
    return next(iter(inside or ref.spans), ref.record)


def _path_to(shard: Shard, span: Span) -> tuple[tuple[Node, ...], str]:
    """Return the path to the first of some bytes, or none and the reason."""
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
