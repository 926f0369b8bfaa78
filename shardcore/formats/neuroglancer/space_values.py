"""Values of one key space, collected until they are written, and their placement in shards and minishards.

The same keys and values always give the same bytes.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from enum import Enum
from itertools import chain

import numpy as np
import numpy.typing as npt

from shardcore.codecs.gzip import AT_ONCE, gzip_member, gzip_stream
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, SourceError, UsageError, reported_as
from shardcore.formats.neuroglancer.info import SpaceKind
from shardcore.formats.neuroglancer.info_writer import SpaceDescription
from shardcore.formats.neuroglancer.layout import ENTRY_SIZE, MANIFEST_LIMIT, SHARD_INDEX_ENTRY, index_of, read_manifest
from shardcore.formats.neuroglancer.morton import check_grid, decode_many
from shardcore.formats.neuroglancer.objects import FRAGMENTS
from shardcore.formats.neuroglancer.sharding import (
    IDENTITY,
    MURMUR,
    Keys,
    ShardingSpec,
    key_number,
    key_numbers,
    shift_right,
)
from shardcore.model.objects import steps_by_sum
from shardcore.model.text import plural
from shardcore.sources.base import on_failure
from shardcore.system import read_at
from shardcore.writing.output import Output
from shardcore.writing.temporary import Draining, TemporaryFile
from shardcore.writing.writer import Data, Labels, More, Sized, pieces_of, twins_error

MINISHARD_INDEX_BYTES = 32 << 10
"""Target size of a decoded minishard index: 1,365 keys."""
KEYS_PER_MINISHARD = MINISHARD_INDEX_BYTES / ENTRY_SIZE
MINISHARD_BITS = 9
SINGLE_BITS = 16
"""Maximum number of minishard bits of a data set in one file: a shard index of 1 MiB."""
SHARD_VOXELS = 2 << 30
"""Target size of all voxels in one shard, in uncompressed bytes."""
NEIGHBOURS_BITS = 9
"""Suggested preshift_bits of a volume, with which up to 8 × 8 × 8 neighbouring chunks share a minishard."""
COMPRESSED = ("jpeg", "png", "jxl", "compresso", "crackle", "zfpc", "kempressed", "fpzip")
"""Chunk encodings that gzip does not compress further."""

Rows = npt.NDArray[np.int64]


# --- suggested parameters ----------------------------------------------------------------------------------------


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


def for_ids(count: int, *, data_encoding: str, single: bool) -> tuple[ShardingSpec, str]:
    """Suggest parameters for ids (segments, annotations), with the reason; `single` forces one file."""
    shard_bits, minishard_bits = bits_for(count)
    if single:
        shard_bits, minishard_bits = 0, min(shard_bits + minishard_bits, SINGLE_BITS)
    spec = ShardingSpec(0, MURMUR, minishard_bits, shard_bits, "gzip", data_encoding)
    each = math.ceil(count / (spec.minishards * spec.shards))
    why = (
        f"{_so(spec)} for {plural(count, 'key')}: hashed, for an even distribution; about {each:,} per minishard, "
        f"whose index is then within 32 KiB, and a shard index of {spec.index_size:,} bytes"
    )
    return spec, why


def for_grid(grid: Sequence[int], chunk_bytes: int, *, data_encoding: str, single: bool) -> tuple[ShardingSpec, str]:
    """Suggest parameters for chunks of a volume, with the reason: not hashed, so that neighbours stay together."""
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
    return spec, why


def _so(spec: ShardingSpec) -> str:
    return (
        f"preshift_bits {spec.preshift_bits}, hash {spec.hash}, minishard_bits {spec.minishard_bits}, "
        f"shard_bits {spec.shard_bits}, minishard indices {spec.minishard_index_encoding}, values {spec.data_encoding}"
    )


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

    `rows` are the values sorted by minishard and key, `starts` their offsets in the file. `bounds` has the position in
    `rows` of the first value of each of `minishards`, then the length. `indices` has the encoded index of each of
    `minishards`, `pairs` its range, relative to the end of the shard index.
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


# --- the values of a key space ------------------------------------------------------------------------------------

KEPT = 32 << 20
"""Maximum number of bytes of values in memory; above it, they are written to a temporary file."""
PIECE = 4 << 20
"""Approximate size in bytes of the pieces in which values are read from the spool."""
THREADED = 1 << 14  # size of a value in bytes above which values are compressed in parallel
MEMBER_SIZE = 20
"""Size of an empty gzip member in bytes; a plan, which compresses nothing, adds it to the size of the content."""
JOINED = 1 << 14
"""Number of values that are compressed and then written to the spool in one call."""


class SpaceValues:
    """Collects values by key, in any order; their locations are computed when all are added.

    If `single`, all values go into one shard; `among` is the number of key spaces that share the memory. `exact` is
    False if sizes are estimates. `why` is the reason for a suggested specification, else empty.
    """

    def __init__(
        self,
        output: Output,
        described: SpaceDescription,
        spec: ShardingSpec | None = None,
        order: ShardOrder = ShardOrder.BY_MINISHARD,
        *,
        single: bool = False,
        among: int = 1,
    ) -> None:
        self.described = described
        self.space = described.space()
        self.spool = Spool(output, KEPT // among)
        self.content = 0
        self.exact = True
        self.why = ""
        self._planning = output.planning
        self._spec, self._order, self._in_one = spec, order, single
        self._keys = array("Q")
        self._before = array("q")
        self._sizes = array("q")
        self._labels = Labels()
        self._gzip: bool | None = None
        self._workers, self._jobs = output.workers, output.jobs
        self._end = 0  # end of the last complete value in the spool
        self._compressing: deque[tuple[int, int, Future[bytes]]] = deque()  # row, uncompressed size, gzip member
        self._waiting = 0
        self._made: tuple[int, ShardingSpec, list[ShardArrangement]] | None = None

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def is_mesh(self) -> bool:
        return self.described.kind is SpaceKind.MESH

    def add(self, key: str | None, data: Data, more: More) -> str:
        """Add one value and return its key in decimal; raise UsageError for an invalid key or mesh."""
        who = more.label or f"object {key}"
        if key is None:
            raise UsageError(f"{more.label or 'the object'} has no key; pass one")
        number = key_number(key, more.label)
        fragments = more.parts.get(FRAGMENTS)
        if fragments is not None and not self.is_mesh:
            if self.described.kind is not SpaceKind.UNKNOWN or self._keys:
                raise UsageError(f"{who} has fragments, which only meshes have; pass kind=mesh")
            self.described = SpaceDescription(SpaceKind.MESH)
            self.space = self.described.space()
        before = 0
        # After a failed input the data set stays valid; the end moves while values are collected.
        with on_failure(lambda: self.spool.rewind(self._end)):
            if fragments is not None:
                self._collect()
                before = self._copy(fragments, who)
            content, stored = self._add_value(data, before, who)
        self._labels.note(len(self._keys), more.label)
        self._keys.append(number)
        self._before.append(before)
        self._sizes.append(stored)
        self._end = self.spool.at
        self.content += before + content
        return str(number)

    def takes_many(self, contents: Sequence[bytes]) -> bool:
        return not self.is_mesh and max(map(len, contents), default=0) <= AT_ONCE

    def add_many(self, keys: Sequence[str], contents: Sequence[bytes]) -> list[str]:
        numbers = key_numbers(keys)
        self._collect()
        for first in range(0, len(contents), JOINED):
            part = contents[first : first + JOINED]
            threads = self._workers if sum(map(len, part)) > THREADED * len(part) else None
            each = threads.map if threads is not None else map
            stored = list(each(gzip_member, part)) if self._compressed else part
            self.spool.write(b"".join(stored))
            self._sizes.extend(map(len, stored))
        self._end = self.spool.at
        self.content += sum(map(len, contents))
        self._keys.frombytes(numbers.tobytes())
        self._before.frombytes(bytes(8 * len(contents)))
        return list(map(str, numbers.tolist()))

    @property
    def _compressed(self) -> bool:
        """True if values are stored as gzip members; decided once, at the first value."""
        if self._gzip is None:
            encoding = self.space.scale.encoding if self.space.scale is not None else ""
            # Readers treat meshes with compressed manifests differently.
            suggested = not self.is_mesh and encoding not in COMPRESSED
            self._gzip = self._spec.data_encoding == "gzip" if self._spec is not None else suggested
        return self._gzip

    def _add_value(self, data: Data, fragments: int, who: str) -> tuple[int, int]:
        """Write one value to the spool; return its content size and stored size in bytes."""
        if isinstance(data, Sized) and self._planning:
            stored = data.size + (MEMBER_SIZE if self._compressed else 0)
            self.exact = self.exact and not self._compressed
            self.spool.skip(stored)
            return data.size, stored
        if self.is_mesh:
            data = checked_manifest(data, fragments, who)
        if not self._compressed:
            size = self._copy(data, who)
            return size, size
        head, rest = read_up_to(AT_ONCE, data, who)
        if rest is None and self._workers is not None and (self._compressing or len(head) > THREADED):
            # Earlier values come first: writing them may fail, and then this value must not be queued without its key.
            self._collect(2 * self._jobs - 1)
            self._compressing.append((len(self._keys), len(head), self._workers.submit(gzip_member, head)))
            self._waiting += len(head)
            return len(head), 0
        self._collect()
        begun = self.spool.at
        if rest is None:
            self.spool.write(gzip_member(head))
            return len(head), self.spool.at - begun
        size = gzip_stream(chain((head,), rest), self.spool.write)
        return size, self.spool.at - begun

    def _collect(self, most: int = 0) -> None:
        """Write compressed values to the spool, in order, until at most `most` values of `KEPT` bytes are left."""
        while len(self._compressing) > most or self._waiting > KEPT:
            row, size, member = self._compressing[0]
            stored = member.result()
            self.spool.write(stored)
            self._compressing.popleft()
            self._waiting -= size
            self._sizes[row] = len(stored)
            self._end = self.spool.at

    def _copy(self, data: Data, who: str) -> int:
        begun = self.spool.at
        if isinstance(data, Sized) and self._planning:
            self.spool.skip(data.size)
        else:
            for piece in pieces_of(data, who):
                self.spool.write(piece)
        return self.spool.at - begun

    def arrangement(self) -> tuple[ShardingSpec, list[ShardArrangement]]:
        """Return specification and shards of the values so far; raise UsageError for repeated or invalid keys."""
        if self._made is not None and self._made[0] == len(self._keys):
            return self._made[1:]
        spec = self.suggested()
        columns = self.columns()
        self._check_keys(columns.keys)
        shards = list(arrange_shards(spec, columns, self._order))
        self._made = len(self._keys), spec, shards
        return spec, shards

    def suggested(self) -> ShardingSpec:
        if self._spec is not None:
            return self._spec
        encoding = "gzip" if self._compressed else "raw"
        scale, grid = self.space.scale, self.space.grid
        if scale is not None and grid is not None:
            spec, self.why = for_grid(grid, scale.chunk_bytes, data_encoding=encoding, single=self._in_one)
        else:
            spec, self.why = for_ids(len(self._keys), data_encoding=encoding, single=self._in_one)
        return spec

    def _check_keys(self, keys: Keys) -> None:
        ordered = np.sort(keys)
        if (ordered[1:] == ordered[:-1]).any():
            rows = np.argsort(keys, kind="stable")
            later = np.flatnonzero(keys[rows][1:] == keys[rows][:-1]) + 1
            pairs = ((int(rows[at - 1]), int(rows[at])) for at in later[np.argsort(rows[later])])
            repeated = ((self._labels.of(one), self._labels.of(two), str(keys[one])) for one, two in pairs)
            raise twins_error(repeated, len(later))
        grid = self.space.grid
        if grid is not None and len(keys):
            _, valid = decode_many(keys, grid)
            if not valid.all():
                row = int(np.flatnonzero(~valid)[0])
                shape = ", ".join(map(str, grid))
                raise UsageError(f"{self._labels.of(row)}: Morton code {keys[row]} is outside the grid {shape}")

    def columns(self) -> ValueColumns:
        self._collect()
        # Copied, because an array cannot grow while views of it exist.
        return ValueColumns(
            np.array(self._keys, np.uint64), np.array(self._before, np.int64), np.array(self._sizes, np.int64)
        )

    def bounds(self) -> tuple[Rows, Rows]:
        """Return start and end of each value, including its fragments, in the spool."""
        columns = self.columns()
        stops = np.cumsum(columns.before + columns.sizes)
        return stops - columns.before - columns.sizes, stops

    def write(self, file: Draining, shard: ShardArrangement, bounds: tuple[Rows, Rows]) -> None:
        starts, stops = bounds
        parts = [(shard.rows, shard.indices)]
        if shard.order is ShardOrder.BY_MINISHARD:
            rows = np.split(shard.rows, shard.bounds[1:-1])
            parts = [(some, (index,)) for some, index in zip(rows, shard.indices, strict=False)]
        file.write(shard.head())
        for some, indices in parts:
            for piece in chain(self.spool.pieces(starts[some], stops[some]), indices):
                file.write(piece)


def checked_manifest(data: Data, fragments: int, who: str) -> bytes:
    """Return a mesh manifest; raise UsageError if it is invalid or the size of all its fragments is not `fragments`."""
    joined, more = read_up_to(MANIFEST_LIMIT, data, who)
    if more is not None:
        raise UsageError(f"{who} has over {MANIFEST_LIMIT:,} bytes, too many for a mesh manifest")
    try:
        manifest = read_manifest(joined)
    except FormatError as error:
        raise UsageError(f"{who} is not a mesh manifest: {error.message}") from error
    if manifest.fragments_size != fragments:
        declared, there = plural(manifest.fragments_size, "byte"), plural(fragments, "byte")
        raise UsageError(f"{who}: the manifest declares {declared} of fragments, but the fragments have {there}")
    return joined


def read_up_to(most: int, data: Data, who: str) -> tuple[bytes, Iterator[bytes | bytearray | memoryview] | None]:
    """Return the content and None; if it exceeds `most` bytes, its first bytes and an iterator over the rest."""
    rest = pieces_of(data, who)
    parts, size = [], 0
    for piece in rest:
        parts.append(bytes(piece))
        size += len(piece)
        if size > most:
            return b"".join(parts), rest
    return parts[0] if len(parts) == 1 else b"".join(parts), None


class Spool:
    """Store for bytes that are read later, in any order; above `room` bytes they are moved to a temporary file."""

    def __init__(self, output: Output, room: int = KEPT) -> None:
        self.at = 0
        self._output = output
        self.room = room
        self._kept = bytearray()
        self._file: Draining | None = None

    @property
    def spilled(self) -> bool:
        return self._file is not None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.at += len(data)
        if self._output.planning:
            return
        if self._file is None and self.at > self.room:
            # If the process is killed, the file remains; later runs recognise it by its name and remove it.
            target = self._output.target
            self._file = self._output.spool("values" if self._output.folder or target is None else target.name)
            self._file.write(self._kept)
            self._kept = bytearray()
        if self._file is not None:
            self._file.write(data)
        else:
            self._kept += data

    def skip(self, size: int) -> None:
        """Advance by `size` bytes without writing data; only for plans, which need only sizes."""
        self.at += size

    def rewind(self, at: int) -> None:
        """Drop all bytes from offset `at` on."""
        self.at = at
        if self._file is not None:
            self._file.rewind(at)
        elif not self._output.planning:
            del self._kept[at:]

    def pieces(self, starts: Rows, stops: Rows) -> Iterator[bytes]:
        """Yield the bytes of ranges, concatenated, in pieces of up to `PIECE` bytes."""
        if not len(starts):
            return
        # Adjacent ranges are merged.
        cuts = np.flatnonzero(starts[1:] != stops[:-1]) + 1
        starts, stops = starts[np.append(0, cuts)], stops[np.append(cuts - 1, len(stops) - 1)]
        # Large ranges are divided.
        counts = -((starts - stops) // PIECE)
        firsts = np.cumsum(counts) - counts
        starts = np.repeat(starts - PIECE * firsts, counts) + PIECE * np.arange(counts.sum())
        stops = np.minimum(starts + PIECE, np.repeat(stops, counts))
        for some in steps_by_sum(stops - starts, PIECE):
            yield self._read(starts[some].tolist(), stops[some].tolist())

    def _read(self, starts: list[int], stops: list[int]) -> bytes:
        ranges = zip(starts, stops, strict=True)
        if not isinstance(self._file, TemporaryFile):
            with memoryview(self._kept) as kept:
                return b"".join(bytes(kept[start:stop]) for start, stop in ranges)
        with reported_as(f"cannot write {self._file.final}"):
            self._file.file.flush()
            descriptor = self._file.file.fileno()
            found = b"".join(read_at(descriptor, stop - start, start) for start, stop in ranges)
        if len(found) != sum(stops) - sum(starts):
            raise SourceError(f"cannot write {self._file.final}: its temporary file was truncated")
        return found

    def drop(self) -> None:
        if self._file is not None:
            self._output.drop(self._file)
            self._file = None
        self._kept = bytearray()
