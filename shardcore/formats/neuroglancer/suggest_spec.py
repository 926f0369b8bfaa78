"""Suggesting sharding parameters, with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shardcore.formats.neuroglancer.morton import check_grid
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, ShardingSpec
from shardcore.model.number_text import plural

MINISHARD_INDEX_BYTES = 32 << 10
"""Target size of a decoded minishard index: 1,365 keys."""
KEYS_PER_MINISHARD = MINISHARD_INDEX_BYTES / 24
MINISHARD_BITS = 9
SINGLE_BITS = 16
"""Maximum number of minishard bits of a data set in one file: a shard index of 1 MiB."""
SHARD_VOXELS = 2 << 30
"""Target size of the voxels in one shard, uncompressed bytes."""
NEIGHBOURS_BITS = 9
"""preshift_bits suggested for a volume: a minishard has up to 8 × 8 × 8 chunks."""
COMPRESSED = ("jpeg", "png", "jxl", "compresso", "crackle", "zfpc", "kempressed", "fpzip")
"""Chunk encodings that gzip does not compress further."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    spec: ShardingSpec
    why: str


def bits_for(count: int) -> tuple[int, int]:
    """Return shard bits and minishard bits for `count` hashed keys, by the same rule as cloud-volume."""
    minishards = count / KEYS_PER_MINISHARD
    if minishards < 1:
        return 0, 0
    full = 1 << MINISHARD_BITS
    if minishards < full:
        return 0, math.ceil(math.log2(minishards))
    shard_bits = math.ceil(math.log2(minishards / full))
    # Use half as many shards if they would be only about half full.
    if shard_bits and minishards / (full << shard_bits) <= 0.55:
        shard_bits -= 1
    return shard_bits, MINISHARD_BITS


def for_ids(count: int, *, data_encoding: str, single: bool) -> Suggestion:
    """Suggest parameters for ids (segments, annotations); `single` forces one file."""
    shard_bits, minishard_bits = bits_for(count)
    if single:
        shard_bits, minishard_bits = 0, min(shard_bits + minishard_bits, SINGLE_BITS)
    spec = ShardingSpec(0, MURMUR, minishard_bits, shard_bits, "gzip", data_encoding)
    each = math.ceil(count / (spec.minishards * spec.shards))
    why = (
        f"{_so(spec)} for {plural(count, 'key')}: hashed, for an even distribution; about {each:,} per minishard, "
        f"whose index is then within 32 KiB, and a shard index of {spec.index_size:,} bytes"
    )
    return Suggestion(spec, why)


def for_grid(grid: Sequence[int], chunk_bytes: int, *, data_encoding: str, single: bool) -> Suggestion:
    """Suggest parameters for chunks of a volume, not hashed, so that neighbours stay together."""
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
