"""A drawing that has its place: shapes in pixels, each knowing the item it shows. No colours yet, and no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from shardcore.model.drawing import Drawing, Item, Link, Tone

Point = tuple[float, float]

NO_ITEM = -1
"""The item of shapes that belong to none."""


class Ink(StrEnum):
    """Pen or colour of a line or a text."""

    TEXT = "text"
    MUTED = "muted"
    FAINT = "faint"
    LINE = "line"
    EDGE = "edge"
    ACCENT = "accent"
    ERROR = "error"


class Face(StrEnum):
    """The face of a text."""

    SANS = "sans"
    BOLD = "bold"
    MONO = "mono"


class Anchor(StrEnum):
    """Part of a text that its position refers to."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


class Rect(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        """One past its last column."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """One past its last row."""
        return self.y + self.h

    @property
    def middle(self) -> Point:
        """Its centre."""
        return self.x + self.w / 2, self.y + self.h / 2

    def meets(self, other: Rect, room: float = 0.0) -> bool:
        """Return whether two rectangles have points in common, or are nearer than `room`."""
        return (
            self.x < other.right + room
            and other.x < self.right + room
            and self.y < other.bottom + room
            and other.y < self.bottom + room
        )

    def holds(self, point: Point) -> bool:
        """Return whether a point is inside."""
        return self.x <= point[0] <= self.right and self.y <= point[1] <= self.bottom

    def grown(self, by: float) -> Rect:
        """Return the rectangle with a margin around it."""
        return Rect(self.x - by, self.y - by, self.w + 2 * by, self.h + 2 * by)

    @property
    def corners(self) -> tuple[Point, ...]:
        """Its four corners, in the order of the clock."""
        return (self.x, self.y), (self.right, self.y), (self.right, self.bottom), (self.x, self.bottom)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with a tint; its hatch follows from its tone.

    Attributes:
        rect: The rectangle.
        tone: What it is; `EMPTY` and `FAINT` are not filled.
        dashed: Whether it is computed: its outline is dashed.
        here: Whether it has the frame of what the lookup is about.
        round: Radius of its corners.
        item: The number of its item in the picture, or `NO_ITEM`.
    """

    rect: Rect
    tone: Tone
    dashed: bool = False
    here: bool = False
    round: float = 3.0
    item: int = NO_ITEM


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text.

    Attributes:
        rect: The room that it takes.
        text: What it states.
        size: In pixels.
        face: Its face.
        ink: Its colour.
        anchor: The side at which it is held, should another font be narrower.
        item: The number of its item, or `NO_ITEM`.
        link: The arrow that it stands at, or None.
    """

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
        """Return where it is written: the side it is held at, and its base line."""
        x = {Anchor.START: self.rect.x, Anchor.MIDDLE: self.rect.middle[0], Anchor.END: self.rect.right}[self.anchor]
        return x, self.rect.y + self.rect.h / 2 + self.size * 0.36


class Move(NamedTuple):
    """A piece of a path: to a point; straight, or by two control points."""

    to: Point
    by: tuple[Point, Point] | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A line or an outline.

    Attributes:
        start: Start.
        moves: How it goes on.
        ink: Its colour.
        width: Of the line, in pixels.
        dashed: Whether it is dashed.
        arrow: Whether it ends in a head.
        fill: The tint inside; None for a line.
        item: The number of its item, or `NO_ITEM`.
        link: The arrow that it is, or a piece of; None for other lines.
    """

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
        """Points along it, near enough for hit tests."""
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
    """Area of an item for the pointer.

    Attributes:
        item: Its number.
        points: The corners of a polygon.
    """

    item: int
    points: tuple[Point, ...]

    @property
    def bounds(self) -> Rect:
        """The rectangle around it."""
        xs, ys = [x for x, _ in self.points], [y for _, y in self.points]
        return Rect(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))


@dataclass(frozen=True, slots=True)
class Grip:
    """The upper end of an item, to be dragged.

    Attributes:
        item: The number of the item.
        control: The control that it sets.
        rect: Where it is seen and taken hold of.
        end: The upper end as it is, in the unit of the figure.
        step: Pixels to the right for one more of the unit; negative where numbers grow to the left.
    """

    item: int
    control: str
    rect: Rect
    end: float
    step: float

    def moved(self, pixels: float) -> int:
        """Return how many units more the upper end is after it was dragged so far to the right."""
        return round(pixels / self.step)


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing with everything in its place, in pixels at 100 %.

    Attributes:
        drawing: What is shown.
        width: Of the whole.
        height: Of the whole.
        shapes: From back to front.
        areas: Where each item can be pointed at, in the order in which a keyboard goes through them.
        grips: What can be dragged.
    """

    drawing: Drawing
    width: float
    height: float
    shapes: tuple[Shape, ...]
    areas: tuple[Area, ...]
    grips: tuple[Grip, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """The items, by the numbers that shapes and areas have."""
        return self.drawing.items

    def stage_of(self, shape: Shape) -> int:
        """Return the stage of the walk at which a shape appears; 0 is there from the start."""
        if not self.drawing.stages:
            return 0
        if not isinstance(shape, Box) and shape.link is not None:
            return self.drawing.stage_of(shape.link)
        return self.items[shape.item].stage if shape.item != NO_ITEM else 0

    def area_of(self, item: int) -> Rect | None:
        """Return the rectangle around the first place of an item; None where it is not drawn."""
        return next((area.bounds for area in self.areas if area.item == item), None)


def _bezier(a: Point, b: Point, c: Point, d: Point, t: float) -> Point:
    u = 1 - t
    p, q, r, s = u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t
    return p * a[0] + q * b[0] + r * c[0] + s * d[0], p * a[1] + q * b[1] + r * c[1] + s * d[1]
