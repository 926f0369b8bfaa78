"""Painting of drawings in the window: shapes, colours and fonts."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from math import dist
from typing import TypeVar

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QApplication

from shardcore import FieldRole, SectionRole
from shardcore.dataclasses import replace
from shardcore.model.drawing import Tone
from shardcore.teaching.drawing.picture import Box, Face, Grip, Ink, Move, Path, Picture, Point, Shape, Text
from shardcore.teaching.drawing.svg import Colours, head_of, outline_of
from shardcore.teaching.step_drawing import SECTION_TONES
from shardscope.widgets import fonts as type_
from shardscope.widgets.theme import colour, palette

Name = TypeVar("Name", Ink, Tone)


@cache
def colours_of(name: str) -> Colours:
    wears = palette(name)
    inks = {
        Ink.TEXT: wears.text,
        Ink.MUTED: wears.muted,
        Ink.FAINT: wears.muted,
        Ink.LINE: wears.border,
        Ink.EDGE: wears.edge(SectionRole.UNKNOWN),
        Ink.ACCENT: wears.accent,
        Ink.ERROR: wears.error,
    }
    tints = {tone: wears.section(role, 0) for tone, role in _ROLES.items()}
    tints |= {tone: wears.field(role) for tone, role in _FIELDS.items()}
    tints[Tone.PLAIN] = wears.raised
    tints[Tone.HIT] = colour(0.42, 0.11, 262) if wears.dark else colour(0.865, 0.075, 262)
    tints[Tone.MISS] = colour(0.38, 0.09, 25) if wears.dark else colour(0.90, 0.05, 25)
    return Colours(name, wears.base.name(), _names(inks), _names(tints))


def _names(colours: dict[Name, QColor]) -> dict[Name, str]:
    return {key: one.name() for key, one in colours.items()}


_ROLES = {tone: role for role, tone in SECTION_TONES.items()} | {
    Tone.DEAD: SectionRole.UNKNOWN,
    Tone.ONE: SectionRole.HEADER,
    Tone.TWO: SectionRole.INDEX,
    Tone.THREE: SectionRole.DATA,
    Tone.FOUR: SectionRole.LOOKUP,
}
_FIELDS = {Tone.KEY: FieldRole.KEY, Tone.POINTER: FieldRole.OFFSET, Tone.SIZE: FieldRole.SIZE}


class Fonts:
    """Fonts of drawings. No text is smaller than `least` pixels before the drawing as a whole is scaled."""

    def __init__(self, least: int = 0) -> None:
        self.least = least
        self._fonts: dict[tuple[int, Face], tuple[QFont, QFontMetricsF]] = {}

    def __call__(self, size: int, face: Face) -> QFont:
        return self._made(size, face)[0]

    def measure(self, text: str, size: int, face: Face) -> float:
        return self._made(size, face)[1].horizontalAdvance(text)

    def baseline(self, size: int, face: Face) -> float:
        metrics = self._made(size, face)[1]
        return (metrics.ascent() - metrics.descent()) / 2

    def _made(self, size: int, face: Face) -> tuple[QFont, QFontMetricsF]:
        if (size, face) not in self._fonts:
            # The whole drawing is scaled by the zoom.
            pixels = max(size, self.least)
            plain = type_.sized(QApplication.font(), pixels, zoomed=False)
            font = type_.mono(pixels, zoomed=False) if face is Face.MONO else plain
            if face is Face.BOLD:
                font.setWeight(QFont.Weight.DemiBold)
            self._fonts[size, face] = font, QFontMetricsF(font)
        return self._fonts[size, face]


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
            # An arrow around a ring consists of two paths: the one with the arrow head appears last.
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
    place = QRectF(*box.rect)
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
