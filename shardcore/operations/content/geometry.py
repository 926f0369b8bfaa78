"""Contents that are meshes, skeletons or annotations, and the decoding of the triangles of one mesh level."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.draco import ENCODED, MAGIC, decode_fragments
from shardcore.codecs.images import encode_png
from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import FormatError, LimitExceeded, PackageMissing, UsageError
from shardcore.model.geometry import (
    POLYLINE,
    VERTEX_SIZE,
    AnnotationsGeometry,
    Geometry,
    MeshLayout,
    SkeletonGeometry,
)
from shardcore.model.keys import Key
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import number_text, plural, range_text
from shardcore.operations.content.base import Beginning, Content, PictureBlock, Rows, rest
from shardcore.operations.content.renderer import MOST_LINES, Scene, box_lines, coarse_scene, picture_of, scene_of
from shardcore.shards.shard import Shard

KINDS = ("mesh", "skeleton", "annotation", "annotation list", "annotation cell")
"""Kinds of objects for which a format may declare a geometry."""

MOST_POINTS = 8
"""Maximum points of a polyline that are shown in one cell of a table."""

LISTED = 20
"""Maximum fragments, vertices and annotations in the text of a content."""

MOST_JSON = 10_000
"""Maximum fragments and annotations in JSON."""

MOST_ROWS = 100_000
"""Maximum annotations in a table."""

RING = 24
"""Lines that approximate each of the three circles of an ellipsoid."""


@dataclass(frozen=True, slots=True)
class GeometryContent(Content):
    """Content that consists of points in space."""

    views: ClassVar[tuple[str, ...]] = ("scene",)

    def geometry(self) -> Geometry:
        """Return the geometry as the format decoded it: mesh levels, a skeleton or annotations."""
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

    def scene(self) -> Scene:
        """Return the content as triangles, lines and dots."""
        return scene_of(self.points())

    def properties(self) -> dict[str, Any]:
        bounds = self.bounds()
        box = None if bounds is None else {"low": bounds[0], "high": bounds[1]}
        return {"unit": self.geometry().unit, "bounds": box}

    def lines(self) -> Iterator[str]:
        if (bounds := self.bounds()) is not None:
            low, high = (", ".join(map(number_text, corner)) for corner in bounds)
            yield f"box {low} to {high} {self.geometry().unit}".rstrip()

    def blocks(self) -> Iterator[PictureBlock]:
        yield PictureBlock(encode_png(picture_of(coarse_scene(self.scene()))), "png")

    def pixels(self, shard: Shard, index: str | None = None) -> NDArray[np.uint8]:
        return picture_of(self.scene())


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

    kind: ClassVar[Literal["mesh"]] = "mesh"

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

    def scene(self) -> Scene:
        if len(self.triangles):
            fragments = np.repeat(np.arange(len(self.triangle_starts) - 1), np.diff(self.triangle_starts))
            return scene_of(self.vertices, self.triangles, triangle_things=fragments)
        numbers = [number for number, level in enumerate(self.layout.levels) if len(level)]
        if not numbers:
            return scene_of(self.vertices)
        boxes = self.layout.boxes(numbers[-1])[: MOST_LINES // 12]
        points, lines = box_lines(boxes[:, 0], boxes[:, 1])
        return scene_of(points, lines=lines, anchors=points, things=np.repeat(np.arange(len(boxes)), 8))

    def properties(self) -> dict[str, Any]:
        return GeometryContent.properties(self) | {
            "level": self.level if self.level >= 0 else None,
            "vertices": len(self.vertices),
            "triangles": len(self.triangles),
            "levels": [self._level(number) for number in range(len(self.layout.levels))],
        }

    def _level(self, number: int) -> dict[str, Any]:
        level, boxes = self.layout.levels[number], self.layout.boxes(number)[:MOST_JSON]
        starts = level.starts.tolist()
        fragments = [
            {"position": level.positions[at], "start": starts[at], "stop": starts[at + 1], "box": boxes[at]}
            for at in range(len(boxes))
        ]
        return {"scale": np.array(level.scale), "bytes": level.nbytes, "fragments": fragments}

    def lines(self) -> Iterator[str]:
        yield from GeometryContent.lines(self)
        for number, level in enumerate(self.layout.levels):
            counts = f", {self.counts}" if number == self.level else ""
            fragments = f"{plural(len(level), 'fragment')}, {plural(level.nbytes, 'byte')}"
            yield f"level {number}: scale {number_text(level.scale)}, {fragments}{counts}"
            for at, cell in enumerate(islice(level.positions.tolist(), LISTED)):
                place = range_text(level.starts[at], level.starts[at + 1])
                yield f"  fragment {at}: cell {', '.join(map(str, cell))}, {place}"
            yield from rest(len(level), LISTED, "fragment")

    @property
    def counts(self) -> str:
        """Number of triangles and vertices of the decoded level, as text."""
        return f"{plural(len(self.triangles), 'triangle')}, {plural(len(self.vertices), 'vertex', 'vertices')}"

    def fragment_of_vertex(self, vertex: int) -> int:
        """Return the number of the fragment that contains a vertex of the decoded level."""
        return int(np.searchsorted(self.vertex_starts, vertex, "right")) - 1

    def fragment_span(self, fragment: int) -> Span:
        """Return the stored bytes of a fragment of the decoded level."""
        return self.layout.fragment_span(self.level, fragment)


@dataclass(frozen=True, slots=True)
class SkeletonContent(GeometryContent):
    """Skeleton: vertices, edges and attributes."""

    kind: ClassVar[Literal["skeleton"]] = "skeleton"

    skeleton: SkeletonGeometry = field(default_factory=SkeletonGeometry, repr=False)

    def geometry(self) -> SkeletonGeometry:
        return self.skeleton

    def points(self) -> NDArray[np.float32]:
        return self.skeleton.vertices

    def scene(self) -> Scene:
        vertices, things = self.skeleton.vertices, np.arange(len(self.skeleton.vertices))
        dots = things.astype(np.uint32)
        return scene_of(vertices, lines=self.skeleton.edges, dots=dots, anchors=vertices, things=things)

    def properties(self) -> dict[str, Any]:
        one = self.skeleton
        attributes = [
            {"id": name, "dtype": column.dtype.str, "components": column.shape[1] if column.ndim > 1 else 1}
            for name, column in one.attributes.items()
        ]
        counts = {"vertices": len(one.vertices), "edges": len(one.edges), "attributes": attributes}
        return GeometryContent.properties(self) | counts

    def lines(self) -> Iterator[str]:
        one = self.skeleton
        yield from GeometryContent.lines(self)
        yield "  ".join(("vertex", "x, y, z", *one.attributes))
        for at in range(min(len(one.vertices), LISTED)):
            cells = (np.atleast_1d(column[at]) for column in (one.vertices, *one.attributes.values()))
            yield "  ".join((f"{at:>6}", *(", ".join(map(number_text, cell)) for cell in cells)))
        yield from rest(len(one.vertices), LISTED, "vertex", "vertices")

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

    kind: ClassVar[Literal["annotations"]] = "annotations"
    views: ClassVar[tuple[str, ...]] = ("scene", "table")

    annotations: AnnotationsGeometry = field(default_factory=AnnotationsGeometry, repr=False)

    def geometry(self) -> AnnotationsGeometry:
        return self.annotations

    def points(self) -> NDArray[np.float32]:
        """Return the points of all rows, shape `(n, 3)`; see `AnnotationsGeometry.points`."""
        return self.annotations.points().reshape(-1, 3)

    def scene(self) -> Scene:
        ends, shape = self.annotations.points(), self.annotations.shape
        rows = np.arange(len(ends))
        if shape == "point":
            return scene_of(ends[:, 0], dots=rows.astype(np.uint32), anchors=ends[:, 0], things=rows)
        if shape == POLYLINE:
            points, firsts = ends[:, 0], self.annotations.first_vertices
            things = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
            steps = np.flatnonzero(things[1:] == things[:-1])[:MOST_LINES].astype(np.uint32)
            return scene_of(points, lines=np.stack([steps, steps + 1], axis=1), anchors=points, things=things)
        if shape == "line":
            points, lines = ends.reshape(-1, 3), np.arange(2 * len(ends), dtype=np.uint32).reshape(-1, 2)
            return scene_of(points, lines=lines[:MOST_LINES], anchors=points, things=np.repeat(rows, 2))
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
            return scene_of(points, lines=lines, anchors=points, things=np.repeat(rows[: len(ends)], 3 * RING))
        ends = ends[: MOST_LINES // 12]
        points, lines = box_lines(ends[:, 0].astype(np.float64), ends[:, 1].astype(np.float64))
        return scene_of(points, lines=lines, anchors=points, things=np.repeat(rows[: len(ends)], 8))

    def properties(self) -> dict[str, Any]:
        one, rows = self.annotations, list[dict[str, Any]]()
        for at in range(min(len(one.rows), MOST_JSON)):
            start, stop = one.row_bytes(at)
            row: dict[str, Any] = {"id": str(one.ids[at]), "start": start, "stop": stop}
            if one.shape == POLYLINE:
                row["points"] = one.line(at)
            rows.append(row | {name: one.rows[name][at] for name in one.rows.dtype.names or ()})
        return GeometryContent.properties(self) | {
            "annotation_type": one.shape,
            "axes": [{"name": name, "scale": scale} for name, scale in zip(one.axes, one.scales, strict=True)],
            "count": len(one.rows),
            "rows": rows,
            "related": {name: list(map(str, keys.tolist())) for name, keys in one.related.items()},
        }

    def lines(self) -> Iterator[str]:
        yield from GeometryContent.lines(self)
        yield "  ".join(("bytes", *self.titles()))
        for row in range(min(len(self.annotations.rows), LISTED)):
            yield "  ".join((range_text(*self.annotations.row_bytes(row)), *self.cells(row)))
        yield from rest(len(self.annotations.rows), LISTED, "annotation")

    def listing(self) -> Rows:
        rows = range(min(len(self.annotations.rows), MOST_ROWS))
        return Rows(self.titles(), list(map(self.cells, rows)), list(map(self.annotations.row_bytes, rows)))

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


def declared_geometry(shard: Shard, ref: ObjectRef, beginning: Beginning, strict: bool) -> Content | None:
    """Return an object as a mesh (coarsest level), skeleton or annotations; None if the format declares no geometry.

    At most `beginning.most` bytes of fragments are read. A missing decoder is a note, with `strict` an error.

    Raises:
        FormatError: The content does not match the format, or is not complete.
    """
    if not beginning.size or not (ref.kind in KINDS or beginning.head.startswith(MAGIC)):
        return None
    data = beginning.whole()
    if len(data) != beginning.size:
        raise FormatError(f"only {plural(len(data), 'byte')} were read; the whole {ref.kind} is needed")
    found = shard.arrays.geometry(ref, data)
    if isinstance(found, MeshLayout):
        return _mesh(shard, data, found, beginning.most, strict)
    if isinstance(found, SkeletonGeometry):
        counts = f"{plural(len(found.vertices), 'vertex', 'vertices')}, {plural(len(found.edges), 'edge')}"
        return SkeletonContent(f"Skeleton of {counts}", len(data), data, "", found)
    if isinstance(found, AnnotationsGeometry):
        shape = found.shape.replace("_", " ").replace("axis aligned ", "")
        title = plural(len(found.rows), shape, "bounding boxes" if shape.endswith("box") else "")
        return AnnotationsContent(title[:1].upper() + title[1:], len(data), data, "", found)
    return None


def _mesh(shard: Shard, data: bytes, layout: MeshLayout, limit: int, strict: bool) -> MeshContent:
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
