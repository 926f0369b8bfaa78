"""The samples of Neuroglancer: each a data set of its own."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import shardcore
from shardcore.formats.neuroglancer.morton import encode
from tests.bench.inputs import sharding
from tests.samples.damage import overwritten
from tests.samples.shapes import BITS, VOXEL, Ball, Ring, Tree, mesh_value, skeleton_value, voxels
from tests.samples.shapes import SIZE as EDGE
from tests.samples.words import sentences
from tests.volumes import segmentation

MESHES = Path(__file__).parent.parent / "data" / "neuroglancer" / "mesh"
"""Meshes of cloud-volume, for their keys."""
IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]


def _skeletons(*attributes: Any) -> dict[str, Any]:
    return {"@type": "neuroglancer_skeletons", "transform": IDENTITY, "vertex_attributes": list(attributes)}


def _mesh_info() -> dict[str, Any]:
    return {
        "@type": "neuroglancer_multilod_draco",
        "vertex_quantization_bits": BITS,
        "transform": IDENTITY,
        "lod_scale_multiplier": 1.0,
        "sharding": _raw("murmurhash3_x86_128", 1, 0),
    }


def _volume_info(kind: str, dtype: str, *scales: Any) -> dict[str, Any]:
    head = {"@type": "neuroglancer_multiscale_volume", "type": kind, "data_type": dtype, "num_channels": 1}
    return head | {"scales": list(scales)}


def _raw(how: str, minishard: int, shard: int, shift: int = 0) -> Any:
    return sharding(how, minishard, shard, index="raw", shift=shift)


def write(folder: Path) -> None:
    folder.mkdir()
    for name, make in _SETS.items():
        make(folder / name)


def _write(folder: Path, info: Any, spec: Any, values: dict[int, bytes]) -> None:
    folder.mkdir()
    with shardcore.create(folder, format="neuroglancer", spec=info | {"sharding": spec}) as writer:
        for key, value in values.items():
            writer.add(str(key), value)


def _write_words(folder: Path, spec: Any, values: dict[int, bytes]) -> None:
    """Writes values that are no meshes, skeletons or annotations: the info states the sharding alone."""
    _write(folder, {"@type": "neuroglancer_skeletons"}, spec, values)
    (folder / "info").write_text(json.dumps(spec))


def _worked(folder: Path) -> None:
    values = {1: b"one", 3: b"three", 9: b"nine", 12: b"twelve"}
    _write_words(folder, _raw("identity", 1, 1, 1), values)


def _skeleton(key: int) -> bytes:
    """A chain of vertices along a spiral: their number, that of the edges, places, pairs."""
    count = 3 + key % 4
    turns = np.arange(count) * 0.7 + key
    places = np.stack([np.cos(turns) * 40 + key, np.sin(turns) * 40, np.arange(count) * 25.0], axis=1)
    edges = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    return struct.pack("<II", count, count - 1) + places.astype("<f4").tobytes() + edges.astype("<u4").tobytes()


def _hashed(folder: Path) -> None:
    keys = [100 + 4 * group + rest for group in range(16) for rest in (0, 1, 3)]
    spec = sharding("murmurhash3_x86_128", 2, 1, shift=2)
    _write(folder, _skeletons(), spec, {key: _skeleton(key) for key in keys})


def _meshes(folder: Path) -> None:
    with shardcore.open(MESHES) as shard:
        shard.load_index()
        found = [key for key in shard.objects.keys if key is not None]
        chosen = sorted(found, key=int)[:6]
    balls = {key: Ball((30, 24 + 3 * number, 30), 8 + 2 * number) for number, key in enumerate(chosen)}
    _write_meshes(folder, balls)


def _write_meshes(folder: Path, shapes: Mapping[Any, Any]) -> None:
    folder.mkdir()
    with shardcore.create(folder, format="neuroglancer", spec=_mesh_info()) as writer:
        for key, shape in shapes.items():
            manifest, fragments = mesh_value(shape, MESH_DETAIL)
            writer.add(str(key), manifest, parts={"fragments": fragments})


GRID, STEP = (5, 4, 2), 8
SIZE = (38, 30, 14)
"""Voxels: the chunks at the end of each axis are cut."""


def _volume(folder: Path) -> None:
    x, y, z = np.mgrid[0 : SIZE[0], 0 : SIZE[1], 0 : SIZE[2]]
    ball = 250 - 16 * np.sqrt((x - 16) ** 2 + (y - 13) ** 2 + (2 * (z - 6)) ** 2)
    voxels = np.clip(ball, 0, 250).astype(np.uint8)
    scale = {
        "key": "8_8_16",
        "size": list(SIZE),
        "voxel_offset": [0, 0, 0],
        "chunk_sizes": [[STEP] * 3],
        "resolution": [8, 8, 16],
        "encoding": "raw",
        "sharding": _raw("identity", 2, 1, 1),
    }
    folder.mkdir()
    with shardcore.create(folder, format="neuroglancer", spec=_volume_info("image", "uint8", scale)) as writer:
        for cell in np.ndindex(*GRID):
            low = [STEP * at for at in cell]
            part = voxels[tuple(slice(at, at + STEP) for at in low)]
            # What is all fill value is not stored.
            if part.any():
                writer.add(str(encode(cell, GRID)), part.tobytes(order="F"))


SEGMENTS: dict[int, Any] = {
    7: Ball((16, 16, 16), 11),
    42: Ring((42, 40, 24), (0.4, 0.3, 1), 15, 4.5),
    1001: Tree(
        (
            *((14, 50, 50, 6), (26, 46, 48, 4.5), (34, 36, 52, 3.5), (46, 30, 56, 3)),
            *((56, 20, 58, 2), (40, 48, 58, 2.5), (54, 54, 60, 2), (52, 22, 46, 2)),
        ),
        (-1, 0, 1, 2, 3, 1, 5, 3),
    ),
    2**53 + 1: Ball((50, 12, 12), 7),
}
"""Segments by their numbers; the last is one that a float does not hold."""
MESH_DETAIL = (16, 8)
PIECE = 32
"""Voxels along each edge of a chunk."""


def _segmentation(folder: Path) -> None:
    """A segmentation of two scales, with meshes of two levels and skeletons."""
    folder.mkdir()
    scales = [_segmentation_scale(folder, step) for step in (1, 2)]
    info = _volume_info("segmentation", "uint64", *scales)
    (folder / "info").write_text(json.dumps({**info, "mesh": "mesh", "skeletons": "skeletons"}))
    _write_meshes(folder / "mesh", SEGMENTS)
    radius = {"id": "radius", "data_type": "float32", "num_components": 1}
    tree, ring = SEGMENTS[1001], SEGMENTS[42]
    points, pairs = ring.path(24)
    values = {
        42: skeleton_value(points, pairs, np.full(len(points), ring.thickness)),
        1001: skeleton_value(*tree.path(3.0)),
    }
    _write(folder / "skeletons", _skeletons(radius), _raw("murmurhash3_x86_128", 1, 0), values)


def _segmentation_scale(folder: Path, step: int) -> dict[str, Any]:
    """Writes one scale; returns its part of the info."""
    length = int(VOXEL) * step
    scale = {
        "key": "_".join([str(length)] * 3),
        "size": [EDGE // step] * 3,
        "voxel_offset": [0, 0, 0],
        "chunk_sizes": [[PIECE] * 3],
        "resolution": [length] * 3,
        "encoding": "compressed_segmentation",
        "compressed_segmentation_block_size": [8, 8, 8],
        "sharding": _raw("identity", 1, 0, 1),
    }
    labels, grid = voxels(SEGMENTS, step), (EDGE // step // PIECE,) * 3
    spec = _volume_info("segmentation", "uint64", scale)
    (folder / "made").mkdir()
    with shardcore.create(folder / "made", format="neuroglancer", spec=spec) as writer:
        for cell in np.ndindex(*grid):
            low = [PIECE * at for at in cell]
            part = labels[tuple(slice(at, at + PIECE) for at in low)]
            writer.add(str(encode(cell, grid)), segmentation(part, (8, 8, 8)))
    (folder / "made" / str(scale["key"])).rename(folder / str(scale["key"]))
    (folder / "made" / "info").unlink()
    (folder / "made").rmdir()
    return scale


def _damaged(folder: Path) -> None:
    values = {key: sentences(key, 30).splitlines()[0] for key in range(20, 44, 2)}
    _write_words(folder, _raw("identity", 1, 0, 1), values)
    path = folder / "0.shard"
    data = path.read_bytes()
    start, stop = struct.unpack("<QQ", data[:16])
    base, count = 32, (stop - start) // 24
    # The second row has one gap for each key; the gap before the second value becomes 1.
    at = base + start + 8 * count + 8
    path.write_bytes(overwritten(data, at, b"\x00", b"\x01"))


def _odd(folder: Path) -> None:
    values = {1: b"first", 2: b"second", 9: b"ninth", 10: b"tenth"}
    _write_words(folder, _raw("identity", 1, 0), values)
    path = folder / "0.shard"
    data = path.read_bytes()
    start, _ = struct.unpack("<QQ", data[16:32])
    # Minishard 1 has the keys 1 and 9; a difference of 0 instead of 8 makes the second one 1 again.
    data = overwritten(data, 32 + start + 8, b"\x08", b"\x00")
    path.write_bytes(data + b"left over by a longer file")


_SETS = {
    "worked": _worked,
    "hashed": _hashed,
    "mesh": _meshes,
    "volume": _volume,
    "segmentation": _segmentation,
    "damaged": _damaged,
    "odd": _odd,
}
