"""Preview of a change in the hex view: new bytes in place of the old ones, both marked.

The marks are part of the cached rows, which are dropped when the preview changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from shardscope.session.proposed_bytes import Proposed
from shardscope.views.hex.cells import ByteCells, CellState
from shardscope.views.hex.grid import HexGrid
from shardscope.views.hex.overlays import HexScene
from shardscope.widgets.theme import Palette

_HATCH = 0.45


def with_new(cells: ByteCells, proposed: Proposed | None) -> ByteCells:
    """Return cells with the new bytes. Removed bytes become blank; new bytes that are not loaded become missing."""
    if proposed is None or not proposed.shows_new:
        return cells
    start, stop = max(cells.first, 0), cells.first + cells.data.size
    touched = proposed.inside(start, stop)
    if not touched:
        return cells
    data, state = cells.data.ravel().copy(), cells.state.ravel().copy()
    for one in touched:
        low, high = max(one.start, start), min(one.stop, stop)
        part = slice(low - cells.first, high - cells.first)
        # Beyond the end of the source there are no cells.
        there = state[part] != CellState.BLANK
        if one.new is None and not one.zeros:
            data[part], state[part] = 0, CellState.BLANK
            continue
        known = one.known(low, high)
        state[part] = np.where(there, CellState.MISSING, CellState.BLANK)
        known_part = slice(part.start, part.start + len(known))
        data[known_part] = np.frombuffer(known, np.uint8)
        state[known_part] = np.where(there[: len(known)], CellState.LOADED, CellState.BLANK)
    return replace(cells, data=data.reshape(cells.data.shape), state=state.reshape(cells.state.shape))


def paint_hatch(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    proposed = scene.proposed
    if proposed is None:
        return
    colour = QColor(_colour(palette, proposed))
    colour.setAlphaF(_HATCH)
    pattern = Qt.BrushStyle.BDiagPattern if proposed.shows_new else Qt.BrushStyle.FDiagPattern
    for start, stop in proposed.marks(*grid.reach(scene.rows)):
        grid.fill(painter, start, stop, scene.rows, QBrush(colour, pattern))


def paint_frames(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    proposed = scene.proposed
    if proposed is None:
        return
    line = Qt.PenStyle.SolidLine if proposed.shows_new else Qt.PenStyle.DashLine
    for start, stop in proposed.marks(*grid.reach(scene.rows)):
        width = grid.rounded(2) if start == proposed.current else grid.rounded(1)
        painter.setPen(QPen(_colour(palette, proposed), width, line))
        grid.frame(painter, start, stop, scene.rows)


def _colour(palette: Palette, proposed: Proposed) -> QColor:
    return palette.ok if proposed.shows_new else palette.error
