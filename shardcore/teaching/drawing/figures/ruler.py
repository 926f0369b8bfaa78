"""Layout of a number line: stretches in lanes, marks, names, and ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from shardcore.model.drawing import Item, Ruler, Tone
from shardcore.teaching.drawing.arrows import Arcs, arcs_of
from shardcore.teaching.drawing.name_labels import LANE, Name, NameRequest, in_lanes, lanes_of, write_names
from shardcore.teaching.drawing.picture import (
    NORMAL,
    SMALL,
    Anchor,
    DrawingPage,
    Face,
    Ink,
    Move,
    Path,
    Rect,
    cut,
    face_of,
)

LANE_HEIGHT = 26.0
AXIS = 22.0

_LANE_GAP = 4.0
_LEAST_WIDE = 3.0
_PAD = 6.0
_TICK_ROOM = 26.0
_MARK = 5.0
_APART = 14.0
_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class RulerScale:
    start: float
    stop: float
    left: float
    wide: float

    @property
    def unit(self) -> float:
        return self.wide / max(self.stop - self.start, 1e-9)

    def x(self, number: float) -> float:
        return self.left + (min(max(number, self.start), self.stop) - self.start) * self.unit


def scale_of(sheet: DrawingPage, figure: Ruler) -> RulerScale:
    return RulerScale(figure.start, figure.stop, sheet.left, sheet.room)


def place_ruler(sheet: DrawingPage, figure: Ruler, first: int, top: float) -> float:
    y = sheet.title(top, figure.title, f"in {figure.unit}" if figure.unit else "")
    scale = scale_of(sheet, figure)
    lanes = lanes_of_items(figure.items)
    at = {n: item.at + item.size / 2 for n, item in enumerate(figure.items, first)}
    arcs = arcs_of([ends for ends in sheet.links if ends[0] in at and ends[1] in at], at, ring=figure.ring)
    names = names_of(sheet, scale, figure.items, first)
    y += lanes_of(names) * LANE
    reach = arcs.height + (_MARK + 2 if any(item.size == 0 for item in figure.items) or names else 0)
    write_names(sheet, names, y, reach=reach - _MARK)
    y += reach
    named = {name.wanted.item for name in names}
    y, bounds = place_stretches(sheet, scale, figure.items, first, y, lanes, named, down=True)
    _draw_arcs(sheet, arcs, bounds)
    return place_axis(sheet, scale, y + 3)


def names_of(sheet: DrawingPage, scale: RulerScale, items: Sequence[Item], first: int) -> list[Name]:
    wanted = []
    for n, item in enumerate(items, first):
        left, right = scale.x(item.at), scale.x(item.at + item.size)
        asked = item.here or item.tone in (Tone.HIT, Tone.MISS)
        if item.size == 0:
            wanted.append(NameRequest(left, left, item.text, n, item.here))
        elif asked and cut(item.text, right - left - _PAD, SMALL, face_of(item.text), sheet.measure) != item.text:
            wanted.append(NameRequest(left, right, item.text, n, item.here))
    return in_lanes(sheet, wanted)


def place_stretches(
    sheet: DrawingPage,
    scale: RulerScale,
    items: Sequence[Item],
    first: int,
    top: float,
    lanes: Sequence[int],
    named: Container[int] = (),
    *,
    down: bool = False,
) -> tuple[float, dict[int, Rect]]:
    """Place stretches in lanes and marks over them; return the y of the lower edge, and the box of each item."""
    count = max((lane + 1 for item, lane in zip(items, lanes, strict=True) if item.size), default=0)
    step = LANE_HEIGHT + _LANE_GAP
    bottom = top + max(count * step - _LANE_GAP, 8.0)
    bounds = {}
    for n, (item, lane) in enumerate(zip(items, lanes, strict=True), first):
        left, right = scale.x(item.at), scale.x(item.at + item.size)
        if item.size == 0:
            bounds[n] = Rect(left - _MARK, top - _MARK, 2 * _MARK, bottom - top + 2 * _MARK)
            continue
        y = top + lane * step if down else bottom - lane * step - LANE_HEIGHT
        wide = max(right - left, _LEAST_WIDE)
        bounds[n] = Rect(min(left, sheet.right - wide), y, wide, LANE_HEIGHT)
        sheet.box(bounds[n], item, n)
        if n not in named:
            write_in(sheet, bounds[n], item, n)
        if item.handle:
            sheet.grip(item, n, Rect(right, y - 3, 0, LANE_HEIGHT + 6), scale.unit)
    for n, item in enumerate(items, first):
        if item.size == 0:
            _mark(sheet, item, n, (scale.x(item.at), top, bottom), scale.unit)
    return bottom, bounds


def write_in(
    sheet: DrawingPage, rect: Rect, item: Item, number: int, *, face: Face | None = None, large: bool = True
) -> None:
    room = rect.w - _PAD
    face = face_of(item.text) if face is None else face
    size = NORMAL if large and sheet.measure(item.text, NORMAL, face) <= room else SMALL
    sheet.write(rect.middle, item.text, size=size, face=face, anchor=Anchor.MIDDLE, room=room, item=number)


def place_axis(
    sheet: DrawingPage, scale: RulerScale, y: float, *, up: bool = False, clear: Sequence[float] = ()
) -> float:
    sign = -1 if up else 1
    sheet.rule((scale.left, y), (scale.left + scale.wide, y), ink=Ink.EDGE)
    marks = list(ticks(sheet, scale))
    written = list[Rect]()
    for number, text in (*marks[-1:], *marks[:-1]):
        x = scale.x(number)
        sheet.rule((x, y), (x, y + sign * 4), ink=Ink.EDGE)
        wide = sheet.measure(text, SMALL, Face.SANS)
        middle = max(min(x, sheet.right - wide / 2), sheet.left + wide / 2)
        near = any(abs(other.middle[0] - middle) < (other.w + wide) / 2 + _APART for other in written)
        if not near and all(abs(line - middle) > wide / 2 + 3 for line in clear):
            found = sheet.write((middle, y + sign * 13), text, size=SMALL, ink=Ink.MUTED, anchor=Anchor.MIDDLE)
            written += [found] if found is not None else []
    return y + sign * AXIS


def ticks(sheet: DrawingPage, scale: RulerScale) -> Iterator[tuple[float, str]]:
    """Yield position and text of ticks, in steps of 1, 2 or 5 times a power of ten."""
    wide = max(sheet.measure(f"{math.floor(end):,}", SMALL, Face.SANS) for end in (scale.start, scale.stop))
    least = (wide + _TICK_ROOM) / scale.unit
    power = 10.0 ** math.floor(math.log10(max(least, 1)))
    step = max(next(power * factor for factor in _STEPS if power * factor >= least * 0.999), 1)
    number = math.ceil(scale.start / step) * step
    while number <= scale.stop:
        yield number, f"{round(number):,}"
        number += step


def _mark(sheet: DrawingPage, item: Item, number: int, place: tuple[float, float, float], unit: float) -> None:
    x, top, bottom = place
    ink = Ink.ERROR if item.tone is Tone.MISS else Ink.ACCENT if item.here or item.tone is Tone.HIT else Ink.TEXT
    head = (Move((x + _MARK, top - _MARK)), Move((x, top + 2)), Move((x - _MARK, top - _MARK)))
    short = sheet.taken(Rect(x - 1, top, 2, bottom - top))
    for start, stop in ((top, top + 4), (bottom - 4, bottom + 3)) if short else ((top, bottom + 3),):
        sheet.rule((x, start), (x, stop), ink=ink, width=1.5, dashed=item.computed)
    sheet.lines.append(Path((x - _MARK, top - _MARK), head, ink, 1.0, fill=item.tone, item=number))
    sheet.area(Rect(x - _MARK, top - _MARK, 2 * _MARK, bottom - top + _MARK + 3), number)
    if item.handle:
        sheet.grip(item, number, Rect(x, top - 3, 0, bottom - top + 6), unit)


def _draw_arcs(sheet: DrawingPage, arcs: Arcs, bounds: dict[int, Rect]) -> None:
    top = min((rect.y for rect in bounds.values()), default=0.0)
    arcs.draw(sheet, {n: Rect(rect.x, top, rect.w, rect.h) for n, rect in bounds.items()})


def lanes_of_items(items: Sequence[Item]) -> list[int]:
    lanes, ends = [0] * len(items), list[float]()
    for n in sorted(range(len(items)), key=lambda number: (items[number].at, -items[number].size)):
        item = items[n]
        if item.size == 0:
            continue
        lane = next((lane for lane, end in enumerate(ends) if end <= item.at), len(ends))
        ends[lane : lane + 1] = [item.at + item.size]
        lanes[n] = lane
    return lanes
