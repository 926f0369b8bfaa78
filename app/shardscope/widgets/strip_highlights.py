"""Paints on a strip what is lit: bytes with their numbers, and arrows between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from shardscope.session.highlights import Arrow, Light
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge

_LEAST = 3.0
_HEAD = 4.0

Place = Callable[[int], float]
"""The pixel of an offset."""


def paint_strip_lights(
    painter: QPainter, colours: theme.Palette, strip: QRectF, x_of: Place, lights: Sequence[Light]
) -> None:
    """Paints lights; numbers that would stand on each other stand side by side.

    Args:
        painter: Where.
        colours: The theme.
        strip: The place of the strip.
        x_of: Where an offset is.
        lights: Those of the source that the strip shows.
    """
    if not lights:
        return
    painter.save()
    painter.setFont(badge_font(painter.font()))
    fill = QColor(colours.accent)
    fill.setAlphaF(0.45)
    in_order = sorted(lights, key=lambda light: (light.span.start, light.number))
    for light in in_order:
        left, right = x_of(light.span.start), x_of(light.span.stop)
        bar = QRectF(left, strip.top(), max(right - left, _LEAST), strip.height())
        if light.hollow:
            painter.setPen(QPen(colours.accent, 1.2, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
        else:
            painter.fillRect(bar, fill)
    sizes = [badge_size(light.number, painter.font()) for light in in_order]
    middles = [(x_of(light.span.start) + x_of(light.span.stop)) / 2 for light in in_order]
    lefts = side_by_side(middles, [size.width() for size in sizes], strip.left(), strip.right())
    for light, x, size in zip(in_order, lefts, sizes, strict=True):
        place = QPointF(x, strip.center().y() - size.height() / 2)
        paint_badge(painter, colours, place, light.number, hollow=light.hollow)
    painter.restore()


def side_by_side(middles: Sequence[float], widths: Sequence[float], left: float, right: float) -> list[float]:
    """Where things begin that want their middles at ascending places, moved so that none stands on another.

    Args:
        middles: Where their middles should be.
        widths: How wide they are.
        left: Where the first may begin.
        right: Where the last may end; where there is no room for all, they stand on each other.
    """
    found: list[float] = []
    free = left
    for middle, width in zip(middles, widths, strict=True):
        found.append(max(middle - width / 2, free))
        free = found[-1] + width + 1
    limit = right
    for number in range(len(found) - 1, -1, -1):
        found[number] = max(min(found[number], limit - widths[number]), left)
        limit = found[number] - 1
    return found


def paint_strip_arrows(
    painter: QPainter, colours: theme.Palette, strip: QRectF, x_of: Place, arrows: Sequence[Arrow]
) -> None:
    """Paints arrows as bows over the strip; see `paint_strip_lights`."""
    if not arrows:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    top = strip.top() + 1
    for arrow in arrows:
        one, other = x_of(arrow.start.start), x_of(arrow.stop.start)
        high = min(max(abs(one - other) * 0.5, 8.0), strip.top() - 2)
        path = QPainterPath(QPointF(one, top))
        path.cubicTo(QPointF(one, top - high * 1.3), QPointF(other, top - high * 1.3), QPointF(other, top - _HEAD))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for width, colour in ((3.5, colours.window), (1.5, colours.accent)):
            painter.setPen(QPen(colour, width))
            painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.accent)
        painter.drawPolygon(
            QPolygonF([QPointF(other, top), QPointF(other - _HEAD, top - 6), QPointF(other + _HEAD, top - 6)])
        )
    painter.restore()
