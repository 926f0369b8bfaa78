"""Geometry of the hex view in pixels, rounded to device pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QBrush, QFont, QFontMetricsF, QPainter, QPolygonF

from shardscope.session.copy_bytes import GROUP
from shardscope.views.hex.layout import HexLayout, ScreenRows, cell_at_column

_SAMPLE = 128
_LETTER = 0.77
_MARGIN, _TIGHT = 10, 6


class HexPart(Enum):
    HEX = "hex"
    TEXT = "text"


@dataclass(frozen=True)
class Block:
    """Rectangle of cells: rows `[row, last)` of the screen, cells `[cell, stop)`."""

    row: int
    last: int
    cell: int
    stop: int


class HexGrid:
    """Geometry of a hex view in pixels; `gap` between two bytes is doubled between groups."""

    def __init__(self, font: QFont, layout: HexLayout, ratio: float, *, tight: bool = False) -> None:
        self.layout = layout
        self.tight = tight
        self.ratio = ratio
        metrics = QFontMetricsF(font)
        natural = metrics.horizontalAdvance("0" * _SAMPLE) / _SAMPLE
        self.cell = self.rounded(natural)
        self.font = QFont(font)
        self.font.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, self.cell - natural)
        self.row = self.rounded(metrics.height() + 3)
        self.text_y = self.rounded((self.row - metrics.height()) / 2)
        self.letters = QFont(font)
        # Small enough for the gap of one character between two bytes.
        self.letters.setPointSizeF(max(font.pointSizeF() * _LETTER, 5.0))
        self.letters.setItalic(True)
        self.letter_y = self.rounded((self.row - QFontMetricsF(self.letters).height()) / 2)
        letter = QFontMetricsF(self.letters).horizontalAdvance("0" * _SAMPLE) / _SAMPLE
        self.letters.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, self.cell - letter)
        self.gap = 2 * self.rounded(self.cell / 4) if tight else self.cell
        self.letter_dx = round((self.gap - letter) / 2 * ratio) / ratio
        self.header = self.rounded(self.row + 4)
        self.margin = self.rounded(_TIGHT if tight else _MARGIN)
        self.gutter = self.rounded(self.margin * 2 + layout.digits * self.cell)
        self.hex_x = self.rounded(self.gutter + self.margin + self.cell / 2)
        self.text_x = self.rounded(self.byte_x(layout.width - 1) + 2 * self.cell + 2 * self.margin)
        self.width = self.rounded(self.text_x + layout.width * self.cell + self.margin)

    def rounded(self, length: float) -> float:
        return max(round(length * self.ratio), 1) / self.ratio

    def row_y(self, row: int) -> float:
        return self.header + row * self.row

    def byte_x(self, cell: int) -> float:
        return self.hex_x + cell * (2 * self.cell + self.gap) + cell // GROUP * self.gap

    def edge(self, cell: int, part: HexPart) -> float:
        """Return the left edge of a cell; for `cell == width` the right edge of the row."""
        if part is HexPart.TEXT:
            return self.text_x + cell * self.cell
        if cell == self.layout.width:
            return self.byte_x(cell - 1) + 2 * self.cell + self.gap / 2
        return self.byte_x(cell) - (self.gap if cell % GROUP == 0 and cell > 0 else self.gap / 2)

    def rect(self, block: Block, part: HexPart) -> QRectF:
        left, right = self.edge(block.cell, part), self.edge(block.stop, part)
        return QRectF(left, self.row_y(block.row), right - left, (block.last - block.row) * self.row)

    def reach(self, rows: ScreenRows) -> tuple[int, int]:
        """Return the half-open byte range of the screen and one row above and below it."""
        layout = self.layout
        return max(layout.row_start(rows.top - 1), 0), layout.row_start(rows.row_at(rows.lines) + 1)

    def blocks(self, start: int, stop: int, rows: ScreenRows) -> Iterator[Block]:
        """Yield the bytes `[start, stop)` on the screen as at most three rectangles."""
        layout = self.layout
        start = max(start, layout.row_start(rows.top))
        stop = min(stop, layout.row_start(rows.row_at(rows.lines)))
        if start >= stop:
            return
        above, below = layout.row_of(start), layout.row_of(stop - 1)
        first, last = rows.line_of(above), rows.line_of(below)
        # Bytes of a folded row are represented by the whole line.
        left = layout.column_of(start) if rows.row_at(first) == above else 0
        right = layout.column_of(stop - 1) + 1 if rows.row_at(last) == below else layout.width
        if first == last:
            yield Block(first, first + 1, left, right)
            return
        if left > 0:
            yield Block(first, first + 1, left, layout.width)
            first += 1
        full = last if right < layout.width else last + 1
        if full > first:
            yield Block(first, full, 0, layout.width)
        if right < layout.width:
            yield Block(last, last + 1, 0, right)

    def fill(self, painter: QPainter, start: int, stop: int, rows: ScreenRows, brush: QBrush) -> None:
        for block in self.blocks(start, stop, rows):
            self.fill_block(painter, block, brush)

    def fill_block(self, painter: QPainter, block: Block, brush: QBrush) -> None:
        for part in HexPart:
            painter.fillRect(self.rect(block, part), brush)

    def frame(self, painter: QPainter, start: int, stop: int, rows: ScreenRows) -> None:
        for part in HexPart:
            for line in self.outlines(start, stop, rows, part):
                painter.drawPolyline(line)

    def outlines(self, start: int, stop: int, rows: ScreenRows, part: HexPart) -> list[QPolygonF]:
        """Return the outline of bytes `[start, stop)`: a closed line, or two open ones if the rows do not touch."""
        blocks = list(self.blocks(start, stop, ScreenRows(rows.top - 1, rows.lines + 2, rows.folds)))
        rects = [self.rect(block, part).translated(0, -self.row) for block in blocks]
        if len(rects) == 1:
            return [QPolygonF(rects[0])]
        if len(rects) == 2 and (rects[0].left() >= rects[1].right() or rects[1].left() >= rects[0].right()):
            # The end of one row and the beginning of the next do not touch.
            one, other = rects
            return [
                QPolygonF([one.topRight(), one.topLeft(), one.bottomLeft(), one.bottomRight()]),
                QPolygonF([other.topLeft(), other.topRight(), other.bottomRight(), other.bottomLeft()]),
            ]
        if not rects:
            return []
        left, right = [], []
        for rect in rects:
            left += [rect.topLeft(), rect.bottomLeft()]
            right += [rect.topRight(), rect.bottomRight()]
        return [QPolygonF([*right, *reversed(left), right[0]])]

    def cell_at(self, point: QPointF, part: HexPart | None = None) -> tuple[int, HexPart]:
        if part is None:
            part = HexPart.TEXT if point.x() >= self.text_x - self.margin else HexPart.HEX
        if part is HexPart.TEXT:
            cell = int((point.x() - self.text_x) // self.cell)
            return min(max(cell, 0), self.layout.width - 1), part
        column = (point.x() - self.hex_x) / self.cell
        return cell_at_column(column, self.layout.width, self.gap / self.cell), part


@dataclass(frozen=True)
class RowRule:
    """Rule for the bytes per row: a row starts at `origin`; with `shrinks`, rows are narrowed until they fit."""

    width: int
    origin: int = 0
    shrinks: bool = False

    def grid(self, font: QFont, size: int, ratio: float, room: float, beside: float = 0) -> HexGrid:
        """Return the geometry for `room` pixels; the margins shrink first if `beside` pixels then remain."""
        layout = HexLayout.aligned(size, self.width, self.origin)
        made = HexGrid(font, layout, ratio)
        if self.shrinks and made.width + beside > room > 0:
            tight = HexGrid(font, layout, ratio, tight=True)
            if tight.width + beside <= room:
                return tight
        # Before the first layout the room is 0.
        while self.shrinks and made.width > room > 0:
            made = HexGrid(font, layout, ratio, tight=True)
            if made.width <= room or layout.width == 1:
                break
            layout = HexLayout.aligned(size, layout.width // 2, self.origin)
            made = HexGrid(font, layout, ratio)
        return made


AUTOMATIC = RowRule(16, shrinks=True)
