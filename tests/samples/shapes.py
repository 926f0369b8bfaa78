"""Shapes of the segmented sample: voxels, meshes of several levels, skeletons."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.neuroglancer.layout import MANIFEST_HEAD, MeshManifest
from shardcore.formats.neuroglancer.morton import encode

SIZE = 64
"""Voxels along each edge."""
VOXEL = 16.0
"""Nanometres of a voxel."""
BITS = 10
CELL = SIZE * VOXEL / 2
"""Edge of a cell of the finest level."""
Points = NDArray[np.float64]
Faces = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ball:
    """Ball, in voxels."""

    centre: tuple[float, float, float]
    radius: float

    def distance(self, places: Points) -> Points:
        """Return how far places are outside, negative inside; last axis x, y, z."""
        return np.asarray(np.linalg.norm(places - np.array(self.centre), axis=-1) - self.radius)

    def mesh(self, detail: int) -> tuple[Points, Faces]:
        """Return its surface: `2 * detail` meridians."""
        turn = np.linspace(0, 2 * np.pi, 2 * detail, endpoint=False)
        tilt = np.linspace(0, np.pi, detail + 1)[1:-1]
        across = np.sin(tilt)[:, None, None] * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
        rings = across + np.cos(tilt)[:, None, None] * np.array([0, 0, 1])
        points, faces = _closed_rings(rings)
        return np.array(self.centre) + self.radius * points, faces


@dataclass(frozen=True, slots=True)
class Ring:
    """Torus around an axis, in voxels."""

    centre: tuple[float, float, float]
    axis: tuple[float, float, float]
    radius: float
    thickness: float

    def _frame(self) -> tuple[Points, Points, Points]:
        axis = np.array(self.axis) / np.linalg.norm(self.axis)
        side = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
        side /= np.linalg.norm(side)
        return axis, side, np.cross(axis, side)

    def distance(self, places: Points) -> Points:
        """As `Ball.distance`."""
        axis, side, other = self._frame()
        away = places - np.array(self.centre)
        flat = np.hypot(away @ side, away @ other) - self.radius
        return np.asarray(np.hypot(flat, away @ axis) - self.thickness)

    def mesh(self, detail: int) -> tuple[Points, Faces]:
        """Return its surface: `detail` points around the tube."""
        axis, side, other = self._frame()
        turn = np.linspace(0, 2 * np.pi, 3 * detail, endpoint=False)
        out = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other
        round_ = np.linspace(0, 2 * np.pi, detail, endpoint=False)
        tube = np.cos(round_)[None, :, None] * out[:, None] + np.sin(round_)[None, :, None] * axis
        points = np.array(self.centre) + self.radius * out[:, None] + self.thickness * tube
        rows, columns = points.shape[:2]
        return points.reshape(-1, 3), _grid_faces(rows, columns, turns=True)

    def path(self, count: int) -> tuple[Points, Faces]:
        """Return its middle line as points and edges."""
        _, side, other = self._frame()
        turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
        points = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * other
        pairs = np.stack([np.arange(count), (np.arange(count) + 1) % count], axis=1)
        return np.array(self.centre) + self.radius * points, pairs


@dataclass(frozen=True, slots=True)
class Tree:
    """Branching tube, in voxels: points with a radius, and the point that each grows from."""

    points: tuple[tuple[float, float, float, float], ...]
    parents: tuple[int, ...]

    def segments(self) -> list[tuple[Points, Points]]:
        """Return both ends of each piece, with their radii."""
        ends = np.array(self.points)
        return [(ends[parent], ends[at]) for at, parent in enumerate(self.parents) if parent >= 0]

    def distance(self, places: Points) -> Points:
        """As `Ball.distance`."""
        found = np.full(places.shape[:-1], np.inf)
        for first, last in self.segments():
            along = last[:3] - first[:3]
            share = np.clip((places - first[:3]) @ along / (along @ along), 0, 1)
            away = np.linalg.norm(places - first[:3] - share[..., None] * along, axis=-1)
            found = np.minimum(found, away - (first[3] + share * (last[3] - first[3])))
        return found

    def mesh(self, detail: int) -> tuple[Points, Faces]:
        """Return its surface: a tapered capsule for each piece."""
        points, faces, count = [], [], 0
        for first, last in self.segments():
            axis = (last - first)[:3] / np.linalg.norm((last - first)[:3])
            side = np.cross(axis, [0.0, 0.0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0.0, 0.0])
            side /= np.linalg.norm(side)
            turn = np.linspace(0, 2 * np.pi, detail, endpoint=False)
            out = np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * np.cross(axis, side)
            caps = max(detail // 5, 2)
            tilt = np.linspace(0, np.pi / 2, caps + 1)[1:]
            rings = [first[:3] + first[3] * (np.sin(one) * out - np.cos(one) * axis) for one in tilt]
            rings += [last[:3] + last[3] * (np.sin(one) * out + np.cos(one) * axis) for one in tilt[::-1]]
            ends = first[:3] - first[3] * axis, last[:3] + last[3] * axis
            part, there = _closed_rings(np.array(rings), ends)
            points.append(part)
            faces.append(there + count)
            count += len(part)
        return np.concatenate(points), np.concatenate(faces)

    def path(self, step: float) -> tuple[Points, Faces, Points]:
        """Return points, edges and radii of its middle lines, about `step` voxels apart."""
        points, pairs = [np.array(self.points[0])], []
        at = {0: 0}
        for number, parent in enumerate(self.parents):
            if parent < 0:
                continue
            first, last = np.array(self.points[parent]), np.array(self.points[number])
            pieces = max(round(float(np.linalg.norm((last - first)[:3])) / step), 1)
            before = at[parent]
            for piece in range(1, pieces + 1):
                points.append(first + (last - first) * piece / pieces)
                pairs.append((before, len(points) - 1))
                before = len(points) - 1
            at[number] = before
        found = np.array(points)
        return found[:, :3], np.array(pairs), found[:, 3]


def _grid_faces(rows: int, columns: int, *, turns: bool) -> Faces:
    """Triangles of a grid of points whose columns, and rows if it `turns`, are closed."""
    row, column = (one.ravel() for one in np.mgrid[0 : rows if turns else rows - 1, 0:columns])
    here, right = row * columns + column, row * columns + (column + 1) % columns
    below, across = (row + 1) % rows * columns + column, (row + 1) % rows * columns + (column + 1) % columns
    return np.concatenate([np.stack([here, below, right], axis=1), np.stack([right, below, across], axis=1)])


def _closed_rings(rings: Points, ends: tuple[Points, Points] | None = None) -> tuple[Points, Faces]:
    """Surface through rings of points, closed by a point at both ends: by default the poles of a unit ball."""
    first, last = ends or (np.array([0.0, 0, 1]), np.array([0.0, 0, -1]))
    rows, columns = rings.shape[:2]
    points = np.concatenate([rings.reshape(-1, 3), [first], [last]])
    here = np.arange(columns)
    after, base, count = (here + 1) % columns, (rows - 1) * columns, rows * columns
    caps = [
        np.stack([np.full(columns, count), here, after], axis=1),
        np.stack([base + after, base + here, np.full(columns, count + 1)], axis=1),
    ]
    return points, np.concatenate([_grid_faces(rows, columns, turns=False), *caps])


def clipped(corners: Points, plane: float, axis: int) -> Points:
    """Return triangles, shape `(n, 3, 3)`, cut along a plane of one axis: none crosses it."""
    side = np.sign(corners[:, :, axis] - plane)
    crossing = (side.min(axis=1) < 0) & (side.max(axis=1) > 0)
    found = [corners[~crossing]]
    for triangle in corners[crossing]:
        for sign in (-1, 1):
            kept: list[Points] = []
            for one, two in zip(triangle, np.roll(triangle, -1, axis=0), strict=True):
                first, second = sign * (one[axis] - plane), sign * (two[axis] - plane)
                if first >= 0:
                    kept.append(one)
                if first * second < 0:
                    cut = one + (two - one) * first / (first - second)
                    cut[axis] = plane
                    kept.append(cut)
            fan = [np.array([[kept[0], kept[at], kept[at + 1]]]) for at in range(1, len(kept) - 1)]
            found += fan
    return np.concatenate(found)


def mesh_value(shape: Any, details: Sequence[int]) -> tuple[bytes, bytes]:
    """Return the manifest of a shape, and its fragments.

    Args:
        shape: One of the classes above.
        details: Detail of each level, the finest first: two of them.
    """
    levels, encoded = [], []
    for level, detail in enumerate(details):
        points, faces = shape.mesh(detail)
        corners = points[faces] * VOXEL
        for axis in range(3):
            corners = clipped(corners, CELL, axis)
        edge = CELL * 2**level
        cells = np.minimum((corners.mean(axis=1) // edge).astype(int), 1)
        order = sorted({tuple(cell) for cell in cells.tolist()}, key=lambda cell: encode(cell, (2, 2, 2)))
        parts = [_fragment(corners[(cells == cell).all(axis=1)], np.array(cell) * edge, edge) for cell in order]
        levels.append((np.array(order, np.uint32).T.reshape(3, -1), np.array(list(map(len, parts)), np.uint32)))
        encoded += parts
    manifest = MeshManifest(
        (CELL, CELL, CELL),
        (0.0, 0.0, 0.0),
        np.array([VOXEL * 2**level for level in range(len(details))], np.float32),
        np.zeros((len(details), 3), np.float32),
        tuple(positions for positions, _ in levels),
        tuple(sizes for _, sizes in levels),
    )
    return write_manifest(manifest), b"".join(encoded)


def write_manifest(manifest: MeshManifest) -> bytes:
    head = np.array([(*manifest.chunk_shape, *manifest.grid_origin, len(manifest.lod_scales))], MANIFEST_HEAD.dtype)
    parts = [
        manifest.lod_scales.astype("<f4"),
        manifest.vertex_offsets.astype("<f4"),
        np.array([len(sizes) for sizes in manifest.sizes], "<u4"),
    ]
    for positions, sizes in zip(manifest.positions, manifest.sizes, strict=True):
        parts += [positions.astype("<u4"), sizes.astype("<u4")]
    return MANIFEST_HEAD.write(head) + b"".join(part.tobytes() for part in parts)


def _fragment(corners: Points, low: Points, edge: float) -> bytes:
    """Triangles of one cell, quantised and encoded by Draco."""
    import DracoPy

    most = 2**BITS - 1
    whole = np.clip(np.rint((corners - low) / edge * most), 0, most).astype(np.int64)
    points, places = np.unique(whole.reshape(-1, 3), axis=0, return_inverse=True)
    faces = places.reshape(-1, 3)
    flat = (faces[:, 0] == faces[:, 1]) | (faces[:, 1] == faces[:, 2]) | (faces[:, 0] == faces[:, 2])
    encoded: bytes = DracoPy.encode(
        points.astype(np.float32),
        faces[~flat].astype(np.uint32),
        quantization_bits=BITS,
        compression_level=7,
        quantization_range=most,
        quantization_origin=[0.0, 0.0, 0.0],
    )
    return encoded


def skeleton_value(points: Points, pairs: Faces, radii: Points) -> bytes:
    """Return a skeleton with an attribute, its radius; all in nanometres."""
    head = struct.pack("<II", len(points), len(pairs)) + (points * VOXEL).astype("<f4").tobytes()
    return head + pairs.astype("<u4").tobytes() + (radii * VOXEL).astype("<f4").tobytes()


def voxels(shapes: dict[int, Any], step: int) -> NDArray[np.uint64]:
    """Return the segment of each voxel at a scale `step` times as coarse: axes x, y, z."""
    axes = (np.arange(SIZE // step) + 0.5) * step
    places = np.stack(np.meshgrid(axes, axes, axes, indexing="ij"), axis=-1)
    found = np.zeros(places.shape[:3], np.uint64)
    for segment, shape in shapes.items():
        found[shape.distance(places) < 0] = segment
    return found
