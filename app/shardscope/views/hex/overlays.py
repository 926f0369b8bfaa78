"""Marks that a hex view paints over its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shardcore import Node, Section, Span
from shardcore.model.computed_children import RowRange
from shardcore.model.details import record_size
from shardcore.operations.notes import Note
from shardcore.operations.search import Pattern
from shardscope.session.finding_marks import Marks
from shardscope.session.highlights import Arrow, Highlight
from shardscope.session.proposed_bytes import Proposed
from shardscope.session.sandbox_changes import SandboxChanges
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.layout import ScreenRows

Range = tuple[int, int]
"""Half-open byte range."""


def frames_of(path: Sequence[Node], source: str) -> tuple[Range, ...]:
    """Return the ranges of the field at the end of a path, and of the record that contains it, if any."""
    inside = [node for node in path if node.span.source == source and node.span.size]
    if len(inside) < 2:
        return ()
    field, around = inside[-1], inside[-2]
    frames = [(field.span.start, field.span.stop)]
    # The source, a table and a group of its rows are not records.
    table = record_size(around) is not None or isinstance(around.children, RowRange)
    if len(inside) > 2 and not table and around.span != field.span:
        frames.append((around.span.start, around.span.stop))
    return tuple(frames)


@dataclass(frozen=True)
class HexSelection:
    """Selected bytes (one for a caret alone, none in an empty source), and the offset of the caret."""

    span: Span
    caret: int


@dataclass
class HexScene:
    """Overlays on the rows of the screen; ranges are half-open, `caret` is -1 for none.

    `frames` are the field at the caret, then its record. With `half`, the second digit of the byte is typed next.
    """

    rows: ScreenRows
    sections: Sequence[Section]
    selection: Range | None
    caret: int
    focused: bool
    part: HexPart
    hover: Range | None
    marks: Marks
    letters: bool
    frames: Sequence[Range] = ()
    hits: Sequence[Range] = ()
    patterns: Sequence[Pattern] = ()
    failed: Sequence[tuple[Range, str]] = field(default=())
    proposed: Proposed | None = None
    highlights: Sequence[Highlight] = ()
    arrows: Sequence[Arrow] = ()
    sandboxed: SandboxChanges | None = None
    notes: Sequence[Note] = ()
    half: bool = False
    record: Range | None = None
    """Range of the record under the pointer."""

    @property
    def records(self) -> tuple[Range, ...]:
        """Return the records at the caret and under the pointer, whose roles have a background."""
        return (*self.frames[-1:], *([self.record] if self.record is not None else []))
