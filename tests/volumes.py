"""Volumes of an array, as tests need them: sharded, and as one file per chunk."""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.neuroglancer.morton import encode, grid_of
from shardcore.formats.neuroglancer.sharding import SHARDING_TYPE, ShardingSpec
from tests.shardcore.formats.neuroglancer.made import build

SPEC = {
    "@type": SHARDING_TYPE,
    "preshift_bits": 1,
    "hash": "identity",
    "minishard_bits": 2,
    "shard_bits": 1,
    "minishard_index_encoding": "gzip",
    "data_encoding": "raw",
}
OFFSET = (5, -3, 100)


def scale_of(
    array: NDArray[Any], chunk: tuple[int, ...], key: str, spec: dict[str, Any] | None = None, nm: float = 4
) -> dict[str, Any]:
    """The object of a scale in an info."""
    scale = {
        "key": key,
        "size": list(array.shape[:3]),
        "voxel_offset": list(OFFSET),
        "chunk_sizes": [list(chunk)],
        "resolution": [nm, nm, nm],
        "encoding": "raw",
    }
    return scale | ({"sharding": spec} if spec else {})


def write_info(folder: Path, dtype: str, *scales: dict[str, Any], **more: Any) -> None:
    """The info of a volume."""
    folder.mkdir(parents=True, exist_ok=True)
    members = {"@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": dtype, "num_channels": 1}
    (folder / "info").write_text(json.dumps(members | more | {"scales": list(scales)}))


def chunks_of(array: NDArray[Any], chunk: tuple[int, ...]) -> dict[tuple[int, ...], NDArray[Any]]:
    """The chunks of an array, by their cells."""
    grid = grid_of(array.shape, chunk)
    return {
        cell: array[tuple(slice(n * step, (n + 1) * step) for n, step in zip(cell, chunk, strict=True))]
        for cell in product(*map(range, grid))
    }


def write_files(
    folder: Path, array: NDArray[Any], chunk: tuple[int, ...], *, packed: bool = False, ending: str = ""
) -> None:
    """The chunks that are not all 0, a file each."""
    folder.mkdir(parents=True)
    for cell, part in chunks_of(array, chunk).items():
        if not part.any():
            continue
        begin = [n * step + first for n, step, first in zip(cell, chunk, OFFSET, strict=True)]
        name = "_".join(f"{at}-{at + length}" for at, length in zip(begin, part.shape, strict=True))
        data = part.tobytes(order="F")
        (folder / f"{name}{ending}").write_bytes(gzip.compress(data, mtime=0) if packed else data)


def write_shards(folder: Path, array: NDArray[Any], chunk: tuple[int, ...], spec: dict[str, Any]) -> None:
    """The chunks that are not all 0, in shards."""
    folder.mkdir(parents=True)
    grid = grid_of(array.shape, chunk)
    rows = [
        (encode(cell, grid), part.tobytes(order="F")) for cell, part in chunks_of(array, chunk).items() if part.any()
    ]
    for name, data in build(ShardingSpec.parse(spec), rows).items():
        (folder / name).write_bytes(data)


def sample_array(shape: tuple[int, ...] = (20, 13, 9), dtype: str = "<u2", seed: int = 3) -> NDArray[Any]:
    """Random numbers, with one chunk of zeros in the middle."""
    array = np.random.default_rng(seed).integers(1, 250, shape).astype(dtype)
    array[4:8, 4:8, 4:8] = 0
    return array


def write_volume(folder: Path, form: str, array: NDArray[Any], chunk: tuple[int, ...] = (4, 4, 4), **more: Any) -> Path:
    """A volume of one scale in a form: `raw`, `gzip` (sharded), `files`, `files gz`, `files packed`; the scale."""
    scale = folder / "4_4_4"
    if form.startswith("files"):
        write_info(folder, array.dtype.name, scale_of(array, chunk, "4_4_4"), **more)
        write_files(scale, array, chunk, packed=form != "files", ending=".gz" if form == "files gz" else "")
    else:
        spec = SPEC | {"data_encoding": form}
        write_info(folder, array.dtype.name, scale_of(array, chunk, "4_4_4", spec), **more)
        write_shards(scale, array, chunk, spec)
    return scale


FORMS = ("raw", "gzip", "files", "files gz", "files packed")
