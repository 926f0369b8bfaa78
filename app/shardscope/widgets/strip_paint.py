"""Strip that shows the sections of a file in a row, with even the smallest visible: its scale and its painting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from shardcore import Section, SectionRole
from shardscope.widgets import theme

STRIP_HEIGHT = 20.0
LABEL_GAP = 5.0
"""Distance in pixels between the strip and its labels."""
LABELS_APART = 12.0

_LINED = 4.0
"""Width in pixels above which a section gets an outline."""


# --- scale ---

LEAST = 7
"""Minimum width of a section in pixels."""


class StripScale:
    """Maps offsets to pixels and back. Sections have widths proportional to their sizes, but at least `LEAST` pixels.

    `sections` are sorted without gaps, `edges` are their borders in pixels. `breaks` are the indices of sections
    whose bytes per pixel differ from those of their left neighbour by a factor of more than 1.5.
    """

    def __init__(self, size: int, sections: Sequence[Section], width: float, *, schematic: bool = False) -> None:
        solid = [section for section in sections if section.size]
        self.size = size
        self.width = max(width, 1.0)
        self.sections: Sequence[Section] = solid or [Section("bytes", SectionRole.UNKNOWN, 0, size)]
        sizes = [section.size for section in self.sections]
        weights = [section.bit_length() ** 2 for section in sizes] if schematic else sizes
        widths = widths_to_scale(weights, self.width)
        per_pixel = [section / part if part else 0.0 for section, part in zip(sizes, widths, strict=True)]
        steps = [max(one, other) > 1.5 * min(one, other) for one, other in pairwise(per_pixel)]
        self.breaks = [number for number, breaks in enumerate(steps, 1) if breaks]
        self.edges = [0.0]
        for part in widths:
            self.edges.append(self.edges[-1] + part)
        self._starts = [section.start for section in self.sections]

    def x_of(self, offset: int) -> float:
        """Return the pixel of an offset; the end of the source is the right edge."""
        number = self._number(offset)
        section = self.sections[number]
        left, right = self.edges[number], self.edges[number + 1]
        if not section.size:
            return left
        inside = min(max(offset - section.start, 0), section.size)
        # Python divides integers of any size correctly; only the quotient is a float.
        return left + (right - left) * (inside / section.size)

    def offset_at(self, x: float) -> int:
        """Return the offset at a pixel; pixels outside give the first or last byte."""
        number = min(max(bisect_right(self.edges, x) - 1, 0), len(self.sections) - 1)
        section = self.sections[number]
        left, right = self.edges[number], self.edges[number + 1]
        share = min(max((x - left) / (right - left), 0.0), 1.0) if right > left else 0.0
        return min(section.start + int(section.size * share), max(section.stop - 1, section.start))

    def section_at(self, x: float) -> Section:
        return self.sections[self._number(self.offset_at(x))]

    def _number(self, offset: int) -> int:
        return max(bisect_right(self._starts, offset) - 1, 0)


class SectionStrip(QWidget):
    """Widget with a strip and labels. `natural` is its default width, the other numbers are margins, in pixels."""

    natural, beside, above, below = 320, 0.0, 0.0, 0.0

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._scale = StripScale(0, (), 1)

    def sizeHint(self) -> QSize:
        return QSize(self.natural, round(self._strip().bottom() + self.below))

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._rescale()

    def _rescale(self) -> None:
        raise NotImplementedError

    def _strip(self) -> QRectF:
        top = self.above + QFontMetricsF(self.font()).height() + LABEL_GAP
        return QRectF(self.beside, top, self._scale.width, STRIP_HEIGHT)


def widths_to_scale(sizes: Sequence[int], width: float, least: float = LEAST) -> list[float]:
    """Return widths proportional to `sizes` that add up to `width`; each is at least `least` if that is possible."""
    least = min(least, width / len(sizes))
    small: set[int] = set()
    while True:
        room = width - least * len(small)
        total = sum(sizes) - sum([sizes[number] for number in small])
        scale = room / max(total, 1)
        fresh = {number for number, size in enumerate(sizes) if size * scale < least} - small
        if not fresh:
            return [least if number in small else size * scale for number, size in enumerate(sizes)]
        small |= fresh


# --- painting ---


def paint_strip(
    painter: QPainter, colours: theme.Palette, scale: StripScale, strip: QRectF, label: Callable[[Section], str] | None
) -> None:
    """Paint sections, with labels above unless `label` is None; `scale` starts at the left edge of `strip`."""
    metrics = QFontMetricsF(painter.font())
    for number, section in enumerate(scale.sections):
        left, right = strip.left() + scale.edges[number], strip.left() + scale.edges[number + 1]
        body = QRectF(left, strip.top(), right - left, strip.height())
        paint_ground(painter, colours, section.role, body)
        if body.width() > metrics.horizontalAdvance(theme.SECTION_LETTERS[section.role]) + 4:
            paint_letter(painter, colours, section.role, body)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colours.window, 2))
    step = strip.height() / 4
    for x in [strip.left() + scale.edges[number] for number in scale.breaks]:
        painter.drawPolyline([QPointF(x + (1.5 if n % 2 else -1.5), strip.top() + n * step) for n in range(5)])
    painter.restore()
    if label is not None:
        paint_labels(painter, colours, scale, strip, [label(section) for section in scale.sections])


def paint_labels(
    painter: QPainter,
    colours: theme.Palette,
    scale: StripScale,
    strip: QRectF,
    labels: Sequence[str],
    *,
    grounded: bool = False,
) -> None:
    """Paint labels of the sections above a strip; `grounded` also fills the background of each label."""
    metrics = QFontMetricsF(painter.font())
    above = strip.top() - LABEL_GAP - metrics.height()
    painter.setPen(colours.text)
    for number, section in enumerate(scale.sections):
        left, right = strip.left() + scale.edges[number], strip.left() + scale.edges[number + 1]
        place = QRectF(left, above, right - left - LABELS_APART, metrics.height())
        if text := fitting_label(labels[number], section.name, metrics, place.width()):
            if grounded:
                painter.fillRect(QRectF(left, above, metrics.horizontalAdvance(text), metrics.height()), colours.window)
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


class _Ground(NamedTuple):
    brushes: list[QBrush]
    edge: QColor
    ink: QColor


@lru_cache(maxsize=len(theme.NAMES) * len(SectionRole))
def _ground(name: str, role: SectionRole) -> _Ground:
    """Return the colours of a section in a palette; cached, since computing them takes longer than painting."""
    colours = theme.palette(name)
    return _Ground(colours.brushes(role), colours.edge(role), colours.ink_on(colours.section(role)))


def paint_ground(painter: QPainter, colours: theme.Palette, role: SectionRole, body: QRectF) -> None:
    ground = _ground(colours.name, role)
    for brush in ground.brushes:
        painter.fillRect(body, brush)
    if body.width() > _LINED:
        painter.save()
        painter.setPen(ground.edge)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(body.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.restore()


def paint_letter(painter: QPainter, colours: theme.Palette, role: SectionRole, body: QRectF) -> None:
    painter.setPen(_ground(colours.name, role).ink)
    painter.drawText(body, Qt.AlignmentFlag.AlignCenter, theme.SECTION_LETTERS[role])


def paint_swatch(painter: QPainter, colours: theme.Palette, role: SectionRole, box: QRectF) -> None:
    paint_ground(painter, colours, role, box)
    paint_letter(painter, colours, role, box)


def fitting_label(label: str, name: str, metrics: QFontMetricsF, room: float) -> str:
    """Return the first text that fits `room` pixels: label, name with size, name, elided name; else an empty text."""
    for text in (label, label.rpartition(" · ")[0], name):
        if text and metrics.horizontalAdvance(text) <= room:
            return text
    fits = room >= metrics.horizontalAdvance("mm…")
    return metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) if fits else ""
