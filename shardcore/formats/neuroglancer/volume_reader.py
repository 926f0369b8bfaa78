"""Boxes of voxels, assembled from the chunks of a volume.

Sections "Chunked representation of volume data" and "Compressed morton code" of the volume page.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import LimitExceeded, Unsupported, UsageError
from shardcore.formats.neuroglancer.info import KeySpace, VolumeScale
from shardcore.formats.neuroglancer.morton import encode_many
from shardcore.formats.neuroglancer.volume import DATA_TYPES, VoxelBox, box_of, chunk_array
from shardcore.model.number_words import plural
from shardcore.model.parallel import in_order
from shardcore.shards.prefetch import fetched_ahead

if TYPE_CHECKING:
    from shardcore.shards.shard import Shard

AxisIndex = slice | int


def read_voxels(shard: Shard, space: KeySpace, index: Sequence[AxisIndex], *, limit: int) -> NDArray[Any]:
    """Return a box of voxels; voxels of chunks that the shard does not have are 0.

    Args:
        shard: The shards of the scale.
        space: Its key space.
        index: A slice of step 1 or a coordinate for x, y and z, in voxels of the scale, `voxel_offset` included.
        limit: Bytes of the result.

    Returns:
        Shape `(x, y, z, channel)`; a coordinate keeps its axis, of length 1.

    Raises:
        UsageError: The index is invalid or outside the volume, or the key space is not that of a volume.
        LimitExceeded: The box has more than `limit` bytes.
        Unsupported: The chunks are encoded in a way that is not decoded here.
        FormatError: A chunk is damaged.
        SourceError: The bytes cannot be read.
    """
    scale, grid = space.scale, space.grid
    if scale is None or grid is None:
        raise UsageError(f"{space.name} has no voxels")
    if scale.data_type not in DATA_TYPES:
        raise Unsupported(f"voxels of type {scale.data_type!r} are not known")
    dtype = np.dtype(scale.data_type).newbyteorder("<")
    box = box_of_index(scale, index)
    size = int(np.prod([*map(int, box.shape)], dtype=object)) * scale.num_channels * dtype.itemsize
    if size > limit:
        raise LimitExceeded(f"the box has {plural(size, 'byte')}; at most {limit:,} are read")
    out = np.zeros((*box.shape, scale.num_channels), dtype, order="F")
    cells = cells_of(scale, box)
    if not cells:
        return out
    keys = encode_many(np.array(cells, np.uint64), grid).tolist()
    rows = shard.find_many(keys)
    there = [(int(row), cell, key) for row, cell, key in zip(rows, cells, keys, strict=True) if row >= 0]

    def read(one: tuple[int, tuple[int, ...], int]) -> tuple[tuple[int, ...], NDArray[Any]]:
        row, cell, key = one
        return cell, chunk_array(space, key, shard.read(shard.objects.ref(row)), decoder=shard.decoder)

    ahead = fetched_ahead(shard, there, lambda one: shard.objects.ref(one[0]))
    for cell, chunk in in_order(read, ahead, shard.jobs):
        _copy(chunk, box_of(scale, cell), out, box)
    return out


def box_of_index(scale: VolumeScale, index: Sequence[AxisIndex]) -> VoxelBox:
    """Return the box of an index; an open end of a slice is that of the volume.

    Raises:
        UsageError: There are not three axes, a step is not 1, or an end is outside the volume.
    """
    if len(index) != len(scale.size):
        raise UsageError(f"an index of {len(scale.size)} axes is needed, not {len(index)}")
    begin, end = [], []
    for one, first, length in zip(index, scale.voxel_offset, scale.size, strict=True):
        if isinstance(one, slice):
            if one.step not in (None, 1):
                raise UsageError(f"a slice has the step 1, not {one.step}")
            start = first if one.start is None else int(one.start)
            stop = first + length if one.stop is None else int(one.stop)
        else:
            start, stop = int(one), int(one) + 1
        if not first <= start <= stop <= first + length:
            raise UsageError(f"{start}..{stop} is outside the volume, {first}..{first + length} on this axis")
        begin.append(start)
        end.append(stop)
    return VoxelBox(tuple(begin), tuple(end))


def cells_of(scale: VolumeScale, box: VoxelBox) -> list[tuple[int, ...]]:
    """Return the cells of the grid that have voxels of a box."""
    ranges = [
        range((begin - first) // step, -(-(end - first) // step)) if end > begin else range(0)
        for begin, end, first, step in zip(box.begin, box.end, scale.voxel_offset, scale.chunk_size, strict=True)
    ]
    return list(product(*ranges))


def _copy(chunk: NDArray[Any], place: VoxelBox, out: NDArray[Any], box: VoxelBox) -> None:
    """Copy the voxels that a chunk and a box have in common."""
    begin = [max(a, b) for a, b in zip(place.begin, box.begin, strict=True)]
    end = [min(a, b) for a, b in zip(place.end, box.end, strict=True)]
    inside = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, place.begin, strict=True))
    there = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, box.begin, strict=True))
    out[there] = chunk[inside]
