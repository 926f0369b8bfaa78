"""The characters of rows, laid out once and kept: hex, text and letters, full and faint."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QStaticText

from shardcore import FieldRole
from shardscope.copying import GROUP, PRINTABLE
from shardscope.theme import FIELD_LETTERS
from shardscope.views.hex_cells import Cells, CellState
from shardscope.views.hex_grid import HexGrid

_KEPT = 2000
"""Rows that are kept."""

_BLANK = 256
_PAIRS = (*(f"{byte:02x}" for byte in range(256)), "  ")
_LETTERS = MappingProxyType({int(role) + 1: letter for role, letter in FIELD_LETTERS.items()})


@dataclass(frozen=True)
class RowTexts:
    """The texts of one row; None where there is nothing to draw.

    Attributes:
        offset: The offset of the row.
        hex: Bytes that are not zero.
        zeros: Bytes that are zero.
        text: Printable characters.
        dots: Dots for the other bytes.
    """

    offset: QStaticText
    hex: QStaticText | None
    zeros: QStaticText | None
    text: QStaticText | None
    dots: QStaticText | None


class RowCache:
    """Laid-out rows of one grid; make a new one when font or row width change."""

    def __init__(self, grid: HexGrid) -> None:
        self._grid = grid
        self._rows: dict[int, RowTexts] = {}
        self._letters: dict[int, QStaticText | None] = {}
        self.made = 0

    def forget(self) -> None:
        """The bytes changed."""
        self._rows.clear()
        self._letters.clear()

    def forget_letters(self) -> None:
        """The runs changed."""
        self._letters.clear()

    def texts(self, cells: Cells, row: int) -> RowTexts:
        """The texts of a row; kept when all its bytes are there."""
        start = cells.first + row * self._grid.layout.width
        if (kept := self._rows.get(start)) is not None:
            return kept
        made = self._made(start, cells.data[row], cells.state[row])
        self.made += 1
        if not bool((cells.state[row] > CellState.LOADED).any()):
            if len(self._rows) >= _KEPT:
                self._rows.clear()
            self._rows[start] = made
        return made

    def letters(self, cells: Cells, row: int) -> QStaticText | None:
        """The letters of the runs that begin in a row, to be drawn half a cell left of the hex part."""
        start = cells.first + row * self._grid.layout.width
        if start in self._letters:
            return self._letters[start]
        begins = cells.begins[row]
        places = np.flatnonzero(begins)
        made = None
        if len(places):
            line = [" "] * (self._grid.layout.hex_columns + 1)
            for cell in places.tolist():
                line[3 * cell + cell // GROUP] = _LETTERS[int(begins[cell])]
            made = _laid_out("".join(line), self._grid.letters)
        if cells.coloured:
            if len(self._letters) >= _KEPT:
                self._letters.clear()
            self._letters[start] = made
        return made

    def _made(self, start: int, data: NDArray[np.uint8], state: NDArray[np.uint8]) -> RowTexts:
        font = self._grid.font
        there = state == CellState.LOADED
        zero = there & (data == 0)
        other = there & ~zero
        characters = data.tobytes().translate(PRINTABLE).decode("ascii")
        printable = there & (data >= 0x20) & (data < 0x7F)
        return RowTexts(
            offset=_laid_out(f"{max(start, 0):0{self._grid.layout.digits}x}", font),
            hex=_hex_text(data, other, font),
            zeros=_hex_text(data, zero, font),
            text=_characters(characters, printable, font),
            dots=_characters("." * len(characters), there & ~printable, font),
        )


def _hex_text(data: NDArray[np.uint8], wanted: NDArray[np.bool_], font: QFont) -> QStaticText | None:
    if not bool(wanted.any()):
        return None
    pairs = [_PAIRS[number] for number in np.where(wanted, data.astype(np.int16), _BLANK).tolist()]
    groups = [" ".join(pairs[at : at + GROUP]) for at in range(0, len(pairs), GROUP)]
    return _laid_out("  ".join(groups).rstrip(), font)


def _characters(text: str, wanted: NDArray[np.bool_], font: QFont) -> QStaticText | None:
    if not bool(wanted.any()):
        return None
    shown = "".join(c if keep else " " for c, keep in zip(text, wanted.tolist(), strict=True))
    return _laid_out(shown.rstrip(), font) if shown.strip() else None


def _laid_out(text: str, font: QFont) -> QStaticText:
    laid = QStaticText(text)
    laid.setTextFormat(Qt.TextFormat.PlainText)
    laid.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
    return laid


assert set(_LETTERS) == {int(role) + 1 for role in FieldRole}
