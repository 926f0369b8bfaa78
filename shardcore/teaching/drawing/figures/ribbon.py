"""Layout of two rulers with bands between corresponding stretches."""

from __future__ import annotations

from shardcore.model.drawing import Band, Ribbon, Ruler
from shardcore.teaching.drawing.figures.ruler import (
    RulerScale,
    lanes_of_items,
    names_of,
    place_axis,
    place_stretches,
    scale_of,
)
from shardcore.teaching.drawing.name_labels import LANE, lanes_of, write_names
from shardcore.teaching.drawing.picture import SMALL, Anchor, Area, DrawingPage, Ink, Move, Path, Rect, face_of

_GAP = 84.0
_BEND = 0.5
_LEAST_WIDE = 1.5


def place_ribbon(sheet: DrawingPage, figure: Ribbon, first: int, top: float) -> float:
    y = sheet.title(top, figure.title)
    bands_from = first + len(figure.above.items)
    y = _above(sheet, figure.above, first, y)
    below = y + _GAP
    for n, band in enumerate(figure.bands, bands_from):
        _band(sheet, band, n, (scale_of(sheet, figure.above), scale_of(sheet, figure.below)), (y, below))
    return _below(sheet, figure.below, bands_from + len(figure.bands), below)


def _above(sheet: DrawingPage, ruler: Ruler, first: int, top: float) -> float:
    scale = scale_of(sheet, ruler)
    y = _subtitle(sheet, ruler, top)
    names = names_of(sheet, scale, ruler.items, first)
    y += lanes_of(names) * LANE
    write_names(sheet, names, y)
    leaders = [name.wanted.middle for name in names]
    y += 20
    place_axis(sheet, scale, y, up=True, clear=leaders)
    for x in leaders:
        sheet.rule((x, y - 20), (x, y + 3), ink=Ink.EDGE, width=0.75)
    lanes, named = lanes_of_items(ruler.items), {name.wanted.item for name in names}
    bottom, _ = place_stretches(sheet, scale, ruler.items, first, y + 3, lanes, named, down=True)
    return bottom + 1


def _below(sheet: DrawingPage, ruler: Ruler, first: int, top: float) -> float:
    scale = scale_of(sheet, ruler)
    names = names_of(sheet, scale, ruler.items, first)
    lanes, named = lanes_of_items(ruler.items), {name.wanted.item for name in names}
    bottom, _ = place_stretches(sheet, scale, ruler.items, first, top, lanes, named)
    leaders = [name.wanted.middle for name in names]
    y = place_axis(sheet, scale, bottom + 3, clear=leaders)
    for x in leaders:
        sheet.rule((x, bottom + 1), (x, y), ink=Ink.EDGE, width=0.75)
    write_names(sheet, names, y, up=False)
    y += lanes_of(names) * LANE
    return _subtitle(sheet, ruler, y + 4) if ruler.title else y


def _subtitle(sheet: DrawingPage, ruler: Ruler, top: float) -> float:
    text = ", in ".join(part for part in (ruler.title, ruler.unit) if part)
    if not text:
        return top
    sheet.write((sheet.left, top + 7), text, size=SMALL, ink=Ink.MUTED)
    return top + 20


def _band(
    sheet: DrawingPage, band: Band, n: int, scales: tuple[RulerScale, RulerScale], ys: tuple[float, float]
) -> None:
    (upper, lower), (y0, y1), item = scales, ys, band.item
    a0, a1 = upper.x(item.at), upper.x(item.at + item.size)
    b0, b1 = lower.x(band.below[0]), lower.x(band.below[1])
    a1, b1 = max(a1, a0 + _LEAST_WIDE), b1 if band.below[0] == band.below[1] else max(b1, b0 + _LEAST_WIDE)
    bend = (y1 - y0) * _BEND
    moves = (
        Move((b0, y1), ((a0, y0 + bend), (b0, y1 - bend))),
        Move((b1, y1)),
        Move((a1, y0), ((b1, y1 - bend), (a1, y0 + bend))),
        Move((a0, y0)),
    )
    ink = Ink.ACCENT if item.here else Ink.EDGE
    path = Path((a0, y0), moves, ink, 1.5 if item.here else 0.75, item.computed, fill=item.tone, item=n)
    sheet.fills.append(path)
    sheet.areas.append(Area(n, tuple(path.points())))
    sheet.bounds.setdefault(n, Rect(min(a0, b0), y0, max(a1, b1) - min(a0, b0), y1 - y0))
    room = min(a1 - a0, b1 - b0, (a1 + b1 - a0 - b0) / 2) - 12
    face = face_of(item.text)
    if sheet.measure(item.text, SMALL, face) > room:
        return
    for share in (0.5, 0.3, 0.7, 0.15, 0.85):
        weight = 3 * share**2 - 2 * share**3
        x = ((a0 + a1) * (1 - weight) + (b0 + b1) * weight) / 2
        place = (x, y0 + (y1 - y0) * share)
        if sheet.write(place, item.text, size=SMALL, face=face, anchor=Anchor.MIDDLE, room=room, item=n):
            return
