"""Bytes per row that fit into a width: as many as requested, or fewer."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFont

from shardscope.views.hex.grid import HexGrid
from shardscope.views.hex.layout import HexLayout


@dataclass(frozen=True)
class RowRule:
    width: int
    origin: int = 0
    shrinks: bool = False

    def grid(self, font: QFont, size: int, ratio: float, room: float, beside: float = 0) -> HexGrid:
        layout = HexLayout.aligned(size, self.width, self.origin)
        made = HexGrid(font, layout, ratio)
        if self.shrinks and made.width + beside > room > 0:
            tight = HexGrid(font, layout, ratio, tight=True)
            if tight.width + beside <= room:
                return tight
        # Before anything is measured there is no room at all.
        while self.shrinks and made.width > room > 0:
            made = HexGrid(font, layout, ratio, tight=True)
            if made.width <= room or layout.width == 1:
                break
            layout = HexLayout.aligned(size, layout.width // 2, self.origin)
            made = HexGrid(font, layout, ratio)
        return made


AUTOMATIC = RowRule(16, shrinks=True)
