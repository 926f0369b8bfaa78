"""Draco fragments of meshes: declared counts, and the task that decodes one.

A fragment may declare any number of triangles in a few bytes, so its header is read before the decoder is called.
Follows the Draco bitstream specification, version 2.2, sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shardcore.errors import FormatError, LimitExceeded, Unsupported

MAGIC = b"DRACO"
VERSION = (2, 2)
MOST_TRIANGLES = 5_000_000
"""Triangles of a fragment, and of all fragments of a level."""

_HEAD = 11
_MESH = 1
_SEQUENTIAL, _EDGEBREAKER = 0, 1
_HAS_METADATA = 0x8000
_MOST_METADATA = 1000


def draco_task(header: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Decode a fragment: vertices as float32, then triangles as uint32; their numbers in the header.

    Args:
        header: `triangles`: the number that is allowed.
        data: The fragment.

    Raises:
        FormatError: It is no Draco mesh, or is damaged.
        Unsupported: It has another version of the bitstream.
        LimitExceeded: It has more triangles than allowed.
    """
    import DracoPy
    import numpy as np

    most = min(int(header.get("triangles", MOST_TRIANGLES)), MOST_TRIANGLES)
    check_counts(data, most)
    try:
        mesh = DracoPy.decode(data)
        vertices = np.ascontiguousarray(mesh.points, "<f4").reshape(-1, 3)
        triangles = np.ascontiguousarray(mesh.faces, "<u4").reshape(-1, 3)
    except (DracoPy.FileTypeException, AttributeError, ValueError, TypeError) as error:
        raise FormatError(f"invalid Draco data: {error}") from error
    if len(triangles) > most or len(vertices) > 3 * most:
        raise LimitExceeded(f"{len(triangles):,} triangles; at most {most:,} are decoded")
    if len(triangles) and int(triangles.max()) >= len(vertices):
        raise FormatError(f"a triangle has vertex {int(triangles.max()):,} of {len(vertices):,}")
    return {"vertices": len(vertices), "triangles": len(triangles)}, vertices.tobytes() + triangles.tobytes()


def check_counts(data: bytes, most: int) -> None:
    """Check the head of a fragment, and the number of triangles that it declares.

    Raises:
        FormatError: It is no Draco mesh, or is cut.
        Unsupported: It has another version of the bitstream, or another method.
        LimitExceeded: It declares more triangles than `most`.
    """
    if len(data) < _HEAD or not data.startswith(MAGIC):
        raise FormatError("not Draco data: it does not begin with DRACO")
    version, kind, method = (data[5], data[6]), data[7], data[8]
    if kind != _MESH:
        raise FormatError(f"Draco geometry of type {kind}, not a mesh")
    if version != VERSION:
        raise Unsupported(f"Draco bitstream {version[0]}.{version[1]}; 2.2 is decoded")
    reader = _Reader(data, _HEAD)
    if int.from_bytes(data[9:11], "little") & _HAS_METADATA:
        _skip_metadata(reader)
    if method == _SEQUENTIAL:
        triangles, vertices = reader.number(), reader.number()
    elif method == _EDGEBREAKER:
        reader.skip(1)
        vertices, triangles = reader.number(), reader.number()
    else:
        raise Unsupported(f"Draco method {method}; sequential and Edgebreaker are decoded")
    if triangles > most or vertices > 3 * most:
        raise LimitExceeded(f"it declares {triangles:,} triangles and {vertices:,} vertices; {most:,} are decoded")


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
        """Return an unsigned number of 7 bits per byte, the lowest first."""
        value = 0
        for shift in range(0, 70, 7):
            one = self.byte()
            value |= (one & 0x7F) << shift
            if one < 0x80:
                return value
        raise FormatError("a number of the Draco header has more than 10 bytes")


def _skip_metadata(reader: _Reader) -> None:
    left = _MOST_METADATA
    for _ in range(min(reader.number(), left)):
        reader.number()
        left = _skip_entries(reader, left)
    _skip_entries(reader, left)


def _skip_entries(reader: _Reader, left: int) -> int:
    """Skip metadata with those nested in it; return how many more may follow."""
    waiting = 1
    while waiting:
        waiting, left = waiting - 1, left - 1
        entries = reader.number()
        if left < 0 or entries > len(reader.data):
            raise FormatError("the Draco data has too much metadata")
        for _ in range(entries):
            reader.skip(reader.byte())
            reader.skip(reader.number())
        nested = reader.number()
        if nested:
            # A nested one has its name before it, so that one after the other cannot be skipped from a count alone.
            raise Unsupported("nested Draco metadata is not decoded")
    return left
