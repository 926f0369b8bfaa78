"""Paints the screen of a hex view, from what is in memory.

All backgrounds are one picture with a pixel per half character, made by NumPy and scaled up; texts are drawn by row.
The time follows from the number of rows on the screen, not from the number of runs, nor from the size of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QImage, QPainter, QPen, QStaticText

from shardcore import FieldRole, Section, Severity
from shardscope.hex.cells import SECTION_ROLES, SHADES, Cells, CellState
from shardscope.hex.grid import HexGrid, HexPart
from shardscope.hex.layout import hex_column
from shardscope.hex.rows import Pieces, RowCache
from shardscope.looks.theme import Palette
from shardscope.models.marks import Marks
from shardscope.models.sections import sections_in
from shardscope.pages import PageState


@dataclass
class Scene:
    """What is to be painted besides the cells.

    Attributes:
        top: The first row.
        rows: Number of rows, a partly visible one included.
        sections: Of the source; their borders are drawn.
        selection: The selected bytes, half-open, or None.
        caret: The byte with the caret, or -1.
        focused: Whether the keyboard goes here.
        part: Where the caret is strong.
        hover: The run under the pointer, or None.
        marks: Findings.
        letters: Whether runs begin with the letter of their role; in the safe palettes they always do.
    """

    top: int
    rows: int
    sections: Sequence[Section]
    selection: tuple[int, int] | None
    caret: int
    focused: bool
    part: HexPart
    hover: tuple[int, int] | None
    marks: Marks
    letters: bool


class HexPainter:
    """Paints with one palette and one grid."""

    def __init__(self, grid: HexGrid, palette: Palette) -> None:
        self.grid = grid
        self.palette = palette
        self.rows = RowCache(grid)
        self._shades = shade_table(palette)
        self._columns: list[QStaticText] = []
        self._edges = [[grid.edge(cell, part) for cell in range(grid.layout.width + 1)] for part in HexPart]
        self._text_half = np.repeat(np.arange(grid.layout.width), 2)

    def paint(self, painter: QPainter, scene: Scene, cells: Cells, area: QRectF, scroll: float) -> None:
        """Paints everything.

        Args:
            painter: On the viewport.
            scene: What.
            cells: The cells of the rows of the scene.
            area: The viewport.
            scroll: How many pixels the view is scrolled to the right.
        """
        painter.fillRect(area, self.palette.base)
        painter.save()
        painter.translate(-scroll, 0)
        painter.setClipRect(QRectF(scroll, self.grid.header, area.width(), area.height() - self.grid.header))
        self._backgrounds(painter, scene, cells)
        self._field_edges(painter, cells)
        self._gaps(painter, scene, cells)
        self._texts(painter, scene, cells)
        self._marks(painter, scene)
        self._borders(painter, scene)
        self._over(painter, scene)
        self._reasons(painter, scene, cells)
        painter.restore()
        self._gutter(painter, scene, cells, area)
        self._header(painter, scene, area, scroll)

    # --- behind the text ---

    def _backgrounds(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        colours = np.where(cells.state == CellState.LOADED, self._shades[cells.shade], np.uint32(0))
        for chosen, colour in ((scene.hover, self.palette.hover), (scene.selection, self.palette.selection)):
            if chosen is not None:
                _tint(colours.ravel()[max(chosen[0] - cells.first, 0) : max(chosen[1] - cells.first, 0)], colour)
        for part, owner in ((HexPart.HEX, self.grid.layout.half_cells), (HexPart.TEXT, self._text_half)):
            picture: NDArray[np.uint32] = np.ascontiguousarray(colours[:, owner])
            height, width = picture.shape
            image = QImage(picture.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied)
            left = self.grid.hex_x - self.grid.cell / 2 if part is HexPart.HEX else self.grid.text_x
            target = QRectF(left, self.grid.header, width * self.grid.cell / 2, height * self.grid.row)
            painter.drawImage(target, image)

    def _field_edges(self, painter: QPainter, cells: Cells) -> None:
        """A thin line where a field begins: before its first byte, and above it where it begins a row."""
        grid, thin = self.grid, self.grid.rounded(1)
        lines: dict[int, list[QRectF]] = {}
        rows, places = np.nonzero((cells.begins > 0) & (cells.state == CellState.LOADED))
        sections = cells.shade[rows, places] // SHADES
        for row, cell, section in zip(rows.tolist(), places.tolist(), sections.tolist(), strict=True):
            y = grid.row_y(row)
            found = lines.setdefault(section, [])
            for edges in self._edges:
                if cell:
                    found.append(QRectF(edges[cell], y, thin, grid.row))
                elif row:
                    found.append(QRectF(edges[0], y, edges[1] - edges[0], thin))
        painter.setPen(Qt.PenStyle.NoPen)
        for section, rects in lines.items():
            painter.setBrush(self.palette.edge(SECTION_ROLES[section]))
            painter.drawRects(rects)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _gaps(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        for gap in cells.gaps:
            failed = gap.state is PageState.FAILED
            colour = self.palette.error if failed else self.palette.missing
            pattern = Qt.BrushStyle.FDiagPattern if failed else Qt.BrushStyle.BDiagPattern
            self._fill(painter, scene, gap.start, gap.stop, QBrush(colour, pattern))
            if scene.selection is not None:
                start, stop = max(gap.start, scene.selection[0]), min(gap.stop, scene.selection[1])
                self._fill(painter, scene, start, stop, QBrush(self.palette.selection))

    def _fill(self, painter: QPainter, scene: Scene, start: int, stop: int, brush: QBrush) -> None:
        for block in self.grid.blocks(start, stop, scene.top, scene.rows):
            for part in HexPart:
                painter.fillRect(self.grid.rect(block, part), brush)

    # --- the text ---

    def _texts(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        grid, found = self.grid, []
        for row in range(scene.rows):
            if cells.state[row].any():
                found.append((grid.row_y(row) + grid.text_y, self.rows.texts(cells, row)))
        painter.setFont(grid.font)
        painter.setPen(self.palette.text)
        for y, texts in found:
            self._draw(painter, grid.hex_x, y, texts.hex)
            self._draw(painter, grid.text_x, y, texts.text)
        painter.setPen(self.palette.zero)
        for y, texts in found:
            self._draw(painter, grid.hex_x, y, texts.zeros)
            self._draw(painter, grid.text_x, y, texts.dots)
        if scene.letters or self.palette.safe:
            self._letters(painter, scene, cells)

    def _letters(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        grid = self.grid
        painter.setFont(grid.letters)
        painter.setPen(self.palette.zero)
        left = grid.hex_x - grid.cell + grid.letter_dx
        for row in range(scene.rows):
            self._draw(painter, left, grid.row_y(row) + grid.letter_y, self.rows.letters(cells, row))

    def _draw(self, painter: QPainter, x: float, y: float, pieces: Pieces) -> None:
        for column, text in pieces:
            painter.drawStaticText(QPointF(x + column * self.grid.cell, y), text)

    # --- over the text ---

    def _marks(self, painter: QPainter, scene: Scene) -> None:
        layout = self.grid.layout
        start, stop = layout.row_start(scene.top), layout.row_start(scene.top + scene.rows)
        colours = {
            Severity.ERROR: self.palette.error,
            Severity.WARNING: self.palette.warning,
            Severity.NOTE: self.palette.note,
        }
        thick = self.grid.rounded(2)
        for mark in scene.marks.inside(start, stop):
            for block in self.grid.blocks(mark.start, mark.stop, scene.top, scene.rows):
                for row in range(block.row, block.last):
                    bottom = self.grid.row_y(row + 1) - thick
                    for part in HexPart:
                        left, right = self.grid.edge(block.cell, part), self.grid.edge(block.stop, part)
                        painter.fillRect(QRectF(left, bottom, right - left, thick), colours[mark.severity])

    def _borders(self, painter: QPainter, scene: Scene) -> None:
        """A line where a section begins."""
        layout = self.grid.layout
        start, stop = layout.row_start(scene.top), layout.row_start(scene.top + scene.rows)
        thin = self.grid.rounded(1)
        for section in sections_in(scene.sections, max(start, 0), stop):
            if section.start <= max(start, 0):
                continue
            row, cell = layout.row_of(section.start) - scene.top, layout.column_of(section.start)
            colour = self.palette.section(section.role)
            for part in HexPart:
                left, middle = self.grid.edge(0, part), self.grid.edge(cell, part)
                right, y = self.grid.edge(layout.width, part), self.grid.row_y(row)
                painter.fillRect(QRectF(middle, y, right - middle, thin), colour)
                if cell:
                    painter.fillRect(QRectF(left, y + self.grid.row, middle - left, thin), colour)
                    painter.fillRect(QRectF(middle, y, thin, self.grid.row), colour)

    def _over(self, painter: QPainter, scene: Scene) -> None:
        thin = self.grid.rounded(1)
        if scene.hover is not None:
            self._outline(painter, scene, *scene.hover, QPen(self.palette.muted, thin, Qt.PenStyle.DotLine))
        if scene.selection is not None:
            self._outline(painter, scene, *scene.selection, QPen(self.palette.accent, self.grid.rounded(1.5)))
        if scene.caret < 0:
            return
        for block in self.grid.blocks(scene.caret, scene.caret + 1, scene.top, scene.rows):
            for part in HexPart:
                strong = scene.focused and part is scene.part
                width = self.grid.rounded(2) if strong else thin
                painter.setPen(QPen(self.palette.accent if scene.focused else self.palette.muted, width))
                inset = width / 2
                painter.drawRect(self.grid.rect(block, part).adjusted(inset, inset, -inset, -inset))

    def _outline(self, painter: QPainter, scene: Scene, start: int, stop: int, pen: QPen) -> None:
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for part in HexPart:
            for polygon in self.grid.outlines(start, stop, scene.top, scene.rows, part):
                painter.drawPolygon(polygon)

    def _reasons(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        """Why bytes are not there, on the first row of theirs."""
        painter.setFont(self.grid.font)
        for gap in cells.gaps:
            if gap.state is not PageState.FAILED:
                continue
            row = max(self.grid.layout.row_of(gap.start) - scene.top, 0)
            text = f" not readable: {gap.reason} "
            wide = QFontMetricsF(self.grid.font).horizontalAdvance(text)
            place = QRectF(self.grid.edge(0, HexPart.HEX), self.grid.row_y(row), wide, self.grid.row)
            painter.fillRect(place, self.palette.base)
            painter.setPen(self.palette.error)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    # --- around the bytes ---

    def _gutter(self, painter: QPainter, scene: Scene, cells: Cells, area: QRectF) -> None:
        grid = self.grid
        thin = grid.rounded(1)
        painter.fillRect(QRectF(0, 0, grid.gutter, area.height()), self.palette.window)
        painter.fillRect(QRectF(grid.gutter, 0, thin, area.height()), self.palette.border)
        painter.setFont(grid.font)
        current = grid.layout.row_of(scene.caret) - scene.top if scene.caret >= 0 else -1
        for row in range(scene.rows):
            if not cells.state[row].any():
                continue
            painter.setPen(self.palette.text if row == current else self.palette.muted)
            painter.drawStaticText(
                QPointF(grid.margin, grid.row_y(row) + grid.text_y), self.rows.texts(cells, row).offset
            )

    def _header(self, painter: QPainter, scene: Scene, area: QRectF, scroll: float) -> None:
        grid = self.grid
        thin = grid.rounded(1)
        painter.fillRect(QRectF(0, 0, area.width(), grid.header), self.palette.window)
        painter.fillRect(QRectF(0, grid.header - thin, area.width(), thin), self.palette.border)
        if not self._columns:
            self._columns = [QStaticText(f"{cell:02x}"[-2:]) for cell in range(grid.layout.width)]
        painter.setFont(grid.font)
        y = grid.rounded(2) + grid.text_y
        current = grid.layout.column_of(scene.caret) if scene.caret >= 0 else -1
        painter.save()
        painter.setClipRect(QRectF(grid.gutter, 0, area.width() - grid.gutter, grid.header))
        for cell, text in enumerate(self._columns):
            x = grid.hex_x + hex_column(cell) * grid.cell - scroll
            if grid.gutter - 3 * grid.cell < x < area.width():
                painter.setPen(self.palette.text if cell == current else self.palette.muted)
                painter.drawStaticText(QPointF(x, y), text)
        painter.setPen(self.palette.muted)
        painter.drawStaticText(QPointF(grid.text_x - scroll, y), QStaticText("text"))
        painter.restore()
        painter.setPen(self.palette.muted)
        painter.drawStaticText(QPointF(grid.margin, y), QStaticText("offset"))


def _tint(colours: NDArray[np.uint32], tint: QColor) -> None:
    """Lays a translucent colour over opaque ARGB colours, in place."""
    alpha = tint.alphaF()
    for shift, part in ((0, tint.blue()), (8, tint.green()), (16, tint.red())):
        under = (colours >> np.uint32(shift)) & np.uint32(255)
        mixed = (under * (1 - alpha) + part * alpha + 0.5).astype(np.uint32) << np.uint32(shift)
        kept = colours & np.uint32(~(255 << shift) & 0xFFFFFFFF)
        # What is not painted stays so.
        colours[...] = np.where(colours >> np.uint32(24), kept | mixed, colours)


def shade_table(palette: Palette) -> NDArray[np.uint32]:
    """The colours of all shades, as ARGB: indexed by section role times `SHADES`, plus role times 2, plus parity."""
    table = np.zeros(len(SECTION_ROLES) * SHADES, np.uint32)
    for number, section in enumerate(SECTION_ROLES):
        for role in FieldRole:
            for parity in (0, 1):
                colour: QColor = palette.field(section, role, parity)
                table[number * SHADES + role * 2 + parity] = colour.rgba()
    return table
