"""Rows, columns and offsets of a hex view, in Python integers of any size. No Qt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shardscope.session.copy_bytes import GROUP
from shardscope.session.words import offset_words

MAX_WIDTH = 1024
"""Bytes in a row, at most."""


@dataclass(frozen=True)
class HexLayout:
    """Rows of bytes.

    A row starts at every offset where `(offset + lead) % width` is 0; with a lead, the first row begins with blank
    cells, so that a record that does not start at a multiple of its size still begins a row.

    Attributes:
        size: Number of bytes.
        width: Bytes in a row.
        lead: Blank cells in the first row, below `width`.
    """

    size: int
    width: int = 16
    lead: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MAX_WIDTH or not 0 <= self.lead < self.width:
            raise ValueError(f"no layout: width {self.width}, lead {self.lead}")

    @staticmethod
    def aligned(size: int, width: int, origin: int) -> HexLayout:
        """Return a layout in which a row starts at the offset `origin`."""
        return HexLayout(size, width, -origin % width)

    @property
    def rows(self) -> int:
        """Number of rows, at least one."""
        return max(-(-(self.size + self.lead) // self.width), 1)

    @property
    def digits(self) -> int:
        """Characters of the longest offset, at least eight."""
        return max(len(offset_words(max(self.size - 1, 0))), 8)

    def offset_text(self, offset: int) -> str:
        """Return an offset for the gutter, as wide as the others."""
        return offset_words(offset).rjust(self.digits)

    def row_of(self, offset: int) -> int:
        """Return the row in which a byte stands."""
        return (offset + self.lead) // self.width

    def column_of(self, offset: int) -> int:
        """Return the cell, from 0, in which a byte stands."""
        return (offset + self.lead) % self.width

    def row_start(self, row: int) -> int:
        """Offset of the first cell of a row; negative for the blank cells of row 0."""
        return row * self.width - self.lead

    def clamp(self, offset: int) -> int:
        """Return the nearest offset that has a byte; 0 when there is none."""
        return min(max(offset, 0), max(self.size - 1, 0))


@dataclass(frozen=True)
class ScreenRows:
    """Rows on the lines of a screen. A line has one row, or the rows of a fold.

    Attributes:
        top: The first row.
        lines: Number of lines.
        folds: Rows that share a line, ascending; none begins above `top`.
    """

    top: int
    lines: int
    folds: tuple[range, ...] = ()

    def row_at(self, line: int) -> int:
        """Return the row of a line, of a fold the first one; beside the screen a line is a row."""
        row = self.top + line
        for fold in self.folds:
            if row <= fold.start:
                break
            row += len(fold) - 1
        return row

    def line_of(self, row: int) -> int:
        """Return the line of a row, negative above the screen."""
        return row - self.top - sum(min(max(row - fold.start, 0), len(fold) - 1) for fold in self.folds)

    def part(self, line: int, count: int) -> ScreenRows:
        """Return some of the lines."""
        top, stop = self.row_at(line), self.row_at(line + count)
        return ScreenRows(top, count, tuple(fold for fold in self.folds if top <= fold.start < stop))

    def parts(self) -> Iterator[tuple[int, ScreenRows]]:
        """Yield the folds and the rows between them, each after the number of its first line."""
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
    """The character at which a byte of a row begins: two digits and a space each, one more space between groups."""
    return 3 * cell + cell // GROUP


def cell_at_column(column: float, width: int, gap: float = 1.0) -> int:
    """The byte nearest to a character of the hex part, `column` counted from its first one, fractions allowed.

    `gap` is the space between two bytes, in characters.
    """
    group, rest = divmod(column + gap / 2, (2 + gap) * GROUP + gap)
    cell = int(group) * GROUP + min(int(rest // (2 + gap)), GROUP - 1)
    return min(max(cell, 0), width - 1)
