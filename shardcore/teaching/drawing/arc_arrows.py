"""Arrows over a row of boxes, as arcs at different heights, so that they do not cross text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shardcore.model.drawing import Link, Tone
from shardcore.teaching.drawing.page import DrawingPage
from shardcore.teaching.drawing.picture import Anchor, Face, Ink, Move, Path, Rect
from shardcore.teaching.drawing.text_metrics import SMALL

_LOWEST = 14.0
_RISE = 9.0
_RISE_TOLD = 17.0
_MOST_LEVELS = 8
_WORDS = 16.0
_ASIDE = 3.0
_EDGE = 4.0
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
            words = _words_around if around else _words
            words(sheet, bounds[start], bounds[stop], link, _LOWEST + self._rise * level)


def arcs_of(links: Sequence[Ends], at: Mapping[int, float], *, ring: bool = False) -> Arcs:
    """Assign a level to each arc; with `ring`, a backward arrow leaves at the right edge and enters at the left."""
    around = tuple(ring and at[stop] < at[start] and not _dashed(link) for start, stop, link in links)
    reaches = {n: _reach(at[start], at[stop], around[n]) for n, (start, stop, _) in enumerate(links)}
    levels = dict.fromkeys(reaches, 0)
    done: list[int] = []
    for n in sorted(reaches, key=lambda number: (around[number], sum(high - low for low, high in reaches[number]))):
        below = [levels[m] for m in done if _overlap(reaches[m], reaches[n])]
        levels[n] = min(max(below, default=-1) + 1, _MOST_LEVELS)
        done.append(n)
    return Arcs(tuple(links), tuple(levels[n] for n in range(len(links))), around)


def _reach(start: float, stop: float, around: bool) -> tuple[tuple[float, float], ...]:
    if around:
        return (start, _BEYOND), (-_BEYOND, stop)
    return ((min(start, stop), max(start, stop)),)


def _overlap(ours: Sequence[tuple[float, float]], theirs: Sequence[tuple[float, float]]) -> bool:
    return any(a < d and c < b for a, b in ours for c, d in theirs)


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
    aside = min(_ASIDE, start.w / 4, stop.w / 4) * (1 if onwards else -1)
    x0, x1 = start.middle[0] + aside, stop.middle[0] - aside
    y0, y1 = start.y - 1, stop.y - 2
    top = min(start.y, stop.y) - height
    # A cubic Bézier curve reaches three quarters of the height of its control points.
    lift = (y0 + y1) / 2 - ((y0 + y1) / 2 - top) / 0.75
    lean = (x1 - x0) * 0.12
    move = Move((x1, y1), ((x0 + lean, lift), (x1 - lean, lift)))
    sheet.lines.append(Path((x0, y0), (move,), ink_of(link), 1.5, _dashed(link), arrow=True, link=link))


def _arc_around(sheet: DrawingPage, start: Rect, stop: Rect, link: Link, height: float) -> None:
    x0, x1 = start.middle[0] + min(_ASIDE, start.w / 4), stop.middle[0] - min(_ASIDE, stop.w / 4)
    top, left, right = min(start.y, stop.y) - height, _EDGE, sheet.width - _EDGE
    out, back = right - x0, x1 - left
    leaves = Move((right, top), ((x0 + out * 0.1, top), (x0 + out * 0.5, top)))
    comes = Move((x1, stop.y - 2), ((x1 - back * 0.5, top), (x1 - back * 0.1, top)))
    sheet.lines.append(Path((x0, start.y - 1), (leaves,), ink_of(link), 1.5, link=link))
    sheet.lines.append(Path((left, top), (comes,), ink_of(link), 1.5, arrow=True, link=link))


def _words_around(sheet: DrawingPage, start: Rect, stop: Rect, link: Link, height: float) -> None:
    if not link.text:
        return
    wide = sheet.measure(link.text, SMALL, Face.SANS)
    y, left, right = min(start.y, stop.y) - height - 8, _EDGE + 2, sheet.width - _EDGE - 2 - wide
    for x in (right, left, left + (stop.x - left) / 2, start.right):
        room = Rect(x - 1, y - 8, wide + 2, 15)
        if left <= x <= right and not sheet.crossed(room):
            place = (x + wide / 2, y)
            if sheet.write(place, link.text, size=SMALL, ink=ink_of(link), anchor=Anchor.MIDDLE, link=link) is not None:
                return


def _words(sheet: DrawingPage, start: Rect, stop: Rect, link: Link, height: float) -> None:
    if not link.text:
        return
    wide = sheet.measure(link.text, SMALL, Face.SANS)
    top, x0, x1 = min(start.y, stop.y) - height, start.middle[0], stop.middle[0]
    for share, down in _PLACES:
        y = top + down
        x = sheet.within(x0 + (x1 - x0) * share, wide)
        # Slightly below the line, because the arc of this text passes at its lower edge.
        room = Rect(x - wide / 2 - 1, y - 8, wide + 2, 15)
        if y + 8 > min(start.y, stop.y) or sheet.crossed(room):
            continue
        if sheet.write((x, y), link.text, size=SMALL, ink=ink_of(link), anchor=Anchor.MIDDLE, link=link) is not None:
            return
