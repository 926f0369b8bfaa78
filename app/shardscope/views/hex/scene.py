"""Content that is painted in a hex view besides its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shardcore import Section, Span
from shardcore.operations.notes import Note
from shardcore.operations.search import Pattern
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
    span: Span
    caret: int


@dataclass
class HexScene:
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
    lights: Sequence[Light] = ()
    arrows: Sequence[Arrow] = ()
    sandboxed: Sandboxed | None = None
    notes: Sequence[Note] = ()
    half: bool = False
