"""Placing names of stretches without overlap: in lanes, each with a thin leader line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shardcore.teaching.drawing.picture import NO_ITEM, SMALL, Anchor, DrawingPage, Face, Ink, cut

LANE = 17.0

_APART = 10.0
_HANG = 7.0
_MOST_LANES = 5
_NEAR = 8.0
_MOST_WIDE = 260.0


@dataclass(frozen=True, slots=True)
class NameRequest:
    left: float
    right: float
    text: str
    item: int = NO_ITEM
    strong: bool = False

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


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
    """Place names without overlap, first those that fit over their stretch; names that do not fit are left out."""
    found: list[Name] = []
    fitting = [one for one in wanted if one.text and _wide(sheet, one) <= one.right - one.left]
    others = sorted(
        (one for one in wanted if one.text and one not in fitting), key=lambda one: (not one.strong, one.left)
    )
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
        ink = Ink.TEXT if name.wanted.strong else Ink.MUTED
        face = Face.BOLD if name.wanted.strong else Face.SANS
        sheet.write((name.x, y), name.text, size=SMALL, face=face, ink=ink, anchor=Anchor.START, item=name.wanted.item)
        if name.lane or reach > _NEAR:
            x = name.wanted.middle
            sheet.rule(
                (x, base - sign * max(reach - 2, -2)), (x, base + sign * name.lane * LANE), ink=Ink.EDGE, width=0.75
            )


def _wide(sheet: DrawingPage, one: NameRequest) -> float:
    return sheet.measure(one.text, SMALL, Face.BOLD if one.strong else Face.SANS)


def _first_free(sheet: DrawingPage, one: NameRequest, found: Sequence[Name], waiting: Sequence[float]) -> Name | None:
    face = Face.BOLD if one.strong else Face.SANS
    text = cut(one.text, min(sheet.room, _MOST_WIDE), SMALL, face, sheet.measure)
    wide, middle = sheet.measure(text, SMALL, face), one.middle
    for lane in range(_MOST_LANES):
        for x in (middle - wide / 2, middle - _HANG, middle - wide + _HANG, middle - wide + 2):
            begin = max(min(x, sheet.right - wide), sheet.left)
            name = Name(one, text, lane, begin, wide)
            if not any(map(name.covers, waiting)) and not any(_meet(name, other) for other in found):
                return name
    return None


def _meet(a: Name, b: Name) -> bool:
    if a.lane == b.lane:
        return a.x < b.x + b.wide + _APART and b.x < a.x + a.wide + _APART
    upper, lower = (a, b) if a.lane > b.lane else (b, a)
    return lower.covers(upper.wanted.middle)
