"""Which bytes are framed around the caret: its field, and the record that the field belongs to. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore import Node
from shardcore.model.children import RowRange
from shardcore.model.headline import record_size
from shardscope.views.hex.scene import Range


def frames_of(path: Sequence[Node], source: str) -> tuple[Range, ...]:
    """The field at the end of a path, then its record; fewer where there are none.

    Args:
        path: From the root of the source down to what is named.
        source: The name of the source.
    """
    inside = [node for node in path if node.span.source == source and node.span.size]
    if len(inside) < 2:
        return ()
    field, around = inside[-1], inside[-2]
    frames = [(field.span.start, field.span.stop)]
    # The whole source is no record, nor is a table, nor are a thousand rows of it.
    table = record_size(around) is not None or isinstance(around.children, RowRange)
    if len(inside) > 2 and not table and around.span != field.span:
        frames.append((around.span.start, around.span.stop))
    return tuple(frames)
