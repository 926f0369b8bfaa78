"""Paints what stays of rows: backgrounds, edges, texts, findings, the gutter; not caret, frames or what is hovered.

Backgrounds are filled run by run. The time follows from the number of rows, and of fields in them, not from the size of
the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from shardcore import FieldRole, Severity
from shardscope.session.pages import PageState
from shardscope.session.sections import sections_in
from shardscope.views.hex.cells import SECTION_ROLES, SHADES, Cells, CellState
from shardscope.views.hex.field_column import FieldColumn
from shardscope.views.hex.grid import HexGrid, HexPart
from shardscope.views.hex.proposed import paint_frames, paint_hatch
from shardscope.views.hex.rows import RowGlyphs
from shardscope.views.hex.sandbox_marks import paint_crossed, paint_over
from shardscope.views.hex.scene import Range, Scene
from shardscope.widgets.theme import Palette


class RowPainter:
    """Paints rows with one palette and one grid.

    Attributes:
        glyphs: Draws characters.
    """

    def __init__(self, grid: HexGrid, palette: Palette, column: FieldColumn | None = None) -> None:
        self.grid = grid
        self.palette = palette
        self.glyphs = RowGlyphs(grid)
        self._column = column
        self._shades = shade_table(palette)
        self._brushes: dict[int, QColor] = {}
        self._edges = [[grid.edge(cell, part) for cell in range(grid.layout.width + 1)] for part in HexPart]

    def paint(self, painter: QPainter, scene: Scene, cells: Cells, width: float, scroll: float) -> None:
        """Paints the rows of a scene; the first one begins below the height of the header.

        Args:
            painter: Where.
            scene: What.
            cells: The cells of the rows of the scene.
            width: Of the viewport.
            scroll: How many pixels the view is scrolled to the right.
        """
        top = self.grid.header
        painter.fillRect(QRectF(0, top, width, scene.rows * self.grid.row), self.palette.base)
        painter.translate(-scroll, 0)
        self._backgrounds(painter, scene, cells)
        self._field_edges(painter, scene, cells)
        self._gaps(painter, scene, cells)
        paint_hatch(painter, self.grid, self.palette, scene)
        paint_crossed(painter, self.grid, self.palette, scene)
        self._texts(painter, scene, cells)
        paint_frames(painter, self.grid, self.palette, scene)
        paint_over(painter, self.grid, self.palette, scene)
        self._hits(painter, scene)
        self._marks(painter, scene)
        self._borders(painter, scene)
        if self._column is not None:
            self._column.paint(painter, self.grid, self.palette, scene.top, scene.rows)
        painter.translate(scroll, 0)
        self._gutter(painter, scene, cells)

    # --- behind the text ---

    def _backgrounds(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        colours = np.where(cells.state == CellState.LOADED, self._shades[cells.shade], np.uint32(0))
        if scene.hits:
            _tint(colours, cells, scene.hits, self.palette.text, _HIT_TINT)
        if scene.selection is not None:
            _tint(colours, cells, [scene.selection], self.palette.selection, self.palette.selection.alphaF())
        height, brushes = self.grid.row, self._brushes
        hexes, texts = self._edges
        for row, last, cell, stop, value in _blocks(_stretches(colours)):
            if (brush := brushes.get(value)) is None:
                brush = brushes[value] = QColor.fromRgb(value)
            y, tall = self.grid.row_y(row), (last - row) * height
            painter.fillRect(QRectF(hexes[cell], y, hexes[stop] - hexes[cell], tall), brush)
            painter.fillRect(QRectF(texts[cell], y, texts[stop] - texts[cell], tall), brush)

    def _field_edges(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        """A thin line around each field: before its first byte, and over all of its bytes below another field's."""
        grid, thin = self.grid, self.grid.rounded(1)
        loaded = cells.state == CellState.LOADED
        section = np.where(loaded, cells.shade // SHADES + 1, 0)
        lines: dict[int, list[QRectF]] = {}
        rows, places = np.nonzero((cells.begins[:, 1:] > 0) & loaded[:, 1:])
        kinds = section[rows, places + 1]
        for row, cell, kind in zip(rows.tolist(), places.tolist(), kinds.tolist(), strict=True):
            found, y = lines.setdefault(kind, []), grid.row_y(row)
            for edges in self._edges:
                found.append(QRectF(edges[cell + 1], y, thin, grid.row))
        for row, cell, stop, kind in _stretches(np.where(cells.under_another(), section, 0)):
            found, y = lines.setdefault(kind, []), grid.row_y(row)
            for edges in self._edges:
                found.append(QRectF(edges[cell], y, edges[stop] - edges[cell], thin))
        painter.setPen(Qt.PenStyle.NoPen)
        for kind, rects in lines.items():
            painter.setBrush(self.palette.edge(SECTION_ROLES[kind - 1]))
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
        self.glyphs.bytes(painter, cells, self.palette.text, self.palette.zero)
        if scene.letters or self.palette.safe:
            painter.setPen(self.palette.zero)
            self.glyphs.letters(painter, cells)

    # --- over the text ---

    def _hits(self, painter: QPainter, scene: Scene) -> None:
        """A box around what a search found; one in each row that it touches."""
        thin = self.grid.rounded(1)
        boxes: list[QRectF] = []
        for start, stop in scene.hits:
            for block in self.grid.blocks(start, stop, scene.top, scene.rows):
                rect = [self.grid.rect(block, part) for part in HexPart]
                boxes += [one.adjusted(thin / 2, thin / 2, -thin / 2, -thin / 2) for one in rect]
        if boxes:
            painter.setPen(QPen(self.palette.text, thin))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRects(boxes)

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
        """A line where a section begins; of one that begins in the row above, the part that lies in this one."""
        layout = self.grid.layout
        start, stop = layout.row_start(max(scene.top - 1, 0)), layout.row_start(scene.top + scene.rows)
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

    # --- beside the bytes ---

    def _gutter(self, painter: QPainter, scene: Scene, cells: Cells) -> None:
        grid = self.grid
        height = scene.rows * grid.row
        painter.fillRect(QRectF(0, grid.header, grid.gutter, height), self.palette.window)
        painter.fillRect(QRectF(grid.gutter, grid.header, grid.rounded(1), height), self.palette.border)
        painter.setPen(self.palette.muted)
        self.glyphs.offsets(painter, cells)


_HIT_TINT = 0.12
"""How much of the colour of text is mixed into the background of a hit."""


def _stretches(values: NDArray[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Neighbours of one value in a row: the row, the first cell, one past the last, the value; zeros are left out."""
    changes = np.ones(values.shape, np.bool_)
    changes[:, 1:] = values[:, 1:] != values[:, :-1]
    rows, places = np.nonzero(changes)
    stops = np.append(places[1:], 0)
    stops = np.where(stops == 0, values.shape[1], stops)
    found = values[rows, places]
    kept = found != 0
    columns = (rows[kept], places[kept], stops[kept], found[kept])
    return zip(*(column.tolist() for column in columns), strict=True)


def _blocks(stretches: Iterable[tuple[int, int, int, int]]) -> Iterator[tuple[int, int, int, int, int]]:
    """Stretches below each other as one: first row, one past the last, first cell, one past the last, value."""
    top = last = 0
    shape: tuple[int, int, int] | None = None
    for row, *rest in stretches:
        if shape == (*rest,) and row == last:
            last += 1
            continue
        if shape is not None:
            yield top, last, *shape
        top, last, shape = row, row + 1, (rest[0], rest[1], rest[2])
    if shape is not None:
        yield top, last, *shape


def _tint(colours: NDArray[np.uint32], cells: Cells, ranges: Sequence[Range], tint: QColor, alpha: float) -> None:
    """Lays a translucent colour over the opaque ARGB colours of some bytes, in place; what is not painted stays so."""
    flat = colours.ravel()
    chosen = np.zeros(len(flat), np.bool_)
    for start, stop in ranges:
        chosen[max(start - cells.first, 0) : max(stop - cells.first, 0)] = True
    places = np.flatnonzero(chosen & (flat >> np.uint32(24) > 0))
    if not len(places):
        return
    under = flat[places]
    mixed = np.full(len(places), 255 << 24, np.uint32)
    for shift, part in ((0, tint.blue()), (8, tint.green()), (16, tint.red())):
        below = (under >> np.uint32(shift)) & np.uint32(255)
        mixed |= (below * (1 - alpha) + part * alpha + 0.5).astype(np.uint32) << np.uint32(shift)
    flat[places] = mixed


def shade_table(palette: Palette) -> NDArray[np.uint32]:
    """The colours of all shades, as ARGB: indexed by section role times `SHADES`, plus role times 2, plus parity."""
    table = np.zeros(len(SECTION_ROLES) * SHADES, np.uint32)
    for number, section in enumerate(SECTION_ROLES):
        for role in FieldRole:
            for parity in (0, 1):
                colour: QColor = palette.field(section, role, parity)
                table[number * SHADES + role * 2 + parity] = colour.rgba()
    return table
