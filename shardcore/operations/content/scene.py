"""Scene of a mesh, a skeleton or annotations: points, triangles and lines, each with the element it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.model.geometry import POLYLINE
from shardcore.operations.content.geometry import (
    AnnotationsContent,
    GeometryContent,
    MeshContent,
    SkeletonContent,
)

MOST_LINES = 1_000_000

COARSE = 6_000
"""Maximum triangles drawn during rotation."""

RING = 24
"""Lines per circle of an ellipsoid."""

_CORNERS = np.array([[(at >> axis) & 1 for axis in range(3)] for at in range(8)])
_EDGES = np.array([(one, one | 1 << axis) for one in range(8) for axis in range(3) if not one >> axis & 1])

Points = NDArray[np.float32]
Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Points in model space; triangles, lines and dots refer to them by number.

    Attributes:
        points: float32 of shape `(n, 3)`; all finite.
        normals: Unit normal per point; empty without triangles.
        anchors: Points that can be picked, float32 of shape `(k, 3)`.
        things: Number of the vertex, row or fragment of each anchor.
        triangle_things: The same per triangle.
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


def scene_of(found: GeometryContent) -> Scene:
    """Return the scene of a content, without points that are not finite and the triangles and lines that use them."""
    if isinstance(found, MeshContent):
        return _mesh_scene(found)
    if isinstance(found, SkeletonContent):
        vertices, edges = found.skeleton.vertices, found.skeleton.edges
        dots = np.arange(len(vertices), dtype=np.uint32)
        return _scene(vertices, lines=edges, dots=dots, anchors=vertices, things=np.arange(len(vertices)))
    if isinstance(found, AnnotationsContent):
        return _annotations_scene(found)
    return _scene(found.points())


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
    places = _places(points, 1 << 20)
    _, same = np.unique(places, return_inverse=True)
    corners = points[triangles].astype(np.float64)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    owner = same[triangles].ravel()
    sums = np.stack([np.bincount(owner, np.repeat(across[:, axis], 3), len(points)) for axis in range(3)], axis=1)[same]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)


def _mesh_scene(found: MeshContent) -> Scene:
    if len(found.triangles):
        fragments = np.repeat(np.arange(len(found.triangle_starts) - 1), np.diff(found.triangle_starts))
        return _scene(found.vertices, found.triangles, triangle_things=fragments)
    numbers = [number for number, level in enumerate(found.layout.levels) if len(level)]
    if not numbers:
        return _scene(found.vertices)
    boxes = found.layout.boxes(numbers[-1])[: MOST_LINES // 12]
    points, lines = box_lines(boxes[:, 0], boxes[:, 1])
    return _scene(points, lines=lines, anchors=points, things=np.repeat(np.arange(len(boxes)), 8))


def _annotations_scene(found: AnnotationsContent) -> Scene:
    ends, shape = found.annotations.points(), found.annotations.shape
    rows = np.arange(len(ends))
    if shape == "point":
        return _scene(ends[:, 0], dots=rows.astype(np.uint32), anchors=ends[:, 0], things=rows)
    if shape == POLYLINE:
        points, firsts = ends[:, 0], found.annotations.first_vertices
        things = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
        steps = np.flatnonzero(things[1:] == things[:-1])[:MOST_LINES].astype(np.uint32)
        return _scene(points, lines=np.stack([steps, steps + 1], axis=1), anchors=points, things=things)
    if shape == "line":
        points, lines = ends.reshape(-1, 3), np.arange(2 * len(ends), dtype=np.uint32).reshape(-1, 2)
        return _scene(points, lines=lines[:MOST_LINES], anchors=points, things=np.repeat(rows, 2))
    if shape == "ellipsoid":
        ends = ends[: MOST_LINES // (3 * RING)]
        turn = np.linspace(0, 2 * np.pi, RING, endpoint=False)
        circle = np.zeros((3, RING, 3))
        for axis in range(3):
            circle[axis, :, axis - 2], circle[axis, :, axis - 1] = np.cos(turn), np.sin(turn)
        middle, radii = ends.mean(axis=1, dtype=np.float64), (ends[:, 1] - ends[:, 0]) / 2.0
        points = (middle[:, None, None] + radii[:, None, None] * circle).reshape(-1, 3).astype(np.float32)
        here = np.arange(len(points)).reshape(-1, RING)
        lines = np.stack([here, np.roll(here, -1, axis=1)], axis=2).reshape(-1, 2).astype(np.uint32)
        return _scene(points, lines=lines, anchors=points, things=np.repeat(rows[: len(ends)], 3 * RING))
    ends = ends[: MOST_LINES // 12]
    points, lines = box_lines(ends[:, 0].astype(np.float64), ends[:, 1].astype(np.float64))
    return _scene(points, lines=lines, anchors=points, things=np.repeat(rows[: len(ends)], 8))


def _scene(
    points: Points,
    triangles: Numbers | None = None,
    *,
    lines: Numbers | None = None,
    dots: Numbers | None = None,
    anchors: Points | None = None,
    things: NDArray[np.int64] | None = None,
    triangle_things: NDArray[np.int64] | None = None,
) -> Scene:
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
