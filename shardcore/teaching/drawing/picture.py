"""A placed drawing: shapes in pixels, each with the number of its item. No colours, no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

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
    """Handle of a control: `end` is its value, `step` pixels per unit, negative if values grow to the left."""

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
