"""Shards to be written: suggested parameters, placement of values in shards and minishards, gzip members.

Equal values always give equal bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from shardcore.formats.neuroglancer.layout import ENTRY_SIZE, SHARD_INDEX_ENTRY, index_of
from shardcore.formats.neuroglancer.morton import check_grid
from shardcore.formats.neuroglancer.sharding import IDENTITY, MURMUR, Keys, ShardingSpec, shift_right
from shardcore.model.number_text import plural

MINISHARD_INDEX_BYTES = 32 << 10
"""Target size of a decoded minishard index: 1,365 keys."""
KEYS_PER_MINISHARD = MINISHARD_INDEX_BYTES / ENTRY_SIZE
MINISHARD_BITS = 9
SINGLE_BITS = 16
"""Maximum number of minishard bits of a data set in one file: a shard index of 1 MiB."""
SHARD_VOXELS = 2 << 30
"""Target size of the voxels in one shard, uncompressed bytes."""
NEIGHBOURS_BITS = 9
"""preshift_bits suggested for a volume: a minishard has up to 8 × 8 × 8 chunks."""
COMPRESSED = ("jpeg", "png", "jxl", "compresso", "crackle", "zfpc", "kempressed", "fpzip")
"""Chunk encodings that gzip does not compress further."""

Rows = npt.NDArray[np.int64]


# --- suggested parameters ----------------------------------------------------------------------------------------


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


# --- gzip members -----------------------------------------------------------------------------------------------

HEAD = bytes.fromhex("1f8b08000000000000ff")
"""Gzip header without name, time and system."""
LEVEL = 6
WHOLE = 1 << 20
"""Size in bytes up to which content is compressed at once, with a window of its size."""
_LOOKAHEAD = 262
"""Bytes of the window to which deflate cannot refer."""
_trailer = struct.Struct("<II").pack


def gzip_member(data: bytes) -> bytes:
    """Compress up to `WHOLE` bytes of content into a gzip member. A small window makes small values much faster."""
    size = len(data)
    window = min(max((size + _LOOKAHEAD).bit_length(), 9), 15)
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, -window, min(window - 6, 8))
    return b"".join((HEAD, engine.compress(data), engine.flush(), _trailer(zlib.crc32(data), size)))


def gzip_stream(pieces: Iterable[bytes | bytearray | memoryview], write: Callable[[bytes], None]) -> int:
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, -15, 8)
    size, check = 0, 0
    write(HEAD)
    for piece in pieces:
        size += len(piece)
        check = zlib.crc32(piece, check)
        write(engine.compress(piece))
    write(engine.flush() + _trailer(check, size & 0xFFFFFFFF))
    return size


# --- placement --------------------------------------------------------------------------------------------------


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


def arrange_shards(spec: ShardingSpec, columns: ValueColumns, order: ShardOrder) -> Iterator[ShardArrangement]:
    """Yield the shards that have values, by number; if there are no values, shard 0."""
    if not len(columns.keys):
        none = np.zeros(0, np.int64)
        yield ShardArrangement(
            0, spec, order, none, none, none, np.zeros(1, np.int64), none.reshape(0, 2), (), spec.index_size
        )
        return
    # Sorted by shard, minishard and key: the lowest bits of the hash are `shard << minishard_bits | minishard`.
    bits = spec.minishard_bits + spec.shard_bits
    places = spec.hashed_many(columns.keys) & np.uint64((1 << bits) - 1)
    rows = np.lexsort((columns.keys, places))
    places = places[rows]
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
