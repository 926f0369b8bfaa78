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

# Ten objects 0 to 9 with seed 6 (§9.2 of the format notes): displacements 4, 2, 42.
DIGITS = bytes.fromhex(
    "6368645f706800 0b000000 0c000000 6a656e6b696e7300 06000000 28000000 03000000 01000000 08000000"
    "10000000 03000000 04000000 46000000 01000000 02000000 5d000000 0b000000 03000000"
)

# Key, a, b, c, g, f, h, displacement, slot (§9.2).
DIGIT_ROWS = [
    ("0", 0x48C91420, 0x99111C94, 0xB24BBCB3, 1, 6, 6, 2, 7),
    ("1", 0x1AEB3984, 0x6C07945C, 0x98720608, 0, 6, 1, 4, 10),
    ("2", 0x49F1D697, 0x5BF8E6BF, 0x23DE7CD1, 1, 4, 6, 2, 5),
    ("3", 0x83AF4647, 0x11FE8476, 0x09199C5C, 0, 3, 3, 4, 4),
    ("4", 0xDCE6AA9E, 0x7F8F36D6, 0x2F47DEEE, 1, 10, 9, 2, 6),
    ("5", 0xE9475689, 0xE19DE21C, 0x628A4FFB, 2, 10, 2, 42, 9),
    ("6", 0x20BE47FF, 0x4A60CD61, 0x121BB73E, 2, 10, 1, 42, 0),
    ("7", 0xE5042AAA, 0xE45CEB5A, 0x8CB1AF5D, 1, 2, 6, 2, 3),
    ("8", 0x275E1FA0, 0xCC4C5BE3, 0x621A018C, 0, 4, 1, 4, 8),
    ("9", 0x44E0F549, 0x92D73526, 0x35B2D1CC, 1, 2, 5, 2, 1),
]


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
