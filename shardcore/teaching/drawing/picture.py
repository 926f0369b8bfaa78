"""`Picture`, a drawing as shapes in pixels with item numbers; `DrawingPage` places its texts without overlap."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from shardcore.dataclasses import dataclass, field
from shardcore.model.drawing import Drawing, Item, Link, Tone

Point = tuple[float, float]

NO_ITEM = -1


class Ink(StrEnum):
    TEXT = "text"
    MUTED = "muted"
    FAINT = "faint"
    LINE = "line"
    EDGE = "edge"
    ACCENT = "accent"
    ERROR = "error"


class Face(StrEnum):
    SANS = "sans"
    BOLD = "bold"
    MONO = "mono"


class Anchor(StrEnum):
    START = "start"
    MIDDLE = "middle"
    END = "end"


class Rect(NamedTuple):
    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    @property
    def middle(self) -> Point:
        return self.x + self.w / 2, self.y + self.h / 2

    def meets(self, other: Rect, room: float = 0.0) -> bool:
        return (
            self.x < other.right + room
            and other.x < self.right + room
            and self.y < other.bottom + room
            and other.y < self.bottom + room
        )

    def holds(self, point: Point) -> bool:
        return self.x <= point[0] <= self.right and self.y <= point[1] <= self.bottom

    def grown(self, by: float) -> Rect:
        return Rect(self.x - by, self.y - by, self.w + 2 * by, self.h + 2 * by)

    @property
    def corners(self) -> tuple[Point, ...]:
        return (self.x, self.y), (self.right, self.y), (self.right, self.bottom), (self.x, self.bottom)


@dataclass(frozen=True, slots=True)
class Box:
    rect: Rect
    tone: Tone
    dashed: bool = False
    here: bool = False
    round: float = 3.0
    item: int = NO_ITEM


@dataclass(frozen=True, slots=True)
class Text:
    rect: Rect
    text: str
    size: int
    face: Face = Face.SANS
    ink: Ink = Ink.TEXT
    anchor: Anchor = Anchor.START
    item: int = NO_ITEM
    link: Link | None = None

    @property
    def baseline(self) -> Point:
        x = {Anchor.START: self.rect.x, Anchor.MIDDLE: self.rect.middle[0], Anchor.END: self.rect.right}[self.anchor]
        return x, self.rect.y + self.rect.h / 2 + self.size * 0.36


class Move(NamedTuple):
    """Straight line to a point, or a cubic Bézier curve with the two control points `by`."""

    to: Point
    by: tuple[Point, Point] | None = None


@dataclass(frozen=True, slots=True)
class Path:
    start: Point
    moves: tuple[Move, ...]
    ink: Ink = Ink.EDGE
    width: float = 1.0
    dashed: bool = False
    arrow: bool = False
    fill: Tone | None = None
    item: int = NO_ITEM
    link: Link | None = None

    def points(self, pieces: int = 12) -> list[Point]:
        found, at = [self.start], self.start
        for move in self.moves:
            if move.by is None:
                found.append(move.to)
            else:
                found += [_bezier(at, *move.by, move.to, step / pieces) for step in range(1, pieces + 1)]
            at = move.to
        return found


Shape = Box | Text | Path


@dataclass(frozen=True, slots=True)
class Area:
    item: int
    points: tuple[Point, ...]

    @property
    def bounds(self) -> Rect:
        xs, ys = [x for x, _ in self.points], [y for _, y in self.points]
        return Rect(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))


@dataclass(frozen=True, slots=True)
class Grip:
    """Handle to drag a control, whose value is `end`. `step`: pixels per unit, negative if values grow to the left."""

    item: int
    control: str
    rect: Rect
    end: float
    step: float

    def moved(self, pixels: float) -> int:
        return round(pixels / self.step)


@dataclass(frozen=True, slots=True)
class Picture:
    drawing: Drawing
    width: float
    height: float
    shapes: tuple[Shape, ...]
    areas: tuple[Area, ...]
    grips: tuple[Grip, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        return self.drawing.items

    def stage_of(self, shape: Shape) -> int:
        """Return the stage at which a shape appears; shapes of stage 0 are always visible."""
        if not self.drawing.stages:
            return 0
        if not isinstance(shape, Box) and shape.link is not None:
            return self.drawing.stage_of(shape.link)
        return self.items[shape.item].stage if shape.item != NO_ITEM else 0

    def area_of(self, item: int) -> Rect | None:
        return next((area.bounds for area in self.areas if area.item == item), None)


def _bezier(a: Point, b: Point, c: Point, d: Point, t: float) -> Point:
    u = 1 - t
    p, q, r, s = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
    return p * a[0] + q * b[0] + r * c[0] + s * d[0], p * a[1] + q * b[1] + r * c[1] + s * d[1]


Measure = Callable[[str, int, Face], float]
"""Function that returns the width of a text in pixels, given the text, its size in pixels, and its face."""

SMALL = 11
NORMAL = 13
LARGE = 16

# Advance widths of the letters from space to ~, in thousandths of the size: those of DejaVu Sans, which is wider than
# usual faces, so that texts that fit also fit on other machines.
_SANS = (
    *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636),
    *(636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656),
    *(557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613),
    *(635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818),
    *(592, 592, 525, 636, 337, 636, 838),
)
_BOLDER = 1.12
_MONO = 0.602
_FIGURES = re.compile(r"[0-9A-Fa-fx+\-−.,:… ]*")
_LEAST_LETTERS, _LEAST_TAILED = 2, 9


def measured(text: str, size: int, face: Face) -> float:
    """Return the width of a text in pixels, computed for DejaVu Sans, which is wider than other usual faces."""
    if face is Face.MONO:
        return sum(_MONO if letter.isascii() else _wide(letter) for letter in text) * size
    width = sum(_SANS[ord(letter) - 32] if " " <= letter <= "~" else 1000 * _wide(letter) for letter in text)
    return width * size * (_BOLDER if face is Face.BOLD else 1.0) / 1000


def _wide(letter: str) -> float:
    return 0.7 if ord(letter) < 0x2E80 and letter not in "…—→←½" else 1.0


def cut(text: str, room: float, size: int, face: Face, measure: Measure) -> str:
    """Shorten a text to `room` pixels (keys and numbers in the middle); empty if fewer than two letters would fit."""
    if not text or measure(text, size, face) <= room:
        return text

    def shortened(letters: int) -> str:
        tail = letters // 3 if face is Face.MONO and letters >= _LEAST_TAILED else 0
        return f"{text[: letters - tail].rstrip()}…{text[len(text) - tail :]}"

    low, high = 0, len(text) - 1
    while low < high:
        half = (low + high + 1) // 2
        if measure(shortened(half), size, face) <= room:
            low = half
        else:
            high = half - 1
    return shortened(low) if low >= _LEAST_LETTERS else ""


def lines_of(text: str, room: float, size: int, face: Face, measure: Measure) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer, size, face) <= room:
            lines[-1] = longer
        else:
            lines.append(cut(word, room, size, face, measure) or "…")
    return lines


def face_of(text: str) -> Face:
    return Face.MONO if _FIGURES.fullmatch(text) and any(letter.isdigit() for letter in text) else Face.SANS


def common_face(texts: Iterable[str]) -> Face:
    found = [text for text in texts if text]
    digits = any(letter.isdigit() for text in found for letter in text)
    return Face.MONO if digits and all(_FIGURES.fullmatch(text) for text in found) else Face.SANS


def is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[-−+]?[0-9][0-9,.]*", text))


MARGIN = 18.0
"""Margin around the drawing in pixels, also used by arrows around figures."""
LINE = 1.35
"""Line height, as a factor of the text size."""
TITLE_GAP, _CLOSE_GAP = 11.0, 6.0

_APART = 1.0
_EDGE = 4.0
_BUCKET = 16.0
_GRIP_WIDTH = 8.0
_PAD = 3.0


@dataclass(slots=True)
class DrawingPage:
    """Shapes placed so far; for drawing arrows, also the boxes of items and the rows of tables, by item number."""

    width: float
    measure: Measure
    close: bool = False
    linked: bool = False
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

    @property
    def edges(self) -> tuple[float, float]:
        return self.left - MARGIN + _EDGE, self.right + MARGIN - _EDGE

    def box(self, rect: Rect, item: Item, number: int, *, radius: float = 3.0) -> None:
        self.boxes.append(Box(rect, item.tone, item.computed, item.here, radius, number))
        self.area(rect, number)

    def area(self, rect: Rect, number: int, points: Sequence[Point] = ()) -> None:
        """Make an item clickable in its box, or in the polygon `points` within the box."""
        self.areas.append(Area(number, tuple(points) or rect.corners))
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

    def write_in(self, rect: Rect, item: Item, number: int, *, face: Face | None = None, large: bool = True) -> None:
        face, room = face or face_of(item.text), rect.w - _PAD
        size = NORMAL if large and self.measure(item.text, NORMAL, face) <= room - _PAD else SMALL
        self.write(rect.middle, item.text, size=size, face=face, anchor=Anchor.MIDDLE, room=room, item=number)

    def within(self, x: float, wide: float) -> float:
        half = wide / 2
        return max(min(x, self.width - half - 2), half + 2)

    def title(self, top: float, text: str, unit: str = "") -> float:
        if not text and not unit:
            return top
        height = NORMAL * LINE
        rect = None
        for line in lines_of(text, self.room, NORMAL, Face.BOLD, self.measure) or [""]:
            rect, top = self.write((self.left, top + height / 2), line, face=Face.BOLD), top + height
        if unit:
            x = (rect.right + 8) if rect is not None else self.left
            self.write((x, top - height / 2), unit, size=SMALL, ink=Ink.MUTED, room=self.right - x)
        return top + (_CLOSE_GAP if self.close and not self.linked else TITLE_GAP)
