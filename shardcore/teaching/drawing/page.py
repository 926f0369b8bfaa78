"""Page of a drawing: collects shapes, and places texts without overlap, within the page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from shardcore.model.drawing import Item, Link, Tone
from shardcore.teaching.drawing.picture import (
    NO_ITEM,
    Anchor,
    Area,
    Box,
    Face,
    Grip,
    Ink,
    Move,
    Path,
    Point,
    Rect,
    Text,
)
from shardcore.teaching.drawing.text_metrics import NORMAL, SMALL, Measure, cut

MARGIN = 18.0
"""Margin around the drawing in pixels, also used by arrows around figures."""
LINE = 1.35
"""Line height, as a factor of the text size."""
TITLE_GAP = 11.0

_APART = 1.0
_BUCKET = 16.0
_GRIP_WIDTH = 8.0


@dataclass(slots=True)
class DrawingPage:
    """Shapes placed so far; for arrows, also the boxes of items by number, and the rows of tables."""

    width: float
    measure: Measure
    left: float = field(init=False)
    right: float = field(init=False)
    links: list[tuple[int, int, Link]] = field(default_factory=list)
    bounds: dict[int, Rect] = field(default_factory=dict)
    rows: dict[int, Rect] = field(default_factory=dict)
    heads: dict[int, float] = field(default_factory=dict)
    feet: set[int] = field(default_factory=set)
    areas: list[Area] = field(default_factory=list)
    grips: list[Grip] = field(default_factory=list)
    fills: list[Path] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    lines: list[Path] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    _taken: defaultdict[int, list[Rect]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.use_column(0, 1)

    def use_column(self, number: int, count: int) -> None:
        wide = (self.width - MARGIN) / count
        self.left = MARGIN + number * wide
        self.right = self.left + wide - MARGIN

    @property
    def room(self) -> float:
        return self.right - self.left

    def box(self, rect: Rect, item: Item, number: int, *, area: bool = True, radius: float = 3.0) -> None:
        self.boxes.append(Box(rect, item.tone, item.computed, item.here, radius, number))
        if area:
            self.area(rect, number)

    def area(self, rect: Rect, number: int) -> None:
        self.areas.append(Area(number, rect.corners))
        self.bounds.setdefault(number, rect)

    def grip(self, item: Item, number: int, rect: Rect, step: float) -> None:
        held = Rect(rect.x - _GRIP_WIDTH / 2, rect.y, _GRIP_WIDTH, rect.h)
        self.grips.append(Grip(number, item.handle, held, item.at + item.size, step))

    def rule(self, start: Point, *points: Point, ink: Ink = Ink.LINE, width: float = 1.0, dashed: bool = False) -> None:
        self.lines.append(Path(start, tuple(Move(point) for point in points), ink, width, dashed))

    def taken(self, rect: Rect) -> list[Rect]:
        found = []
        for bucket in range(int(rect.y // _BUCKET) - 1, int(rect.bottom // _BUCKET) + 2):
            found += [
                other
                for other in self._taken[bucket]
                if rect.meets(Rect(other.x - _APART, other.y, other.w + 2 * _APART, other.h))
            ]
        return found

    def crossed(self, rect: Rect) -> bool:
        for line in self.lines:
            for (x0, y0), (x1, y1) in pairwise(line.points(10)):
                if Rect(min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0)).meets(rect):
                    return True
        return False

    def write(
        self,
        place: Point,
        text: str,
        *,
        size: int = NORMAL,
        face: Face = Face.SANS,
        ink: Ink = Ink.TEXT,
        anchor: Anchor = Anchor.START,
        room: float | None = None,
        item: int = NO_ITEM,
        link: Link | None = None,
    ) -> Rect | None:
        """Place a text, cut to `room` pixels; None if it would overlap another text or exceed the page."""
        x, y = place
        fitting = cut(text, self.room if room is None else min(room, self.room), size, face, self.measure)
        if not fitting:
            return None
        wide = self.measure(fitting, size, face)
        x -= {Anchor.START: 0.0, Anchor.MIDDLE: wide / 2, Anchor.END: wide}[anchor]
        rect = Rect(x, y - size * LINE / 2, wide, size * LINE)
        if rect.x < 0 or rect.right > self.width or rect.y < 0 or self.taken(rect):
            return None
        self.texts.append(Text(rect, fitting, size, face, ink, anchor, item, link))
        self._taken[int(rect.middle[1] // _BUCKET)].append(rect)
        return rect

    def within(self, x: float, wide: float) -> float:
        half = wide / 2
        return max(min(x, self.width - half - 2), half + 2)

    def title(self, top: float, text: str, unit: str = "") -> float:
        if not text and not unit:
            return top
        height = NORMAL * LINE
        rect = self.write((self.left, top + height / 2), text, face=Face.BOLD)
        if unit:
            x = (rect.right + 8) if rect is not None else self.left
            room = self.right - x
            self.write((x, top + height / 2), unit, size=SMALL, ink=Ink.MUTED, room=room)
        return top + height + TITLE_GAP


def plain_box(rect: Rect, radius: float = 2.0) -> Box:
    return Box(rect, Tone.FAINT, round=radius)
