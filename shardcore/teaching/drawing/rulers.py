"""Layout of number lines: rows of ranges, marks, names, ticks at round numbers, and bands that connect two lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shardcore.dataclasses import dataclass
from shardcore.model.drawing import SECTION, Band, Item, Ribbon, Ruler, Tone
from shardcore.teaching.drawing.arrows import arcs_of
from shardcore.teaching.drawing.picture import SMALL, Anchor, DrawingPage, Face, Ink, Move, Path, Rect, cut, face_of

LANE = 17.0

_NAMES_APART = 10.0
_HANG = 7.0
_MOST_LANES = 5
_NEAR = 8.0
_MOST_WIDE = 260.0


@dataclass(frozen=True, slots=True)
class NameRequest:
    left: float
    right: float
    text: str
    item: int
    strong: bool

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def face(self) -> Face:
        return Face.BOLD if self.strong else Face.SANS


@dataclass(frozen=True, slots=True)
class Name:
    wanted: NameRequest
    text: str
    lane: int
    x: float
    wide: float

    def covers(self, x: float) -> bool:
        return self.x - 2.5 < x < self.x + self.wide + 2.5


def in_lanes(sheet: DrawingPage, wanted: Sequence[NameRequest]) -> list[Name]:
    """Place names in lanes without overlap, first those not wider than their range; omit names that do not fit."""
    found: list[Name] = []
    named = [one for one in wanted if one.text]
    fitting = [one for one in named if sheet.measure(one.text, SMALL, one.face) <= one.right - one.left]
    others = sorted((one for one in named if one not in fitting), key=lambda one: (not one.strong, one.left))
    for one in (*fitting, *others):
        waiting = [
            other.middle for other in others if other is not one and all(name.wanted is not other for name in found)
        ]
        name = _first_free(sheet, one, found, waiting) or _first_free(sheet, one, found, ())
        if name is not None:
            found.append(name)
    return found


def lanes_of(names: Sequence[Name]) -> int:
    return max((name.lane + 1 for name in names), default=0)


def write_names(sheet: DrawingPage, names: Sequence[Name], base: float, *, up: bool = True, reach: float = 0.0) -> None:
    sign = -1 if up else 1
    for name in names:
        y = base + sign * (name.lane + 0.5) * LANE
        ink, face = Ink.TEXT if name.wanted.strong else Ink.MUTED, name.wanted.face
        sheet.write((name.x, y), name.text, size=SMALL, face=face, ink=ink, item=name.wanted.item)
        if name.lane or reach > _NEAR:
            x, start, stop = name.wanted.middle, base - sign * max(reach - 2, -2), base + sign * name.lane * LANE
            sheet.rule((x, start), (x, stop), ink=Ink.EDGE, width=0.75)


def _first_free(sheet: DrawingPage, one: NameRequest, found: Sequence[Name], waiting: Sequence[float]) -> Name | None:
    text = cut(one.text, min(sheet.room, _MOST_WIDE), SMALL, one.face, sheet.measure)
    wide, middle = sheet.measure(text, SMALL, one.face), one.middle
    for lane in range(_MOST_LANES):
        for x in (middle - wide / 2, middle - _HANG, middle - wide + _HANG, middle - wide + 2):
            begin = max(min(x, sheet.right - wide), sheet.left)
            name = Name(one, text, lane, begin, wide)
            if not any(map(name.covers, waiting)) and not any(_meet(name, other) for other in found):
                return name
    return None


def _meet(a: Name, b: Name) -> bool:
    if a.lane == b.lane:
        return a.x < b.x + b.wide + _NAMES_APART and b.x < a.x + a.wide + _NAMES_APART
    upper, lower = (a, b) if a.lane > b.lane else (b, a)
    return lower.covers(upper.wanted.middle)


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
    at = {n: item.at + item.size / 2 for n, item in enumerate(figure.items, first)}
    arcs = arcs_of([ends for ends in sheet.links if ends[0] in at and ends[1] in at], at, ring=figure.ring)
    names = names_of(sheet, scale, figure.items, first)
    y += lanes_of(names) * LANE
    reach = arcs.height + (_MARK + 2 if any(item.size == 0 for item in figure.items) or names else 0)
    write_names(sheet, names, y, reach=reach - _MARK)
    y += reach
    y, bounds = place_stretches(sheet, scale, figure.items, first, y, names, down=True)
    highest = min((rect.y for rect in bounds.values()), default=0.0)
    arcs.draw(sheet, {n: Rect(rect.x, highest, rect.w, rect.h) for n, rect in bounds.items()})
    return place_axis(sheet, scale, y + 3)


def names_of(sheet: DrawingPage, scale: RulerScale, items: Sequence[Item], first: int) -> list[Name]:
    wanted = []
    for n, item in enumerate(items, first):
        left, right = scale.x(item.at), scale.x(item.at + item.size)
        asked = item.here or item.tone in (Tone.HIT, Tone.MISS) or item.name.startswith(SECTION)
        inside = cut(item.text, right - left - _PAD, SMALL, face_of(item.text), sheet.measure)
        if item.size == 0 or (asked and inside != item.text):
            wanted.append(NameRequest(left, right, item.text, n, item.here))
    return in_lanes(sheet, wanted)


def place_stretches(
    sheet: DrawingPage,
    scale: RulerScale,
    items: Sequence[Item],
    first: int,
    top: float,
    names: Sequence[Name],
    *,
    down: bool = False,
) -> tuple[float, dict[int, Rect]]:
    """Place ranges in lanes, and marks (size 0) over them; return the y of the lower edge, and the box of each item."""
    lanes, named = lanes_of_items(items), {name.wanted.item for name in names}
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
            sheet.write_in(bounds[n], item, n)
        if item.handle:
            sheet.grip(item, n, Rect(right, y - 3, 0, LANE_HEIGHT + 6), scale.unit)
    for n, item in enumerate(items, first):
        if item.size == 0:
            _mark(sheet, item, n, (scale.x(item.at), top, bottom), scale.unit)
    return bottom, bounds


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


_GAP = 84.0
_BEND = 0.5
_LEAST_BAND = 1.5


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
    bottom, _ = place_stretches(sheet, scale, ruler.items, first, y + 3, names, down=True)
    return bottom + 1


def _below(sheet: DrawingPage, ruler: Ruler, first: int, top: float) -> float:
    scale = scale_of(sheet, ruler)
    names = names_of(sheet, scale, ruler.items, first)
    bottom, _ = place_stretches(sheet, scale, ruler.items, first, top, names)
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
    a1, b1 = max(a1, a0 + _LEAST_BAND), b1 if band.below[0] == band.below[1] else max(b1, b0 + _LEAST_BAND)
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
    sheet.area(Rect(min(a0, b0), y0, max(a1, b1) - min(a0, b0), y1 - y0), n, path.points())
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
