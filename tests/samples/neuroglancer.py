"""The samples of Neuroglancer: each a data set of its own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

import shardcore
from shardcore.formats.neuroglancer.morton import encode
from tests.samples.entry import Entry, Key, overwritten
from tests.samples.words import sentences

MESHES = Path(__file__).parent.parent / "data" / "neuroglancer" / "mesh"
"""Meshes of cloud-volume: there is no encoder of Draco here."""
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
        _damaged(folder / "damaged"),
        _odd(folder / "odd"),
    ]


def _write(folder: Path, info: Any, sharding: Any, values: dict[int, bytes]) -> None:
    folder.mkdir()
    with shardcore.create(folder, format="neuroglancer", spec=info | {"sharding": sharding}) as writer:
        for key, value in values.items():
            writer.add(str(key), value)


def _worked(folder: Path) -> Entry:
    values = {1: b"one", 3: b"three", 9: b"nine", 12: b"twelve"}
    _write(folder, {"@type": "neuroglancer_skeletons"}, _sharding(1, "identity", 1, 1), values)
    return Entry(
        "neuroglancer/worked",
        "neuroglancer",
        "main",
        "Neuroglancer precomputed",
        "worked by hand: 4 keys in two shards",
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
        found = {key: shard.find(key) for key in shard.objects.keys if key is not None}
        chosen = dict(sorted(found.items(), key=lambda one: int(one[0]))[:6])
        info = {
            "@type": "neuroglancer_multilod_draco",
            "vertex_quantization_bits": 10,
            "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],
            "lod_scale_multiplier": 1.0,
            "sharding": _sharding(0, "murmurhash3_x86_128", 1, 0),
        }
        with shardcore.create(folder, format="neuroglancer", spec=info) as writer:
            for key, ref in chosen.items():
                fragments = shard.read_part(ref, "fragments")
                writer.add(key, shard.read(ref), parts={"fragments": fragments})
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
        Key(str(encode((2, 1, 0), GRID)), "Chunk 2, 1, 0: the bits of three numbers in turn make the key."),
        Key(
            str(encode((1, 0, 0), GRID)),
            "Its neighbour 0, 0, 0 differs in the dropped bit alone: both share a minishard.",
        ),
        Key(str(encode((4, 3, 0), GRID)), "A corner in which all voxels are 0: the chunk was never written."),
    )


def _damaged(folder: Path) -> Entry:
    values = {key: sentences(key, 30).splitlines()[0] for key in range(20, 44, 2)}
    _write(folder, {"@type": "neuroglancer_skeletons"}, _sharding(1, "identity", 1, 0), values)
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
    _write(folder, {"@type": "neuroglancer_skeletons"}, _sharding(0, "identity", 1, 0), values)
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
