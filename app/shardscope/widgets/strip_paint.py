"""Painting the sections of a file as a strip: in the overview, and in the preview of a new file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QFontMetricsF, QPainter, QPen

from shardcore import Section, SectionRole
from shardscope.session.display_text import cut_end
from shardscope.widgets import theme
from shardscope.widgets.strip_scale import StripScale

STRIP_HEIGHT = 20.0
LABEL_GAP = 5.0
"""Distance in pixels between the strip and its labels."""
LABELS_APART = 12.0

_LINED = 4.0
"""Width in pixels above which a section gets an outline."""
_SHORT = 14
"""Maximum number of characters of a section name in a drawing with arcs."""


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
    for number in scale.breaks:
        _paint_break(painter, colours, strip.left() + scale.edges[number], strip)
    if label is not None:

        def fitting(section: Section, room: float) -> str:
            return fitting_label(label(section), section, metrics, room)

        _paint_labels(painter, colours, scale, strip, fitting)


def paint_names(painter: QPainter, colours: theme.Palette, scale: StripScale, strip: QRectF) -> None:
    metrics = QFontMetricsF(painter.font())

    def short(section: Section, room: float) -> str:
        return fitting_label(cut_end(section.name, _SHORT), section, metrics, room)

    _paint_labels(painter, colours, scale, strip, short, grounded=True)


def _paint_labels(
    painter: QPainter,
    colours: theme.Palette,
    scale: StripScale,
    strip: QRectF,
    words: Callable[[Section, float], str],
    *,
    grounded: bool = False,
) -> None:
    metrics = QFontMetricsF(painter.font())
    above = strip.top() - LABEL_GAP - metrics.height()
    painter.setPen(colours.text)
    for number, section in enumerate(scale.sections):
        left, right = strip.left() + scale.edges[number], strip.left() + scale.edges[number + 1]
        place = QRectF(left, above, right - left - LABELS_APART, metrics.height())
        if text := words(section, place.width()):
            if grounded:
                painter.fillRect(QRectF(left, above, metrics.horizontalAdvance(text), metrics.height()), colours.window)
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)


def paint_ground(painter: QPainter, colours: theme.Palette, role: SectionRole, body: QRectF) -> None:
    for brush in colours.brushes(role):
        painter.fillRect(body, brush)
    if body.width() > _LINED:
        painter.save()
        painter.setPen(colours.edge(role))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(body.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.restore()


def paint_letter(painter: QPainter, colours: theme.Palette, role: SectionRole, body: QRectF) -> None:
    painter.setPen(colours.ink_on(colours.section(role)))
    painter.drawText(body, Qt.AlignmentFlag.AlignCenter, theme.SECTION_LETTERS[role])


def paint_swatch(painter: QPainter, colours: theme.Palette, role: SectionRole, box: QRectF) -> None:
    paint_ground(painter, colours, role, box)
    paint_letter(painter, colours, role, box)


def _paint_break(painter: QPainter, colours: theme.Palette, x: float, strip: QRectF) -> None:
    step = strip.height() / 4
    points = [QPointF(x + (1.5 if n % 2 else -1.5), strip.top() + n * step) for n in range(5)]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colours.window, 2))
    painter.drawPolyline(points)
    painter.restore()


def fitting_label(label: str, section: Section, metrics: QFontMetricsF, room: float) -> str:
    """Return the longest text that fits `room` pixels: label, name with size, name, elided name; else empty."""
    for text in (label, label.rpartition(" · ")[0], section.name):
        if not text:
            continue
        if metrics.horizontalAdvance(text) <= room:
            return text
    if room < metrics.horizontalAdvance("mm…"):
        return ""
    return metrics.elidedText(section.name, Qt.TextElideMode.ElideRight, room)


def paint_changed(
    painter: QPainter, colours: theme.Palette, strip: QRectF, places: Sequence[tuple[float, float]]
) -> None:
    """Mark changes of a sandbox at the lower edge of a strip; `places` are (left, right) in pixels."""
    last = float("-inf")
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for left, right in places:
        band = QRectF(left, strip.bottom() - 6, max(right - left, 1.0), 6)
        painter.fillRect(band, QBrush(colours.warning, Qt.BrushStyle.DiagCrossPattern))
        if left - last < 3:
            continue
        last, foot = left, strip.bottom() + 1
        painter.setPen(QPen(colours.base, 1))
        painter.setBrush(colours.warning)
        painter.drawPolygon(
            [QPointF(left - 5, foot), QPointF(left, foot - 5), QPointF(left + 5, foot), QPointF(left, foot + 5)]
        )
    painter.restore()
