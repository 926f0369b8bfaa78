"""Meshes, skeletons and annotations as contents; decoding the triangles of a mesh level."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.draco import ENCODED, decode_fragments
from shardcore.errors import FormatError, LimitExceeded, PackageMissing, UsageError
from shardcore.model.geometry import (
    POLYLINE,
    VERTEX_SIZE,
    AnnotationsGeometry,
    Geometry,
    MeshLayout,
    SkeletonGeometry,
)
from shardcore.model.span import Span
from shardcore.model.text import number_text, plural
from shardcore.operations.content.content_types import Content

if TYPE_CHECKING:
    from shardcore.model.keys import Key
    from shardcore.model.objects import ObjectRef
    from shardcore.shards.shard import Shard

KINDS = ("mesh", "skeleton", "annotation", "annotation list", "annotation cell")
"""Kinds of objects for which a format may declare a geometry."""

MOST_POINTS = 8
"""Points of a polyline shown in one cell of a table."""


@dataclass(frozen=True, slots=True)
class GeometryContent(Content):
    """Content that consists of points in space."""

    def geometry(self) -> Geometry:
        """Return the geometry object that the format decoded."""
        raise NotImplementedError

    def points(self) -> NDArray[np.float32]:
        """Return the points in model space, shape `(n, 3)`."""
        raise NotImplementedError

    def bounds(self) -> tuple[tuple[float, float, float], tuple[float, float, float]] | None:
        """Return the lowest and highest finite coordinates in model space; None without points."""
        points = self.points()
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return None
        low, high = ([float(number_text(one)) for one in corner] for corner in (points.min(axis=0), points.max(axis=0)))
        return (low[0], low[1], low[2]), (high[0], high[1], high[2])


@dataclass(frozen=True, slots=True)
class MeshContent(GeometryContent):
    """Mesh: its levels, and the decoded triangles of one level.

    Attributes:
        layout: Levels, fragments and their bytes.
        level: Level of the triangles; 0 is the finest, -1 means that none is decoded.
        vertices: Coordinates in model space, float32 of shape `(n, 3)`.
        triangles: Three vertex numbers per triangle, uint32 of shape `(m, 3)`.
        vertex_starts: First vertex of each fragment and the end of the last, int64.
        triangle_starts: First triangle of each fragment and the end of the last, int64.
    """

    kind: ClassVar[str] = "mesh"

    layout: MeshLayout = field(default_factory=MeshLayout, repr=False)
    level: int = -1
    vertices: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 3), np.float32), repr=False)
    triangles: NDArray[np.uint32] = field(default_factory=lambda: np.zeros((0, 3), np.uint32), repr=False)
    vertex_starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)
    triangle_starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)

    def geometry(self) -> MeshLayout:
        return self.layout

    def points(self) -> NDArray[np.float32]:
        """Return the vertices; before decoding, the corners of the boxes of the coarsest fragments."""
        if len(self.vertices):
            return self.vertices
        fragments = [number for number, level in enumerate(self.layout.levels) if len(level)]
        if not fragments:
            return self.vertices
        return self.layout.boxes(fragments[-1]).reshape(-1, 3).astype(np.float32)

    def fragment_of_vertex(self, vertex: int) -> int:
        """Return the number of the fragment that contains a vertex of the decoded level."""
        return int(np.searchsorted(self.vertex_starts, vertex, "right")) - 1

    def fragment_span(self, fragment: int) -> Span:
        """Return the stored bytes of a fragment of the decoded level."""
        return self.layout.fragment_span(self.level, fragment)


@dataclass(frozen=True, slots=True)
class SkeletonContent(GeometryContent):
    """Skeleton: vertices, edges and attributes."""

    kind: ClassVar[str] = "skeleton"

    skeleton: SkeletonGeometry = field(default_factory=SkeletonGeometry, repr=False)

    def geometry(self) -> SkeletonGeometry:
        return self.skeleton

    def points(self) -> NDArray[np.float32]:
        return self.skeleton.vertices

    def vertex_bytes(self, vertex: int) -> tuple[int, int]:
        """Return the bytes `[start, stop)` of the position of a vertex in the content."""
        start = self.skeleton.starts["vertices"] + VERTEX_SIZE * vertex
        return start, start + VERTEX_SIZE

    def vertex_at(self, offset: int) -> int | None:
        """Return the vertex whose position, edge or attribute contains a byte of the content, or None."""
        one, count = self.skeleton, len(self.skeleton.vertices)
        if one.starts["vertices"] <= offset < one.starts["edges"]:
            return (offset - one.starts["vertices"]) // VERTEX_SIZE
        if one.starts["edges"] <= offset < one.starts["edges"] + 8 * len(one.edges):
            edge, end = divmod((offset - one.starts["edges"]) // 4, 2)
            return int(one.edges[edge, end])
        for name, values in one.attributes.items():
            if count and one.starts[name] <= offset < one.starts[name] + values.nbytes:
                return (offset - one.starts[name]) // (values.nbytes // count)
        return None


@dataclass(frozen=True, slots=True)
class AnnotationsContent(GeometryContent):
    """Annotations: rows, keys and properties."""

    kind: ClassVar[str] = "annotations"

    annotations: AnnotationsGeometry = field(default_factory=AnnotationsGeometry, repr=False)

    def geometry(self) -> AnnotationsGeometry:
        return self.annotations

    def points(self) -> NDArray[np.float32]:
        """Return the points of all rows, shape `(n, 3)`; see `AnnotationsGeometry.points`."""
        return self.annotations.points().reshape(-1, 3)

    def titles(self) -> tuple[str, ...]:
        """Return the column titles of `cells`."""
        one = self.annotations
        points = ("points",) if one.shape == POLYLINE else ()
        return "id", *points, *(one.rows.dtype.names or ()), *one.related

    def cells(self, row: int) -> tuple[str, ...]:
        """Return a row as text: key, points of a polyline, properties (enumerations by label), related objects."""
        one = self.annotations
        found = [str(one.ids[row])]
        if one.shape == POLYLINE:
            line = one.line(row)
            more = [f"… of {len(line):,}"] if len(line) > MOST_POINTS else []
            found.append("; ".join([", ".join(map(number_text, point)) for point in line[:MOST_POINTS]] + more))
        for name in one.rows.dtype.names or ():
            value = one.rows[name][row]
            label = one.labels.get(name, {}).get(float(number_text(value))) if value.ndim == 0 else None
            found.append(label or ", ".join(map(number_text, np.atleast_1d(value))))
        found += [", ".join(map(str, keys.tolist())) for keys in one.related.values()]
        return tuple(found)


def geometry_content(
    shard: Shard, ref: ObjectRef, data: bytes, *, limit: int | None = None, strict: bool = False
) -> Content | None:
    """Return an object as a mesh (coarsest level), skeleton or annotations; None if the format declares no geometry.

    `data` is the whole content, `limit` the maximum bytes of fragments. Unless `strict`, a missing decoder is a note.

    Raises:
        FormatError: The content does not match the format.
    """
    found = shard.arrays.geometry(ref, data)
    if isinstance(found, MeshLayout):
        return _mesh(shard, data, found, limit, strict)
    if isinstance(found, SkeletonGeometry):
        counts = f"{plural(len(found.vertices), 'vertex', 'vertices')}, {plural(len(found.edges), 'edge')}"
        return SkeletonContent(f"Skeleton of {counts}", len(data), data, "", found)
    if isinstance(found, AnnotationsGeometry):
        shape = found.shape.replace("_", " ").replace("axis aligned ", "")
        title = plural(len(found.rows), shape, "bounding boxes" if shape.endswith("box") else "")
        return AnnotationsContent(title[:1].upper() + title[1:], len(data), data, "", found)
    return None


def _mesh(shard: Shard, data: bytes, layout: MeshLayout, limit: int | None, strict: bool) -> MeshContent:
    bare = _bare(data, layout)
    stored = [number for number, level in enumerate(layout.levels) if level.nbytes]
    if not stored:
        return bare
    try:
        return decode_level(shard, bare, stored[-1], limit=limit)
    except (FormatError, LimitExceeded, PackageMissing) as error:
        if strict and isinstance(error, PackageMissing):
            raise
        # The level table is still useful.
        return replace(bare, note=error.message)


def _bare(data: bytes, layout: MeshLayout) -> MeshContent:
    if not layout.bits:
        return MeshContent("Mesh without a manifest", len(data), data, "", layout)
    fragments = plural(sum(map(len, layout.levels)), "fragment")
    title = f"Mesh of {fragments} in {plural(len(layout.levels), 'level')}"
    return MeshContent(title, len(data), data, "", layout)


def mesh_level(shard: Shard, ref: ObjectRef | Key, level: int, *, limit: int | None = None) -> MeshContent:
    """Decode the triangles of one level of a mesh.

    Args:
        shard: The shard.
        ref: The object, or its key.
        level: The level; 0 is the finest, negative ones count from the coarsest.
        limit: Maximum bytes of fragments to read; default: 64 MiB.

    Raises:
        KeyAbsent: The key was not found.
        UsageError: The object is not a mesh, or has no such level.
        FormatError: The manifest or a fragment is corrupt; the span is that of the fragment.
        LimitExceeded: The level has too many bytes or triangles.
        Unsupported: A fragment has an unsupported version of Draco.
        PackageMissing: The decoder is not installed.
        SourceError: The bytes cannot be read.
    """
    wanted = shard.ref_of(ref)
    data = shard.read(wanted, limit=ENCODED)
    layout = shard.arrays.geometry(wanted, data)
    if not isinstance(layout, MeshLayout):
        raise UsageError(f"{wanted.key} is not a mesh")
    count = len(layout.levels)
    if not -count <= level < count:
        raise UsageError(f"level {level}: the mesh has {plural(count, 'level')}, from 0 to {count - 1}")
    return decode_level(shard, _bare(data, layout), level % count, limit=limit)


def decode_level(shard: Shard, mesh: MeshContent, level: int, *, limit: int | None = None) -> MeshContent:
    layout, count = mesh.layout, len(mesh.layout.levels[level])
    vertices, triangles = [np.zeros((0, 3), np.float32)], [np.zeros((0, 3), np.uint32)]
    counts, before = np.zeros((count + 1, 2), np.int64), 0
    read = shard.bytes_of(layout.stored.source).read
    for one in decode_fragments(layout, level, read, shard.decoder, most=min(limit or ENCODED, ENCODED)):
        vertices.append(layout.placed(level, one.number, one.vertices))
        triangles.append(one.triangles + np.uint32(before))
        counts[one.number + 1] = len(one.vertices), len(one.triangles)
        before += len(one.vertices)
    starts = np.cumsum(counts, axis=0)
    return replace(
        mesh,
        note="",
        level=level,
        vertices=np.concatenate(vertices),
        triangles=np.concatenate(triangles),
        vertex_starts=starts[:, 0],
        triangle_starts=starts[:, 1],
    )
