"""Writers of small Neuroglancer volumes for tests, sharded or with one file per chunk."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from shardcore.formats.neuroglancer.morton import encode as morton
from shardcore.formats.neuroglancer.morton import grid_of
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
    """Return the JSON object of a scale in an `info` file; `nm` is the size of a voxel."""
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
    """Write the `info` file of a volume."""
    folder.mkdir(parents=True, exist_ok=True)
    members = {"@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": dtype, "num_channels": 1}
    (folder / "info").write_text(json.dumps(members | more | {"scales": list(scales)}))


def chunks_of(array: NDArray[Any], chunk: tuple[int, ...]) -> dict[tuple[int, ...], NDArray[Any]]:
    """Return the chunks of an array by grid cell."""
    grid = grid_of(array.shape, chunk)
    return {
        cell: array[tuple(slice(n * step, (n + 1) * step) for n, step in zip(cell, chunk, strict=True))]
        for cell in product(*map(range, grid))
    }


Encode = Callable[[NDArray[Any]], bytes]


def raw(part: NDArray[Any]) -> bytes:
    """Encode a chunk as `raw`: its voxels, x fastest."""
    return part.tobytes(order="F")


def segmentation(part: NDArray[Any], block: tuple[int, ...] = (2, 2, 2)) -> bytes:
    """Encode a chunk of segment IDs like the package compressed_segmentation: blocks share equal label tables."""
    grid, dtype = grid_of(part.shape, block), part.dtype.newbyteorder("<")
    heads, body, tables = [], bytearray(8 * int(np.prod(grid))), {}
    for cell in product(*(range(count) for count in reversed(grid))):
        start = [at * edge for at, edge in zip(reversed(cell), block, strict=True)]
        found = part[tuple(slice(at, at + edge) for at, edge in zip(start, block, strict=True))]
        labels, indices = np.unique(found, return_inverse=True)
        bits = next(bits for bits in (0, 1, 2, 4, 8, 16, 32) if len(labels) <= 1 << bits)
        values, stored = np.zeros(block, np.uint32), len(body)
        values[tuple(map(slice, found.shape))] = indices.reshape(found.shape)
        if bits:
            shifts = np.arange(bits, dtype=np.uint32)
            packed = np.packbits(values.ravel(order="F")[:, None] >> shifts & 1, bitorder="little").tobytes()
            body += packed + bytes(-len(packed) % 4)
        table = labels.astype(dtype).tobytes()
        if table not in tables:
            tables[table] = len(body) // 4
            body += table
        heads += [tables[table] | bits << 24, stored // 4]
    body[: 4 * len(heads)] = np.array(heads, "<u4").tobytes()
    return (1).to_bytes(4, "little") + bytes(body)


def png(part: NDArray[Any]) -> bytes:
    """Encode a chunk as a grey PNG whose pixels are the voxels, x fastest."""
    stream = BytesIO()
    Image.fromarray(part.ravel(order="F").reshape(-1, part.shape[0])).save(stream, "PNG")
    return stream.getvalue()


def write_files(
    folder: Path,
    array: NDArray[Any],
    chunk: tuple[int, ...],
    *,
    packed: bool = False,
    ending: str = "",
    encode: Encode = raw,
) -> None:
    """Write each chunk that is not all zeros to its own file."""
    folder.mkdir(parents=True)
    for cell, part in chunks_of(array, chunk).items():
        if not part.any():
            continue
        begin = [n * step + first for n, step, first in zip(cell, chunk, OFFSET, strict=True)]
        name = "_".join(f"{at}-{at + length}" for at, length in zip(begin, part.shape, strict=True))
        data = encode(part)
        (folder / f"{name}{ending}").write_bytes(gzip.compress(data, mtime=0) if packed else data)


def write_shards(
    folder: Path, array: NDArray[Any], chunk: tuple[int, ...], spec: dict[str, Any], encode: Encode = raw
) -> None:
    """Write the chunks that are not all zeros to shards."""
    folder.mkdir(parents=True)
    grid = grid_of(array.shape, chunk)
    rows = [(morton(cell, grid), encode(part)) for cell, part in chunks_of(array, chunk).items() if part.any()]
    for name, data in build(ShardingSpec.parse(spec), rows).items():
        (folder / name).write_bytes(data)


def sample_array(shape: tuple[int, ...] = (20, 13, 9), dtype: str = "<u2", seed: int = 3) -> NDArray[Any]:
    """Return an array of random numbers with one chunk of zeros."""
    array = np.random.default_rng(seed).integers(1, 250, shape).astype(dtype)
    array[4:8, 4:8, 4:8] = 0
    return array


ENCODED = {"labels": ("compressed_segmentation", segmentation), "png": ("png", png)}
"""Name and function of the chunk encodings other than raw, by the name in `form` of `write_volume`."""


def write_volume(folder: Path, form: str, array: NDArray[Any], chunk: tuple[int, ...] = (4, 4, 4), **more: Any) -> Path:
    """Write a volume of one scale; return the folder of the scale.

    Forms: `raw`, `gzip`, `labels` and `png` are sharded; with `files ` before `labels` or `png`, each chunk is a file.
    `files` are raw, `files gz` are gzip files with the suffix .gz, and `files packed` are gzip files without it.
    """
    scale, packed, kind = folder / "4_4_4", form.removeprefix("files").strip(), form.rsplit(maxsplit=1)[-1]
    encoding, encode = ENCODED.get(kind, ("raw", raw))
    said = scale_of(array, chunk, "4_4_4") | {"encoding": encoding}
    if kind == "labels":
        said["compressed_segmentation_block_size"] = [2, 2, 2]
    if form.startswith("files"):
        write_info(folder, array.dtype.name, said, **more)
        gzipped = packed in ("gz", "packed")
        write_files(scale, array, chunk, packed=gzipped, ending=".gz" if packed == "gz" else "", encode=encode)
    else:
        spec = SPEC | {"data_encoding": form if form in ("raw", "gzip") else "gzip"}
        write_info(folder, array.dtype.name, said | {"sharding": spec}, **more)
        write_shards(scale, array, chunk, spec, encode)
    return scale


FORMS = ("raw", "gzip", "files", "files gz", "files packed")


class Slabs:
    """Array like those of h5py and zarr, from which only slices can be read; `read` lists the sizes of these slices."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.shape, self.dtype, self.read = array, array.shape, array.dtype, list[int]()

    def __getitem__(self, index: Any) -> NDArray[Any]:
        self.read.append(self.array[index].size)
        return self.array[index]
