"""Drawing of arrows: arcs over a row of boxes, and routes between figures, which go around texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from shardcore.dataclasses import dataclass
from shardcore.model.drawing import Link, Tone
from shardcore.teaching.drawing.picture import SMALL, Anchor, DrawingPage, Face, Ink, Move, Path, Point, Rect

TRACK = 6.0
"""Distance between arrows in a gap between figures, in pixels."""

_CLEAR, _LEAST_CLEAR = 3.0, 1.0
_ROOM = 8.0
"""Distance between an arrow and the title that it goes around, in pixels."""
_CORNER = 7.0
_INSET = 3.0
_ENTRY = 7.0
_ASIDE = 9.0
_NEXT = 5.0
_NUMBERS = 22.0
_UNDER = 10.0
_NARROW = 12.0


def draw_routes(
    sheet: DrawingPage, links: Sequence[tuple[int, int, Link]], figure_of: Sequence[int], bottoms: Sequence[float]
) -> None:
    """Draw the arrows between figures of one column; in the gaps between the figures, each has its own track."""
    tracks = [0] * (len(bottoms) + 1)
    for start, stop, link in links:
        if start not in sheet.bounds or stop not in sheet.bounds:
            continue
        swapped = sheet.bounds[start].middle[1] > sheet.bounds[stop].middle[1]
        upper, lower = (stop, start) if swapped else (start, stop)
        points = _route(sheet, upper, lower, figure_of, bottoms, tracks)
        way = points[::-1] if swapped else points
        sheet.lines.append(_path(way, link))
        _words(sheet, way, link)


def draw_crossing(
    sheet: DrawingPage,
    links: Sequence[tuple[int, int, Link]],
    figure_of: Sequence[int],
    edges: tuple[list[float], list[float]],
) -> None:
    """Draw arrows between this column and the one before, in the gap between; `edges`: tops and bottoms of figures."""
    for track, (start, stop, link) in enumerate(links):
        if start not in sheet.bounds or stop not in sheet.bounds:
            continue
        left, right = sorted((start, stop), key=figure_of.__getitem__)
        box, row, x = sheet.bounds[left], sheet.rows.get(left), sheet.left - _ASIDE - TRACK / 2 * (track % 3 - 1)
        if row is not None:
            points = [(row.right + 1, row.middle[1]), (x, row.middle[1])]
        else:
            y = edges[1][figure_of[left]] + _UNDER + TRACK * track
            entry = _leave(sheet, box, box.bottom, y, x)
            points = [(entry, box.bottom + 1), (entry, y), (x, y)]
        y = edges[0][figure_of[right]] - _UNDER
        above, beside, *ends = _arrive(sheet, right, y, x, track)
        over = [(x, y), above, beside] if above[0] >= sheet.left else [(x, beside[1])]
        points = _without_stops([*points, *over, *ends])
        way = points if left == start else points[::-1]
        sheet.lines.append(_path(way, link))
        _words(sheet, way, link)


def _route(
    sheet: DrawingPage,
    upper: int,
    lower: int,
    figure_of: Sequence[int],
    bottoms: Sequence[float],
    tracks: list[int],
) -> list[Point]:
    a, b = sheet.bounds[upper], sheet.bounds[lower]
    i, j = figure_of[upper], figure_of[lower]
    if i == j:
        return _within_table(sheet, upper, lower, tracks, i) if upper in sheet.rows else _between_rows(sheet, a, b)
    y = bottoms[i] + _UNDER + TRACK * tracks[i]
    points = _away(sheet, upper, y, b.middle[0], tracks[i])
    x = points[-1][0]
    for crossed in range(i + 1, j):
        beyond = bottoms[crossed] + _UNDER + TRACK * tracks[crossed]
        clear = _past(sheet, y, beyond, x)
        points += [(x, y), (clear, y)]
        x, y = clear, beyond
    points += [(x, y), *_arrive(sheet, lower, y, x, tracks[j - 1])]
    for gap in range(i, j):
        tracks[gap] += 1
    return _without_stops(points)


def _away(sheet: DrawingPage, item: int, y: float, towards: float, track: int) -> list[Point]:
    box, row = sheet.bounds[item], sheet.rows.get(item)
    if row is None or item in sheet.feet:
        x = _leave(sheet, box, box.bottom, y, towards)
        return [(x, box.bottom + 1)]
    x = min(row.right + _ASIDE + _NEXT * track, sheet.edges[1] - 3)
    return [(row.right + 1, row.middle[1]), (x, row.middle[1])]


def _arrive(sheet: DrawingPage, item: int, y: float, x: float, track: int) -> list[Point]:
    box, row = sheet.bounds[item], sheet.rows.get(item)
    if row is not None and row.x + 2 < box.x and box.right < row.right - 2:
        down = _under_heading(sheet, item, y, x)
        if down is not None:
            return down
    if row is not None and (box.x <= row.x + 2 or x < row.middle[0]):
        at = max(row.x - _ASIDE - _NEXT * track, sheet.edges[0] + 3)
        return [(at, y), (at, row.middle[1]), (row.x - 1, row.middle[1])]
    if row is not None:
        at = min(row.right + _ASIDE + _NEXT * track, sheet.edges[1] - 3)
        at = _clear(sheet, y, row.middle[1], at, (at, sheet.edges[1] - 3), _ROOM)
        return [(at, y), (at, row.middle[1]), (row.right + 2, row.middle[1])]
    own, box = box, _name_of(sheet, item) or box
    entry = _leave(sheet, box, y, box.y, x)
    if not _crossed(sheet, entry, y, box.y):
        return [(entry, y), (entry, box.y - 2)]
    shapes = [*(one.rect for one in sheet.boxes), *(one.rect for one in sheet.texts)]
    # The title is in the way: enter the box from the left if nothing is there; otherwise go around the title.
    side, (left, middle) = sheet.left - _ASIDE - _NEXT * min(track, 1), (own.x - 2, own.middle[1])
    if not any(one.meets(Rect(side, middle - 1, left - side, 2)) for one in shapes):
        return [(side, y), (side, middle), (left, middle)]
    clear = _clear(sheet, y, box.y, entry, sheet.edges, _ROOM)
    if (under := _under_title(sheet, clear, entry, y, box)) is not None:
        entry, low = under
        return [(clear, y), (clear, low), (entry, low), (entry, box.y - 2)]
    low = _level(sheet, (clear, entry), y, box.y - _ENTRY)
    top = min((text.y for text in _crossed(sheet, entry, low, box.y)), default=box.y)
    return [(clear, y), (clear, low), (entry, low), (entry, top - 2)]


def _under_title(sheet: DrawingPage, clear: float, entry: float, above: float, box: Rect) -> Point | None:
    titles = [text.bottom for text in _crossed(sheet, entry, above, box.y) if text.bottom <= box.y]
    low = min(min(titles, default=box.y) + _ENTRY, box.y - _ENTRY)
    inset = min(_INSET, box.w / 3)
    entry = _clear(sheet, low, box.y, entry, (box.x + inset, box.right - inset))
    free = not _crossed(sheet, entry, low, box.y) and _level(sheet, (clear, entry), above, low) == low
    return (entry, low) if free else None


def _level(sheet: DrawingPage, ends: tuple[float, float], above: float, y: float) -> float:
    """Return the y nearest to `y`, upwards, at which a horizontal line crosses no text."""
    left, right = min(ends) - _CLEAR, max(ends) + _CLEAR
    band = [text.rect for text in sheet.texts if text.rect.x < right and left < text.rect.right]
    heights = sorted([y, *(rect.y - _CLEAR for rect in band if above < rect.y < y)], reverse=True)
    return next((one for one in heights if all(not rect.y - 1 < one < rect.bottom + 1 for rect in band)), y)


def _name_of(sheet: DrawingPage, item: int) -> Rect | None:
    box = sheet.bounds[item]
    names = (text.rect for text in sheet.texts if text.item == item and text.rect.bottom < box.y + _ENTRY)
    return next((name for name in names if box.w <= _NARROW and name.x - 2 <= box.middle[0] <= name.right + 2), None)


def _under_heading(sheet: DrawingPage, item: int, y: float, x: float) -> list[Point] | None:
    if item not in sheet.heads:
        return None
    box, low = sheet.bounds[item], sheet.heads[item]
    entry = _leave(sheet, box, low, box.y, x)
    if _crossed(sheet, entry, low, box.y):
        return None
    if not _crossed(sheet, entry, y, low):
        return [(entry, y), (entry, box.y - 1)]
    clear = _clear(sheet, y, low, entry, sheet.edges, _ROOM)
    return [(clear, y), (clear, low), (entry, low), (entry, box.y - 1)]


def _within_table(sheet: DrawingPage, upper: int, lower: int, tracks: list[int], figure: int) -> list[Point]:
    a, b = sheet.rows[upper], sheet.rows[lower]
    x = min(a.right + _ASIDE + _NEXT * (tracks[figure] + 1), sheet.edges[1] - 3)
    return [(a.right + 1, a.middle[1]), (x, a.middle[1]), (x, b.middle[1]), (b.right + 2, b.middle[1])]


def _between_rows(sheet: DrawingPage, a: Rect, b: Rect) -> list[Point]:
    if b.y <= a.bottom:
        return [a.middle, b.middle]
    y = min(a.bottom + _NUMBERS, (a.bottom + b.y) / 2 + _ENTRY)
    x, entry = _leave(sheet, a, a.bottom, y, b.middle[0]), _leave(sheet, b, y, b.y, a.middle[0])
    return _without_stops([(x, a.bottom + 1), (x, y), (entry, y), (entry, b.y - 2)])


def _past(sheet: DrawingPage, y0: float, y1: float, x: float) -> float:
    boxes = [box.rect for box in sheet.boxes if box.rect.y < y1 and y0 < box.rect.bottom]
    texts = [text.rect for text in sheet.texts if text.rect.y < y1 and y0 < text.rect.bottom]
    rows = [row for row in sheet.rows.values() if row.y < y1 and y0 < row.bottom]
    return _nearest([*boxes, *texts, *rows], x, sheet.edges)


def _leave(sheet: DrawingPage, box: Rect, y0: float, y1: float, towards: float) -> float:
    inset = min(_INSET, box.w / 3)
    middle = box.middle[0]
    if box.w > 60:
        middle = min(max(towards, box.x + box.w * 0.25), box.right - box.w * 0.25)
    return _clear(sheet, y0, y1, middle, (box.x + inset, box.right - inset))


def _crossed(sheet: DrawingPage, x: float, y0: float, y1: float) -> list[Rect]:
    line = Rect(x - _CLEAR, min(y0, y1), 2 * _CLEAR, abs(y1 - y0))
    return [text.rect for text in sheet.texts if line.h > 1 and text.rect.meets(line)]


def _clear(
    sheet: DrawingPage, y0: float, y1: float, x: float, within: tuple[float, float], room: float = _CLEAR
) -> float:
    """Return the x nearest to `x` at which a vertical line from y0 to y1 crosses no text."""
    band = [text.rect for text in sheet.texts if text.rect.y < max(y0, y1) and min(y0, y1) < text.rect.bottom]
    return _nearest(band, x, within, room)


def _nearest(band: Sequence[Rect], x: float, within: tuple[float, float], room: float = _CLEAR) -> float:
    low, high = within
    x = min(max(x, low), high)
    best, distance = x, float("inf")
    for edge in (x, *(edge for rect in band for edge in (rect.x - room - 0.5, rect.right + room + 0.5))):
        nearer = low <= edge <= high and abs(edge - x) < distance
        if nearer and all(not rect.x - room < edge < rect.right + room for rect in band):
            best, distance = edge, abs(edge - x)
    if distance == float("inf") and room > _LEAST_CLEAR:
        return _nearest(band, x, within, _CLEAR if room > _CLEAR else _LEAST_CLEAR)
    return best


def _without_stops(points: Sequence[Point]) -> list[Point]:
    found: list[Point] = []
    for point in points:
        if found and abs(found[-1][0] - point[0]) < 0.5 and abs(found[-1][1] - point[1]) < 0.5:
            continue
        before = found[-2:]
        if len(before) == 2 and any(all(abs(one[axis] - point[axis]) < 0.5 for one in before) for axis in (0, 1)):
            found.pop()
        found.append(point)
    return found


def _path(points: Sequence[Point], link: Link) -> Path:
    moves: list[Move] = []
    at = points[0]
    for n in range(1, len(points) - 1):
        corner, after = points[n], points[n + 1]
        short = min(_CORNER, _far(at, corner) / 2, _far(corner, after) / 2)
        before, beyond = _towards(corner, at, short), _towards(corner, after, short)
        moves += [Move(before), Move(beyond, (corner, corner))]
        at = beyond
    moves.append(Move(points[-1]))
    return Path(points[0], tuple(moves), ink_of(link), 1.5, _dashed(link), arrow=True, link=link)


def _far(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _towards(a: Point, b: Point, by: float) -> Point:
    far = max(_far(a, b), 1e-9)
    return a[0] + (b[0] - a[0]) * by / far, a[1] + (b[1] - a[1]) * by / far


def _words(sheet: DrawingPage, points: Sequence[Point], link: Link) -> None:
    if not link.text:
        return
    wide = sheet.measure(link.text, SMALL, Face.SANS)
    pieces = sorted(pairwise(points), key=lambda piece: -_far(*piece))
    for (x0, y0), (x1, y1) in pieces:
        if abs(y1 - y0) < 1 and wide + 8 <= abs(x1 - x0):
            places = [((x0 + x1) / 2, y0 - 9), ((x0 + x1) / 2, y0 + 10)]
        else:
            places = [(max(x0, x1) + 5 + wide / 2, (y0 + y1) / 2), (min(x0, x1) - 5 - wide / 2, (y0 + y1) / 2)]
        for place in places:
            rect = Rect(place[0] - wide / 2 - 2, place[1] - 8, wide + 4, 16)
            if not any(box.rect.meets(rect) for box in sheet.boxes) and _write_free(sheet, place, link, rect):
                return


def _write_free(sheet: DrawingPage, place: Point, link: Link, rect: Rect) -> bool:
    free, ink = not sheet.crossed(rect), ink_of(link)
    return free and bool(sheet.write(place, link.text, size=SMALL, ink=ink, anchor=Anchor.MIDDLE, link=link))


_LOWEST = 14.0
_RISE = 9.0
_RISE_TOLD = 17.0
_MOST_LEVELS = 8
_WORDS = 16.0
_ARC_ASIDE = 3.0
_PLACES = ((0.5, -8), (0.5, 9), *((share, down) for share in (0.4, 0.6, 0.3, 0.7) for down in (-8, 10)))
"""Positions tried for the text of an arc: fraction of its width, pixels below its top."""
_BEYOND = 1e9

Ends = tuple[int, int, Link]


@dataclass(frozen=True, slots=True)
class Arcs:
    links: tuple[Ends, ...]
    levels: tuple[int, ...]
    round: tuple[bool, ...]

    @property
    def height(self) -> float:
        if not self.links:
            return 0.0
        return _LOWEST + self._rise * max(self.levels) + (_WORDS if self._told else 4.0)

    @property
    def _told(self) -> bool:
        return any(link.text for _, _, link in self.links)

    @property
    def _rise(self) -> float:
        return _RISE_TOLD if self._told else _RISE

    def draw(self, sheet: DrawingPage, bounds: Mapping[int, Rect]) -> None:
        each = list(zip(self.links, self.levels, self.round, strict=True))
        for (start, stop, link), level, around in each:
            draw = _arc_around if around else _arc
            draw(sheet, bounds[start], bounds[stop], link, _LOWEST + self._rise * level)
        for (start, stop, link), level, around in each:
            if not link.text:
                continue
            places, wide = _text_places_around if around else _text_places, sheet.measure(link.text, SMALL, Face.SANS)
            for x, y in places(sheet, bounds[start], bounds[stop], _LOWEST + self._rise * level, wide):
                # Slightly below the line, because the arc of this text passes at its lower edge.
                if _write_free(sheet, (x, y), link, Rect(x - wide / 2 - 1, y - 8, wide + 2, 15)):
                    break


def arcs_of(links: Sequence[Ends], at: Mapping[int, float], *, ring: bool = False) -> Arcs:
    """Return arcs over a row, each with a height level; in a `ring`, backward arrows leave right and enter left."""
    around = tuple(ring and at[stop] < at[start] and not _dashed(link) for start, stop, link in links)
    reaches = {n: _reach(at[start], at[stop], around[n]) for n, (start, stop, _) in enumerate(links)}
    levels = dict.fromkeys(reaches, 0)
    done: list[int] = []
    for n in sorted(reaches, key=lambda number: (around[number], sum(high - low for low, high in reaches[number]))):
        below = [levels[m] for m in done if any(a < d and c < b for a, b in reaches[m] for c, d in reaches[n])]
        levels[n] = min(max(below, default=-1) + 1, _MOST_LEVELS)
        done.append(n)
    return Arcs(tuple(links), tuple(levels[n] for n in range(len(links))), around)


def _reach(start: float, stop: float, around: bool) -> tuple[tuple[float, float], ...]:
    if around:
        return (start, _BEYOND), (-_BEYOND, stop)
    return ((min(start, stop), max(start, stop)),)


def ink_of(link: Link) -> Ink:
    if link.tone is Tone.MISS:
        return Ink.ERROR
    if link.tone is Tone.HIT:
        return Ink.ACCENT
    return Ink.FAINT if link.tone in (Tone.DEAD, Tone.EMPTY) else Ink.MUTED


def _dashed(link: Link) -> bool:
    return link.tone in (Tone.FAINT, Tone.DEAD, Tone.EMPTY)


def _arc(sheet: DrawingPage, start: Rect, stop: Rect, link: Link, height: float) -> None:
    onwards = stop.middle[0] >= start.middle[0]
    aside = min(_ARC_ASIDE, start.w / 4, stop.w / 4) * (1 if onwards else -1)
    x0, x1 = start.middle[0] + aside, stop.middle[0] - aside
    y0, y1 = start.y - 1, stop.y - 2
    top = min(start.y, stop.y) - height
    # A cubic Bézier curve reaches three quarters of the height of its control points.
    lift = (y0 + y1) / 2 - ((y0 + y1) / 2 - top) / 0.75
    lean = (x1 - x0) * 0.12
    move = Move((x1, y1), ((x0 + lean, lift), (x1 - lean, lift)))
    sheet.lines.append(Path((x0, y0), (move,), ink_of(link), 1.5, _dashed(link), arrow=True, link=link))


def _arc_around(sheet: DrawingPage, start: Rect, stop: Rect, link: Link, height: float) -> None:
    x0, x1 = start.middle[0] + min(_ARC_ASIDE, start.w / 4), stop.middle[0] - min(_ARC_ASIDE, stop.w / 4)
    top, (left, right) = min(start.y, stop.y) - height, sheet.edges
    out, back = right - x0, x1 - left
    leaves = Move((right, top), ((x0 + out * 0.1, top), (x0 + out * 0.5, top)))
    comes = Move((x1, stop.y - 2), ((x1 - back * 0.5, top), (x1 - back * 0.1, top)))
    sheet.lines.append(Path((x0, start.y - 1), (leaves,), ink_of(link), 1.5, link=link))
    sheet.lines.append(Path((left, top), (comes,), ink_of(link), 1.5, arrow=True, link=link))


def _text_places_around(
    sheet: DrawingPage, start: Rect, stop: Rect, height: float, wide: float
) -> Iterator[tuple[float, float]]:
    y, left, right = min(start.y, stop.y) - height - 8, sheet.edges[0] + 2, sheet.edges[1] - 2 - wide
    for x in (right, left, left + (stop.x - left) / 2, start.right):
        if left <= x <= right:
            yield x + wide / 2, y


def _text_places(
    sheet: DrawingPage, start: Rect, stop: Rect, height: float, wide: float
) -> Iterator[tuple[float, float]]:
    top, x0, x1 = min(start.y, stop.y) - height, start.middle[0], stop.middle[0]
    for share, down in _PLACES:
        if top + down + 8 <= min(start.y, stop.y):
            yield sheet.within(x0 + (x1 - x0) * share, wide), top + down
