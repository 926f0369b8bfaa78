"""Grid cell, voxel box and array of a compressed Morton code ("Compressed morton code", "Chunk encodings").

Boxes are half-open, in voxels of the scale.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decoder_process import TaskRunner, run_task
from shardcore.errors import FormatError, Unsupported
from shardcore.formats.neuroglancer.chunk_codecs import decode_chunk
from shardcore.formats.neuroglancer.info import KeySpace, VolumeScale
from shardcore.formats.neuroglancer.morton import Codes, decode, decode_many, encode
from shardcore.formats.neuroglancer.segmentation import ENCODING as SEGMENTATION
from shardcore.model.array_layout import RAW, ArrayLayout
from shardcore.model.chunk_grid import VoxelBox
from shardcore.model.number_text import plural
from shardcore.model.span import Span

DATA_TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32")


def cell_of(space: KeySpace, key: int) -> tuple[int, ...] | None:
    """Return the grid cell of a key; None if keys are not Morton codes."""
    return None if space.grid is None else decode(key, space.grid)


def box_of(scale: VolumeScale, cell: tuple[int, ...]) -> VoxelBox:
    """Return the voxels of a cell, half-open; the last cell of an axis ends with the volume."""
    begin = tuple(at * step for at, step in zip(cell, scale.chunk_size, strict=True))
    end = tuple(min(b + step, size) for b, step, size in zip(begin, scale.chunk_size, scale.size, strict=True))
    return VoxelBox(
        tuple(b + offset for b, offset in zip(begin, scale.voxel_offset, strict=True)),
        tuple(e + offset for e, offset in zip(end, scale.voxel_offset, strict=True)),
    )


def key_of_voxel(space: KeySpace, voxel: tuple[int, ...]) -> int:
    """Return the key of the chunk with a voxel; raise UsageError outside the volume."""
    if space.scale is None or space.grid is None:
        raise FormatError(f"{space.name} is not a volume")
    offset, step = space.scale.voxel_offset, space.scale.chunk_size
    cell = tuple((at - first) // length for at, first, length in zip(voxel, offset, step, strict=True))
    return encode(cell, space.grid)


def chunk_sizes(space: KeySpace, keys: Codes) -> npt.NDArray[np.int64]:
    """Return the sizes of raw chunks in bytes, one per key; -1 if no cell has the key."""
    scale, grid, dtype = _raw_type(space)
    if math.prod(scale.chunk_size) * scale.num_channels * dtype.itemsize >= 1 << 62:
        raise FormatError(f"a chunk of {list(scale.chunk_size)} voxels is larger than any file")
    cells, valid = decode_many(keys, grid)
    sizes = np.full(len(keys), scale.num_channels * dtype.itemsize, np.int64)
    for axis, (length, step, count) in enumerate(zip(scale.size, scale.chunk_size, grid, strict=True)):
        # Only the last cell of an axis is cropped.
        last = length - (count - 1) * step
        sizes *= np.where(cells[:, axis] == np.uint64(count - 1), min(last, step), min(step, length))
    return np.where(valid, sizes, -1)


def chunk_layout(space: KeySpace, key: int) -> ArrayLayout:
    """Return the layout of a decoded chunk: axes x, y, z and channel, x fastest."""
    scale, grid, dtype = _typed(space)
    box = box_of(scale, decode(key, grid))
    return ArrayLayout(
        dtype,
        (*box.shape, scale.num_channels),
        "F",
        axes=("x", "y", "z", "channel"),
        begin=(*box.begin, 0),
        encoding=scale.encoding,
        block=scale.block_size if scale.encoding == SEGMENTATION else (),
        units=("nm", "nm", "nm", "") if scale.resolution else (),
        resolution=(*scale.resolution, 1) if scale.resolution else (),
    )


def chunk_array(
    space: KeySpace, key: int, data: bytes, *, decoder: TaskRunner = run_task, place: Span | None = None
) -> npt.NDArray[np.generic]:
    """Return a decoded chunk as a read-only array of shape `(x, y, z, channel)`; raises like `decode_chunk`."""
    layout, data = decode_chunk(chunk_layout(space, key), data, decoder=decoder, place=place)
    if len(data) != layout.nbytes:
        text = f"{'×'.join(map(str, layout.shape))} values of {layout.dtype.name} take {layout.nbytes:,}"
        raise FormatError(f"chunk {key} has {plural(len(data), 'byte')}; {text}")
    return layout.of(data)


def _raw_type(space: KeySpace) -> tuple[VolumeScale, tuple[int, ...], np.dtype[np.generic]]:
    scale, grid, dtype = _typed(space)
    if scale.encoding != RAW:
        raise Unsupported(f"chunk encoding {scale.encoding!r} is not supported")
    return scale, grid, dtype


def _typed(space: KeySpace) -> tuple[VolumeScale, tuple[int, ...], np.dtype[np.generic]]:
    if space.scale is None or space.grid is None:
        raise FormatError(f"{space.name} is not a volume")
    if space.scale.data_type not in DATA_TYPES:
        raise Unsupported(f"data_type {space.scale.data_type!r} is not supported")
    return space.scale, space.grid, np.dtype(space.scale.data_type).newbyteorder("<")
