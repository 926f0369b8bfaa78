"""The changes of a sandbox in the hex view: crossed lines and a dotted frame, a wedge where some are gone.

Edits that are proposed have lines one way and a full or dashed frame: the two are never taken for each other.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from shardscope.views.hex.grid import HexGrid, HexPart
from shardscope.views.hex.scene import Scene
from shardscope.widgets.theme import Palette

_CROSSED = 0.5
"""How strong the lines behind bytes are."""


def paint_crossed(painter: QPainter, grid: HexGrid, palette: Palette, scene: Scene) -> None:
    """Draws what stands behind the bytes that were changed."""
    if scene.sandboxed is None:
        return
    colour = QColor(palette.warning)
    colour.setAlphaF(_CROSSED)
    for start, stop in scene.sandboxed.inside(*_bytes(grid, scene)):
        for block in grid.blocks(start, stop, scene.top, scene.rows):
            for part in HexPart:
                painter.fillRect(grid.rect(block, part), QBrush(colour, Qt.BrushStyle.DiagCrossPattern))


def paint_over(painter: QPainter, grid: HexGrid, palette: Palette, scene: Scene) -> None:
    """Draws the frames around them, and the wedges."""
    if scene.sandboxed is None:
        return
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(palette.warning, grid.rounded(1.5), Qt.PenStyle.DotLine))
    for start, stop in scene.sandboxed.inside(*_bytes(grid, scene)):
        for part in HexPart:
            for polygon in grid.outlines(start, stop, scene.top, scene.rows, part):
                painter.drawPolygon(polygon)
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(palette.warning)
    layout = grid.layout
    for place, _ in scene.sandboxed.cuts_in(*_bytes(grid, scene)):
        # At the end of the source there is no byte to stand before: after the last one then.
        last = place >= layout.size and place > 0
        at = place - 1 if last else place
        row, cell = layout.row_of(at) - scene.top, layout.column_of(at) + last
        if not 0 <= row < scene.rows:
            continue
        y, wide = grid.row_y(row), grid.cell * 0.7
        for part in HexPart:
            x = grid.edge(cell, part)
            painter.drawPolygon([QPointF(x - wide, y), QPointF(x + wide, y), QPointF(x, y + grid.row * 0.5)])
            painter.drawRect(int(x), int(y), max(int(grid.rounded(1)), 1), int(grid.row))
    painter.restore()


def _bytes(grid: HexGrid, scene: Scene) -> tuple[int, int]:
    """The bytes of the rows; frames reach into the rows beside them."""
    layout = grid.layout
    return max(layout.row_start(scene.top - 1), 0), layout.row_start(scene.top + scene.rows + 1)
