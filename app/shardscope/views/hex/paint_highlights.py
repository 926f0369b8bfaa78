"""Paints what is lit over the rows of a hex view: bytes with their numbers, and arrows from what leads to them."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from shardscope.session.highlights import Light
from shardscope.views.hex.grid import Block, HexGrid, HexPart
from shardscope.views.hex.scene import Scene
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.theme import Palette

_FILL = 0.2
"""How strong the light on bytes is."""
_AWAY = 60.0
"""Pixels beyond the screen where an arrow goes on."""
_HEAD = 7.0


def paint_lights(painter: QPainter, grid: HexGrid, palette: Palette, scene: Scene) -> None:
    """Paints light on bytes, and a line around them; only the line, dashed, for those that are hollow."""
    fill = QColor(palette.accent)
    fill.setAlphaF(_FILL)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for light in scene.lights:
        start, stop = _reach(light)
        if not light.hollow:
            for block in grid.blocks(start, stop, scene.top, scene.rows):
                for part in HexPart:
                    painter.fillRect(grid.rect(block, part), fill)
        style = Qt.PenStyle.DashLine if light.hollow else Qt.PenStyle.SolidLine
        painter.setPen(QPen(palette.accent, grid.rounded(1), style))
        for part in HexPart:
            for line in grid.outlines(start, stop, scene.top, scene.rows, part):
                painter.drawPolyline(line)


def paint_numbers(painter: QPainter, grid: HexGrid, palette: Palette, scene: Scene) -> None:
    """Paints the numbers of what is lit, at its upper left corner, where it stands in the way of no digit."""
    if not scene.lights:
        return
    painter.setFont(badge_font(grid.font))
    taken: list[QRectF] = []
    for light in scene.lights:
        place = _corner(grid, scene, light)
        if place is None:
            continue
        size = badge_size(light.number, painter.font())
        area = QRectF(QPointF(place.x() - size.width() + 1, place.y() - size.height() / 2), size)
        while any(area.intersects(other) for other in taken):
            area.translate(0, size.height())
        area.moveTop(max(area.top(), grid.header + 1))
        area.moveLeft(max(area.left(), grid.gutter + 2))
        taken.append(paint_badge(painter, palette, area.topLeft(), light.number, hollow=light.hollow))


def _reach(light: Light) -> tuple[int, int]:
    """The bytes of a light; a place between bytes is shown on the byte after it."""
    return light.span.start, max(light.span.stop, light.span.start + 1)


def _corner(grid: HexGrid, scene: Scene, light: Light) -> QPointF | None:
    """The upper left corner of what can be seen of a light; None where nothing can."""
    start, stop = _reach(light)
    block = next(grid.blocks(start, stop, scene.top, scene.rows), None)
    return grid.rect(block, HexPart.HEX).topLeft() if block is not None else None


# --- arrows ---


def paint_arrows(painter: QPainter, grid: HexGrid, palette: Palette, scene: Scene) -> None:
    """Paints arrows from bytes to bytes; of those with one end on the screen the other may lie beyond its edge."""
    if not scene.arrows:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for arrow in scene.arrows:
        one, other = _middle(grid, scene, arrow.start.start), _middle(grid, scene, arrow.stop.start)
        seen = (grid.header < point.y() < grid.row_y(scene.rows) for point in (one, other))
        if not any(seen):
            continue  # it would only cross the screen
        path, end = arrow_path(one, other)
        for width, colour in ((grid.rounded(3.5), palette.base), (grid.rounded(1.5), palette.accent)):
            painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.accent)
        painter.drawEllipse(one, 2.5, 2.5)
        painter.drawPolygon(arrow_head(other, end))
    painter.restore()


def _middle(grid: HexGrid, scene: Scene, offset: int) -> QPointF:
    """The middle of a byte; beyond the screen just outside of it."""
    layout = grid.layout
    row = layout.row_of(offset) - scene.top
    cell = layout.column_of(offset)
    x = grid.rect(Block(0, 1, cell, cell + 1), HexPart.HEX).center().x()
    if row < 0:
        return QPointF(x, grid.header - _AWAY)
    if row >= scene.rows:
        return QPointF(x, grid.row_y(scene.rows) + _AWAY)
    return QPointF(x, grid.row_y(row) + grid.row / 2)


def arrow_path(one: QPointF, other: QPointF) -> tuple[QPainterPath, float]:
    """A curve from one point to another, and the direction in which it arrives, in radians."""
    across, down = other.x() - one.x(), other.y() - one.y()
    length = math.hypot(across, down) or 1.0
    bow = min(length * 0.22, 70.0)
    # To the right of whoever follows it, so that there and back are two curves.
    bend = QPointF((one.x() + other.x()) / 2 - down / length * bow, (one.y() + other.y()) / 2 + across / length * bow)
    path = QPainterPath(one)
    path.quadTo(bend, other)
    return path, math.atan2(other.y() - bend.y(), other.x() - bend.x())


def arrow_head(tip: QPointF, angle: float) -> QPolygonF:
    """The head of an arrow that arrives from a direction."""
    sides = [
        QPointF(tip.x() - _HEAD * math.cos(angle + turn), tip.y() - _HEAD * math.sin(angle + turn))
        for turn in (0.45, -0.45)
    ]
    return QPolygonF([tip, *sides])
