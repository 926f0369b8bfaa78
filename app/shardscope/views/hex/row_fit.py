"""Bytes per row that fit into a width: as many as requested, or fewer."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFont

from shardscope.views.hex.grid import HexGrid
from shardscope.views.hex.layout import MAX_WIDTH, HexLayout

_FIT_STEP = 8


@dataclass(frozen=True)
class RowRule:
    """Rule for the bytes per row.

    Attributes:
        width: Bytes in a row; None: as many as fit, in eights.
        origin: Some row starts at this offset.
        shrinks: Whether rows get narrower margins, then half of the bytes, until they fit; never more than `width`.
    """

    width: int | None
    origin: int = 0
    shrinks: bool = False

    def grid(self, font: QFont, size: int, ratio: float, room: float) -> HexGrid:
        """The geometry for a source of `size` bytes in `room` pixels."""
        if self.width is None:
            return _filling(font, size, ratio, room)
        layout = HexLayout.aligned(size, self.width, self.origin)
        made = HexGrid(font, layout, ratio)
        # Before anything is measured there is no room at all.
        while self.shrinks and made.width > room > 0:
            made = HexGrid(font, layout, ratio, tight=True)
            if made.width <= room or layout.width == 1:
                break
            layout = HexLayout.aligned(size, layout.width // 2, self.origin)
            made = HexGrid(font, layout, ratio)
        return made


AUTOMATIC = RowRule(16, shrinks=True)


def _filling(font: QFont, size: int, ratio: float, room: float) -> HexGrid:
    made = HexGrid(font, HexLayout(size, _FIT_STEP), ratio)
    while made.layout.width + _FIT_STEP <= MAX_WIDTH:
        wider = HexGrid(font, HexLayout(size, made.layout.width + _FIT_STEP), ratio)
        if wider.width > room:
            break
        made = wider
    return made
