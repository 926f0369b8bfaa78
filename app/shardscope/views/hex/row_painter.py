"""Painting of the cached part of rows: backgrounds, borders, text, findings, gutter; no caret or hover.

The cost depends on the number of rows and fields on the screen, not on the size of the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QGlyphRun, QPaintEngine, QPainter, QPen, QRawFont, QStaticText

from shardcore import FieldRole, Severity
from shardscope.session.byte_pages import PageState
from shardscope.session.copy_bytes import PRINTABLE
from shardscope.session.section_lookup import sections_in
from shardscope.views.hex.cells import SECTION_ROLES, SHADES, ByteCells, CellState
from shardscope.views.hex.change_preview import paint_frames, paint_hatch
from shardscope.views.hex.field_column import FieldColumn
from shardscope.views.hex.folds import fold_text, hits_inside
from shardscope.views.hex.grid import Block, HexGrid, HexPart
from shardscope.views.hex.overlays import HexScene, Range
from shardscope.widgets.section_tints import UNDERLINED
from shardscope.widgets.theme import FIELD_LETTERS, HATCHED, Palette

_EDGE = 0.45
_CROSSED = 0.5


def paint_crossed(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    if scene.sandboxed is None:
        return
    colour = QColor(palette.warning)
    colour.setAlphaF(_CROSSED)
    for start, stop in scene.sandboxed.inside(*grid.reach(scene.rows)):
        grid.fill(painter, start, stop, scene.rows, QBrush(colour, Qt.BrushStyle.DiagCrossPattern))


def paint_over(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    if scene.sandboxed is None:
        return
    painter.setPen(QPen(palette.warning, grid.rounded(1.5), Qt.PenStyle.DotLine))
    for start, stop in scene.sandboxed.inside(*grid.reach(scene.rows)):
        grid.frame(painter, start, stop, scene.rows)
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.warning)
    layout = grid.layout
    for place, _ in scene.sandboxed.cuts_in(*grid.reach(scene.rows)):
        # At the end of the source, mark after the last byte.
        last = place >= layout.size and place > 0
        at = place - 1 if last else place
        row, cell = scene.rows.line_of(layout.row_of(at)), layout.column_of(at) + last
        if not 0 <= row < scene.rows.lines:
            continue
        y, wide = grid.row_y(row), grid.cell * 0.7
        for part in HexPart:
            x = grid.edge(cell, part)
            painter.drawPolygon([QPointF(x - wide, y), QPointF(x + wide, y), QPointF(x, y + grid.row * 0.5)])
            painter.drawRect(int(x), int(y), max(int(grid.rounded(1)), 1), int(grid.row))
    painter.restore()


Codes = NDArray[np.uint8]
"""ASCII codes of the characters of cells."""
Mask = NDArray[np.bool_]
"""Array with one boolean per cell."""

_ASCII = 128
_TOUCH = 0.01
_NONE = np.bool_(False)
_PAIRS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint8).reshape(256, 2)
_TEXT = np.frombuffer(PRINTABLE, np.uint8)
_IS_TEXT = np.array([0x20 <= byte < 0x7F for byte in range(256)])
_LETTERS = np.frombuffer(b" " + b"".join(FIELD_LETTERS[role].encode() for role in FieldRole), np.uint8)


class _Face:
    """Glyph indices of ASCII in a font; `rise` is the baseline below the top of a text, in whole device pixels."""

    def __init__(self, font: QFont, grid: HexGrid) -> None:
        self.font = font
        self.raw = QRawFont.fromFont(font)
        self.rise = grid.rounded(self.raw.ascent()) if self.raw.isValid() else 0.0
        glyphs = self.raw.glyphIndexesForString("".join(map(chr, range(32, 127)))) if self.raw.isValid() else []
        self._glyphs = np.zeros(_ASCII, np.int64)
        # A font with ligatures or without some of them is drawn as text.
        self.whole = len(glyphs) == 127 - 32 and all(glyphs)
        if self.whole:
            self._glyphs[32:127] = glyphs

    def run(self, codes: Codes, places: list[QPointF]) -> QGlyphRun:
        run = QGlyphRun()
        run.setRawFont(self.raw)
        run.setGlyphIndexes(self._glyphs[codes].tolist())
        run.setPositions(places)
        return run


class RowGlyphs:
    def __init__(self, grid: HexGrid) -> None:
        self._grid = grid
        self._face = _Face(grid.font, grid)
        self._small = _Face(grid.letters, grid)
        bytes_x = [grid.byte_x(cell) for cell in range(grid.layout.width)]
        self._hex_x = [x + digit * grid.cell for x in bytes_x for digit in (0, 1)]
        self._text_x = [grid.text_x + cell * grid.cell for cell in range(grid.layout.width)]
        self._letter_x = [x - grid.gap + grid.letter_dx for x in bytes_x]
        self._offset_x = [grid.margin + digit * grid.cell for digit in range(grid.layout.digits)]
        self._places: dict[str, list[QPointF]] = {}

    def bytes(
        self, painter: QPainter, cells: ByteCells, full: QColor, faint: QColor, strong: Mask | np.bool_ = _NONE
    ) -> None:
        loaded = cells.state == CellState.LOADED
        zero, letter = (cells.data == 0) & ~strong, _IS_TEXT[cells.data] | strong
        pairs, text = _PAIRS[cells.data], _TEXT[cells.data]
        seen = letter & (cells.data != ord(" "))
        for pen, hexes, texts in ((full, loaded & ~zero, loaded & seen), (faint, loaded & zero, loaded & ~letter)):
            painter.setPen(pen)
            self._draw(painter, self._face, "hex", self._hex_x, pairs, np.repeat(hexes, 2, axis=1))
            self._draw(painter, self._face, "text", self._text_x, text, texts)

    def letters(self, painter: QPainter, cells: ByteCells) -> None:
        self._draw(painter, self._small, "letter", self._letter_x, _LETTERS[cells.begins], cells.begins > 0)

    def offsets(self, painter: QPainter, cells: ByteCells) -> None:
        grid, there = self._grid, cells.there
        width, digits = grid.layout.width, grid.layout.digits
        starts = [max(cells.first + row * width, 0) for row in range(len(there))]
        codes = np.frombuffer("".join(map(grid.layout.offset_text, starts)).encode(), np.uint8)
        shown = np.repeat(there, digits) & (codes != ord(" "))
        self._draw(painter, self._face, "offset", self._offset_x, codes, shown.reshape(-1, digits))

    def _draw(
        self,
        painter: QPainter,
        face: _Face,
        kind: str,
        lefts: list[float],
        codes: Codes,
        shown: Mask,
    ) -> None:
        chosen = np.flatnonzero(shown)
        if not len(chosen):
            return
        flat = codes.reshape(-1)
        every = self._places_of(kind, face, lefts, len(shown))
        places = every[: len(flat)] if len(chosen) == len(flat) else [every[at] for at in chosen.tolist()]
        if face.whole and painter.paintEngine().type() is QPaintEngine.Type.Raster:
            painter.drawGlyphRun(QPointF(0, 0), face.run(flat[chosen], places))
            return
        # Vector output keeps text; adjacent characters become one text.
        painter.setFont(face.font)
        text, start, last = "", QPointF(), QPointF()
        for place, code in zip(places, flat[chosen].tolist(), strict=True):
            if text and (place.y() != last.y() or abs(place.x() - last.x() - self._grid.cell) > _TOUCH):
                painter.drawText(start, text)
                text = ""
            start, last, text = place if not text else start, place, text + chr(code)
        painter.drawText(start, text)

    def _places_of(self, kind: str, face: _Face, lefts: list[float], rows: int) -> list[QPointF]:
        grid, known = self._grid, self._places.setdefault(kind, [])
        down = grid.letter_y if face is self._small else grid.text_y
        for row in range(len(known) // max(len(lefts), 1), rows):
            y = grid.row_y(row) + down + face.rise
            known += [QPointF(x, y) for x in lefts]
        return known


class HexRowPainter:
    def __init__(self, grid: HexGrid, palette: Palette, column: FieldColumn | None = None) -> None:
        self.grid = grid
        self.palette = palette
        self.glyphs = RowGlyphs(grid)
        self._column = column
        self._shades, self._selected = shade_table(palette, ()), shade_table(palette, UNDERLINED)
        self._hatched = [(SECTION_ROLES.index(role), palette.hatch(role)) for role in HATCHED]
        self._brushes: dict[int, QBrush] = {}
        self._edges = [[grid.edge(cell, part) for cell in range(grid.layout.width + 1)] for part in HexPart]

    def paint(self, painter: QPainter, scene: HexScene, cells: ByteCells, width: float, scroll: float) -> None:
        """Paint consecutive rows, or one fold with the cells of its first row, below the height of the header."""
        top = self.grid.header
        painter.fillRect(QRectF(0, top, width, scene.rows.lines * self.grid.row), self.palette.base)
        painter.translate(-scroll, 0)
        self._backgrounds(painter, scene, cells)
        self._field_edges(painter, scene, cells)
        if not scene.rows.folds:
            self._underlines(painter, cells)
        self._gaps(painter, scene, cells)
        paint_hatch(painter, self.grid, self.palette, scene)
        paint_crossed(painter, self.grid, self.palette, scene)
        self._texts(painter, scene, cells)
        paint_frames(painter, self.grid, self.palette, scene)
        paint_over(painter, self.grid, self.palette, scene)
        self._hits(painter, scene, cells)
        self._marks(painter, scene)
        self._borders(painter, scene)
        if self._column is not None:
            self._column.paint(painter, self.grid, self.palette, scene.rows)
        painter.translate(scroll, 0)
        self._gutter(painter, scene, cells)

    # --- behind the text ---

    def _backgrounds(self, painter: QPainter, scene: HexScene, cells: ByteCells) -> None:
        loaded = cells.state == CellState.LOADED
        colours = np.where(loaded, self._shades[cells.shade], np.uint32(0))
        if scene.records:
            chosen = loaded & _within(cells, scene.records)
            colours[chosen] = self._selected[cells.shade[chosen]]
        if scene.hits:
            _tint(colours, _within(cells, scene.hits), self.palette.text, _HIT_TINT)
        if scene.selection is not None:
            chosen = loaded & _within(cells, [scene.selection])
            colours[chosen] = self._selected[cells.shade[chosen]]
            _tint(colours, chosen, self.palette.selection, self.palette.selection.alphaF())
        brushes = self._brushes
        for row, last, cell, stop, value in _blocks(_stretches(colours)):
            if (brush := brushes.get(value)) is None:
                brush = brushes[value] = QBrush(QColor.fromRgb(value))
            self.grid.fill_block(painter, Block(row, last, cell, stop), brush)
        for number, lines in self._hatched:
            for row, last, cell, stop, _ in _blocks(_stretches(loaded & (cells.shade // SHADES == number))):
                self.grid.fill_block(painter, Block(row, last, cell, stop), lines)

    def _field_edges(self, painter: QPainter, scene: HexScene, cells: ByteCells) -> None:
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
            quiet = self.palette.edge(SECTION_ROLES[kind - 1])
            quiet.setAlphaF(_EDGE)
            painter.setBrush(quiet)
            painter.drawRects(rects)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _underlines(self, painter: QPainter, cells: ByteCells) -> None:
        shades, (edges, _) = cells.shade % SHADES, self._edges
        wide, thin = self.grid.rounded(2), self.grid.rounded(1)
        for role in UNDERLINED:
            lines = []
            for row, cell, stop, _ in _stretches(np.where(shades // 2 == role, shades + 1, 0)):
                y = self.grid.row_y(row + 1) - wide / 2
                lines.append(QLineF(edges[cell] + thin, y, edges[stop] - thin, y))
            painter.setPen(self.palette.underline(role, wide))
            painter.drawLines(lines)

    def _gaps(self, painter: QPainter, scene: HexScene, cells: ByteCells) -> None:
        for gap in cells.gaps:
            failed = gap.state is PageState.FAILED
            colour = self.palette.error if failed else self.palette.missing
            pattern = Qt.BrushStyle.FDiagPattern if failed else Qt.BrushStyle.BDiagPattern
            self.grid.fill(painter, gap.start, gap.stop, scene.rows, QBrush(colour, pattern))
            if scene.selection is not None:
                start, stop = max(gap.start, scene.selection[0]), min(gap.stop, scene.selection[1])
                self.grid.fill(painter, start, stop, scene.rows, QBrush(self.palette.selection))

    # --- the text ---

    def _texts(self, painter: QPainter, scene: HexScene, cells: ByteCells) -> None:
        if scene.rows.folds:
            value, hits = int(cells.data[0, 0]), self._hits_inside(scene, cells)
            words = fold_text(len(scene.rows.folds[0]), value, more=scene.rows.more, hits=hits)
            painter.setFont(self.grid.font)
            painter.setPen(self.palette.text)
            place = QPointF(self.grid.hex_x, self.grid.row_y(0) + self.grid.text_y)
            painter.drawStaticText(place, QStaticText(f"… {words}"))
        else:
            selected = _within(cells, [scene.selection] if scene.selection is not None else [])
            self.glyphs.bytes(painter, cells, self.palette.text, self.palette.zero, selected)
        if scene.letters or self.palette.safe:
            painter.setPen(self.palette.zero)
            self.glyphs.letters(painter, cells)

    # --- over the text ---

    def _hits_inside(self, scene: HexScene, cells: ByteCells) -> int:
        size = len(scene.rows.folds[0]) * self.grid.layout.width if scene.rows.folds else 0
        return hits_inside(scene.patterns, int(cells.data[0, 0]), size) if scene.patterns else 0

    def _hits(self, painter: QPainter, scene: HexScene, cells: ByteCells) -> None:
        thin = self.grid.rounded(1)
        boxes: list[QRectF] = []
        # Hits in a fold share one box.
        whole = [(cells.first, cells.first + self.grid.layout.width)] if self._hits_inside(scene, cells) else None
        for start, stop in whole or scene.hits:
            for block in self.grid.blocks(start, stop, scene.rows):
                rect = [self.grid.rect(block, part) for part in HexPart]
                boxes += [one.adjusted(thin / 2, thin / 2, -thin / 2, -thin / 2) for one in rect]
        if boxes:
            painter.setPen(QPen(self.palette.text, thin))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRects(boxes)

    def _marks(self, painter: QPainter, scene: HexScene) -> None:
        colours = {
            Severity.ERROR: self.palette.error,
            Severity.WARNING: self.palette.warning,
            Severity.NOTE: self.palette.note,
        }
        # Thicker than the underline of a key, which it covers.
        thick = self.grid.rounded(3)
        for mark in scene.marks.inside(*self.grid.reach(scene.rows)):
            for block in self.grid.blocks(mark.start, mark.stop, scene.rows):
                for row in range(block.row, block.last):
                    bottom = self.grid.row_y(row + 1) - thick
                    for part in HexPart:
                        left, right = self.grid.edge(block.cell, part), self.grid.edge(block.stop, part)
                        painter.fillRect(QRectF(left, bottom, right - left, thick), colours[mark.severity])

    def _borders(self, painter: QPainter, scene: HexScene) -> None:
        layout, rows = self.grid.layout, scene.rows
        start, stop = layout.row_start(max(rows.top - 1, 0)), layout.row_start(rows.row_at(rows.lines))
        thin = self.grid.rounded(1)
        for section in sections_in(scene.sections, max(start, 0), stop):
            if section.start <= max(start, 0):
                continue
            row, cell = rows.line_of(layout.row_of(section.start)), layout.column_of(section.start)
            colour = self.palette.edge(section.role)
            for part in HexPart:
                left, middle = self.grid.edge(0, part), self.grid.edge(cell, part)
                right, y = self.grid.edge(layout.width, part), self.grid.row_y(row)
                painter.fillRect(QRectF(middle, y, right - middle, thin), colour)
                if cell:
                    painter.fillRect(QRectF(left, y + self.grid.row, middle - left, thin), colour)
                    painter.fillRect(QRectF(middle, y, thin, self.grid.row), colour)

    # --- beside the bytes ---

    def _gutter(self, painter: QPainter, scene: HexScene, cells: ByteCells) -> None:
        grid = self.grid
        height = scene.rows.lines * grid.row
        painter.fillRect(QRectF(0, grid.header, grid.gutter, height), self.palette.window)
        painter.fillRect(QRectF(grid.gutter, grid.header, grid.rounded(1), height), self.palette.border)
        painter.setPen(self.palette.muted)
        self.glyphs.offsets(painter, cells)


_HIT_TINT = 0.12
"""Fraction of the text colour in the background of a hit."""


def _stretches(values: NDArray[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Return `(row, first cell, stop, value)` of equal neighbours in each row; zeros are omitted."""
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
    """Merge equal stretches of adjacent rows: `(row, stop row, first cell, stop cell, value)`."""
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


def _within(cells: ByteCells, ranges: Sequence[Range]) -> Mask:
    chosen = np.zeros(cells.data.size, np.bool_)
    for start, stop in ranges:
        chosen[max(start - cells.first, 0) : max(stop - cells.first, 0)] = True
    return chosen.reshape(cells.data.shape)


def _tint(colours: NDArray[np.uint32], chosen: Mask, tint: QColor, alpha: float) -> None:
    """Blend a colour over opaque ARGB pixels in place; zeros are not painted and stay."""
    chosen = chosen & (colours > 0)
    under = colours[chosen]
    mixed = np.full(len(under), 255 << 24, np.uint32)
    for shift, part in ((0, tint.blue()), (8, tint.green()), (16, tint.red())):
        below = (under >> np.uint32(shift)) & np.uint32(255)
        mixed |= (below * (1 - alpha) + part * alpha + 0.5).astype(np.uint32) << np.uint32(shift)
    colours[chosen] = mixed


def shade_table(palette: Palette, fields: Collection[FieldRole]) -> NDArray[np.uint32]:
    """Return the ARGB background per `ByteCells.shade`: the colour of its role if in `fields`, else of its section."""
    return np.array(
        [
            (palette.field(role) if role in fields else palette.section(section, parity)).rgba()
            for section in SECTION_ROLES
            for role in FieldRole
            for parity in (0, 1)
        ],
        np.uint32,
    )
