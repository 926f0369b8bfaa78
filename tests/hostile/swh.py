"""Hostile Read Shards of Software Heritage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

import shardcore
from shardcore.formats.swh.hash_section import part_sizes
from tests.hostile.making import hostile, lead_out, put, put_sparse

SAMPLE = Path(__file__).parents[1] / "data" / "swh" / "small.shard"
KEY = "00" * 32
_HEADER = struct.Struct(">32s7Q")
_HASH = struct.Struct("<7sII8s8I")


def shard(objects: bytes, slots: bytes, function: bytes, *, count: int | None = None, **changed: int) -> bytes:
    """A shard of three sections; fields of the header can be changed."""
    index = 512 + len(objects)
    values = {"version": 1, "count": len(slots) // 40 if count is None else count, "objects": 512}
    values |= {"size": len(objects), "index": index, "index_size": len(slots), "hash": index + len(slots)}
    head = _HEADER.pack(b"SWHShard", *(values | changed).values())
    return head.ljust(512, b"\0") + objects + slots + function


def function(
    slots: int, buckets: int, *, r: int = 1, bits: int = 0, select: int = 8, top: int = 0, seed: int = 0
) -> bytes:
    """A hash function section whose numbers say what is asked, with nothing behind them."""
    fixed = _HASH.pack(b"chd_ph\0", slots, 12, b"jenkins\0", seed, 24 + select, buckets, r, bits, select, buckets, top)
    return fixed + bytes(select) + struct.pack("<II", slots, buckets)


def slots_of(keys: np.ndarray, offsets: np.ndarray) -> bytes:
    """An index."""
    rows = np.zeros((len(keys), 40), np.uint8)
    rows[:, :32] = keys
    rows[:, 32:] = offsets.astype(">u8").view(np.uint8).reshape(-1, 8)
    return rows.tobytes()


def _keys(count: int) -> np.ndarray:
    return np.random.default_rng(5).integers(0, 256, (count, 32), dtype=np.uint8)


@hostile("swh", KEY)
def nested_objects(folder: Path) -> Path:
    """A hundred thousand objects within each other: each reaches to the end of the section."""
    count = 150_000
    objects = np.zeros(count, ">u8")
    objects[:] = 8 * count - 8 * np.arange(1, count + 1)
    offsets = 512 + 8 * np.arange(count)
    data = shard(objects.tobytes(), slots_of(_keys(count), offsets), function(count, count // 5))
    return put(folder, "a.shard", data)


@hostile("swh", KEY)
def one_key(folder: Path) -> Path:
    """Slots by the hundred thousand with one key."""
    count = 190_000
    slots = slots_of(np.full((count, 32), ord("k"), np.uint8), 512 + 8 * np.arange(count))
    return put(folder, "a.shard", shard(bytes(8 * count), slots, function(count, count // 5)))


@hostile("swh", KEY)
def wild_offsets(folder: Path) -> Path:
    """Slots whose offsets lead nowhere, and keys in slots without object."""
    count = 245_000
    offsets = np.random.default_rng(6).integers(0, 2**63, count) * 2
    offsets[::3] = -1
    return put(folder, "a.shard", shard(bytes(8), slots_of(_keys(count), offsets), function(count, count // 5)))


@hostile("swh", KEY)
def function_of_all_bits(folder: Path) -> Path:
    """A hash function whose every number is the largest there is."""
    most = 2**32 - 1
    data = SAMPLE.read_bytes()
    at = int.from_bytes(data[80:88], "big")
    return put(folder, "a.shard", data[:at], function(most, most, r=most, bits=most, select=8, top=most, seed=most))


@hostile("swh", KEY)
def sums_that_wrap(folder: Path) -> Path:
    """Positions and sizes whose sums are small numbers of 64 bits."""
    changed = {"size": 2**64 - 512, "index": 0, "index_size": 2**64 - 40, "hash": 2**64 - 40}
    return put(folder, "a.shard", shard(bytes(100), bytes(400), function(10, 2), **changed))


@hostile("swh", KEY)
def counts_that_lie(folder: Path) -> Path:
    """A shard that says that it has 2**63 objects."""
    return put(folder, "a.shard", shard(bytes(80), bytes(400), function(10, 2), count=2**63))


@hostile("swh", KEY)
def sparse(folder: Path) -> Path:
    """A shard with as large a hole as the file system lets have, before the index."""
    slots = slots_of(_keys(11), 512 + 8 * np.arange(11))
    size = put_sparse(folder, "a.shard", bytes(512), slots + function(11, 3))
    with (folder / "a.shard").open("r+b") as file:
        file.write(_HEADER.pack(b"SWHShard", 1, 11, 512, size - 512, size, len(slots), size + len(slots)))
    return folder / "a.shard"


@hostile("swh", KEY)
def folder_of_fifos(folder: Path) -> Path:
    """A folder of shards that are FIFOs, links and folders, beside one that is whole."""
    inside = folder / "shards"
    put(inside, "whole.shard", SAMPLE.read_bytes())
    lead_out(inside, [f"{number}.shard" for number in range(5)])
    return inside


@hostile("swh", KEY)
def function_of_all_buckets(folder: Path) -> Path:
    """A hash function of thirty million buckets for thirteen slots."""
    buckets = 30_000_000
    sizes = part_sizes(buckets, 1, 0)
    data = SAMPLE.read_bytes()
    at = int.from_bytes(data[80:88], "big")
    slots = (at - int.from_bytes(data[64:72], "big")) // 40
    counts = (1, sizes.sequence, buckets, 1, 0, sizes.select, buckets, 0)
    directory = np.arange(0, 128 * (sizes.directory // 4), 128, dtype="<u4").tobytes()
    body = b"\xff" * sizes.unary + directory + bytes(sizes.low_bits)
    fixed = _HASH.pack(b"chd_ph\0", slots, 12, b"jenkins\0", *counts)
    return put(folder, "a.shard", data[:at], fixed, body, struct.pack("<II", slots, buckets))


def _sparse_index(folder: Path, count: int) -> Path:
    """A shard of a few bytes whose index is a hole."""
    path = put(folder, "a.shard", b"")
    index, length = 512, 40 * count
    head = _HEADER.pack(b"SWHShard", 1, count, 512, 0, index, length, index + length).ljust(512, b"\0")
    with path.open("r+b") as file:
        file.write(head)
        file.seek(index + length)
        file.write(function(count, 3))
    return path


@hostile("swh", KEY)
def sparse_index(folder: Path) -> Path:
    """A shard whose index is a hole of four thousand million slots."""
    return _sparse_index(folder, 2**32 - 5)


@hostile("swh", KEY)
def very_many_shards(folder: Path) -> Path:
    """A folder of twelve thousand shards of one object each."""
    with shardcore.create(folder / "one.shard", format="swh") as writer:
        writer.add(None, b"x")
    content = (folder / "one.shard").read_bytes()
    for number in range(12_000):
        put(folder, f"shards/{number:05}.shard", content)
    return folder / "shards"
