"""Bytes per row: automatic, a number, or the record under the caret. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from shardcore import Node
from shardcore.model.details import record_size
from shardscope.views.hex.layout import MAX_WIDTH

DEFAULT = 16
"""Bytes per row by default; fewer if they do not fit."""


class RowMode(Enum):
    """Mode of the bytes per row."""

    AUTO = "auto"
    FIXED = "fixed"
    RECORD = "record"


@dataclass(frozen=True)
class RowWidth:
    """A choice; `width` counts when the mode is fixed."""

    mode: RowMode
    width: int = DEFAULT

    @property
    def text(self) -> str:
        """As the menu shows it."""
        return f"{self.width} bytes" if self.mode is RowMode.FIXED else self.mode.value.capitalize()


CHOICES = (RowWidth(RowMode.AUTO), *(RowWidth(RowMode.FIXED, width) for width in (8, 16, 24, 32)))
"""Values that the menu offers, besides the record and any other number."""


def record_of(path: Sequence[Node], source: str) -> tuple[int, int] | None:
    """Size and first byte of the record on a path: the smallest node with children that fits a row.

    Args:
        path: From the root of the source down to what owns a byte.
        source: The name of the source.
    """
    for node in reversed(path[1:]):
        if node.span.source == source and 2 <= node.span.size <= MAX_WIDTH and node.expandable and node.bits is None:
            return node.span.size, node.span.start
    return None


def table_record_of(path: Sequence[Node], source: str) -> tuple[int, str] | None:
    """Size and name of the record of a table on a path: `(40, "slot")`; None outside of tables.

    Args:
        path: From the root of the source down to what owns a byte.
        source: The name of the source.
    """
    for table, row in zip(path[-2::-1], path[:0:-1], strict=False):
        size = record_size(table)
        if size is not None and row.span.source == source and 2 <= size <= MAX_WIDTH:
            return size, _kind_of(row.name) or "record"
    return None


def _kind_of(name: str) -> str:
    """`slot` of `slot 12`; empty for a number alone."""
    return name.strip("[]").rstrip("0123456789.,").rstrip()
