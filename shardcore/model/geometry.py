"""Geometry of objects: levels of a mesh, skeletons, annotations, and the bytes of each part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field, replace
from shardcore.model.span import Span

VERTEX_SIZE = 12
"""Bytes of a stored vertex: three float32."""

POLYLINE = "polyline"

IDENTITY = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
"""Identity transform: 3 rows of 4 numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """Geometry of an object. `unit` is the unit of coordinates; empty if unknown or different per axis."""

    unit: str = "nm"

    def with_spans(self, place: Callable[[Span], Span]) -> Self:
        return self


@dataclass(frozen=True, slots=True, eq=False)
class MeshLevel:
    """Level of detail of a mesh.

    Attributes:
        scale: Size of details in model units (1 for the finest level by default).
        offset: Numbers to add to the vertices along x, y, z: float64, shape `(3,)`.
        positions: Grid cells of the fragments, uint32, shape `(n, 3)`.
        starts: Offset of each fragment, and the end of the last: int64, shape `(n + 1,)`.
    """

    scale: float
    offset: NDArray[np.float64]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def nbytes(self) -> int:
        return int(self.starts[-1] - self.starts[0])


@dataclass(frozen=True, slots=True, eq=False)
class MeshLayout(Geometry):
    """Layout of a multi-resolution mesh: a grid, and for each level the grid cells that have a fragment.

    Attributes:
        chunk_shape: Size of a cell of the finest level along x, y, z: float64, shape `(3,)`.
        grid_origin: Lowest corner of the grid: float64, shape `(3,)`.
        levels: Levels, the finest first.
        bits: Bits of a quantised coordinate; 0: vertices are stored in model coordinates.
        transform: Matrix from stored coordinates to model space: float64, shape `(3, 4)`.
        stored: Bytes of all fragments.
    """

    chunk_shape: NDArray[np.float64] = field(default_factory=lambda: np.ones(3))
    grid_origin: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    levels: tuple[MeshLevel, ...] = ()
    bits: int = 16
    transform: NDArray[np.float64] = field(default_factory=lambda: np.array(IDENTITY).reshape(3, 4))
    stored: Span = field(default_factory=lambda: Span("", 0, 0))

    def with_spans(self, place: Callable[[Span], Span]) -> Self:
        return replace(self, stored=place(self.stored))

    def fragment_span(self, level: int, fragment: int) -> Span:
        starts = self.levels[level].starts
        return Span(self.stored.source, int(starts[fragment]), int(starts[fragment + 1]))

    def fragment_at(self, span: Span) -> tuple[int, int] | None:
        if span.source != self.stored.source:
            return None
        for number, level in enumerate(self.levels):
            fragment = int(np.searchsorted(level.starts, span.start, "right")) - 1
            if 0 <= fragment < len(level):
                return number, fragment
        return None

    def boxes(self, level: int) -> NDArray[np.float64]:
        """Return the boxes of the fragments in model space, shape `(n, 2, 3)`: lower and upper corners."""
        one = self.levels[level]
        with np.errstate(all="ignore"):
            cell = self.chunk_shape * 2.0**level
            low = self.grid_origin + one.positions * cell
            ends = np.stack([low, low + cell], axis=1)
            corners = np.stack(
                [ends[:, (at >> np.arange(3)) & 1, np.arange(3)] for at in range(8)], axis=1
            )  # (n, 8, 3)
            placed = transformed(corners.reshape(-1, 3), self.transform).reshape(-1, 8, 3)
        return np.stack([placed.min(axis=1), placed.max(axis=1)], axis=1)

    def placed(self, level: int, fragment: int, quantised: NDArray[np.float32]) -> NDArray[np.float32]:
        """Convert quantised vertices of a fragment (`0 … 2^bits - 1`) to model space: float32, shape `(n, 3)`."""
        if not self.bits:
            return quantised
        one = self.levels[level]
        with np.errstate(all="ignore"):
            inside = one.positions[fragment] + quantised.astype(np.float64) / (2.0**self.bits - 1)
            stored = self.grid_origin + one.offset + self.chunk_shape * 2.0**level * inside
            return transformed(stored, self.transform).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class SkeletonGeometry(Geometry):
    """Skeleton: vertices, edges between them, and attributes of the vertices.

    Attributes:
        vertices: Positions in model space, float32, shape `(n, 3)`.
        edges: Pairs of vertex numbers, uint32, shape `(m, 2)`.
        attributes: Values per vertex by attribute name, shape `(n,)` or `(n, components)`.
        starts: Offset in the content of `vertices`, `edges` and each attribute, by name.
        trailing: Number of bytes after the skeleton.
    """

    vertices: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32))
    edges: NDArray[np.uint32] = field(default_factory=lambda: np.zeros((0, 2), np.uint32))
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    starts: Mapping[str, int] = field(default_factory=dict)
    trailing: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class AnnotationsGeometry(Geometry):
    """Annotations of one shape.

    Attributes:
        shape: `point`, `line`, `axis_aligned_bounding_box`, `ellipsoid` or `polyline`.
        scales: Units per coordinate along each axis, in `unit`.
        rows: NumPy structured array: `position` or two points, then properties; for polylines, properties only.
        ids: Annotation IDs, uint64, shape `(n,)`.
        start: Offset of the rows in the content.
        ids_start: Offset of the IDs in the content; -1 if the key of the object is the ID.
        labels: Labels of property values, by name of the property.
        related: IDs of related objects, by relationship; empty for more than one annotation.
        vertices: Points of all polylines, concatenated: float32, shape `(m, axes)`.
        first_vertices: First vertex of each polyline, and the end: int64, shape `(n + 1,)`.
        edges: Offset of each polyline in the content, and the end: int64, shape `(n + 1,)`.
    """

    shape: str = "point"
    axes: tuple[str, ...] = ()
    scales: tuple[float, ...] = ()
    rows: NDArray[Any] = field(default_factory=lambda: np.zeros(0, [("position", "<f4", (3,))]))
    ids: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    start: int = 0
    ids_start: int = -1
    labels: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    related: Mapping[str, NDArray[np.uint64]] = field(default_factory=dict)
    vertices: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    first_vertices: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    edges: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))

    def line(self, row: int) -> NDArray[np.float32]:
        return self.vertices[self.first_vertices[row] : self.first_vertices[row + 1]]

    def row_bytes(self, row: int) -> tuple[int, int]:
        if self.shape == POLYLINE:
            return int(self.edges[row]), int(self.edges[row + 1])
        size = self.rows.dtype.itemsize
        return self.start + row * size, self.start + (row + 1) * size

    def row_at(self, offset: int) -> int | None:
        """Return the row whose values or ID contain a byte of the content; None if there is none."""
        if self.shape == POLYLINE and self.edges[0] <= offset < self.edges[-1]:
            return int(np.searchsorted(self.edges, offset, "right")) - 1
        size = 0 if self.shape == POLYLINE else self.rows.dtype.itemsize
        if self.start <= offset < self.start + size * len(self.rows):
            return (offset - self.start) // size
        if 0 <= self.ids_start <= offset < self.ids_start + 8 * len(self.rows):
            return (offset - self.ids_start) // 8
        return None

    def points(self) -> NDArray[np.float32]:
        """Return points in model space, shape `(n, 2, 3)`, for polylines `(m, 1, 3)`; missing axes are 0.

        The two points of a `point` are equal; those of an `ellipsoid` are the corners of its box.
        """
        if self.shape == POLYLINE:
            return self._placed(self.vertices[:, None].astype(np.float64))
        names = (self.rows.dtype.names or ())[: 1 if self.shape == "point" else 2]
        ends = np.stack([self.rows[name] for name in (names[0], names[-1])], axis=1).astype(np.float64)
        if self.shape == "ellipsoid":
            ends = np.stack([ends[:, 0] - ends[:, 1], ends[:, 0] + ends[:, 1]], axis=1)
        return self._placed(ends)

    def _placed(self, ends: NDArray[np.float64]) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):
            ends = ends * np.array(self.scales)
        found = np.zeros((*ends.shape[:2], 3), np.float32)
        axes = min(len(self.axes), 3)
        found[:, :, :axes] = ends[:, :, :axes]
        return found


def transformed(points: NDArray[np.floating[Any]], transform: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(points.astype(np.float64) @ transform[:, :3].T + transform[:, 3])
