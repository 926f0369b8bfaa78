"""The characters of rows, drawn as glyphs that are chosen by byte: nothing is laid out, so that new rows are cheap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFont, QGlyphRun, QPaintEngine, QPainter, QRawFont

from shardcore import FieldRole
from shardscope.session.copy_bytes import PRINTABLE
from shardscope.views.hex.cells import Cells, CellState
from shardscope.views.hex.grid import HexGrid
from shardscope.views.hex.layout import hex_column
from shardscope.widgets.theme import FIELD_LETTERS

Codes = NDArray[np.uint8]
"""Characters of ASCII."""

_ASCII = 128
_TOUCH = 0.01
_PAIRS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint8).reshape(256, 2)
_TEXT = np.frombuffer(PRINTABLE, np.uint8)
_IS_TEXT = np.array([0x20 <= byte < 0x7F for byte in range(256)])
_LETTERS = np.frombuffer(b" " + b"".join(FIELD_LETTERS[role].encode() for role in FieldRole), np.uint8)


class _Face:
    """The glyphs of a font, by the code of their character.

    Attributes:
        font: The font.
        rise: From the upper edge of a text to its base line, on a whole device pixel.
    """

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
        """Characters at places, the left ends of their base lines."""
        run = QGlyphRun()
        run.setRawFont(self.raw)
        run.setGlyphIndexes(self._glyphs[codes].tolist())
        run.setPositions(places)
        return run


class RowGlyphs:
    """Draws the characters of rows of one grid: offsets, bytes, text and the letters of roles."""

    def __init__(self, grid: HexGrid) -> None:
        self._grid = grid
        self._face = _Face(grid.font, grid)
        self._small = _Face(grid.letters, grid)
        columns = [hex_column(cell) for cell in range(grid.layout.width)]
        self._hex_x = [grid.hex_x + (column + digit) * grid.cell for column in columns for digit in (0, 1)]
        self._text_x = [grid.text_x + cell * grid.cell for cell in range(grid.layout.width)]
        self._letter_x = [grid.hex_x + (column - 1) * grid.cell + grid.letter_dx for column in columns]
        self._offset_x = [grid.margin + digit * grid.cell for digit in range(grid.layout.digits)]
        self._places: dict[str, list[QPointF]] = {}

    def bytes(self, painter: QPainter, cells: Cells, full: QColor, faint: QColor) -> None:
        """Draws bytes and their text; zeros, and dots for what has no letter, are faint."""
        loaded = cells.state == CellState.LOADED
        zero, letter = cells.data == 0, _IS_TEXT[cells.data]
        pairs, text = _PAIRS[cells.data], _TEXT[cells.data]
        seen = letter & (cells.data != ord(" "))
        for pen, hexes, texts in ((full, loaded & ~zero, loaded & seen), (faint, loaded & zero, loaded & ~letter)):
            painter.setPen(pen)
            self._draw(painter, self._face, "hex", self._hex_x, pairs, np.repeat(hexes, 2, axis=1))
            self._draw(painter, self._face, "text", self._text_x, text, texts)

    def letters(self, painter: QPainter, cells: Cells) -> None:
        """Draws the letters of the runs that begin in these rows, in the gaps before their first bytes."""
        self._draw(painter, self._small, "letter", self._letter_x, _LETTERS[cells.begins], cells.begins > 0)

    def offsets(self, painter: QPainter, cells: Cells) -> None:
        """Draws the offsets of rows."""
        grid, there = self._grid, cells.there
        width, digits = grid.layout.width, grid.layout.digits
        starts = [max(cells.first + row * width, 0) for row in range(len(there))]
        codes = np.frombuffer("".join(f"{start:0{digits}x}" for start in starts).encode(), np.uint8)
        self._draw(painter, self._face, "offset", self._offset_x, codes, np.repeat(there, digits).reshape(-1, digits))

    def _draw(
        self,
        painter: QPainter,
        face: _Face,
        kind: str,
        lefts: list[float],
        codes: Codes,
        shown: NDArray[np.bool_],
    ) -> None:
        """Draws the characters that are shown: `codes` and `shown` in the order of rows, then of `lefts`."""
        chosen = np.flatnonzero(shown)
        if not len(chosen):
            return
        flat = codes.reshape(-1)
        every = self._places_of(kind, face, lefts, len(shown))
        places = every[: len(flat)] if len(chosen) == len(flat) else [every[at] for at in chosen.tolist()]
        if face.whole and painter.paintEngine().type() is QPaintEngine.Type.Raster:
            painter.drawGlyphRun(QPointF(0, 0), face.run(flat[chosen], places))
            return
        # A drawing of lines and letters keeps its letters; those that touch are one text.
        painter.setFont(face.font)
        text, start, last = "", QPointF(), QPointF()
        for place, code in zip(places, flat[chosen].tolist(), strict=True):
            if text and (place.y() != last.y() or abs(place.x() - last.x() - self._grid.cell) > _TOUCH):
                painter.drawText(start, text)
                text = ""
            start, last, text = place if not text else start, place, text + chr(code)
        painter.drawText(start, text)

    def _places_of(self, kind: str, face: _Face, lefts: list[float], rows: int) -> list[QPointF]:
        """The places of all characters of some rows, made once; more rows are added as they are wanted."""
        grid, known = self._grid, self._places.setdefault(kind, [])
        down = grid.letter_y if face is self._small else grid.text_y
        for row in range(len(known) // max(len(lefts), 1), rows):
            y = grid.row_y(row) + down + face.rise
            known += [QPointF(x, y) for x in lefts]
        return known
