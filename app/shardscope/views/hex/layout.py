"""Rows, columns and offsets of a hex view, in Python integers of any size. No Qt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shardscope.session.copy_bytes import GROUP
from shardscope.session.display_text import offset_words

MAX_WIDTH = 1024
"""Maximum number of bytes per row."""


@dataclass(frozen=True)
class HexLayout:
    """Division of a source into rows: one starts at each offset where `(offset + lead) % width` is 0.

    The first row has `lead` blank cells, so that rows can align to records at any offset.
    """

    size: int
    width: int = 16
    lead: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH or not 0 <= self.lead < self.width:
            raise ValueError(f"no layout: width {self.width}, lead {self.lead}")

    @staticmethod
    def aligned(size: int, width: int, origin: int) -> HexLayout:
        return HexLayout(size, width, -origin % width)

    @property
    def rows(self) -> int:
        return max(-(-(self.size + self.lead) // self.width), 1)

    @property
    def digits(self) -> int:
        return max(len(offset_words(max(self.size - 1, 0))), 8)

    def offset_text(self, offset: int) -> str:
        return offset_words(offset).rjust(self.digits)

    def row_of(self, offset: int) -> int:
        return (offset + self.lead) // self.width

    def column_of(self, offset: int) -> int:
        return (offset + self.lead) % self.width

    def row_start(self, row: int) -> int:
        """Return the offset of the first cell of a row; negative for blank cells."""
        return row * self.width - self.lead

    def clamp(self, offset: int) -> int:
        return min(max(offset, 0), max(self.size - 1, 0))


@dataclass(frozen=True)
class ScreenRows:
    """Rows on the screen, one or a fold per line; `folds` are ascending, and none begins above `top`."""

    top: int
    lines: int
    folds: tuple[range, ...] = ()
    more: bool = False
    """True if the end of the last fold is not known: equal rows may continue below the screen."""

    def row_at(self, line: int) -> int:
        """Return the first row of a line; outside the screen, a line is one row."""
        row = self.top + line
        for fold in self.folds:
            if row <= fold.start:
                break
            row += len(fold) - 1
        return row

    def line_of(self, row: int) -> int:
        return row - self.top - sum(min(max(row - fold.start, 0), len(fold) - 1) for fold in self.folds)

    def part(self, line: int, count: int) -> ScreenRows:
        top, stop = self.row_at(line), self.row_at(line + count)
        folds = tuple(fold for fold in self.folds if top <= fold.start < stop)
        return ScreenRows(top, count, folds, self.more and line + count == self.lines)

    def parts(self) -> Iterator[tuple[int, ScreenRows]]:
        line = 0
        for fold in self.folds:
            at = self.line_of(fold.start)
            if at > line:
                yield line, self.part(line, at - line)
            yield at, self.part(at, 1)
            line = at + 1
        if line < self.lines:
            yield line, self.part(line, self.lines - line)


def hex_column(cell: int) -> int:
    """Return the character column of a byte in the hex part: three per byte, one more between groups."""
    return 3 * cell + cell // GROUP


def cell_at_column(column: float, width: int, gap: float = 1.0) -> int:
    """Return the byte nearest to a column of the hex part; columns and `gap` are in characters."""
    group, rest = divmod(column + gap / 2, (2 + gap) * GROUP + gap)
    cell = int(group) * GROUP + min(int(rest // (2 + gap)), GROUP - 1)
    return min(max(cell, 0), width - 1)
