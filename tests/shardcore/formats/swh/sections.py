"""The hash function section of a shard in plain `struct` calls: what the tests compare bytes with."""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.swh.chd import Function
from shardcore.formats.swh.hash_section import Encoded, encode, part_sizes

FIXED = struct.Struct("<7sII8s8I")


class Section(NamedTuple):
    seed: int
    slots: int
    buckets: int
    encoded: Encoded


def key_array(keys: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 32)


def keys_of_texts(texts: str) -> NDArray[np.uint8]:
    return key_array([hashlib.sha256(text.encode()).digest() for text in texts])


def random_keys(count: int, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, 32), dtype=np.uint8)


def section_bytes(function: Function) -> bytes:
    encoded, buckets = encode(function.displacements), function.buckets
    sizes = part_sizes(buckets, encoded.r, encoded.total_bits)
    names = (b"chd_ph\0", function.slots, 12, b"jenkins\0")
    select = (sizes.select, buckets, encoded.total_bits >> encoded.r)
    fixed = FIXED.pack(*names, function.seed, sizes.sequence, buckets, encoded.r, encoded.total_bits, *select)
    parts = (encoded.unary, encoded.directory.astype("<u4").tobytes(), encoded.low_bits, encoded.store)
    return b"".join((fixed, *parts, struct.pack("<II", function.slots, buckets)))


def take_apart(section: bytes) -> Section:
    _, slots, _, _, seed, _, buckets, r, total_bits, _, _, _ = FIXED.unpack_from(section)
    sizes = part_sizes(buckets, r, total_bits)
    at, parts = FIXED.size, []
    for size in (sizes.unary, sizes.directory, sizes.low_bits, sizes.store):
        parts.append(section[at : at + size])
        at += size
    directory = np.frombuffer(parts[1], "<u4").astype(np.uint32)
    return Section(seed, slots, buckets, Encoded(r, total_bits, parts[0], directory, parts[2], parts[3]))
