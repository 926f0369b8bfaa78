"""Hostile neuroglancer shards and infos."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shardcore.formats.neuroglancer.sharding import IDENTITY, ShardingSpec
from tests.hostile.making import MEGABYTES, UNFIT, gzip_bomb, hostile, hostile_texts, lead_out, put

SHARDING = ShardingSpec(0, IDENTITY, 0, 0).to_json()
MESHES = {"@type": "neuroglancer_multilod_draco", "vertex_quantization_bits": 10, "lod_scale_multiplier": 1}
MESHES |= {"transform": [1, 0, 0, 0] * 3}


def volume(sharding: Any, **scale: Any) -> dict[str, Any]:
    """The info of a volume of one scale."""
    one = {"key": "s", "size": [64, 64, 64], "chunk_sizes": [[64, 64, 64]], "voxel_offset": [0, 0, 0]}
    one |= {"encoding": "raw", "resolution": [1, 1, 1], "sharding": sharding}
    top = {"@type": "neuroglancer_multiscale_volume", "data_type": "uint8", "num_channels": 1, "type": "image"}
    return {**top, "scales": [one | scale]}


def index_of(ids: Sequence[int], starts: Sequence[int], sizes: Sequence[int]) -> bytes:
    """A minishard index: three rows, the first two as differences; sums wrap."""
    keys, places, lengths = (np.array(one, np.uint64) for one in (ids, starts, sizes))
    with np.errstate(over="ignore"):
        gaps = np.concatenate([places[:1], places[1:] - (places[:-1] + lengths[:-1])])
        return np.concatenate([np.diff(keys, prepend=np.uint64(0)), gaps, lengths]).astype("<u8").tobytes()


def _folder(folder: Path, info: Any, shard: bytes = b"", where: str = "") -> Path:
    text = info if isinstance(info, bytes) else json.dumps(info).encode()
    put(folder, "info", text)
    put(folder, f"{where}0.shard", shard or struct.pack("<2Q", 0, 0))
    return folder


def _mesh_info(**sharding: Any) -> dict[str, Any]:
    return {"@type": "neuroglancer_skeletons", "sharding": SHARDING | sharding}


def _one_minishard(
    folder: Path, payload: bytes, index: bytes, info: dict[str, Any] | None = None, where: str = "", **sharding: Any
) -> Path:
    head = struct.pack("<2Q", len(payload), len(payload) + len(index))
    info = info or _mesh_info(**sharding)
    return _folder(folder, info | ({} if where else {"sharding": SHARDING | sharding}), head + payload + index, where)


@hostile("neuroglancer", "0")
def far_numbers(folder: Path) -> Path:
    """Sizes of 1e308, of -1e308, of NaN, of infinity and of 2**64."""
    numbers = {"size": [1e308, 2**64, 1], "voxel_offset": [-1e308, float("nan"), float("inf")]}
    return _folder(folder, volume(SHARDING, **numbers), where="s/")


hostile_texts("neuroglancer", "info", _folder, "0")


@hostile("neuroglancer", "0")
def info_unfit(folder: Path) -> Path:
    """Names in an info that act on a terminal."""
    info = volume(SHARDING, encoding=UNFIT, key=UNFIT.replace("\0", ""))
    return _folder(folder, info | {"mesh": UNFIT, "skeletons": "\ud800"})


@hostile("neuroglancer", "0")
def links(folder: Path) -> Path:
    """An info that is a link out of the folder; shards that are FIFOs and links."""
    put(folder, "outside/info", json.dumps(_mesh_info(shard_bits=4)).encode())
    inside = folder / "inside"
    inside.mkdir()
    put(inside, "info", json.dumps(_mesh_info(shard_bits=4)).encode())
    put(inside, "0.shard", struct.pack("<2Q", 0, 0))
    lead_out(inside, [f"{number}.shard" for number in range(1, 6)])
    return inside


@hostile("neuroglancer", "0", "300000")
def one_value_of_a_gib(folder: Path) -> Path:
    """Hundreds of thousands of keys whose value is one gzip member that expands to a GiB."""
    bomb, count = gzip_bomb(), 350_000
    index = index_of(range(count), [0] * count, [len(bomb)] * count)
    return _one_minishard(folder, bomb, index, data_encoding="gzip")


@hostile("neuroglancer", "0", "400000")
def empty_values(folder: Path) -> Path:
    """As many keys without value as fit."""
    count = MEGABYTES // 24 - 10
    return _one_minishard(folder, b"", index_of(range(count), [0] * count, [0] * count))


@hostile("neuroglancer", "0")
def outside_values(folder: Path) -> Path:
    """Values whose places and keys are sums that wrap."""
    dice = np.random.default_rng(2)
    rows = [dice.integers(0, 2**64, 400_000, dtype=np.uint64) for _ in range(3)]
    return _one_minishard(folder, b"", np.concatenate(rows).astype("<u8").tobytes())


@hostile("neuroglancer", "0", "77777")
def shared_index(folder: Path) -> Path:
    """Half a million minishards whose index is one gzip member that expands to a GiB."""
    bits = 19
    bomb = gzip_bomb()
    pair = struct.pack("<2Q", 0, len(bomb))
    info = _mesh_info(minishard_bits=bits, minishard_index_encoding="gzip")
    return _folder(folder, info, pair * (1 << bits) + bomb)


@hostile("neuroglancer", "0", "5")
def wrong_ranges(folder: Path) -> Path:
    """Half a million minishards whose ranges run backwards, leave the file, or wrap."""
    bits = 19
    pairs = np.random.default_rng(3).integers(0, 2**64, (1 << bits, 2), dtype=np.uint64)
    return _folder(folder, _mesh_info(minishard_bits=bits), pairs.astype("<u8").tobytes())


@hostile("neuroglancer", "0")
def gzip_of_many_members(folder: Path) -> Path:
    """A value of a hundred thousand gzip members, and an index of two."""
    value = gzip.compress(b"x", mtime=0) * 100_000
    return _one_minishard(folder, value, index_of([0], [0], [len(value)]), data_encoding="gzip")


@hostile("neuroglancer", "0", "1")
def manifests(folder: Path) -> Path:
    """Manifests of meshes whose counts say more than there is, or many fragments of no size."""
    lots = 400_000
    head = struct.pack("<6fI", 1, 1, 1, 0, 0, 0, 1) + struct.pack("<f", 1) + struct.pack("<3f", 0, 0, 0)
    many = head + struct.pack("<I", lots) + bytes(16 * lots)
    liar = struct.pack("<6fI", 1, 1, 1, 0, 0, 0, 2**32 - 1)
    return _one_minishard(folder, many + liar, index_of([0, 1], [0, len(many)], [len(many), len(liar)]), MESHES)


@hostile("neuroglancer", "0")
def many_meshes(folder: Path) -> Path:
    """A hundred thousand meshes whose manifest is the same, with fragments that claim 4 GiB."""
    head = struct.pack("<6fI", 1, 1, 1, 0, 0, 0, 1) + struct.pack("<f", 1) + struct.pack("<3f", 0, 0, 0)
    manifest = head + struct.pack("<I", 1000) + bytes(12 * 1000) + b"\xff" * 4000
    count = 300_000
    return _one_minishard(folder, manifest, index_of(range(count), [0] * count, [len(manifest)] * count), MESHES)


@hostile("neuroglancer", "0")
def many_voxels(folder: Path) -> Path:
    """A volume of chunks of 2**60 voxels and thousands of channels."""
    size = [2**20] * 3
    info = volume(SHARDING, size=size, chunk_sizes=[size]) | {"num_channels": 2**31, "data_type": "uint64"}
    return _one_minishard(folder, b"x", index_of([0, 1], [0, 0], [1, 1]), info, "s/")


@hostile("neuroglancer", "0")
def without_info(folder: Path) -> Path:
    """Zeros and ones that fit very many specifications."""
    rows = np.zeros((600_000, 2), "<u8")
    rows[:, 1] = np.arange(600_000) % 7
    return put(folder, "0.shard", rows.tobytes())


@hostile("neuroglancer", "0", "2")
def manifests_of_levels(folder: Path) -> Path:
    """Gzip manifests of 65 KB that expand to millions of levels of detail without fragments."""
    count = 3_000_000
    manifest = gzip.compress(struct.pack("<6fI", 1, 1, 1, 0, 0, 0, count) + bytes(20 * count), mtime=0)
    index = index_of(range(3), [n * len(manifest) for n in range(3)], [len(manifest)] * 3)
    return _one_minishard(folder, manifest * 3, index, MESHES, data_encoding="gzip")


@hostile("neuroglancer", "0")
def without_info_one_side(folder: Path) -> Path:
    """A shard without info whose keys lie in the first of two minishards by all shifts of the identity."""
    count = 400_000
    ids = np.sort(np.random.default_rng(5).choice(2**19, count, replace=False)).astype(np.uint64) << np.uint64(44)
    index = index_of(ids.tolist(), [0] * count, [0] * count)
    return put(folder, "0.shard", struct.pack("<4Q", 0, len(index), 0, 0), index)


@hostile("neuroglancer", "0")
def nested_members(folder: Path) -> Path:
    """Gzip members within gzip members that nothing lists, all of which end where the file does."""
    step, size = 40, 4_000_000
    head = gzip.compress(b"", mtime=0)[:10]
    # A stored block of 30 bytes holds the beginning of the next member; each is damaged at its end.
    piece = head + b"\x00" + struct.pack("<HH", step - 15, 0xFFFF ^ (step - 15))
    return _folder(folder, _mesh_info(data_encoding="gzip"), bytes(16) + piece.ljust(step, b"x") * (size // step))


@hostile("neuroglancer", "0")
def lost_indices(folder: Path) -> Path:
    """Gzip members that nothing lists, each of which can be a minishard index of a hundred thousand keys."""
    count = 100_000
    member = gzip.compress(index_of(range(count), [0] * count, [0] * count), mtime=0)
    payload = member * (MEGABYTES // len(member))
    return _folder(folder, _mesh_info(data_encoding="gzip", minishard_index_encoding="gzip"), bytes(16) + payload)


@hostile("neuroglancer", "0", "60000")
def very_many_shards(folder: Path) -> Path:
    """A folder of sixty-five thousand shards of one key each."""
    put(folder, "shards/info", json.dumps(_mesh_info(shard_bits=16)).encode())
    for number in range(65_536):
        content = struct.pack("<2Q", 1, 25), b"x", index_of([number], [0], [1])
        put(folder, f"shards/{number:04x}.shard", *content)
    return folder / "shards"
