"""Parameters for those who give none, and why they are what they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shardcore.formats.neuroglancer.morton import check_grid
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.number_words import plural

MINISHARD_INDEX_BYTES = 32 << 10
"""The decoded index of a minishard: 1,365 keys."""
KEYS_PER_MINISHARD = MINISHARD_INDEX_BYTES / 24
MINISHARD_BITS = 9
SINGLE_BITS = 16
"""Minishard bits of a data set in one file, at most: an index of a mebibyte."""
SHARD_VOXELS = 2 << 30
"""Bytes of voxels that one shard of a volume covers, about, before they are compressed."""
NEIGHBOURS_BITS = 9
"""A minishard of a volume holds up to a cube of 8 by 8 by 8 chunks."""
COMPRESSED = ("jpeg", "png", "jxl", "compresso", "crackle", "zfpc", "kempressed", "fpzip")
"""Encodings of chunks that gzip does not make smaller."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    spec: ShardingSpec
    why: str


def bits_for(count: int) -> tuple[int, int]:
    minishards = count / KEYS_PER_MINISHARD
    if minishards < 1:
        return 0, 0
    full = 1 << MINISHARD_BITS
    if minishards < full:
        return 0, math.ceil(math.log2(minishards))
    shard_bits = math.ceil(math.log2(minishards / full))
    # Shards that would be little more than half full are made half as many.
    if shard_bits and minishards / (full << shard_bits) <= 0.55:
        shard_bits -= 1
    return shard_bits, MINISHARD_BITS


def for_ids(count: int, *, data_encoding: str, single: bool) -> Suggestion:
    shard_bits, minishard_bits = bits_for(count)
    if single:
        shard_bits, minishard_bits = 0, min(shard_bits + minishard_bits, SINGLE_BITS)
    spec = ShardingSpec(0, MURMUR, minishard_bits, shard_bits, "gzip", data_encoding)
    each = math.ceil(count / (spec.minishards * spec.shards))
    why = (
        f"{_so(spec)} for {plural(count, 'key')}: hashed, so that they spread evenly; about {each:,} in a minishard, "
        f"whose index is then within 32 KiB, and a shard index of {spec.index_size:,} bytes"
    )
    return Suggestion(spec, why)


def for_grid(grid: Sequence[int], chunk_bytes: int, *, data_encoding: str, single: bool) -> Suggestion:
    total = sum(check_grid(grid))
    inside = max(0, (SHARD_VOXELS // max(chunk_bytes, 1)).bit_length() - 1)
    inside = total if single else min(total, inside)
    preshift = min(NEIGHBOURS_BITS, inside)
    minishard_bits = min(inside - preshift, SINGLE_BITS)
    preshift = inside - minishard_bits
    spec = ShardingSpec(preshift, IDENTITY, minishard_bits, total - inside, "gzip", data_encoding)
    why = (
        f"{_so(spec)} for a grid of {' × '.join(map(str, grid))} chunks: not hashed, so that up to "
        f"{1 << preshift:,} neighbours share a minishard and {1 << inside:,} a shard, of 2 GiB of voxels at most"
    )
    return Suggestion(spec, why)


def _so(spec: ShardingSpec) -> str:
    return (
        f"preshift_bits {spec.preshift_bits}, hash {spec.hash}, minishard_bits {spec.minishard_bits}, "
        f"shard_bits {spec.shard_bits}, minishard indices {spec.minishard_index_encoding}, values {spec.data_encoding}"
    )
