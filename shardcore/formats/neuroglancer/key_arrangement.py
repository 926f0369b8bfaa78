"""Placement of values in shards and minishards, computed from columns of keys and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from shardcore.formats.neuroglancer.gzip_member import gzip_member
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.minishard import index_of
from shardcore.formats.neuroglancer.sharding import Keys, ShardingSpec, shift_right

Rows = npt.NDArray[np.int64]


class ShardOrder(Enum):
    BY_MINISHARD = "by-minishard"
    """The values of a minishard, then its index, for each minishard; as written by tensorstore."""
    INDICES_LAST = "indices-last"
    """All values, then all indices, in one contiguous range; as written by cloud-volume."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueColumns:
    """Columns of values in the order of `add` calls; `before` has the size of the mesh fragments before each value."""

    keys: Keys
    before: Rows
    sizes: Rows

    def take(self, rows: Rows) -> ValueColumns:
        return ValueColumns(self.keys[rows], self.before[rows], self.sizes[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ShardArrangement:
    """Layout of one shard to be written.

    `rows` are sorted by minishard and key, `starts` are their offsets in the file. `bounds` has the first row of each
    of `minishards`, plus the number of rows. `pairs` (relative to the end of the shard index) and `indices` are per
    minishard.
    """

    number: int
    spec: ShardingSpec
    order: ShardOrder
    rows: Rows
    starts: Rows
    minishards: Rows
    bounds: Rows
    pairs: Rows
    indices: tuple[bytes, ...]
    size: int

    def head(self) -> bytes:
        entries = np.zeros(self.spec.minishards, SHARD_INDEX_ENTRY.dtype)
        entries["start_offset"][self.minishards] = self.pairs[:, 0]
        entries["end_offset"][self.minishards] = self.pairs[:, 1]
        return SHARD_INDEX_ENTRY.write(entries)

    def slots(self) -> tuple[Rows, Rows]:
        counts = np.diff(self.bounds)
        return np.repeat(self.minishards, counts), np.arange(len(self.rows)) - np.repeat(self.bounds[:-1], counts)


def sorted_rows(spec: ShardingSpec, keys: Keys) -> tuple[Rows, Keys]:
    """Return the rows sorted by shard, minishard and key, and `shard << minishard_bits | minishard` of each."""
    bits = spec.minishard_bits + spec.shard_bits
    places = spec.hashed_many(keys)
    if bits < 64:
        places = places & np.uint64((1 << bits) - 1)
    order = np.lexsort((keys, places)) if bits else np.argsort(keys, kind="stable")
    return order, places[order]


def arrange_shards(spec: ShardingSpec, columns: ValueColumns, order: ShardOrder) -> Iterator[ShardArrangement]:
    """Yield the shards that have values, by number; if there are no values, shard 0."""
    if not len(columns.keys):
        none = np.zeros(0, np.int64)
        yield ShardArrangement(
            0, spec, order, none, none, none, np.zeros(1, np.int64), none.reshape(0, 2), (), spec.index_size
        )
        return
    rows, places = sorted_rows(spec, columns.keys)
    shards = shift_right(places, spec.minishard_bits)
    cuts = np.append(np.flatnonzero(np.diff(shards)) + 1, len(rows))
    first = 0
    for last in cuts.tolist():
        part = slice(first, last)
        minishards = (places[part] & np.uint64(spec.minishards - 1)).astype(np.int64)
        yield _shard(int(shards[first]), spec, columns.take(rows[part]), rows[part], minishards, order)
        first = last


def _shard(
    number: int, spec: ShardingSpec, columns: ValueColumns, rows: Rows, minishards: Rows, order: ShardOrder
) -> ShardArrangement:
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(minishards)) + 1, [len(rows)]]).astype(np.int64)
    base = spec.index_size
    starts = base + np.cumsum(columns.before + columns.sizes) - columns.sizes
    values_end = int(starts[-1] + columns.sizes[-1])
    indices: list[bytes] = []
    pairs = np.zeros((len(bounds) - 1, 2), np.int64)
    written, sizes = 0, columns.sizes.astype(np.uint64)
    for at, (first, last) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        if order is ShardOrder.BY_MINISHARD:
            # So far, the starts do not include the indices of earlier minishards.
            starts[first:last] += written
            place = int(starts[last - 1] + columns.sizes[last - 1])
        else:
            place = values_end + written
        places = starts[first:last].astype(np.uint64)
        index = index_of(columns.keys[first:last], places, sizes[first:last], base)
        stored = gzip_member(index) if spec.minishard_index_encoding == "gzip" else index
        indices.append(stored)
        pairs[at] = place - base, place - base + len(stored)
        written += len(stored)
    return ShardArrangement(
        number,
        spec,
        order,
        rows,
        starts,
        minishards[bounds[:-1]],
        bounds,
        pairs,
        tuple(indices),
        values_end + written,
    )
