"""Numbered badges at the byte ranges of a lookup step: filled for bytes read, hollow for inputs of a computed step."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, sized, weighted

_ROUND = 3.0
_SIDE = 3.0


def badge_font(font: QFont) -> QFont:
    small = weighted(sized(font, SMALL))
    small.setItalic(False)
    return small


def badge_size(number: int, font: QFont) -> QSizeF:
    metrics = QFontMetricsF(font)
    height = round(metrics.capHeight() + 6)
    return QSizeF(max(round(metrics.horizontalAdvance(str(number)) + 2 * _SIDE), height), height)


def paint_badge(
    painter: QPainter,
    colours: theme.Palette,
    place: QPointF,
    number: int,
    *,
    hollow: bool,
    inverted: bool = False,
) -> QRectF:
    """Paint a badge and return its area; the painter must have the font of `badge_font`."""
    area = QRectF(place, badge_size(number, painter.font()))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    light = hollow or inverted
    painter.setPen(QPen(colours.accent, 1.2, Qt.PenStyle.DashLine if hollow else Qt.PenStyle.SolidLine))
    painter.setBrush(colours.base if light else colours.accent)
    painter.drawRoundedRect(area.adjusted(0.6, 0.6, -0.6, -0.6), _ROUND, _ROUND)
    painter.setPen(colours.accent if light else colours.ink_on(colours.accent))
    painter.drawText(area, Qt.AlignmentFlag.AlignCenter, str(number))
    painter.restore()
    return area
