"""Shards made by hand for the tests: the plainest writer, straight from the specification."""

from __future__ import annotations

import gzip
import random
import struct
from collections import defaultdict
from typing import Any

import numpy as np

from shardcore.formats.neuroglancer.layout import index_of
from shardcore.formats.neuroglancer.sharding import ShardingSpec

Rows = list[tuple[int, bytes]]


def random_spec(dice: random.Random) -> dict[str, Any]:
    hashes, encodings = ("identity", "murmurhash3_x86_128"), ("raw", "gzip")
    sizes = dice.choice((0, 0, 1, 6, 20)), dice.choice(hashes), dice.randint(0, 7), dice.choice((0, 1, 2, 5, 9))
    return ShardingSpec(*sizes, dice.choice(encodings), dice.choice(encodings)).to_json()


def random_rows(keys: list[int], rng: random.Random) -> Rows:
    return [(key, rng.randbytes(rng.randint(1, 60))) for key in keys]


def build(spec: ShardingSpec, rows: Rows, *, in_given_order: bool = False) -> dict[str, bytes]:
    """Return shard files by name, with values in the order of their keys, or as given; indices list ascending keys."""
    shards: dict[int, dict[int, Rows]] = defaultdict(lambda: defaultdict(list))
    for key, value in rows:
        place = spec.place(key)
        shards[place.shard][place.minishard].append((key, value))
    return {spec.shard_name(shard): _shard(spec, shards[shard], in_given_order) for shard in sorted(shards)}


def _shard(spec: ShardingSpec, minishards: dict[int, Rows], in_given_order: bool) -> bytes:
    body, pairs = bytearray(), [(0, 0)] * spec.minishards
    for minishard in sorted(minishards):
        own = minishards[minishard] if in_given_order else sorted(minishards[minishard])
        listed = []
        for key, value in own:
            stored = gzip.compress(value, mtime=0) if spec.data_encoding == "gzip" else value
            listed.append((key, spec.index_size + len(body), len(stored)))
            body += stored
        ids, starts, sizes = (np.array(c, dtype=np.uint64) for c in zip(*sorted(listed), strict=True))
        index = index_of(ids, starts, sizes, spec.index_size)
        if spec.minishard_index_encoding == "gzip":
            index = gzip.compress(index, mtime=0)
        pairs[minishard] = (len(body), len(body) + len(index))
        body += index
    return b"".join(struct.pack("<2Q", *pair) for pair in pairs) + bytes(body)


def manifest(*sizes: int) -> bytes:
    """A mesh manifest of one level, with fragments of these sizes."""
    head = struct.pack("<6fI4fI", 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, len(sizes))
    return head + np.array([*range(len(sizes))] * 3 + list(sizes), "<u4").tobytes()
