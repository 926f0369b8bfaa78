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
    AUTO = "auto"
    FIXED = "fixed"
    RECORD = "record"


@dataclass(frozen=True)
class RowWidth:
    mode: RowMode
    width: int = DEFAULT

    @property
    def text(self) -> str:
        return f"{self.width} bytes" if self.mode is RowMode.FIXED else self.mode.value.capitalize()


CHOICES = (RowWidth(RowMode.AUTO), *(RowWidth(RowMode.FIXED, width) for width in (8, 16, 24, 32)))
"""Values that the menu offers, besides the record and any other number."""


def record_of(path: Sequence[Node], source: str) -> tuple[int, int] | None:
    for node in reversed(path[1:]):
        if node.span.source == source and 2 <= node.span.size <= MAX_WIDTH and node.expandable and node.bits is None:
            return node.span.size, node.span.start
    return None


def table_record_of(path: Sequence[Node], source: str) -> tuple[int, str] | None:
    for table, row in zip(path[-2::-1], path[:0:-1], strict=False):
        size = record_size(table)
        if size is not None and row.span.source == source and 2 <= size <= MAX_WIDTH:
            return size, _kind_of(row.name) or "record"
    return None


def _kind_of(name: str) -> str:
    return name.strip("[]").rstrip("0123456789.,").rstrip()
