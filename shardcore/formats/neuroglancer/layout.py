"""Byte layout of shards: shard index, minishard indices, mesh manifest.

From the pages "Sharded format" and "Meshes", section "Multi-resolution mesh manifest".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from shardcore.codecs.draco import MAGIC as DRACO
from shardcore.dataclasses import dataclass, fields
from shardcore.errors import FormatError
from shardcore.model.objects import State
from shardcore.model.pointer_table import PointerTable
from shardcore.model.record import Columns, Differs, Field, Record
from shardcore.model.record import FieldRole as Role
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.model.usage import Use

SHARD_INDEX_ENTRY = Record(
    "shard index entry",
    source="Sharded format, Shard index format",
    fields=(
        Field(
            "start_offset",
            "<u8",
            Role.OFFSET,
            "Start of the minishard's index, relative to the end of the shard index.",
        ),
        Field(
            "end_offset",
            "<u8",
            Role.OFFSET,
            "End of the index (exclusive), also relative; equal to the start if the minishard is empty.",
        ),
    ),
)

_ORDER = Differs(
    "keys are differences from the key before; no order of keys is required",
    "writers list keys ascending; a reader cannot rely on it",
)

_SIZES = Differs(
    "it is the size of the chunk data",
    "it is the stored size: compressed if data_encoding is gzip, and for a mesh that of the manifest alone",
)

MINISHARD_INDEX = Columns(
    "minishard index",
    source="Sharded format, Minishard index format",
    fields=(
        Field(
            "chunk_ids", "<u8", Role.KEY, "Each key minus the key before it; the first key unchanged.", differs=_ORDER
        ),
        Field(
            "offsets",
            "<u8",
            Role.OFFSET,
            "Bytes from the end of the value before it; for the first value, from the end of the shard index.",
            differs=Differs(
                "starts are sums of these numbers and the sizes before",
                "readers sum modulo 2^64, so a value may be stored before the value listed before it",
            ),
        ),
        Field(
            "sizes",
            "<u8",
            Role.SIZE,
            "Stored size of the value, compressed if values are gzip.",
            differs=_SIZES,
        ),
    ),
)

MANIFEST_HEAD = Record(
    "multi-resolution mesh manifest",
    source="Meshes, Multi-resolution mesh manifest",
    fields=(
        Field("chunk_shape_x", "<f4", Role.NUMBER, "Size of the finest level's cells along x."),
        Field("chunk_shape_y", "<f4", Role.NUMBER, "Size of the finest level's cells along y."),
        Field("chunk_shape_z", "<f4", Role.NUMBER, "Size of the finest level's cells along z."),
        Field("grid_origin_x", "<f4", Role.NUMBER, "Origin of the grid of cells along x."),
        Field("grid_origin_y", "<f4", Role.NUMBER, "Origin of the grid of cells along y."),
        Field("grid_origin_z", "<f4", Role.NUMBER, "Origin of the grid of cells along z."),
        Field("num_lods", "<u4", Role.COUNT, "Number of levels of detail; the finest is first."),
    ),
)

ENTRY_SIZE = MINISHARD_INDEX.row_size
"""Bytes per key in a decoded minishard index."""
WORDS = np.dtype(MINISHARD_INDEX.fields[0].dtype)
"""Type of the numbers in a minishard index, the same in all three columns."""

Numbers = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.bool_]


class RangeFault(IntEnum):
    NONE = 0
    BACKWARD = 1
    """The index ends before it starts."""
    OUTSIDE = 2
    """The index is not within the file."""


def range_faults(pairs: Numbers, index_size: int, file_size: int) -> npt.NDArray[np.uint8]:
    """Return the `RangeFault` per row of `pairs`, which are relative to the end of the shard index, shape `(n, 2)`."""
    starts, ends = pairs[:, 0], pairs[:, 1]
    faults = np.zeros(len(pairs), np.uint8)
    # Equal start and end mean an empty minishard, wherever they are.
    faults[(starts < ends) & (ends > np.uint64(file_size - index_size))] = RangeFault.OUTSIDE
    faults[starts > ends] = RangeFault.BACKWARD
    return faults


def range_fault(minishard: int, start: int, end: int, index_size: int, file_size: int) -> str:
    """Return an error text for one range of the shard index; empty if the range is valid."""
    if start > end:
        return f"minishard {minishard}: end_offset {end} is before start_offset {start}"
    if start < end and index_size + end > file_size:
        return f"minishard {minishard}: its index ends at byte {index_size + end:#x}; the file ends at {file_size:#x}"
    return ""


def pair_span(minishard: int) -> Span:
    return SHARD_INDEX_ENTRY.span("", minishard * SHARD_INDEX_ENTRY.size)


class ShardIndex(PointerTable):
    """Table of the shard index: per minishard, the range of its index ("Shard index format")."""

    layout = SHARD_INDEX_ENTRY
    row_name = "minishard {}"
    why = "The shard index contains the range of this index, of minishard {}."
    used = (Use.LOOKUP, "ranges of minishards", "Start and end of the index of each minishard.")
    unused = (Use.SLACK, "ranges of empty minishards", "Minishards without keys also have a pair of offsets.")

    def __init__(self, rows: int, file_size: int, read: Callable[[int, int], npt.NDArray[Any]]) -> None:
        super().__init__(0, rows, read)
        self.base = rows * SHARD_INDEX_ENTRY.size
        self.file_size = file_size

    def indices(self, pairs: Numbers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return number, start and end offset of each minishard index that is not empty and is within the file."""
        valid = range_faults(pairs, self.base, self.file_size) == RangeFault.NONE
        used = np.flatnonzero((pairs[:, 0] < pairs[:, 1]) & valid)
        edges = self.base + pairs[used].astype(np.int64)
        return used, edges[:, 0], edges[:, 1]

    def _states(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        pairs = as_pairs(rows)
        faults = range_faults(pairs, self.base, self.file_size)
        states = np.where(faults == RangeFault.NONE, State.LIVE, State.DAMAGED)
        return np.where(pairs[:, 0] == pairs[:, 1], State.UNUSED, states).astype(np.uint8)

    def _target(self, number: int, row: Any) -> Span:
        return Span("", self.base + int(row["start_offset"]), self.base + int(row["end_offset"]))

    def _fault(self, number: int, row: Any) -> str:
        return range_fault(number, int(row["start_offset"]), int(row["end_offset"]), self.base, self.file_size)

    def _text(self, number: int, row: Any, state: State) -> str:
        if state is State.UNUSED:
            return "empty"
        return str(self._target(number, row)) if state is State.LIVE else ""

    def _object_row(self, number: int, row: Any) -> None:
        return None


def as_pairs(rows: npt.NDArray[Any]) -> Numbers:
    return np.ascontiguousarray(rows).view("<u8").reshape(-1, 2).astype(np.uint64, copy=False)


def read_pairs(data: bytes) -> Numbers:
    """Return the start and end of each minishard index, relative to the end of the shard index, shape `(n, 2)`."""
    return as_pairs(SHARD_INDEX_ENTRY.read(data, count=len(data) // SHARD_INDEX_ENTRY.size))


# --- minishard indices as columns -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MinishardEntries:
    """Entries of one or more minishards; all arrays have the same length.

    `starts` are offsets in the file, `slots` positions in the minishard. `wrapped` is True where the sum of id deltas
    exceeds 2**64; `inside` is True where the value is between the shard index and the end of the file.
    """

    ids: Numbers
    starts: Numbers
    sizes: Numbers
    minishards: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    wrapped: Marks
    inside: Marks

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, rows: range) -> MinishardEntries:
        return MinishardEntries(*(getattr(self, one.name)[rows.start : rows.stop] for one in fields(self)))


def entry_count(decoded_size: int) -> int:
    """Return the number of entries; raise FormatError if the size is not a multiple of 24."""
    if decoded_size % ENTRY_SIZE:
        raise FormatError(f"a minishard index has {plural(decoded_size, 'byte')}, not a multiple of {ENTRY_SIZE}")
    return decoded_size // ENTRY_SIZE


def running_sums(deltas: Numbers, counts: npt.NDArray[np.int64]) -> Numbers:
    """Return running sums modulo 2**64, as other readers do; the sum restarts after each `counts[j]` numbers."""
    # Exact even if totals wrap, because subtraction is also modulo 2**64.
    totals: Numbers = np.cumsum(deltas, dtype=np.uint64)
    if len(counts) == 1:
        return totals
    filled = counts[counts > 0]
    firsts = np.cumsum(filled) - filled
    before: Numbers = np.repeat(totals[firsts] - deltas[firsts], filled)
    return totals - before


def entries_of(
    indices: Sequence[bytes], minishards: Sequence[int], index_size: int, file_size: int
) -> MinishardEntries:
    """Decode minishard indices (`minishards` are their numbers); raise FormatError if a size is no multiple of 24."""
    counts = np.array([entry_count(len(index)) for index in indices], dtype=np.int64)
    words = np.frombuffer(b"".join(indices), dtype=WORDS).astype(np.uint64, copy=False)
    if len(indices) == 1:
        slots = np.arange(len(words) // 3, dtype=np.int64)
        id_deltas, gaps, sizes = words.reshape(3, -1)
    else:
        firsts = np.cumsum(counts) - counts
        slots = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(firsts, counts)
        # Each index has three rows of n words: entry i of row r is word 3 * (entries before) + r * n + i.
        at = np.repeat(3 * firsts, counts) + slots
        rows = np.repeat(counts, counts)
        id_deltas, gaps, sizes = words[at], words[at + rows], words[at + 2 * rows]
        del at, rows, words  # frees as much memory as the result takes
    ids = running_sums(id_deltas, counts)
    starts = running_sums(gaps + sizes, counts) + np.uint64(index_size) - sizes
    limit = np.uint64(file_size)
    room = limit - np.minimum(starts, limit)
    inside = (starts >= np.uint64(index_size)) & (starts <= limit) & (sizes <= room)
    listed = np.repeat(np.asarray(minishards, dtype=np.int64), counts)
    return MinishardEntries(ids, starts, sizes, listed, slots, ids < id_deltas, inside)


def index_of(ids: Numbers, starts: Numbers, sizes: Numbers, index_size: int) -> bytes:
    """Return the decoded minishard index of entries; the inverse of `entries_of` for one minishard."""
    ids, starts, sizes = (np.asarray(column, dtype=np.uint64) for column in (ids, starts, sizes))
    ends = np.append(np.uint64(index_size), starts + sizes)[: len(ids)]
    return MINISHARD_INDEX.write(
        {"chunk_ids": np.diff(ids, prepend=np.uint64(0)), "offsets": starts - ends, "sizes": sizes}
    )


def outside_text(start: int, size: int, file_size: int) -> str:
    return f"its value ({plural(size, 'byte')} at {start:#x}) is outside the file, which ends at {file_size:#x}"


# --- mesh manifests ---------------------------------------------------------------------------------------------

MANIFEST_LIMIT = 64 << 20
"""Maximum size in bytes of a manifest that is read; it is enough for four million fragments."""
LOD_SIZE = 20
"""Bytes per level of detail in a manifest, without its fragments: scale, three offsets, number of fragments."""
FRAGMENT_SIZE = 16
"""Bytes per fragment in a manifest: three coordinates and its size."""
MOST_LODS = 1000
"""Maximum number of levels of detail in a manifest; real meshes have about ten."""

MOST_SEARCHED = 1 << 20
"""Number of bytes at the end of a value that are searched for a manifest if the value begins with fragments."""
MOST_TRIED = 16
"""Maximum number of offsets at which this search parses a manifest."""


@dataclass(frozen=True, slots=True)
class Array:
    """One array of a manifest; `start` is its offset in the manifest."""

    name: str
    start: int
    values: npt.NDArray[np.float32] | npt.NDArray[np.uint32]
    role: Role
    doc: str

    @property
    def stop(self) -> int:
        return self.start + self.values.nbytes


@dataclass(frozen=True, slots=True)
class MeshManifest:
    """Manifest of a mesh; its Draco fragments are directly before it and not listed in any index.

    Shapes: `lod_scales` `(L,)`, `vertex_offsets` `(L, 3)`; per level `positions` (the cells) `(3, n)` and `sizes` in
    bytes `(n,)`, both uint32.
    """

    chunk_shape: tuple[float, float, float]
    grid_origin: tuple[float, float, float]
    lod_scales: npt.NDArray[np.float32]
    vertex_offsets: npt.NDArray[np.float32]
    positions: tuple[npt.NDArray[np.uint32], ...]
    sizes: tuple[npt.NDArray[np.uint32], ...]

    @property
    def fragments(self) -> int:
        return sum(len(sizes) for sizes in self.sizes)

    @property
    def fragments_size(self) -> int:
        """Size of all fragments in bytes, which is the distance from their start to the manifest."""
        return sum(int(sizes.sum(dtype=np.uint64)) for sizes in self.sizes)


def manifest_arrays(data: bytes, place: Span | None = None) -> tuple[Array, ...]:
    """Return the arrays after the head of a manifest, in byte order.

    Raises FormatError if the length does not match the counts, or the value starts with a fragment.
    """
    if data.startswith(DRACO):
        at = _manifest_behind(data)
        text = f"its manifest begins after {plural(at, 'byte')}" if at else "it has no manifest"
        raise FormatError(f"the value begins with mesh fragments (DRACO); {text}", span=place)
    lods = MANIFEST_HEAD.read_one(data, place=place)["num_lods"]
    if lods > MOST_LODS:
        raise FormatError(f"the manifest has {lods:,} levels of detail; the limit is {MOST_LODS:,}", span=place)
    counts_at = MANIFEST_HEAD.size + 16 * lods
    if len(data) < counts_at + 4 * lods:
        raise FormatError(
            f"the manifest has {plural(len(data), 'byte')}, too few for {plural(lods, 'level')} of detail", span=place
        )
    counts = np.frombuffer(data, "<u4", lods, counts_at)
    expected = MANIFEST_HEAD.size + LOD_SIZE * lods + FRAGMENT_SIZE * int(counts.sum(dtype=np.uint64))
    if len(data) != expected:
        raise FormatError(f"the manifest has {plural(len(data), 'byte')}; its counts require {expected:,}", span=place)
    at = MANIFEST_HEAD.size
    arrays = []
    for name, dtype, count, role, doc in _parts(lods, counts.tolist()):
        values = np.frombuffer(data, dtype, count, at)
        arrays.append(Array(name, at, values, role, doc))
        at += values.nbytes
    return tuple(arrays)


def _manifest_behind(data: bytes) -> int:
    """Return the offset of the manifest in a value that includes its fragments, or 0.

    cloud-volume writes such values with `data_encoding` gzip, but cannot read them.
    """
    first = max(len(data) - MOST_SEARCHED, 0)
    tail = data[first:] + bytes(-(len(data) - first) % 4 + 4)
    # The manifest may start at any byte; its numbers are four bytes apart.
    words = np.ndarray((len(tail) - 4,), "<u4", tail, 0, (1,))
    head, end = MANIFEST_HEAD.size, len(data) - first
    at = np.flatnonzero((words[head - 4 :] > 0) & (words[head - 4 :] <= MOST_LODS))
    lods = words[at + head - 4].astype(np.int64)
    counts_at, rest = at + head + 16 * lods, end - at - head - LOD_SIZE * lods
    fine = (rest >= 0) & (rest % FRAGMENT_SIZE == 0)
    at, lods, counts_at, rest = (one[fine] for one in (at, lods, counts_at, rest))
    sums = np.cumsum(np.pad(words, (4, 0)).reshape(-1, 4), axis=0, dtype=np.int64).reshape(-1)
    fits = FRAGMENT_SIZE * (sums[counts_at + 4 * lods] - sums[counts_at]) == rest
    for start in (first + at[fits][:MOST_TRIED]).tolist():
        # Draco data instead of a manifest would start this search again.
        if not data.startswith(DRACO, start) and start == read_manifest(data[start:]).fragments_size:
            return int(start)
    return 0


def _parts(lods: int, counts: Sequence[int]) -> list[tuple[str, str, int, Role, str]]:
    parts = [
        ("lod_scales", "<f4", lods, Role.NUMBER, "Scale of each level of detail, relative to the finest."),
        ("vertex_offsets", "<f4", 3 * lods, Role.NUMBER, "Offset x, y, z per level, added to its vertices."),
        ("num_fragments_per_lod", "<u4", lods, Role.COUNT, "Number of fragments of each level."),
    ]
    for lod, count in enumerate(counts):
        cells = "Cells of the fragments: all x, all y, all z, in Z-curve order."
        parts.append((f"fragment_positions[{lod}]", "<u4", 3 * count, Role.NUMBER, cells))
        sizes = "Size of each fragment in bytes; zero if the cell is empty. The sum gives the start of the fragments."
        parts.append((f"fragment_sizes[{lod}]", "<u4", count, Role.SIZE, sizes))
    return parts


def read_manifest(data: bytes, place: Span | None = None) -> MeshManifest:
    scales, offsets, _, *levels = (array.values for array in manifest_arrays(data, place))
    head = MANIFEST_HEAD.read_one(data)
    return MeshManifest(
        chunk_shape=(head["chunk_shape_x"], head["chunk_shape_y"], head["chunk_shape_z"]),
        grid_origin=(head["grid_origin_x"], head["grid_origin_y"], head["grid_origin_z"]),
        lod_scales=scales.astype(np.float32),
        vertex_offsets=offsets.astype(np.float32).reshape(-1, 3),
        positions=tuple(level.astype(np.uint32, copy=False).reshape(3, -1) for level in levels[::2]),
        sizes=tuple(level.astype(np.uint32, copy=False) for level in levels[1::2]),
    )


def fragments_span(manifest: MeshManifest, start: int, index_size: int) -> Span:
    """Return the span of the fragments before a manifest at `start`; raise FormatError if there is too little room."""
    first = start - manifest.fragments_size
    if first < index_size:
        raise FormatError(
            f"{plural(manifest.fragments_size, 'byte')} of fragments do not fit before the manifest",
            span=Span("", min(index_size, start), start),
        )
    return Span("", first, start)
