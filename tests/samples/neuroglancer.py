"""The samples of Neuroglancer: each a data set of its own."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

import shardcore
from shardcore.formats.neuroglancer.morton import encode
from tests.samples.entry import Entry, Key, overwritten
from tests.samples.shapes import BITS, VOXEL, Ball, Ring, Tree, mesh_value, skeleton_value, voxels
from tests.samples.shapes import SIZE as EDGE
from tests.samples.words import sentences

MESHES = Path(__file__).parent.parent / "data" / "neuroglancer" / "mesh"
"""Meshes of cloud-volume, for their keys."""
SKELETONS: dict[str, Any] = {
    "@type": "neuroglancer_skeletons",
    "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
    "vertex_attributes": [],
}


def _sharding(preshift: int, how: str, minishard: int, shard: int, index: str = "raw", data: str = "raw") -> Any:
    return {
        "@type": "neuroglancer_uint64_sharded_v1",
        "preshift_bits": preshift,
        "hash": how,
        "minishard_bits": minishard,
        "shard_bits": shard,
        "minishard_index_encoding": index,
        "data_encoding": data,
    }


def write(folder: Path) -> list[Entry]:
    """Writes them, and says what they are."""
    folder.mkdir()
    return [
        _worked(folder / "worked"),
        _hashed(folder / "hashed"),
        _meshes(folder / "mesh"),
        _volume(folder / "volume"),
        *_segmentation(folder / "segmentation"),
        _damaged(folder / "damaged"),
        _odd(folder / "odd"),
    ]


def _write(folder: Path, info: Any, sharding: Any, values: dict[int, bytes]) -> None:
    folder.mkdir()
    with shardcore.create(folder, format="neuroglancer", spec=info | {"sharding": sharding}) as writer:
        for key, value in values.items():
            writer.add(str(key), value)


def _write_words(folder: Path, sharding: Any, values: dict[int, bytes]) -> None:
    """Writes values that are no meshes, skeletons or annotations: the info states the sharding alone."""
    _write(folder, {"@type": "neuroglancer_skeletons"}, sharding, values)
    (folder / "info").write_text(json.dumps(sharding))


def _worked(folder: Path) -> Entry:
    values = {1: b"one", 3: b"three", 9: b"nine", 12: b"twelve"}
    _write_words(folder, _sharding(1, "identity", 1, 1), values)
    return Entry(
        "neuroglancer/worked",
        "neuroglancer",
        "main",
        "Neuroglancer precomputed",
        "4 keys in 2 shards, small enough to follow by hand",
        "Four short words under four keys, one bit dropped, one for the minishard, one for the shard: done by hand.",
        Key("12", "12 is 1100b: the lowest bit is dropped, minishard 0, shard 1."),
        Key("9", "1 and 9 share minishard 0 of shard 0: the second key is the sum of two differences."),
        Key("5", "5 is 101b: minishard 0 of shard 1, which has one key, and that is 12."),
    )


def _skeleton(key: int) -> bytes:
    """A chain of vertices along a spiral: their number, that of the edges, places, pairs."""
    count = 3 + key % 4
    turns = np.arange(count) * 0.7 + key
    places = np.stack([np.cos(turns) * 40 + key, np.sin(turns) * 40, np.arange(count) * 25.0], axis=1)
    edges = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    return struct.pack("<II", count, count - 1) + places.astype("<f4").tobytes() + edges.astype("<u4").tobytes()


def _hashed(folder: Path) -> Entry:
    keys = [100 + 4 * group + rest for group in range(16) for rest in (0, 1, 3)]
    sharding = _sharding(2, "murmurhash3_x86_128", 2, 1, "gzip")
    _write(folder, SKELETONS, sharding, {key: _skeleton(key) for key in keys})
    return Entry(
        "neuroglancer/hashed",
        "neuroglancer",
        "further",
        "Skeletons, hashed",
        "48 skeletons in two shards: MurmurHash3 after two dropped bits",
        "Neighbours lose their lowest two bits and hash alike, so they share a minishard; hashing spreads the groups.",
        Key("132", "Two bits are dropped, the rest is hashed, and the hash gives minishard and shard."),
        Key("101", "100, 101 and 103 are one number after the shift: they stand side by side in one minishard."),
        Key("102", "It leads to the same minishard as 101 and 103, and is not in the list there."),
    )


def _meshes(folder: Path) -> Entry:
    folder.mkdir()
    with shardcore.open(MESHES) as shard:
        shard.load_index()
        found = [key for key in shard.objects.keys if key is not None]
        chosen = sorted(found, key=int)[:6]
        info = {
            "@type": "neuroglancer_multilod_draco",
            "vertex_quantization_bits": 10,
            "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
            "lod_scale_multiplier": 1.0,
            "sharding": _sharding(0, "murmurhash3_x86_128", 1, 0),
        }
        with shardcore.create(folder, format="neuroglancer", spec=info) as writer:
            for number, key in enumerate(chosen):
                manifest, fragments = mesh_value(Ball((30, 24 + 3 * number, 30), 8 + 2 * number), MESH_DETAIL)
                writer.add(key, manifest, parts={"fragments": fragments})
    typical, crowded, *_ = chosen
    return Entry(
        "neuroglancer/mesh",
        "neuroglancer",
        "further",
        "Meshes",
        "six meshes: manifests, and fragments that no index lists",
        "The index lists manifests only; the fragments lie in front of each, and copying the values alone loses them.",
        Key(typical, "The value is the manifest; it says how many bytes in front of it are fragments."),
        Key(crowded, "Its minishard has more meshes: the difference of offsets jumps over the fragments between them."),
        Key("5", "No minishard has it."),
    )


GRID, STEP = (5, 4, 2), 8
SIZE = (38, 30, 14)
"""Voxels: the chunks at the end of each axis are cut."""


def _volume(folder: Path) -> Entry:
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
        "sharding": _sharding(1, "identity", 2, 1),
    }
    info = {
        "@type": "neuroglancer_multiscale_volume",
        "type": "image",
        "data_type": "uint8",
        "num_channels": 1,
        "scales": [scale],
    }
    folder.mkdir()
    with shardcore.create(folder, format="neuroglancer", spec=info) as writer:
        for cell in np.ndindex(*GRID):
            low = [STEP * at for at in cell]
            part = voxels[tuple(slice(at, at + STEP) for at in low)]
            # What is all fill value is not stored.
            if part.any():
                writer.add(str(encode(cell, GRID)), part.tobytes(order="F"))
    return Entry(
        "neuroglancer/volume",
        "neuroglancer",
        "further",
        "A volume",
        "38 × 30 × 14 voxels in chunks of 8 × 8 × 8",
        "Keys are places: the bits of x, y and z of a chunk, dealt out in turn; dark chunks are not stored at all.",
        Key(str(encode((3, 0, 1), GRID)), "Chunk 3, 0, 1: the bits of three numbers in turn make the key."),
        Key(
            str(encode((1, 0, 0), GRID)),
            "Its neighbour 0, 0, 0 differs in the dropped bit alone: both share a minishard.",
        ),
        Key(str(encode((4, 3, 0), GRID)), "A corner in which all voxels are 0: the chunk was never written."),
    )


SEGMENTS: dict[int, Any] = {
    7: Ball((16, 16, 16), 11),
    42: Ring((42, 40, 24), (0.4, 0.3, 1), 15, 4.5),
    1001: Tree(
        (
            (14, 50, 50, 6),
            (26, 46, 48, 4.5),
            (34, 36, 52, 3.5),
            (46, 30, 56, 3),
            (56, 20, 58, 2),
            (40, 48, 58, 2.5),
            (54, 54, 60, 2),
            (52, 22, 46, 2),
        ),
        (-1, 0, 1, 2, 3, 1, 5, 3),
    ),
    2**53 + 1: Ball((50, 12, 12), 7),
}
"""Segments by their numbers; the last is one that a float does not hold."""
MESH_DETAIL = (16, 8)
PIECE = 32
"""Voxels along each edge of a chunk."""
IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]


def _segmentation(folder: Path) -> list[Entry]:
    """A segmentation of two scales, with meshes of two levels and skeletons."""
    folder.mkdir()
    scales = [_segmentation_scale(folder, step) for step in (1, 2)]
    (folder / "info").write_text(json.dumps({**_segmentation_info(scales), "mesh": "mesh", "skeletons": "skeletons"}))
    mesh_info = {
        "@type": "neuroglancer_multilod_draco",
        "vertex_quantization_bits": BITS,
        "transform": IDENTITY,
        "lod_scale_multiplier": 1.0,
        "sharding": _sharding(0, "murmurhash3_x86_128", 1, 0),
    }
    (folder / "mesh").mkdir()
    with shardcore.create(folder / "mesh", format="neuroglancer", spec=mesh_info) as writer:
        for segment, shape in SEGMENTS.items():
            manifest, fragments = mesh_value(shape, MESH_DETAIL)
            writer.add(str(segment), manifest, parts={"fragments": fragments})
    radius = {"id": "radius", "data_type": "float32", "num_components": 1}
    info = {"@type": "neuroglancer_skeletons", "transform": IDENTITY, "vertex_attributes": [radius]}
    tree, ring = SEGMENTS[1001], SEGMENTS[42]
    points, pairs = ring.path(24)
    values = {
        42: skeleton_value(points, pairs, np.full(len(points), ring.thickness)),
        1001: skeleton_value(*tree.path(3.0)),
    }
    _write(folder / "skeletons", info, _sharding(0, "murmurhash3_x86_128", 1, 0), values)
    return [_voxels_entry(), _meshes_entry(), _skeletons_entry()]


def _segmentation_info(scales: list[Any]) -> dict[str, Any]:
    return {
        "@type": "neuroglancer_multiscale_volume",
        "type": "segmentation",
        "data_type": "uint64",
        "num_channels": 1,
        "scales": scales,
    }


def _segmentation_scale(folder: Path, step: int) -> dict[str, Any]:
    """Writes one scale; returns its part of the info."""
    import compressed_segmentation

    length = int(VOXEL) * step
    scale = {
        "key": "_".join([str(length)] * 3),
        "size": [EDGE // step] * 3,
        "voxel_offset": [0, 0, 0],
        "chunk_sizes": [[PIECE] * 3],
        "resolution": [length] * 3,
        "encoding": "compressed_segmentation",
        "compressed_segmentation_block_size": [8, 8, 8],
        "sharding": _sharding(1, "identity", 1, 0),
    }
    labels, grid = voxels(SEGMENTS, step), (EDGE // step // PIECE,) * 3
    spec = _segmentation_info([scale])
    (folder / "made").mkdir()
    with shardcore.create(folder / "made", format="neuroglancer", spec=spec) as writer:
        for cell in np.ndindex(*grid):
            low = [PIECE * at for at in cell]
            part = np.asfortranarray(labels[tuple(slice(at, at + PIECE) for at in low)][..., None])
            writer.add(str(encode(cell, grid)), compressed_segmentation.compress(part, order="F"))
    (folder / "made" / str(scale["key"])).rename(folder / str(scale["key"]))
    (folder / "made" / "info").unlink()
    (folder / "made").rmdir()
    return scale


def _voxels_entry() -> Entry:
    return Entry(
        "neuroglancer/segmentation/16_16_16",
        "neuroglancer",
        "further",
        "A segmentation",
        "64 × 64 × 64 voxels, four segments; its meshes and skeletons lie beside it",
        "Each voxel has the number of its segment; blocks of 8 × 8 × 8 have a table, and few bits per voxel.",
        Key("7", "The last chunk: most of the branching segment 1001 is in it."),
        Key("1", "It differs from chunk 0 in the dropped bit: both share a minishard."),
        Key("8", "There are 8 chunks, from 0 to 7."),
    )


def _meshes_entry() -> Entry:
    return Entry(
        "neuroglancer/segmentation/mesh",
        "neuroglancer",
        "featured",
        "Meshes of a segmentation",
        "four meshes of two levels of detail",
        "Turn a mesh in the preview: each fragment is a Draco stream in front of the manifest that the index lists.",
        Key("1001", "A branching tube: its manifest, and the fragments of two levels in front of it."),
        Key(str(2**53 + 1), "A number that is no float: rounded, it would be another segment."),
        Key("8", "No segment has this number."),
    )


def _skeletons_entry() -> Entry:
    return Entry(
        "neuroglancer/segmentation/skeletons",
        "neuroglancer",
        "further",
        "Skeletons of a segmentation",
        "two skeletons with the radius of each vertex",
        "Vertices, then edges, then a radius for each vertex: point at one in the preview to see its 12 bytes.",
        Key("1001", "The middle lines of the branching tube."),
        Key("42", "The middle line of the ring: as many edges as vertices."),
        Key("7", "A ball has no skeleton here."),
    )


def _damaged(folder: Path) -> Entry:
    values = {key: sentences(key, 30).splitlines()[0] for key in range(20, 44, 2)}
    _write_words(folder, _sharding(1, "identity", 1, 0), values)
    path = folder / "0.shard"
    data = path.read_bytes()
    start, stop = struct.unpack("<QQ", data[:16])
    base, count = 32, (stop - start) // 24
    # The second row has one gap for each key; the gap before the second value becomes 1.
    at = base + start + 8 * count + 8
    path.write_bytes(overwritten(data, at, b"\x00", b"\x01"))
    return Entry(
        "neuroglancer/damaged",
        "neuroglancer",
        "damaged",
        "One bit of a minishard index",
        "values that begin one byte too late",
        "One gap is 1 instead of 0: minishard 0 serves all values but the first one byte late, and no reader notices.",
        Key("22", "Minishard 1 is whole."),
        Key("28", "Its place is a sum of gaps, and one before it is wrong: the first letter is missing."),
        Key("21", "An odd number with the same minishard as 20, but not in its list."),
    )


def _odd(folder: Path) -> Entry:
    values = {1: b"first", 2: b"second", 9: b"ninth", 10: b"tenth"}
    _write_words(folder, _sharding(0, "identity", 1, 0), values)
    path = folder / "0.shard"
    data = path.read_bytes()
    start, _ = struct.unpack("<QQ", data[16:32])
    # Minishard 1 has the keys 1 and 9; a difference of 0 instead of 8 makes the second one 1 again.
    data = overwritten(data, 32 + start + 8, b"\x08", b"\x00")
    path.write_bytes(data + b"left over by a longer file")
    return Entry(
        "neuroglancer/odd",
        "neuroglancer",
        "odd",
        "A key twice, and bytes after the end",
        "which of two values is served depends on the reader",
        "Key 1 stands there twice, as a difference of 0; and nothing refers to the last 26 bytes.",
        Key("2", "Minishard 0 has two keys, 2 and 10."),
        Key("1", "There twice: tensorstore serves the first, cloud-volume the last when it takes a whole shard apart."),
        Key("9", "It was there before its difference became 0."),
    )
