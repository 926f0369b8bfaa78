"""From a compressed Morton code to a cell, a box of voxels and an array.

Section "Compressed morton code" and "Chunk encodings" of the volume page. Boxes are half-open, in voxels of the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardcore.errors import FormatError, Unsupported
from shardcore.formats.neuroglancer.info import KeySpace, Scale
from shardcore.formats.neuroglancer.morton import decode, encode

DATA_TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32")


@dataclass(frozen=True, slots=True)
class Box:
    """A half-open box of voxels: `begin[i] <= coordinate < end[i]` on each axis."""

    begin: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Voxels along each axis."""
        return tuple(end - begin for begin, end in zip(self.begin, self.end, strict=True))

    def __str__(self) -> str:
        return " × ".join(f"{begin}..{end}" for begin, end in zip(self.begin, self.end, strict=True))


def cell_of(space: KeySpace, key: int) -> tuple[int, ...] | None:
    """The grid cell of a key, or None where keys are not Morton codes.

    Raises:
        FormatError: No cell has this code.
    """
    return None if space.grid is None else decode(key, space.grid)


def box_of(scale: Scale, cell: tuple[int, ...]) -> Box:
    """The voxels of a cell; the last cell of an axis is cut where the volume ends."""
    begin = tuple(at * step for at, step in zip(cell, scale.chunk_size, strict=True))
    end = tuple(min(b + step, size) for b, step, size in zip(begin, scale.chunk_size, scale.size, strict=True))
    return Box(
        tuple(b + offset for b, offset in zip(begin, scale.voxel_offset, strict=True)),
        tuple(e + offset for e, offset in zip(end, scale.voxel_offset, strict=True)),
    )


def key_of_voxel(space: KeySpace, voxel: tuple[int, ...]) -> int:
    """The key of the chunk that holds a voxel.

    Raises:
        FormatError: The key space is not that of a volume.
        UsageError: The voxel lies outside the volume.
    """
    if space.scale is None or space.grid is None:
        raise FormatError(f"{space.name} has no voxels")
    offset, step = space.scale.voxel_offset, space.scale.chunk_size
    cell = tuple((at - first) // length for at, first, length in zip(voxel, offset, step, strict=True))
    return encode(cell, space.grid)


def chunk_size(space: KeySpace, key: int) -> int:
    """Bytes that the decoded value of a raw chunk has.

    Raises:
        Unsupported: The encoding is not `raw`, or the data type is unknown.
        FormatError: No cell has this key.
    """
    shape, dtype = _raw_shape(space, key)
    return math.prod(shape) * dtype.itemsize


def chunk_array(space: KeySpace, key: int, data: bytes) -> npt.NDArray[np.generic]:
    """The decoded value of a chunk as an array of shape `(x, y, z, channel)`, read-only.

    Raises:
        Unsupported: The encoding is not `raw`, or the data type is unknown.
        FormatError: No cell has this key, or the length is not that of the cell.
    """
    shape, dtype = _raw_shape(space, key)
    if len(data) != math.prod(shape) * dtype.itemsize:
        text = f"{'×'.join(map(str, shape))} values of {dtype.name} take {math.prod(shape) * dtype.itemsize}"
        raise FormatError(f"chunk {key} has {len(data)} bytes; {text}")
    return np.frombuffer(data, dtype).reshape(shape, order="F")


def _raw_shape(space: KeySpace, key: int) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Shape `(x, y, z, channel)` and type of a raw chunk."""
    if space.scale is None or space.grid is None:
        raise FormatError(f"{space.name} has no voxels")
    if space.scale.encoding != "raw":
        raise Unsupported(f"chunks encoded as {space.scale.encoding!r} are not decoded here")
    if space.scale.data_type not in DATA_TYPES:
        raise Unsupported(f"voxels of type {space.scale.data_type!r} are not known")
    shape = (*box_of(space.scale, decode(key, space.grid)).shape, space.scale.num_channels)
    return shape, np.dtype(space.scale.data_type).newbyteorder("<")
