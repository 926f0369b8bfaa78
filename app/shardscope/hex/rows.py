"""The characters of rows, laid out once and kept: hex, text and letters, full and faint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QStaticText

from shardcore import FieldRole
from shardscope.copying import GROUP
from shardscope.hex.cells import Cells, CellState
from shardscope.hex.grid import HexGrid
from shardscope.looks.theme import FIELD_LETTERS

_KEPT = 2000
"""Rows that are kept."""

_OTHER = ("  ", *(f"{byte:02x}" for byte in range(1, 256)))
_ZERO = ("00", *("  " for _ in range(255)))
_LETTERS_ONLY = bytes(byte if 0x20 <= byte < 0x7F else 0x20 for byte in range(256))
_DOTS_ONLY = bytes(0x20 if 0x20 <= byte < 0x7F else 0x2E for byte in range(256))
_LETTERS = MappingProxyType({int(role) + 1: letter for role, letter in FIELD_LETTERS.items()})


Pieces = tuple[tuple[int, QStaticText], ...]
"""Texts, and the character of the row at which each of them begins."""


@dataclass(frozen=True)
class RowTexts:
    """The texts of one row, in pieces that keep to their cells.

    Attributes:
        offset: The offset of the row.
        hex: Bytes that are not zero.
        zeros: Bytes that are zero.
        text: Printable characters.
        dots: Dots for the other bytes.
    """

    offset: QStaticText
    hex: Pieces
    zeros: Pieces
    text: Pieces
    dots: Pieces


class RowCache:
    """Laid-out rows of one grid; make a new one when font or row width change."""

    def __init__(self, grid: HexGrid) -> None:
        self._grid = grid
        self._rows: dict[int, RowTexts] = {}
        self._letters: dict[int, Pieces] = {}
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

    def letters(self, cells: Cells, row: int) -> Pieces:
        """The letters of the runs that begin in a row, to be drawn half a cell left of the hex part."""
        start = cells.first + row * self._grid.layout.width
        if start in self._letters:
            return self._letters[start]
        begins = cells.begins[row]
        places = np.flatnonzero(begins)
        made: Pieces = ()
        if len(places):
            line = [" "] * (self._grid.layout.hex_columns + 1)
            for cell in places.tolist():
                line[3 * cell + cell // GROUP] = _LETTERS[int(begins[cell])]
            made = self._pieces("".join(line))
        if cells.coloured:
            if len(self._letters) >= _KEPT:
                self._letters.clear()
            self._letters[start] = made
        return made

    def _made(self, start: int, data: NDArray[np.uint8], state: NDArray[np.uint8]) -> RowTexts:
        raw = data.tobytes()
        hexes, zeros = [_OTHER[byte] for byte in raw], [_ZERO[byte] for byte in raw] if 0 in raw else []
        text, dots = raw.translate(_LETTERS_ONLY).decode("ascii"), raw.translate(_DOTS_ONLY).decode("ascii")
        if not bool((state == CellState.LOADED).all()):
            there = (state == CellState.LOADED).tolist()
            hexes, zeros = _kept(hexes, there, "  "), _kept(zeros, there, "  ")
            text, dots = "".join(_kept(text, there, " ")), "".join(_kept(dots, there, " "))
        return RowTexts(
            offset=_laid_out(f"{max(start, 0):0{self._grid.layout.digits}x}"),
            hex=self._pieces(_joined(hexes)),
            zeros=self._pieces(_joined(zeros)),
            text=self._pieces(text.rstrip()),
            dots=self._pieces(dots.rstrip()),
        )

    def _pieces(self, text: str) -> Pieces:
        step = self._grid.piece
        if len(text) <= step:
            return ((0, _laid_out(text)),) if text else ()
        parts = ((at, text[at : at + step].rstrip()) for at in range(0, len(text), step))
        return tuple((at, _laid_out(part)) for at, part in parts if part)


def _kept(cells: Iterable[str], there: Sequence[bool], blank: str) -> list[str]:
    return [cell if keep else blank for cell, keep in zip(cells, there, strict=False)]


def _joined(pairs: list[str]) -> str:
    if len(pairs) <= GROUP:
        return " ".join(pairs).rstrip()
    return "  ".join(" ".join(pairs[at : at + GROUP]) for at in range(0, len(pairs), GROUP)).rstrip()


def _laid_out(text: str) -> QStaticText:
    laid = QStaticText(text)
    if "<" in text:
        # Nothing else makes Qt take a text for markup.
        laid.setTextFormat(Qt.TextFormat.PlainText)
    return laid


assert set(_LETTERS) == {int(role) + 1 for role in FieldRole}
