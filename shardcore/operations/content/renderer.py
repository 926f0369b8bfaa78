"""Rendering of triangles, lines and dots with NumPy: orthographic, with a depth buffer.

They become batches of pixels with a depth, so there is no Python loop over triangles or pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.model.objects import steps_by_sum

MOST_LINES = 1_000_000

COARSE = 6_000
"""Maximum triangles drawn during rotation."""

_CORNERS = np.array([[(at >> axis) & 1 for axis in range(3)] for at in range(8)])
_EDGES = np.array([(one, one | 1 << axis) for one in range(8) for axis in range(3) if not one >> axis & 1])

Points = NDArray[np.float32]
Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Points in model space, and the triangles, lines and dots between them, which refer to points by number.

    Attributes:
        points: float32 of shape `(n, 3)`; all finite.
        normals: Unit normal per point; empty without triangles.
        anchors: Points that a user can pick with the mouse, float32 of shape `(k, 3)`.
        things: Number of the vertex, row or fragment to which each anchor belongs.
        triangle_things: Number of the fragment to which each triangle belongs.
    """

    points: Points
    triangles: Numbers
    normals: Points
    lines: Numbers
    dots: Numbers
    anchors: Points
    things: NDArray[np.int64]
    triangle_things: NDArray[np.int64]

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if not len(self.points):
            return np.zeros(3), np.zeros(3)
        return self.points.min(axis=0).astype(np.float64), self.points.max(axis=0).astype(np.float64)


def coarse_scene(scene: Scene, most: int = COARSE) -> Scene:
    """Return a simplified scene for drawing during rotation; a small scene is returned unchanged.

    Vertices are merged by grid cell, so the surface stays closed.
    """
    if len(scene.triangles) <= most and len(scene.lines) <= most and len(scene.dots) <= most:
        return scene
    triangles, normals, points = scene.triangles, scene.normals, scene.points
    cells = 128
    while len(triangles) > most and cells > 4:
        points, triangles = _clustered(scene.points, scene.triangles, cells)
        normals = normals_of(points, triangles)
        cells = cells * 2 // 3
    step = max(len(scene.lines) // most, 1), max(len(scene.dots) // most, 1)
    lines, dots = scene.lines[:: step[0]], scene.dots[:: step[1]]
    if len(scene.triangles) > most:
        lines, dots = lines[:0], dots[:0]
    owners = np.zeros(len(triangles), np.int64)
    return Scene(points, triangles, normals, lines, dots, scene.anchors, scene.things, owners)


def box_lines(low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[Points, Numbers]:
    """Return the corners and edges of boxes; `low` and `high` are opposite corners, shape `(n, 3)`."""
    ends = np.stack([low, high], axis=1)
    corners = ends[:, _CORNERS, np.arange(3)].reshape(-1, 3).astype(np.float32)
    lines = (8 * np.arange(len(low))[:, None, None] + _EDGES).reshape(-1, 2)
    return corners, lines.astype(np.uint32)


def normals_of(points: Points, triangles: Numbers) -> Points:
    """Return a unit normal per point; points at the same position have the same normal."""
    if not len(triangles):
        return np.zeros((0, 3), np.float32)
    _, same = np.unique(_places(points, 1 << 20), return_inverse=True)
    corners = points[triangles].astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    owner = same[triangles].ravel()
    sums = np.stack([np.bincount(owner, np.repeat(across[:, axis], 3), len(points)) for axis in range(3)], axis=1)[same]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


def scene_of(
    points: Points,
    triangles: Numbers | None = None,
    *,
    lines: Numbers | None = None,
    dots: Numbers | None = None,
    anchors: Points | None = None,
    things: NDArray[np.int64] | None = None,
    triangle_things: NDArray[np.int64] | None = None,
) -> Scene:
    """Return a scene without points that are not finite, and without the triangles and lines that use them."""
    points = np.asarray(points, np.float32)
    fine = _sound(points)
    none = np.zeros((0, 3), np.uint32)
    triangles, lines = none if triangles is None else triangles, none[:, :2] if lines is None else lines
    dots = none[:, 0] if dots is None else dots
    owners = np.zeros(len(triangles), np.int64) if triangle_things is None else triangle_things
    anchors = points[:0] if anchors is None else anchors
    things = np.zeros(len(anchors), np.int64) if things is None else things
    if not fine.all():
        kept = fine[triangles].all(axis=1)
        triangles, owners = triangles[kept], owners[kept]
        lines, dots = lines[fine[lines].all(axis=1)], dots[fine[dots]]
        sound = _sound(anchors)
        anchors, things = anchors[sound], things[sound]
        # Invalid points are moved onto a valid one instead of being removed: numbers of points must not change.
        points = np.where(fine[:, None], points, points[np.argmax(fine)] if fine.any() else np.float32(0))
    return Scene(points, triangles, normals_of(points, triangles), lines, dots, anchors, things, owners)


def _sound(points: Points) -> NDArray[np.bool_]:
    return np.asarray((np.isfinite(points) & (np.abs(points) < 1e30)).all(axis=1))


def _places(points: Points, cells: int) -> NDArray[np.int64]:
    """Return the number of the grid cell of each point; at most 2**20 cells along an axis."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = max(float((high.astype(np.float64) - low).max()), 1e-30)
    at = np.clip((points.astype(np.float64) - low) * ((cells - 1) / span), 0, cells - 1).astype(np.int64)
    return np.asarray(at[:, 0] << 42 | at[:, 1] << 21 | at[:, 2])


def _clustered(points: Points, triangles: Numbers, cells: int) -> tuple[Points, Numbers]:
    """Merge the points of each grid cell; triangles within one cell are dropped."""
    _, first, same = np.unique(_places(points, cells), return_index=True, return_inverse=True)
    joined = same[triangles]
    flat = (joined[:, 0] == joined[:, 1]) | (joined[:, 1] == joined[:, 2]) | (joined[:, 0] == joined[:, 2])
    return points[first], joined[~flat].astype(np.uint32)


PICTURE = 512
"""Edge length of an exported picture, in pixels."""

BATCH = 1 << 20
"""Pixels of triangles computed in one batch."""

MOST_PIXELS = 1 << 25
"""Maximum pixels of all triangles, hidden ones included; beyond it, triangles are skipped evenly."""

LIGHT = np.array([-0.35, 0.45, 0.82])
AMBIENT = 0.25
FIT = 0.98
"""Fraction of the picture that the scene fills at zoom 1."""

TILTED = (0.35, -0.6)
"""Initial rotation around x, then y, in radians."""


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """View of a scene: rotation `(3, 3)` from model to view (x right, y up, z to the viewer); zoom 1 fits it."""

    rotation: NDArray[np.float64]
    zoom: float = 1.0

    @classmethod
    def first(cls) -> Self:
        return cls(turned(np.eye(3), *TILTED))

    def turn(self, across: float, down: float) -> Self:
        """Return a camera that is turned around the axes of the view, in radians."""
        return replace(self, rotation=turned(self.rotation, down, across))

    def zoomed(self, factor: float) -> Self:
        return replace(self, zoom=min(max(self.zoom * factor, 0.05), 200.0))


def turned(rotation: NDArray[np.float64], around_x: float, around_y: float) -> NDArray[np.float64]:
    """Return a rotation followed by rotations around x and y, in radians."""
    x, y = np.eye(3), np.eye(3)
    x[1:, 1:] = [[np.cos(around_x), -np.sin(around_x)], [np.sin(around_x), np.cos(around_x)]]
    y[0, 0] = y[2, 2] = np.cos(around_y)
    y[0, 2], y[2, 0] = np.sin(around_y), -np.sin(around_y)
    # Orthonormalize: rounding errors would deform the scene after many rotations.
    sound, _ = np.linalg.qr((x @ y @ rotation).T)
    sound = sound.T * np.sign(np.sum(sound.T * (x @ y @ rotation), axis=1))[:, None]
    return np.asarray(sound)


@dataclass(frozen=True, slots=True, eq=False)
class Shaded:
    """Picture of a scene; arrays have shape `(rows, columns)`.

    Attributes:
        light: Brightness from 0 to 1.
        hit: What each pixel shows: the index of a triangle, `LINE` + index of a line, `DOT` + index of a point, or -1.
        things: Per pixel: value of `Scene.triangle_things` for the triangle; -1 for none.
    """

    light: NDArray[np.float32]
    hit: NDArray[np.int64]
    things: NDArray[np.int64]
    camera: Camera
    scale: float
    middle: NDArray[np.float64]

    def project(self, points: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Project points of the model to column, row and depth, shape `(n, 3)`."""
        rows, columns = self.light.shape
        return _projected(points, self.camera.rotation, self.scale, self.middle, columns, rows)


_CLOSE = np.float32(1e-5)

LINE = 1 << 40
"""First value of `Shaded.hit` for lines."""
DOT = 1 << 41
"""First value of `Shaded.hit` for dots."""


def shade(
    scene: Scene,
    camera: Camera,
    columns: int,
    rows: int,
    *,
    wide: float = 1.0,
    check: Callable[[], None] | None = None,
) -> Shaded:
    """Render a scene. `wide` scales the width of lines and dots; `check` is called often, and may raise to cancel."""
    columns, rows = max(columns, 1), max(rows, 1)
    low, high = scene.bounds
    middle, reach = (low + high) / 2, float(np.linalg.norm(high - low))
    scale = camera.zoom * FIT * min(columns, rows) / reach if reach > 0 else 1.0
    places = _projected(scene.points, camera.rotation, scale, middle, columns, rows)
    canvas = _Canvas(columns, rows, check)
    if len(scene.triangles):
        facing = np.abs(scene.normals @ (camera.rotation.T @ (LIGHT / np.linalg.norm(LIGHT))))
        _triangles(canvas, places, scene.triangles, (AMBIENT + (1 - AMBIENT) * facing).astype(np.float32))
    depth = scale * reach or 1.0
    _lines(canvas, places, scene.lines, depth, max(round(1.5 * wide), 1))
    for done in range(0, len(scene.dots), 1 << 16):
        part, radius = scene.dots[done : done + (1 << 16)], 2.5 * wide if len(scene.lines) else 3.5 * wide
        _stamp(canvas, places[part], depth, radius, part.astype(np.int64) + DOT, dots=True)
    light, hit = canvas.light.reshape(rows, columns), canvas.hit.reshape(rows, columns)
    things = np.full(hit.shape, -1, np.int64)
    there = (hit >= 0) & (hit < LINE)
    things[there] = scene.triangle_things[hit[there]]
    return Shaded(light, hit, things, camera, scale, middle)


def picture_of(scene: Scene) -> NDArray[np.uint8]:
    """Render a scene in grey on white; return uint8 of shape `(512, 512)`."""
    seen = shade(scene, Camera.first(), 2 * PICTURE, 2 * PICTURE, wide=2)
    light = np.where(seen.hit >= 0, 0.8 * seen.light, 1)
    pixels: NDArray[np.uint8] = (light.reshape(PICTURE, 2, PICTURE, 2).mean(axis=(1, 3)) * 255).astype(np.uint8)
    return pixels


def _projected(
    points: NDArray[np.floating[Any]],
    rotation: NDArray[np.float64],
    scale: float,
    middle: NDArray[np.float64],
    columns: int,
    rows: int,
) -> NDArray[np.float64]:
    seen = (points.astype(np.float64) - middle) @ rotation.T * scale
    return np.stack([columns / 2 + seen[:, 0], rows / 2 - seen[:, 1], seen[:, 2]], axis=1)


class _Canvas:
    def __init__(self, columns: int, rows: int, check: Callable[[], None] | None = None) -> None:
        self.columns, self.rows, self._check = columns, rows, check
        self.light = np.zeros(columns * rows, np.float32)
        self.depth = np.full(columns * rows, -np.inf, np.float32)
        self.hit = np.full(columns * rows, -1, np.int64)

    def put(
        self,
        pixel: NDArray[np.int64],
        depth: NDArray[np.float32],
        light: NDArray[np.float32],
        thing: NDArray[np.int64],
    ) -> None:
        if self._check is not None:
            self._check()
        before = self.depth[pixel]
        np.maximum.at(self.depth, pixel, depth)
        near = np.flatnonzero((depth == self.depth[pixel]) & (depth > before))
        at = pixel[near]
        self.light[at], self.hit[at] = light[near], thing[near]


def _triangles(
    canvas: _Canvas, places: NDArray[np.float64], triangles: NDArray[np.uint32], light: NDArray[np.float32]
) -> None:
    corners = places[:, :2][triangles]
    edge = np.array([canvas.columns, canvas.rows])
    first = np.clip(np.ceil(corners.min(axis=1) - 0.5), 0, edge).astype(np.int64)
    last = np.clip(np.floor(corners.max(axis=1) - 0.5) + 1, 0, edge).astype(np.int64)
    size = np.maximum(last - first, 0)
    area = size[:, 0] * size[:, 1]
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    whole = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    shown = np.flatnonzero((area > 0) & (np.abs(whole) > 1e-12))
    shown = shown[:: max(-(-int(area[shown].sum()) // MOST_PIXELS), 1)]
    # Barycentric coordinates of the second and third corner are affine in x, y: value at the first pixel plus slopes.
    one, two, whole = one[shown], two[shown], whole[shown, None]
    away = first[shown] + 0.5 - corners[shown, 0]
    across = np.stack([two[:, 1], -one[:, 1]], axis=1) / whole
    down = np.stack([-two[:, 0], one[:, 0]], axis=1) / whole
    origin = across * away[:, :1] + down * away[:, 1:]
    shares = np.concatenate([origin, across, down], axis=1).astype(np.float32)
    depths, lights = places[triangles[shown], 2].astype(np.float32), light[triangles[shown]]
    boxes, counts = size[shown, 0].astype(np.int32), area[shown]
    corner = first[shown, 1] * canvas.columns + first[shown, 0]
    ends = np.cumsum(counts)
    for some in steps_by_sum(counts, BATCH):
        done, stop = some.start, some.stop
        before = int(ends[done - 1]) if done else 0
        batch = np.arange(done, stop)
        owner = np.repeat(batch, counts[done:stop])
        within = (np.arange(before, int(ends[stop - 1])) - (ends - counts)[owner]).astype(np.int32)
        y, x = np.divmod(within, boxes[owner])
        part = np.repeat(shares[done:stop], counts[done:stop], axis=0)
        right, below = x.astype(np.float32), y.astype(np.float32)
        b = part[:, 0] + part[:, 2] * right + part[:, 4] * below
        c = part[:, 1] + part[:, 3] * right + part[:, 5] * below
        inside = np.flatnonzero((b >= -_CLOSE) & (c >= -_CLOSE) & (b + c <= 1 + _CLOSE))
        owner, b, c = owner[inside], b[inside], c[inside]
        z, bright = depths[owner], lights[owner]
        a = 1 - b - c
        canvas.put(
            corner[owner] + y[inside].astype(np.int64) * canvas.columns + x[inside],
            z[:, 0] * a + z[:, 1] * b + z[:, 2] * c,
            bright[:, 0] * a + bright[:, 1] * b + bright[:, 2] * c,
            shown[owner],
        )


def _lines(canvas: _Canvas, places: NDArray[np.float64], lines: NDArray[np.uint32], reach: float, width: int) -> None:
    if not len(lines):
        return
    ends = places[lines]
    # A line that is much longer than the picture is drawn with gaps, to bound the work.
    steps = np.clip(np.abs(ends[:, 1, :2] - ends[:, 0, :2]).max(axis=1), 1, 4 * (canvas.columns + canvas.rows))
    counts = steps.astype(np.int64) + 2
    for done in range(0, len(lines), 1 << 14):
        part = np.arange(done, min(done + (1 << 14), len(lines)))
        owner = np.repeat(part, counts[part])
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts[part]) - counts[part], counts[part])
        share = (within / np.maximum(counts[owner] - 1, 1))[:, None]
        _stamp(canvas, ends[owner, 0] * (1 - share) + ends[owner, 1] * share, reach, width / 2, owner + LINE)


def _stamp(
    canvas: _Canvas,
    places: NDArray[np.float64],
    reach: float,
    radius: float,
    things: NDArray[np.int64],
    *,
    dots: bool = False,
) -> None:
    around = np.arange(-int(np.ceil(radius)), int(np.ceil(radius)) + 1)
    inside = (places[:, 0] > -radius) & (places[:, 0] < canvas.columns + radius)
    inside &= (places[:, 1] > -radius) & (places[:, 1] < canvas.rows + radius)
    places, things = places[inside], things[inside]
    light = np.clip(0.78 + 0.45 * places[:, 2] / reach, 0.5, 1).astype(np.float32)
    for down in around:
        for across in around:
            x = np.floor(places[:, 0] + across).astype(np.int64)
            y = np.floor(places[:, 1] + down).astype(np.int64)
            off = np.hypot(x + 0.5 - places[:, 0], y + 0.5 - places[:, 1])
            kept = (off <= radius + 0.2) & (x >= 0) & (x < canvas.columns) & (y >= 0) & (y < canvas.rows)
            # Dots are drawn over the lines that end in them.
            depth = (places[kept, 2] + (2 * radius if dots else 0)).astype(np.float32)
            canvas.put(y[kept] * canvas.columns + x[kept], depth, light[kept], things[kept])
