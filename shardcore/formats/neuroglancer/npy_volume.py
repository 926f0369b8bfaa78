"""A volume from a `.npy` array: its info, and its chunks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shardcore.errors import SourceError, UsageError, reason_of
from shardcore.formats.neuroglancer.chunks import DATA_TYPES, box_of
from shardcore.formats.neuroglancer.info import VOLUME_TYPE, SpaceKind
from shardcore.formats.neuroglancer.info_writer import SpaceDescription
from shardcore.formats.neuroglancer.morton import decode_many, encode_many
from shardcore.writing.inputs import InputItem, check_unchanged

CHUNK = "64,64,64"
RESOLUTION = "1,1,1"
LABELS = ("uint32", "uint64")
"""Voxel types that are treated as a segmentation by default."""
BLOCK = 1 << 16
"""Number of chunks whose codes are computed at once."""

Array = npt.NDArray[Any]


def describe_volume(path: str, chunk_size: str | None, resolution: str | None, kind: str | None) -> SpaceDescription:
    """Return the description of a volume with one scale, without sharding specification.

    `chunk_size` and `resolution` (nanometres) are three comma-separated numbers; `kind` defaults by voxel type.
    """
    array = load_npy(path)
    if kind not in (None, "image", "segmentation"):
        raise UsageError(f"kind={kind}: the kind of a volume must be image or segmentation")
    nanometres = [float(number) for number in _three("resolution", resolution or RESOLUTION, r"[0-9]+(?:\.[0-9]+)?")]
    steps = [int(number) for number in _three("chunk_size", chunk_size or CHUNK, r"[0-9]{1,9}")]
    if not all(steps) or not all(nanometres):
        raise UsageError("chunk_size and resolution must be greater than 0")
    plain = [int(number) if number.is_integer() else number for number in nanometres]
    name = array.dtype.name
    scale = {
        "key": "_".join(map(str, plain)),
        "size": list(array.shape[:3]),
        "voxel_offset": [0, 0, 0],
        "chunk_sizes": [steps],
        "resolution": plain,
        "encoding": "raw",
    }
    members = {
        "@type": VOLUME_TYPE,
        "type": kind or ("segmentation" if name in LABELS else "image"),
        "data_type": name,
        "num_channels": array.shape[3] if array.ndim == 4 else 1,
        "scales": [scale],
    }
    return SpaceDescription(SpaceKind.VOLUME, members, ("scales", 0))


def load_npy(path: str) -> Array:
    try:
        array = np.load(Path(path), mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {reason_of(error)}") from error
    except (ValueError, EOFError) as error:
        raise UsageError(f"{path} is not a .npy array of numbers: {error}") from error
    if not isinstance(array, np.ndarray):
        raise UsageError(f"{path} is not a .npy file with one array")
    if array.ndim not in (3, 4) or not array.size:
        raise UsageError(f"{path} has the shape {array.shape}; a volume has the axes x, y, z and optionally channel")
    if array.dtype.name not in DATA_TYPES:
        raise UsageError(f"{path} has the type {array.dtype}; voxels must be {', '.join(DATA_TYPES)}")
    return array


def chunks(path: str, described: SpaceDescription) -> Iterator[InputItem]:
    """Yield the chunks in key order; raise SourceError if the file changes while it is read."""
    array = load_npy(path)
    try:
        before = Path(path).stat()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {reason_of(error)}") from error
    space = described.space()
    scale, grid = space.scale, space.grid
    if scale is None or grid is None:
        return
    dtype = array.dtype.newbyteorder("<")
    for code, cell in _cells(grid):
        box = box_of(scale, cell)
        part = tuple(slice(begin, end) for begin, end in zip(box.begin, box.end, strict=True))
        yield InputItem(str(code), _bytes_of(array, part, dtype), f"{path} at {box}")
    check_unchanged(Path(path), path, before)


def _bytes_of(array: Array, part: tuple[slice, ...], dtype: np.dtype[Any]) -> Any:
    return lambda: array[part].astype(dtype).tobytes(order="F")


def _cells(grid: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    total = math.prod(grid)
    codes = np.zeros(0, np.uint64)
    for first in range(0, total, BLOCK):
        numbers = np.arange(first, min(first + BLOCK, total))
        cells = np.stack(np.unravel_index(numbers, grid), axis=1).astype(np.uint64)
        codes = np.concatenate([codes, encode_many(cells, grid)])
    codes.sort()
    for first in range(0, total, BLOCK):
        part = codes[first : first + BLOCK]
        cells, _ = decode_many(part, grid)
        yield from zip(part.tolist(), map(tuple, cells.tolist()), strict=True)


def _three(name: str, text: str, form: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(re.fullmatch(form, part) for part in parts):
        raise UsageError(f"{name}={text}: three numbers are required, such as 64,64,64")
    return parts
