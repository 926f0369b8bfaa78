"""Decoding of mesh fragments that are compressed with Draco (bitstream 2.2).

A small fragment can declare any number of triangles, so its header is checked first (Draco specification, 2 and 3).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded, PackageMissing, ShardError, Unsupported
from shardcore.model.budget import charge_expanded, raised
from shardcore.model.geometry import MeshLayout
from shardcore.model.span import Span
from shardcore.model.text import plural

if TYPE_CHECKING:
    from shardcore.codecs.decoder_process import TaskRunner

MAGIC = b"DRACO"
VERSION = (2, 2)
MOST_TRIANGLES = 5_000_000
"""Maximum number of triangles of a fragment, and of a level."""
MOST_FRAGMENTS = 100_000
"""Maximum number of fragments of a level."""
ENCODED = 64 << 20
"""Maximum stored size of a level, in bytes."""

_DECODED = 12 * 4
"""Maximum decoded size per triangle, in bytes: three vertices and three vertex numbers."""
_QUANTISATION = struct.Struct("<4fB")
"""Last bytes of a fragment whose vertices Draco quantised: lower corner (3 floats), extent, number of bits."""
_FLOAT32 = 9
_HEAD = 11
_MESH = 1
_SEQUENTIAL, _EDGEBREAKER = 0, 1
_HAS_METADATA = 0x8000
_MOST_METADATA = 1000


def draco_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Decode a fragment to vertices (float32) and triangles (uint32); their counts are in the returned header.

    `quantised` in that header has lower corner, extent and bits, if Draco quantised the vertices.
    """
    import DracoPy

    most = min(int(header.get("triangles", MOST_TRIANGLES)), MOST_TRIANGLES)
    check_counts(data, most)
    try:
        mesh = DracoPy.decode(data)
        vertices = np.ascontiguousarray(mesh.points, "<f4").reshape(-1, 3)
        triangles = np.ascontiguousarray(mesh.faces, "<u4").reshape(-1, 3)
        types = [one["data_type"] for one in mesh.attributes]
    except (DracoPy.FileTypeException, AttributeError, ValueError, TypeError) as error:
        raise FormatError(f"invalid Draco data: {error}") from error
    if len(triangles) > most or len(vertices) > 3 * most:
        raise LimitExceeded(f"{len(triangles):,} triangles, {len(vertices):,} vertices; limits: {most:,}, {3 * most:,}")
    found: dict[str, Any] = {"vertices": len(vertices), "triangles": len(triangles)}
    if types == [_FLOAT32]:
        found["quantised"] = _QUANTISATION.unpack(data[-_QUANTISATION.size :])
    return found, vertices.tobytes() + triangles.tobytes()


@dataclass(frozen=True, slots=True)
class Fragment:
    """Decoded fragment of a mesh level.

    Attributes:
        vertices: Encoded coordinates, float32, shape `(n, 3)`.
        triangles: Vertex numbers, uint32, shape `(m, 3)`.
        quantised: Lower corner, extent and bits of Draco's own quantisation; empty for integer vertices.
    """

    number: int
    span: Span
    vertices: NDArray[np.float32]
    triangles: NDArray[np.uint32]
    quantised: tuple[float, ...] = ()


def decode_fragments(
    layout: MeshLayout, level: int, read: Callable[[int, int], bytes], decoder: TaskRunner, *, most: int = ENCODED
) -> Iterator[Fragment]:
    """Yield the non-empty fragments of a level; errors have the span of their fragment."""
    one = layout.levels[level]
    place = Span(layout.stored.source, int(one.starts[0]), int(one.starts[-1]))
    if one.nbytes > most:
        raise LimitExceeded(f"level {level} has {plural(one.nbytes, 'byte')}; the limit is {most:,}", span=place)
    if len(one) > (allowed := raised(MOST_FRAGMENTS)):
        raise LimitExceeded(f"level {level} has {len(one):,} fragments; the limit is {allowed:,}", span=place)
    encoded = read(place.start, place.stop)
    left, most_vertices, before = raised(MOST_TRIANGLES), 3 * raised(MOST_TRIANGLES), 0
    for number in range(len(one)):
        span = layout.fragment_span(level, number)
        if not span.size:
            continue
        try:
            part = encoded[span.start - place.start : span.stop - place.start]
            found = _fragment(part, number, span, min(left, MOST_TRIANGLES), decoder)
        except PackageMissing:
            raise
        except ShardError as error:
            error.span = span
            error.message = f"fragment {number} of level {level}: {error.message}"
            raise
        yield found
        left, before = left - len(found.triangles), before + len(found.vertices)
        if before > most_vertices:
            raise LimitExceeded(f"level {level} has more than {most_vertices:,} vertices", span=span)


def _fragment(part: bytes, number: int, span: Span, left: int, decoder: TaskRunner) -> Fragment:
    # The output is charged before decoding, because a failure may take as long as a success.
    charge_expanded(12 * check_counts(part, left))
    header, found = decoder("draco", {"triangles": left}, part, limit=_DECODED * max(left, 1), place=span)
    count, faces = int(header["vertices"]), int(header["triangles"])
    if len(found) != 12 * (count + faces) or faces > left:
        raise FormatError(f"the Draco decoder returned an unexpected number of bytes, {len(found):,}")
    points = np.frombuffer(found, "<f4", 3 * count).reshape(-1, 3)
    triangles = np.frombuffer(found, "<u4", 3 * faces, 12 * count).reshape(-1, 3)
    if faces and int(triangles.max()) >= count:
        raise FormatError(f"a triangle refers to vertex {int(triangles.max()):,}, but there are only {count:,}")
    return Fragment(number, span, points, triangles, tuple(map(float, header.get("quantised", ()))))


def check_counts(data: bytes, most: int) -> int:
    """Check the header of a fragment against a limit of `most` triangles; return the declared number of triangles."""
    if len(data) < _HEAD or not data.startswith(MAGIC):
        raise FormatError("not Draco data: it does not begin with DRACO")
    version, kind, method = (data[5], data[6]), data[7], data[8]
    if kind != _MESH:
        raise FormatError(f"the Draco geometry is of type {kind}, not a mesh")
    if version != VERSION:
        error = FormatError if version > VERSION else Unsupported
        raise error(f"Draco bitstream {version[0]}.{version[1]} is not supported (supported: 2.2)")
    reader = _Reader(data, _HEAD)
    if int.from_bytes(data[9:11], "little") & _HAS_METADATA:
        _skip_metadata(reader)
    if method == _SEQUENTIAL:
        triangles, vertices = reader.number(), reader.number()
    elif method == _EDGEBREAKER:
        reader.skip(1)
        vertices, triangles = reader.number(), reader.number()
    else:
        raise FormatError(f"Draco method {method} is not supported (supported: 0 sequential, 1 Edgebreaker)")
    if triangles > most or vertices > 3 * most:
        raise LimitExceeded(f"{triangles:,} triangles and {vertices:,} vertices; the limits are {most:,}, {3 * most:,}")
    return triangles


@dataclass(slots=True)
class _Reader:
    data: bytes
    at: int

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise FormatError("the Draco data ends within its header")

    def byte(self) -> int:
        self.skip(1)
        return self.data[self.at - 1]

    def number(self) -> int:
        """Read an unsigned LEB128 number."""
        value = 0
        for shift in range(0, 70, 7):
            one = self.byte()
            value |= (one & 0x7F) << shift
            if one < 0x80:
                return value
        raise FormatError("a number in the Draco header has more than 10 bytes")


def _skip_metadata(reader: _Reader) -> None:
    attributes = min(reader.number(), _MOST_METADATA)
    for number in range(attributes + 1):  # the last metadata is that of the geometry; it has no attribute number
        if number < attributes:
            reader.number()
        entries = reader.number()
        if number == _MOST_METADATA or entries > len(reader.data):
            raise FormatError("the Draco data has too much metadata")
        for _ in range(entries):
            reader.skip(reader.byte())
            reader.skip(reader.number())
        if reader.number():
            # Nested metadata begins with a name, so it cannot be skipped by a count alone.
            raise Unsupported("nested Draco metadata is not supported")
