"""Rows, columns and offsets of a hex view, in Python integers of any size. No Qt."""

from __future__ import annotations

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

    @property
    def hex_columns(self) -> int:
        """Characters of the hex part of a row."""
        return hex_column(self.width - 1) + 2

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


def hex_column(cell: int) -> int:
    """The character at which a byte of a row begins: two digits and a space each, one more space between groups."""
    return 3 * cell + cell // GROUP


def cell_at_column(column: float, width: int) -> int:
    """The byte nearest to a character of the hex part, `column` counted from its first one, fractions allowed."""
    group, rest = divmod(column + 0.5, 3 * GROUP + 1)
    cell = int(group) * GROUP + min(int(rest // 3), GROUP - 1)
    return min(max(cell, 0), width - 1)
