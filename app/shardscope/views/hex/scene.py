"""Content that is painted in a hex view besides its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shardcore import Section, Span
from shardcore.operations.notes import Note
from shardscope.session.highlights import Arrow, Light
from shardscope.session.marks import Marks
from shardscope.session.proposed_bytes import Proposed
from shardscope.session.sandbox_changes import Sandboxed
from shardscope.views.hex.grid import HexPart
from shardscope.views.hex.layout import ScreenRows

Range = tuple[int, int]
"""Bytes, half-open."""


@dataclass(frozen=True)
class HexSelection:
    """Selection in a hex view.

    Attributes:
        span: The bytes; one byte where there is only a caret, none in an empty source.
        caret: The byte with the caret.
    """

    span: Span
    caret: int


@dataclass
class HexScene:
    """Overlays that are painted besides the cells.

    Attributes:
        rows: The rows on the screen.
        sections: Of the source; their borders are drawn.
        selection: The selected bytes, half-open, or None.
        caret: The byte with the caret, or -1.
        focused: Whether the keyboard goes here.
        part: Where the caret is strong.
        hover: The bytes under the pointer, or None.
        marks: Findings.
        letters: Whether runs begin with the letter of their role; in the safe palettes they always do.
        frames: The field of the caret, then its record; fewer where there are none.
        hits: What a search found in these rows, ascending.
        failed: Bytes in these rows that could not be read, and why.
        proposed: What is going to change, or None.
        lights: What is highlighted, numbered.
        arrows: What leads where.
        sandboxed: What was changed in a sandbox, or None.
        notes: Notes on bytes of these rows.
        half: Whether the second digit of the byte with the caret is typed next.
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
    failed: Sequence[tuple[Range, str]] = field(default=())
    proposed: Proposed | None = None
    lights: Sequence[Light] = ()
    arrows: Sequence[Arrow] = ()
    sandboxed: Sandboxed | None = None
    notes: Sequence[Note] = ()
    half: bool = False
