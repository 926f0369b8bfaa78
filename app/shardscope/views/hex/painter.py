"""Painting of the hex view from loaded pages: rows are cached as pictures, overlays are painted over them.

Only rows that appear or whose selection changes are painted again, at a cost independent of the size of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPoint, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QGlyphRun,
    QImage,
    QPaintEngine,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QRawFont,
    QStaticText,
)

from shardcore import FieldRole, Section, Span
from shardcore.dataclasses import dataclass, replace
from shardcore.operations.notes import Note
from shardcore.operations.search import Searched
from shardscope.session.byte_marks import Marks, Proposed, Range, SandboxChanges, sections_in
from shardscope.session.byte_pages import PageState
from shardscope.session.display_text import PRINTABLE
from shardscope.session.selection import Arrow, Highlight
from shardscope.views.hex.field_column import FieldColumn
from shardscope.views.hex.layout import (
    PARTS,
    SECTION_ROLES,
    SHADES,
    Block,
    ByteCells,
    CellState,
    HexGrid,
    HexPart,
    ScreenRows,
    fold_text,
    hits_inside,
)
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.note_flag import paint_flag
from shardscope.widgets.theme import FIELD_LETTERS, HATCHED, UNDERLINED, Palette

_NO_BRUSH = Qt.BrushStyle.NoBrush


@dataclass
class HexScene:
    """Rows on the screen and everything painted over them. Ranges are half-open; `caret` is -1 in an empty source.

    `frames` are the ranges of the field at the caret and of its record; `record` is that of the record under the
    pointer. `half`: the first hex digit of the byte at the caret was typed, the second comes next.
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
    patterns: Sequence[Searched] = ()
    failed: Sequence[tuple[Range, str]] = ()
    proposed: Proposed | None = None
    highlights: Sequence[Highlight] = ()
    arrows: Sequence[Arrow] = ()
    sandboxed: SandboxChanges | None = None
    notes: Sequence[Note] = ()
    half: bool = False
    record: Range | None = None

    @property
    def records(self) -> tuple[Range, ...]:
        return (*self.frames[-1:], *([self.record] if self.record is not None else []))


# --- characters ---

Codes = NDArray[np.uint8]
"""ASCII codes of the characters of cells."""
Mask = NDArray[np.bool_]

_TOUCH = 0.01
_NONE = np.bool_(False)
_PAIRS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint8).reshape(256, 2)
_TEXT = np.frombuffer(PRINTABLE, np.uint8)
_IS_TEXT = np.array([0x20 <= byte < 0x7F for byte in range(256)])
_LETTERS = np.frombuffer(b" " + b"".join(FIELD_LETTERS[role].encode() for role in FieldRole), np.uint8)


class _Face:
    """Glyph indices of printable ASCII characters in a font; `rise` is the distance from the top to the baseline."""

    def __init__(self, font: QFont, grid: HexGrid) -> None:
        self.font = font
        self.raw = QRawFont.fromFont(font)
        self.rise = grid.rounded(self.raw.ascent()) if self.raw.isValid() else 0.0
        glyphs = self.raw.glyphIndexesForString("".join(map(chr, range(32, 127)))) if self.raw.isValid() else []
        self.glyphs = np.zeros(128, np.int64)
        # A font with ligatures, or without some ASCII characters, is drawn as text.
        self.whole = len(glyphs) == 127 - 32 and all(glyphs)
        if self.whole:
            self.glyphs[32:127] = glyphs


class RowGlyphs:
    def __init__(self, grid: HexGrid) -> None:
        self._grid = grid
        self._face, self._small = _Face(grid.font, grid), _Face(grid.letters, grid)
        self._lefts = {
            "hex": [x + digit * grid.cell for x in grid.bytes_x for digit in (0, 1)],
            "text": grid.edges[HexPart.TEXT][:-1],
            "letter": [x - grid.gap + grid.letter_dx for x in grid.bytes_x],
            "offset": [grid.margin + digit * grid.cell for digit in range(grid.layout.digits)],
        }
        self._places: dict[str, list[QPointF]] = {kind: [] for kind in self._lefts}

    def bytes(
        self, painter: QPainter, cells: ByteCells, full: QColor, faint: QColor, strong: Mask | np.bool_ = _NONE
    ) -> None:
        loaded = cells.state == CellState.LOADED
        zero, letter = (cells.data == 0) & ~strong, _IS_TEXT[cells.data] | strong
        pairs, text = _PAIRS[cells.data], _TEXT[cells.data]
        seen = letter & (cells.data != ord(" "))
        for pen, hexes, texts in ((full, loaded & ~zero, loaded & seen), (faint, loaded & zero, loaded & ~letter)):
            painter.setPen(pen)
            self._draw(painter, self._face, "hex", pairs, np.repeat(hexes, 2, axis=1))
            self._draw(painter, self._face, "text", text, texts)

    def letters(self, painter: QPainter, cells: ByteCells) -> None:
        self._draw(painter, self._small, "letter", _LETTERS[cells.begins], cells.begins > 0)

    def offsets(self, painter: QPainter, cells: ByteCells) -> None:
        layout, there = self._grid.layout, (cells.state != CellState.BLANK).any(axis=1)
        texts = [layout.offset_text(max(cells.first + row * layout.width, 0)) for row in range(len(there))]
        codes = np.frombuffer("".join(texts).encode(), np.uint8)
        shown = np.repeat(there, layout.digits) & (codes != ord(" "))
        self._draw(painter, self._face, "offset", codes, shown.reshape(-1, layout.digits))

    def _draw(self, painter: QPainter, face: _Face, kind: str, codes: Codes, shown: Mask) -> None:
        chosen = np.flatnonzero(shown)
        if not len(chosen):
            return
        codes, every = codes.reshape(-1), self._placed(kind, face, len(shown))
        places = every[: len(codes)] if len(chosen) == len(codes) else [every[at] for at in chosen.tolist()]
        if face.whole and painter.paintEngine().type() is QPaintEngine.Type.Raster:
            run = QGlyphRun()
            run.setRawFont(face.raw)
            run.setGlyphIndexes(face.glyphs[codes[chosen]].tolist())
            run.setPositions(places)
            painter.drawGlyphRun(QPointF(0, 0), run)
            return
        # Vector output keeps text; adjacent characters become one text.
        painter.setFont(face.font)
        text, start, last = "", QPointF(), QPointF()
        for place, code in zip(places, codes[chosen].tolist(), strict=True):
            if text and (place.y() != last.y() or abs(place.x() - last.x() - self._grid.cell) > _TOUCH):
                painter.drawText(start, text)
                text = ""
            start, last, text = place if not text else start, place, text + chr(code)
        painter.drawText(start, text)

    def _placed(self, kind: str, face: _Face, rows: int) -> list[QPointF]:
        grid, lefts, known = self._grid, self._lefts[kind], self._places[kind]
        if len(known) < rows * len(lefts):
            down = grid.header + (grid.letter_y if face is self._small else grid.text_y) + face.rise
            for row in range(len(known) // len(lefts), rows):
                y = down + row * grid.row
                known += [QPointF(x, y) for x in lefts]
        return known


# --- the cached part of rows: no caret, no hover ---

_EDGE = 0.45
_CROSSED = 0.5
_CHANGED = 0.45
_HIT_TINT = 0.12
"""Fraction of the text colour in the background of a hit."""


class _RowPainter:
    def __init__(self, grid: HexGrid, palette: Palette, column: FieldColumn | None) -> None:
        self.grid, self.palette, self.column = grid, palette, column
        self._thin, self._wide = grid.rounded(1), grid.rounded(2)
        self.glyphs = RowGlyphs(grid)
        self._shades, self._selected = shade_tables(palette.name)
        self._hatched = [(SECTION_ROLES.index(role), palette.hatch(role)) for role in HATCHED]
        self._brushes: dict[int, QBrush] = {}

    def paint(self, painter: QPainter, scene: HexScene, cells: ByteCells, width: float, scroll: float) -> None:
        """Paint consecutive rows below the header, or one fold, whose `cells` are those of its first row."""
        top = self.grid.header
        painter.fillRect(QRectF(0, top, width, scene.rows.lines * self.grid.row), self.palette.base)
        painter.translate(-scroll, 0)
        inside = 0
        if scene.rows.folds and scene.patterns:
            size = len(scene.rows.folds[0]) * self.grid.layout.width
            inside = hits_inside(scene.patterns, int(cells.data[0, 0]), size)
        self._backgrounds(painter, scene, cells)
        self._field_edges(painter, cells)
        if not scene.rows.folds:
            self._underlines(painter, cells)
        if cells.gaps:
            self._gaps(painter, scene, cells)
        changed = scene.proposed is not None or scene.sandboxed is not None
        if changed:
            self._changes(painter, scene, below=True)
        self._texts(painter, scene, cells, inside)
        if changed:
            self._changes(painter, scene, below=False)
        # Hits in a fold share one box.
        if hits := [(cells.first, cells.first + self.grid.layout.width)] if inside else scene.hits:
            self._hits(painter, scene, hits)
        if scene.marks.all:
            self._marks(painter, scene)
        self._borders(painter, scene)
        if self.column is not None and self.column.shown:
            self.column.paint(painter, self.palette, scene.rows)
        painter.translate(scroll, 0)
        paint_gutter(painter, self.grid, self.palette, self.grid.header, scene.rows.lines * self.grid.row)
        painter.setPen(self.palette.muted)
        self.glyphs.offsets(painter, cells)

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
        for block, value in _blocks(colours):
            if (brush := brushes.get(value)) is None:
                brush = brushes[value] = QBrush(QColor.fromRgb(value))
            self.grid.fill_block(painter, block, brush)
        kinds = cells.shade // SHADES
        for number, lines in self._hatched:
            if (hatched := loaded & (kinds == number)).any():
                for block, _ in _blocks(hatched):
                    self.grid.fill_block(painter, block, lines)

    def _field_edges(self, painter: QPainter, cells: ByteCells) -> None:
        grid, thin = self.grid, self._thin
        loaded = cells.state == CellState.LOADED
        section = np.where(loaded, cells.shade // SHADES + 1, 0)
        lines: dict[int, list[QRectF]] = {}
        rows, places = np.nonzero((cells.begins[:, 1:] > 0) & loaded[:, 1:])
        kinds = section[rows, places + 1]
        for row, cell, kind in zip(rows.tolist(), places.tolist(), kinds.tolist(), strict=True):
            found, y = lines.setdefault(kind, []), grid.header + row * grid.row
            for edges in grid.edges.values():
                found.append(QRectF(edges[cell + 1], y, thin, grid.row))
        for row, cell, stop, kind in _stretches(np.where(cells.under_another(), section, 0)):
            found, y = lines.setdefault(kind, []), grid.header + row * grid.row
            for edges in grid.edges.values():
                found.append(QRectF(edges[cell], y, edges[stop] - edges[cell], thin))
        painter.setPen(Qt.PenStyle.NoPen)
        for kind, rects in lines.items():
            painter.setBrush(theme.faint(self.palette.edge(SECTION_ROLES[kind - 1]), _EDGE))
            painter.drawRects(rects)
        painter.setBrush(_NO_BRUSH)

    def _underlines(self, painter: QPainter, cells: ByteCells) -> None:
        shades, edges = cells.shade % SHADES, self.grid.edges[HexPart.HEX]
        wide, thin = self._wide, self._thin
        for role in UNDERLINED:
            lines = []
            for row, cell, stop, _ in _stretches(np.where(shades // 2 == role, shades + 1, 0)):
                y = self.grid.header + (row + 1) * self.grid.row - wide / 2
                lines.append(QLineF(edges[cell] + thin, y, edges[stop] - thin, y))
            if lines:
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

    def _changes(self, painter: QPainter, scene: HexScene, *, below: bool) -> None:
        """Paint changed bytes, proposed or in a sandbox: a pattern below the text, a frame over it."""
        grid, palette, rows = self.grid, self.palette, scene.rows
        if (proposed := scene.proposed) is not None:
            new = proposed.shows_new
            colour = palette.ok if new else palette.error
            pattern = Qt.BrushStyle.BDiagPattern if new else Qt.BrushStyle.FDiagPattern
            line = Qt.PenStyle.SolidLine if new else Qt.PenStyle.DashLine
            for start, stop in proposed.marks(*grid.reach(rows)):
                if below:
                    grid.fill(painter, start, stop, rows, QBrush(theme.faint(colour, _CHANGED), pattern))
                    continue
                painter.setPen(QPen(colour, grid.rounded(2 if start == proposed.current else 1), line))
                grid.frame(painter, start, stop, rows)
        if scene.sandboxed is not None:
            crossed = QBrush(theme.faint(palette.warning, _CROSSED), Qt.BrushStyle.DiagCrossPattern)
            painter.setPen(QPen(palette.warning, grid.rounded(1.5), Qt.PenStyle.DotLine))
            for start, stop in scene.sandboxed.inside(*grid.reach(rows)):
                if below:
                    grid.fill(painter, start, stop, rows, crossed)
                else:
                    grid.frame(painter, start, stop, rows)
            if not below:
                self._cuts(painter, rows, scene.sandboxed)

    def _cuts(self, painter: QPainter, rows: ScreenRows, sandboxed: SandboxChanges) -> None:
        """Mark the offsets at which bytes were removed in a sandbox; at the end of the source, after the last byte."""
        grid, layout = self.grid, self.grid.layout
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.palette.warning)
        for place, _ in sandboxed.cuts_in(*grid.reach(rows)):
            last = place >= layout.size and place > 0
            at = place - 1 if last else place
            row, cell = rows.line_of(layout.row_of(at)), layout.column_of(at) + last
            if not 0 <= row < rows.lines:
                continue
            y, wide = grid.row_y(row), grid.cell * 0.7
            for part in PARTS:
                x = grid.edge(cell, part)
                painter.drawPolygon([QPointF(x - wide, y), QPointF(x + wide, y), QPointF(x, y + grid.row * 0.5)])
                painter.drawRect(int(x), int(y), max(int(grid.rounded(1)), 1), int(grid.row))
        painter.restore()

    def _texts(self, painter: QPainter, scene: HexScene, cells: ByteCells, hits: int) -> None:
        grid = self.grid
        if scene.rows.folds:
            words = fold_text(len(scene.rows.folds[0]), int(cells.data[0, 0]), more=scene.rows.more, hits=hits)
            painter.setFont(grid.font)
            painter.setPen(self.palette.text)
            painter.drawStaticText(QPointF(grid.hex_x, grid.row_y(0) + grid.text_y), QStaticText(f"… {words}"))
        else:
            selected = _within(cells, [scene.selection]) if scene.selection is not None else _NONE
            self.glyphs.bytes(painter, cells, self.palette.text, self.palette.zero, selected)
        if scene.letters or self.palette.safe:
            painter.setPen(self.palette.zero)
            self.glyphs.letters(painter, cells)

    def _hits(self, painter: QPainter, scene: HexScene, hits: Sequence[Range]) -> None:
        inset = self._thin / 2
        boxes = [
            self.grid.rect(block, part).adjusted(inset, inset, -inset, -inset)
            for start, stop in hits
            for block in self.grid.blocks(start, stop, scene.rows)
            for part in PARTS
        ]
        if boxes:
            painter.setPen(QPen(self.palette.text, 2 * inset))
            painter.setBrush(_NO_BRUSH)
            painter.drawRects(boxes)

    def _marks(self, painter: QPainter, scene: HexScene) -> None:
        # Thicker than the underline of a key, which it covers.
        grid, thick = self.grid, self.grid.rounded(3)
        for mark in scene.marks.inside(*grid.reach(scene.rows)):
            for block in grid.blocks(mark.start, mark.stop, scene.rows):
                for row in range(block.row, block.last):
                    for edges in grid.edges.values():
                        left, right = edges[block.cell], edges[block.stop]
                        place = QRectF(left, grid.row_y(row + 1) - thick, right - left, thick)
                        painter.fillRect(place, getattr(self.palette, mark.severity.value))

    def _borders(self, painter: QPainter, scene: HexScene) -> None:
        grid, layout, rows = self.grid, self.grid.layout, scene.rows
        start, thin = max(layout.row_start(max(rows.top - 1, 0)), 0), self._thin
        for section in sections_in(scene.sections, start, layout.row_start(rows.row_at(rows.lines))):
            if section.start <= start:
                continue
            row, cell = rows.line_of(layout.row_of(section.start)), layout.column_of(section.start)
            colour, y = self.palette.edge(section.role), grid.row_y(row)
            for edges in grid.edges.values():
                left, middle, right = edges[0], edges[cell], edges[-1]
                painter.fillRect(QRectF(middle, y, right - middle, thin), colour)
                if cell:
                    painter.fillRect(QRectF(left, y + grid.row, middle - left, thin), colour)
                    painter.fillRect(QRectF(middle, y, thin, grid.row), colour)


def paint_gutter(painter: QPainter, grid: HexGrid, palette: Palette, top: float, height: float) -> None:
    painter.fillRect(QRectF(0, top, grid.gutter, height), palette.window)
    painter.fillRect(QRectF(grid.gutter, top, grid.rounded(1), height), palette.border)


def _stretches(values: NDArray[Any]) -> Iterable[tuple[int, int, int, int]]:
    """Return `(row, first cell, stop, value)` for each range of equal values in a row, except zeros."""
    changes = np.ones(values.shape, np.bool_)
    changes[:, 1:] = values[:, 1:] != values[:, :-1]
    rows, places = np.nonzero(changes)
    stops = np.append(places[1:], 0)
    stops = np.where(stops == 0, values.shape[1], stops)
    found = values[rows, places]
    kept = found != 0
    return zip(rows[kept].tolist(), places[kept].tolist(), stops[kept].tolist(), found[kept].tolist(), strict=True)


def _blocks(values: NDArray[Any]) -> list[tuple[Block, int]]:
    """Return blocks of equal values, except zeros; equal ranges of adjacent rows are merged."""
    found: list[tuple[Block, int]] = []
    for row, cell, stop, value in _stretches(values):
        if found and found[-1][1] == value and found[-1][0][1:] == (row, cell, stop):
            found[-1] = Block(found[-1][0].row, row + 1, cell, stop), value
        else:
            found.append((Block(row, row + 1, cell, stop), value))
    return found


def _within(cells: ByteCells, ranges: Sequence[Range]) -> Mask:
    chosen = np.zeros(cells.data.size, np.bool_)
    for start, stop in ranges:
        chosen[max(start - cells.first, 0) : max(stop - cells.first, 0)] = True
    return chosen.reshape(cells.data.shape)


def _tint(colours: NDArray[np.uint32], chosen: Mask, tint: QColor, alpha: float) -> None:
    """Blend a colour over opaque ARGB pixels in place; pixels with value 0 are not painted and stay 0."""
    chosen = chosen & (colours > 0)
    under = colours[chosen]
    mixed = np.full(len(under), 255 << 24, np.uint32)
    for shift, part in ((0, tint.blue()), (8, tint.green()), (16, tint.red())):
        below = (under >> np.uint32(shift)) & np.uint32(255)
        mixed |= (below * (1 - alpha) + part * alpha + 0.5).astype(np.uint32) << np.uint32(shift)
    colours[chosen] = mixed


@lru_cache(maxsize=len(theme.NAMES))
def shade_tables(name: str) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the ARGB backgrounds per `ByteCells.shade` of a palette: of all bytes, and of selected ones.

    A selected key, pointer or size has the colour of its role, all other bytes have that of their section.
    """
    palette = theme.palette(name)
    sections = [[[palette.section(role, parity).rgba() for parity in (0, 1)]] for role in SECTION_ROLES]
    plain = np.repeat(np.array(sections, np.uint32), len(FieldRole), axis=1)
    selected = plain.copy()
    for role in UNDERLINED:
        selected[:, role] = palette.field(role).rgba()
    return plain.ravel(), selected.ravel()


# --- the whole view ---

Paint = Callable[[QPainter, int, int], None]
"""Function that paints `count` rows, from row `first` of the screen, at the top of the device."""

CellsOf = Callable[[int, int], ByteCells]
"""Function of a first row and a number of rows; returns their cells."""


class RowCanvas:
    """Cache of row pictures in a ring buffer; scrolling keeps the rows that stay on the screen."""

    def __init__(self) -> None:
        self._image = QImage()
        self._keys: list[Hashable] = []
        self._shape = (0.0, 0.0, 0, 0.0)
        self.painted = 0

    def forget(self) -> None:
        self._keys = [None] * len(self._keys)

    def draw(
        self, painter: QPainter, place: QRectF, row: float, ratio: float, keys: Sequence[Hashable], paint: Paint
    ) -> None:
        """Draw rows at `place`. Images are cached by `keys`, one per row; `paint` is called only for other rows."""
        shape = (place.width(), row, max(len(keys), 1), ratio)
        if shape != self._shape:
            self._shape, self._keys = shape, [None] * shape[2]
            size = round(place.width() * ratio), round(shape[2] * row * ratio)
            self._image = QImage(*size, QImage.Format.Format_RGB32)
        places = len(self._keys)
        top, kept = 0, {key: slot for slot, key in enumerate(self._keys) if key is not None}
        for number, key in enumerate(keys):
            if key in kept:
                top = kept[key] - number
                break
        if list(keys) != self._keys[top % places :] + self._keys[: top % places]:
            for first, count in self._missing(top, keys):
                self._paint(first, count, (top + first) % places * row, paint)
                for number in range(first, first + count):
                    self._keys[(top + number) % places] = keys[number]
        # Draw in device pixels, so that the picture is not scaled.
        painter.save()
        painter.scale(1 / ratio, 1 / ratio)
        height, left, above = round(row * ratio), round(place.left() * ratio), round(place.top() * ratio)
        at = 0
        while at < len(keys):
            slot = (top + at) % places
            count = min(places - slot, len(keys) - at)
            source = QRect(0, slot * height, self._image.width(), count * height)
            painter.drawImage(QPoint(left, above + at * height), self._image, source)
            at += count
        painter.restore()

    def _missing(self, top: int, keys: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
        places, first = len(self._keys), -1
        for number in range(len(keys) + 1):
            slot = (top + number) % places
            wanted = number < len(keys) and self._keys[slot] != keys[number]
            if first >= 0 and (not wanted or slot == 0):
                yield first, number - first
                first = -1
            if wanted and first < 0:
                first = number

    def _paint(self, first: int, count: int, y: float, paint: Paint) -> None:
        width, row, _, ratio = self._shape
        painter = QPainter(self._image)
        painter.scale(ratio, ratio)
        painter.setClipRect(QRectF(0, y, width, count * row))
        painter.translate(0, y)
        paint(painter, first, count)
        painter.end()
        self.painted += count


_FAINT = 0.55
_FILL = 0.2
"""Opacity of highlights."""
_AWAY = 60.0
"""Arrows to rows above or below the screen end this many pixels beyond its edge."""
_HEAD = 7.0


class HexPainter:
    def __init__(self, grid: HexGrid, palette: Palette, column: FieldColumn | None = None) -> None:
        self.grid, self.palette = grid, palette
        self.rows = _RowPainter(grid, palette, column)
        self.canvas = RowCanvas()
        self._columns = [QStaticText(f"{cell:02x}"[-2:]) for cell in range(grid.layout.width)]
        self._thin, self._wide = grid.rounded(1), grid.rounded(2)

    def paint(self, painter: QPainter, scene: HexScene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        grid = self.grid
        height = scene.rows.lines * grid.row
        below = grid.header + height
        bottom = QRectF(0, below, area.width(), max(area.height() - below, 0))
        painter.fillRect(bottom, self.palette.base)
        paint_gutter(painter, grid, self.palette, below, bottom.height())
        if painter.paintEngine().type() is QPaintEngine.Type.Raster:

            def paint(onto: QPainter, first: int, count: int) -> None:
                onto.translate(0, -grid.header)
                part = replace(scene, rows=scene.rows.part(first, count))
                self._paint_rows(onto, part, cells_of, area, scroll)

            place = QRectF(0, grid.header, area.width(), area.height() - grid.header)
            self.canvas.draw(painter, place, grid.row, grid.ratio, self._keys(scene, scroll), paint)
        else:
            # Vector output does not use cached pictures.
            painter.save()
            painter.setClipRect(QRectF(0, grid.header, area.width(), height))
            self._paint_rows(painter, scene, cells_of, area, scroll)
            painter.restore()
        self._current_row(painter, scene)
        painter.save()
        # Clip frames below the last complete row.
        painter.setClipRect(QRectF(grid.gutter, grid.header, area.width() - grid.gutter, height))
        painter.translate(-scroll, 0)
        self._frames(painter, scene)
        if scene.notes:
            self._flags(painter, scene)
        if scene.highlights:
            self._numbers(painter, scene)
        if scene.arrows:
            self._arrows(painter, scene)
        if scene.failed:
            self._reasons(painter, scene)
        painter.restore()
        self._header(painter, scene, area, scroll)

    def _paint_rows(self, painter: QPainter, scene: HexScene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        for line, rows in scene.rows.parts:
            start, stop = self.grid.layout.row_start(rows.top), self.grid.layout.row_start(rows.row_at(rows.lines))
            hits = [hit for hit in scene.hits if hit[0] < stop and hit[1] > start]
            painter.translate(0, line * self.grid.row)
            part = replace(scene, rows=rows, hits=hits)
            self.rows.paint(painter, part, cells_of(rows.top, rows.lines), area.width(), scroll)
            painter.translate(0, -line * self.grid.row)

    def _keys(self, scene: HexScene, scroll: float) -> list[Hashable]:
        """Return a cache key per line. It does not depend on the bytes: when they change, `forget` is called."""
        layout, rows = self.grid.layout, scene.rows
        starts = [row * layout.width - layout.lead for row in rows.starts]
        keys: list[Hashable] = [(scroll, start, stop) for start, stop in pairwise(starts)]
        marks = [("record", one) for one in dict.fromkeys(scene.records)]
        if scene.selection is not None:
            marks.append(("selection", scene.selection))
        for kind, (low, high) in marks:
            first, last = rows.line_of(layout.row_of(low)), rows.line_of(layout.row_of(high - 1))
            for line in range(max(first, 0), min(last + 1, rows.lines)):
                inside = max(low, starts[line]), min(high, starts[line + 1])
                if inside[0] < inside[1]:
                    keys[line] = keys[line], kind, inside
        return keys

    # --- overlays ---

    def _current_row(self, painter: QPainter, scene: HexScene) -> None:
        grid, layout = self.grid, self.grid.layout
        row = scene.rows.line_of(layout.row_of(scene.caret)) if scene.caret >= 0 else -1
        if not 0 <= row < scene.rows.lines:
            return
        y = grid.row_y(row)
        offset = max(layout.row_start(scene.rows.row_at(row)), 0)
        painter.fillRect(QRectF(0, y, grid.gutter, grid.row), self.palette.window)
        painter.setFont(grid.font)
        painter.setPen(self.palette.text)
        painter.drawStaticText(QPointF(grid.margin, y + grid.text_y), QStaticText(layout.offset_text(offset)))

    def _frames(self, painter: QPainter, scene: HexScene) -> None:
        """Draw frames, in order: notes, highlights, record, field, bytes under the pointer, selection, caret."""
        grid, palette, thin = self.grid, self.palette, self._thin
        dashed = Qt.PenStyle.DashLine
        found = [(QPen(palette.text, thin, dashed), _reach(note.span)) for note in scene.notes]
        for highlight in scene.highlights:
            pen = QPen(palette.accent, thin, dashed if highlight.hollow else Qt.PenStyle.SolidLine)
            found.append((pen, _reach(highlight.span)))
            if not highlight.hollow:
                grid.fill(painter, *_reach(highlight.span), scene.rows, QBrush(theme.faint(palette.accent, _FILL)))
        if len(scene.frames) > 1:
            found.append((QPen(theme.faint(palette.accent, _FAINT), thin), scene.frames[1]))
        found += [(QPen(palette.accent, thin), frame) for frame in scene.frames[:1]]
        if scene.hover is not None:
            found.append((QPen(palette.muted, thin), scene.hover))
        if scene.selection is not None:
            found.append((QPen(palette.accent, self._wide if scene.focused else thin), scene.selection))
        for pen, (start, stop) in found:
            painter.setPen(pen)
            grid.frame(painter, start, stop, scene.rows)
        for block in grid.blocks(scene.caret, scene.caret + 1, scene.rows) if scene.caret >= 0 else ():
            for part in PARTS:
                width = self._wide if scene.focused and part is scene.part else thin
                painter.setPen(QPen(palette.accent if scene.focused else palette.muted, width))
                inset = width / 2
                painter.drawRect(grid.rect(block, part).adjusted(inset, inset, -inset, -inset))
            if scene.half and scene.focused and scene.part is HexPart.HEX:
                high = grid.rounded(3)
                left, bottom = grid.bytes_x[block.cell] + grid.cell, grid.row_y(block.row) + grid.row - high
                painter.fillRect(QRectF(left, bottom, grid.cell, high), palette.accent)

    def _flags(self, painter: QPainter, scene: HexScene) -> None:
        grid = self.grid
        for note in scene.notes:
            for block in grid.blocks(note.span.start, note.span.start + 1, scene.rows):
                corner = grid.rect(block, HexPart.HEX).topLeft()
                area = QRectF(corner, QSizeF(grid.cell * 0.62, grid.row * 0.7))
                paint_flag(painter, area, self.palette.text, self.palette.base)

    def _numbers(self, painter: QPainter, scene: HexScene) -> None:
        grid = self.grid
        painter.setFont(badge_font(grid.font))
        taken: list[QRectF] = []
        for highlight in scene.highlights:
            for block in grid.blocks(*_reach(highlight.span), scene.rows)[:1]:
                place, size = grid.rect(block, HexPart.HEX), badge_size(highlight.number, painter.font())
                area = QRectF(QPointF(place.x() - size.width() + 1, place.y() - size.height() / 2), size)
                while any(area.intersects(other) for other in taken):
                    area.translate(0, size.height())
                area.moveTop(max(area.top(), grid.header + 1))
                area.moveLeft(max(area.left(), grid.gutter + 2))
                hollow = highlight.hollow
                taken.append(paint_badge(painter, self.palette, area.topLeft(), highlight.number, hollow=hollow))

    def _arrows(self, painter: QPainter, scene: HexScene) -> None:
        grid, palette = self.grid, self.palette
        bottom = grid.row_y(scene.rows.lines)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for arrow in scene.arrows:
            one, other = (self._middle(scene, end.start) for end in (arrow.start, arrow.stop))
            if not any(grid.header < point.y() < bottom for point in (one, other)):
                continue
            path, end = arrow_path(one, other)
            for width, colour in ((grid.rounded(3.5), palette.base), (grid.rounded(1.5), palette.accent)):
                painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
                painter.setBrush(_NO_BRUSH)
                painter.drawPath(path)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.accent)
            painter.drawEllipse(one, 2.5, 2.5)
            painter.drawPolygon(arrow_head(other, end))
        painter.restore()

    def _middle(self, scene: HexScene, offset: int) -> QPointF:
        grid, layout, rows = self.grid, self.grid.layout, scene.rows
        row, cell = rows.line_of(layout.row_of(offset)), layout.column_of(offset)
        place = grid.rect(Block(row, row + 1, cell, cell + 1), HexPart.HEX).center()
        if row < 0:
            place.setY(grid.header - _AWAY)
        elif row >= rows.lines:
            place.setY(grid.row_y(rows.lines) + _AWAY)
        return place

    def _reasons(self, painter: QPainter, scene: HexScene) -> None:
        grid = self.grid
        painter.setFont(grid.font)
        for (start, _), reason in scene.failed:
            row = max(scene.rows.line_of(grid.layout.row_of(start)), 0)
            text = f" not readable: {reason} "
            wide = QFontMetricsF(grid.font).horizontalAdvance(text)
            place = QRectF(grid.edge(0, HexPart.HEX), grid.row_y(row), wide, grid.row)
            painter.fillRect(place, self.palette.base)
            painter.setPen(self.palette.error)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _header(self, painter: QPainter, scene: HexScene, area: QRectF, scroll: float) -> None:
        grid, palette = self.grid, self.palette
        painter.fillRect(QRectF(0, 0, area.width(), grid.header), palette.window)
        painter.fillRect(QRectF(0, grid.header - self._thin, area.width(), self._thin), palette.border)
        painter.setFont(grid.font)
        y = self._wide + grid.text_y
        current = grid.layout.column_of(scene.caret) if scene.caret >= 0 else -1
        painter.save()
        painter.setClipRect(QRectF(grid.gutter, 0, area.width() - grid.gutter, grid.header))
        painter.setPen(palette.muted)
        for cell, text in enumerate(self._columns):
            x = grid.bytes_x[cell] - scroll
            if grid.gutter - 3 * grid.cell < x < area.width() and cell != current:
                painter.drawStaticText(QPointF(x, y), text)
        painter.drawStaticText(QPointF(grid.text_x - scroll, y), QStaticText("text"))
        if self.rows.column is not None and self.rows.column.shown:
            painter.drawStaticText(QPointF(grid.width, y), QStaticText("fields"))
        if current >= 0:
            painter.setPen(palette.text)
            painter.drawStaticText(QPointF(grid.bytes_x[current] - scroll, y), self._columns[current])
        painter.restore()
        # The header shows if the bytes are not those of the file.
        proposed = scene.proposed
        words = "offset" if proposed is None else "new bytes" if proposed.shows_new else "old bytes"
        if proposed is None and scene.sandboxed is not None:
            words = "sandbox"
        painter.setPen(palette.muted if words == "offset" else palette.text)
        painter.drawStaticText(QPointF(grid.margin, y), QStaticText(words))


def _reach(span: Span) -> Range:
    """Return the half-open byte range of a span; an empty span counts as the byte at its offset."""
    return span.start, max(span.stop, span.start + 1)


def arrow_path(one: QPointF, other: QPointF) -> tuple[QPainterPath, float]:
    """Return a curve and its final direction in radians; it bends so that arrows in both directions do not coincide."""
    across, down = other.x() - one.x(), other.y() - one.y()
    length = math.hypot(across, down) or 1.0
    bow = min(length * 0.22, 70.0)
    bend = QPointF((one.x() + other.x()) / 2 - down / length * bow, (one.y() + other.y()) / 2 + across / length * bow)
    path = QPainterPath(one)
    path.quadTo(bend, other)
    return path, math.atan2(other.y() - bend.y(), other.x() - bend.x())


def arrow_head(tip: QPointF, angle: float) -> QPolygonF:
    sides = [
        QPointF(tip.x() - _HEAD * math.cos(angle + turn), tip.y() - _HEAD * math.sin(angle + turn))
        for turn in (0.45, -0.45)
    ]
    return QPolygonF([tip, *sides])
