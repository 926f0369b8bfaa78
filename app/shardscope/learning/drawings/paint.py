"""Paints the shapes of a picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import dist

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPolygonF

from shardcore.model.drawing import Tone
from shardcore.teaching.drawing.picture import Box, Grip, Ink, Move, Path, Picture, Point, Rect, Shape, Text
from shardcore.teaching.drawing.svg import Colours, head_of, outline_of
from shardscope.learning.drawings.colours import Fonts

_BAND = 0.72
_DASHES = (4.0, 3.0)
_HATCHES = {Tone.MISS: Qt.BrushStyle.BDiagPattern, Tone.DEAD: Qt.BrushStyle.DiagCrossPattern}
_HATCH_INKS = {Tone.MISS: Ink.ERROR, Tone.DEAD: Ink.MUTED}
_HATCH_STRENGTH = 0.45


def paint_picture(
    painter: QPainter, picture: Picture, colours: Colours, fonts: Fonts, stage: int | None = None
) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for shape in picture.shapes:
        if stage is None or picture.stage_of(shape) <= stage:
            _shape(painter, shape, colours, fonts)
        elif isinstance(shape, Box):
            _box(painter, replace(shape, tone=Tone.EMPTY, here=False), colours)
    for grip in picture.grips:
        paint_grip(painter, grip, QColor(colours.inks[Ink.ACCENT]))


def paint_arriving(
    painter: QPainter, picture: Picture, colours: Colours, fonts: Fonts, stage: int, share: float
) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    coming = [shape for shape in picture.shapes if picture.stage_of(shape) == stage]
    pieces = Counter(id(shape.link) for shape in coming if isinstance(shape, Path) and shape.link is not None)
    for shape in coming:
        if isinstance(shape, Path) and shape.link is not None:
            count = pieces[id(shape.link)]
            # An arrow around a ring starts on one side and ends on the other.
            part = min(max(share * count - (count - 1) * shape.arrow, 0.0), 1.0)
            if part > 0:
                _path(painter, _grown(shape, part), colours)
        else:
            painter.setOpacity(share)
            _shape(painter, shape, colours, fonts)
            painter.setOpacity(1.0)


def _grown(path: Path, share: float) -> Path:
    points = path.points()
    left = share * sum(map(dist, points, points[1:]))
    moves: list[Move] = []
    for start, stop in pairwise(points):
        length = dist(start, stop)
        part = min(left / length, 1.0) if length else 1.0
        moves.append(Move((start[0] + (stop[0] - start[0]) * part, start[1] + (stop[1] - start[1]) * part)))
        left -= length
        if left <= 0:
            break
    return replace(path, moves=tuple(moves))


def _shape(painter: QPainter, shape: Shape, colours: Colours, fonts: Fonts) -> None:
    if isinstance(shape, Text):
        _text(painter, shape, colours, fonts)
    elif isinstance(shape, Box):
        _box(painter, shape, colours)
    else:
        _path(painter, shape, colours)


def paint_grip(painter: QPainter, grip: Grip, colour: QColor, *, wide: float = 2.0) -> None:
    rect = grip.rect
    x = rect.middle[0]
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRect(QRectF(x - wide / 2, rect.y, wide, rect.h))
    painter.drawEllipse(QPointF(x, rect.y + rect.w / 2), rect.w / 2 + wide / 2 - 1, rect.w / 2 + wide / 2 - 1)


def rect_of(rect: Rect) -> QRectF:
    return QRectF(rect.x, rect.y, rect.w, rect.h)


def polygon_of(points: tuple[Point, ...]) -> QPolygonF:
    return QPolygonF([QPointF(x, y) for x, y in points])


def _pen(colour: str, width: float, *, dashed: bool) -> QPen:
    pen = QPen(QColor(colour), width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dashed:
        pen.setDashPattern([dash / width for dash in _DASHES])
    return pen


def _text(painter: QPainter, text: Text, colours: Colours, fonts: Fonts) -> None:
    painter.setFont(fonts(text.size, text.face))
    painter.setPen(QColor(colours.inks[text.ink]))
    y = text.rect.middle[1] + fonts.baseline(text.size, text.face)
    painter.drawText(QPointF(text.rect.x, y), text.text)


def _box(painter: QPainter, box: Box, colours: Colours) -> None:
    ink, width = outline_of(box)
    place = rect_of(box.rect)
    tint = colours.tints.get(box.tone)
    painter.setPen(Qt.PenStyle.NoPen)
    if tint is not None:
        painter.setBrush(QColor(tint))
        painter.drawRoundedRect(place, box.round, box.round)
    if box.tone in _HATCHES:
        painter.setBrush(_hatch(box.tone, colours))
        painter.drawRoundedRect(place, box.round, box.round)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(_pen(colours.inks[ink], width, dashed=box.dashed))
    painter.drawRoundedRect(place, box.round, box.round)


def _hatch(tone: Tone, colours: Colours) -> QBrush:
    lines = QColor(colours.inks[_HATCH_INKS[tone]])
    lines.setAlphaF(_HATCH_STRENGTH)
    return QBrush(lines, _HATCHES[tone])


def _path(painter: QPainter, path: Path, colours: Colours) -> None:
    drawn = QPainterPath(QPointF(*path.start))
    for move in path.moves:
        if move.by is None:
            drawn.lineTo(*move.to)
        else:
            drawn.cubicTo(*move.by[0], *move.by[1], *move.to)
    ink = colours.inks[path.ink]
    tint = colours.tints.get(path.fill) if path.fill is not None else None
    painter.setPen(_pen(ink, path.width, dashed=path.dashed))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if tint is not None:
        inside = QColor(tint)
        inside.setAlphaF(_BAND)
        painter.setBrush(inside)
    painter.drawPath(drawn)
    if path.fill in _HATCHES:
        painter.fillPath(drawn, _hatch(path.fill, colours))
    if path.arrow:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ink))
        painter.drawPolygon(polygon_of(head_of(path)))
