"""Columns of the objects of one compared shard, and comparison and hashing of stored bytes in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.model.byte_strings import ByteStrings, unlike
from shardcore.model.objects import ObjectColumns, Objects, State, in_states
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.sources.base import Source

I64 = NDArray[np.int64]

BLOCK = 1 << 20
"""Bytes of contents compared at once."""

KEYS = 1 << 14
"""Keys hashed at once."""

SPREAD = 16
"""Maximum ratio of the bytes read to the bytes needed, if scattered bytes of a local file are read as one range."""

ROWS = 1 << 16

_COMPARED = (State.LIVE, State.EXTERNAL, State.DAMAGED)

_REPEATED = np.uint64(0xC2B2AE3D27D4EB4F)


class DiffKind(StrEnum):
    """Difference of one object between two shards."""

    EQUAL = "equal"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    UNREAD = "unread"


KINDS = tuple(DiffKind)

CODES = {kind: np.uint8(number) for number, kind in enumerate(KINDS)}


@dataclass(frozen=True)
class DiffSide:
    """Objects of one compared shard; arrays have one entry per object.

    Attributes:
        row: Row number in `Objects`.
        start: Offset of the first stored byte; -1 if the object is not stored in one range.
        stop: Offset after the last stored byte; -1 likewise.
        size: Uncompressed bytes; -1 if unknown.
        codec: Index into `Objects.codecs`.
        member: Index into `DataSet.members`; zeros for a single shard.
        raw: Whether the stored bytes are the content.
    """

    shard: Shard
    row: I64
    start: I64
    stop: I64
    size: I64
    codec: NDArray[np.uint8]
    member: NDArray[np.int32]
    raw: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def objects(self) -> Objects:
        return self.shard.objects

    def source(self, member: int) -> Source:
        if isinstance(self.shard, DataSet):
            return self.shard.bytes_of(self.shard.members[member].name)
        assert self.shard.source is not None
        return self.shard.source

    def key_numbers(self, *, encoded: bool) -> NDArray[np.uint64]:
        hashes = np.zeros((len(self), 2), np.uint64)
        for first in range(0, len(self), KEYS):
            hashes[first : first + KEYS] = self.keys(slice(first, first + KEYS), encoded=encoded).hashes()
        return numbered(hashes)

    def keys(self, places: I64 | slice, *, encoded: bool) -> ByteStrings:
        rows = self.row[places]
        return self.objects.key_bytes(rows) if encoded else self.objects.text_bytes(rows)

    def stored(self, places: I64) -> ByteStrings:
        """Return the stored bytes of objects of one shard, about one `BLOCK` in all; `places` are ascending indices."""
        return stored_bytes(self.source(int(self.member[places[0]])), self.start[places], self.stop[places])


def diff_side(shard: Shard, *, sizes: bool, progress: Progress = no_progress) -> DiffSide:
    """Load the index and return the objects; with `sizes`, sizes that it does not state are read from the objects."""
    shard.load_index(progress)
    objects = shard.objects
    # Tombstoned objects are compared only if the shard was opened to return them.
    states = (*_COMPARED, State.TOMBSTONED) if shard.chosen.get("deleted") else _COMPARED
    inner = [code for code, kind in enumerate(objects.kinds) if kind in objects.inner_kinds]
    plain = np.array([codec == "none" for codec in objects.codecs] + [False] * 256, np.bool_)[:256]
    joined = not isinstance(shard, DataSet) or shard.joins
    parts: list[tuple[NDArray[np.generic], ...]] = []
    for first in range(0, len(objects), ROWS):
        last = min(first + ROWS, len(objects))
        columns = (
            objects.columns(np.arange(first, last, dtype=np.int64), sizes=True) if sizes else objects.known(first, last)
        )
        wanted = in_states(columns.state, states)
        if inner:
            wanted = wanted & ~np.isin(columns.kind, inner)
        c = columns.take(np.flatnonzero(wanted))
        placed = joined & (c.start >= 0) & (c.stop >= c.start)
        raw = placed & (c.state == State.LIVE) & plain[c.codec] & (c.stop - c.start == c.size)
        start, stop = np.where(placed, c.start, -1), np.where(placed, c.stop, -1)
        parts.append((c.row, start, stop, c.size, c.codec, c.shard, raw))
    types = (np.int64, np.int64, np.int64, np.int64, np.uint8, np.int32, np.bool_)
    whole = [np.concatenate([np.zeros(0, dtype), *(part[n] for part in parts)]) for n, dtype in enumerate(types)]
    if not isinstance(shard, DataSet):
        whole[5] = np.broadcast_to(np.int32(0), len(whole[0]))
    return DiffSide(shard, *whole)


def columns_at(objects: Objects, rows: I64, *, sizes: bool) -> Iterator[tuple[I64, ObjectColumns]]:
    """Yield, in blocks, indices into `rows` (unsorted; negative rows are skipped) and the columns of those rows."""
    order = np.argsort(rows, kind="stable")
    order = order[rows[order] >= 0]
    for at in range(0, len(order), ROWS):
        part = order[at : at + ROWS]
        low, high = int(rows[part[0]]), int(rows[part[-1]])
        if high - low < 4 * len(part):
            columns = objects.columns(np.arange(low, high + 1, dtype=np.int64), sizes=sizes).take(rows[part] - low)
        else:
            columns = objects.columns(rows[part], sizes=sizes)
        yield part, columns


def numbered(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Make the first number of each hash unique, in place: the n-th repetition adds n times a constant."""
    order = np.argsort(hashes[:, 0], kind="stable")
    ordered = hashes[order, 0]
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    if not fresh.all():
        times = np.arange(len(ordered)) - np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
        hashes[order, 0] += times.astype(np.uint64) * _REPEATED
    return hashes


def equal_numbers(numbers: NDArray[np.uint64], others: NDArray[np.uint64]) -> tuple[I64, I64]:
    """Return the indices of equal hashes (pairs of numbers) in two arrays, ascending in the first array."""
    _, a, b = np.intersect1d(numbers[:, 0], others[:, 0], assume_unique=True, return_indices=True)
    same = numbers[a, 1] == others[b, 1]
    order = np.argsort(a[same], kind="stable")
    return a[same][order], b[same][order]


def stored_bytes(source: Source, starts: I64, stops: I64) -> ByteStrings:
    lengths = stops - starts
    low, high, total = int(starts.min()), int(stops.max()), int(lengths.sum())
    if source.near and high - low <= max(SPREAD * total, 4 * BLOCK):
        block = np.frombuffer(source.read(low, high), np.uint8)
        if bool((starts[1:] == stops[:-1]).all()):
            return ByteStrings(block, lengths)
        begins = np.cumsum(lengths) - lengths
        return ByteStrings(block[np.repeat(starts - low - begins, lengths) + np.arange(total)], lengths)
    parts = source.read_many(list(zip(starts.tolist(), stops.tolist(), strict=True)))
    return ByteStrings(np.frombuffer(b"".join(parts), np.uint8), lengths)


def batches(group: I64, start: I64, length: I64) -> Iterator[I64]:
    """Yield indices in batches, sorted by start: objects of one group, at most `BLOCK` bytes or one larger object."""
    order = np.lexsort((start, group)) if len(group) and int(group.max()) > 0 else np.argsort(start, kind="stable")
    sums = np.cumsum(length[order])
    groups = group[order]
    first = 0
    while first < len(order):
        before = int(sums[first - 1]) if first else 0
        last = max(int(np.searchsorted(sums, before + BLOCK, "right")), first + 1)
        last = min(last, first + int(np.searchsorted(groups[first:last], groups[first], "right")), first + ROWS)
        yield order[first:last]
        first = last


def stored_alike(one: DiffSide, other: DiffSide, a: I64, b: I64, progress: Progress = no_progress) -> NDArray[np.bool_]:
    """Return a mask of the pairs with equal stored bytes; False for an object that is not stored in one range."""
    same = np.zeros(len(a), np.bool_)
    length = one.stop[a] - one.start[a]
    here = (one.start[a] >= 0) & (other.start[b] >= 0) & (length == other.stop[b] - other.start[b])
    places = np.flatnonzero(here)
    members = len(other.shard.members) if isinstance(other.shard, DataSet) else 1
    group = one.member[a[places]].astype(np.int64) * members + other.member[b[places]]
    done = 0
    for batch in batches(group, one.start[a[places]], length[places]):
        chosen = places[batch]
        if length[chosen[0]] > BLOCK:
            same[chosen] = _large_alike(one, other, int(a[chosen[0]]), int(b[chosen[0]]))
        else:
            same[chosen] = _alike(one, other, a[chosen], b[chosen])
        done += len(chosen)
        progress(done, len(places))
    return same


def _alike(one: DiffSide, other: DiffSide, a: I64, b: I64) -> NDArray[np.bool_]:
    left, right = one.source(int(one.member[a[0]])), other.source(int(other.member[b[0]]))
    inside = (one.stop[a] <= left.size) & (other.stop[b] <= right.size)
    if inside.all():
        return ~unlike(one.stored(a), other.stored(b))
    alike = np.zeros(len(a), np.bool_)
    if inside.any():
        alike[inside] = ~unlike(one.stored(a[inside]), other.stored(b[inside]))
    return alike


def _large_alike(one: DiffSide, other: DiffSide, a: int, b: int) -> bool:
    left, right = one.source(int(one.member[a])), other.source(int(other.member[b]))
    start, stop, shift = int(one.start[a]), int(one.stop[a]), int(other.start[b] - one.start[a])
    if stop > left.size or stop + shift > right.size:
        return False
    for at in range(start, stop, 4 * BLOCK):
        end = min(at + 4 * BLOCK, stop)
        if left.read(at, end) != right.read(at + shift, end + shift):
            return False
    return True


def stored_hashes(side: DiffSide, places: I64) -> tuple[I64, NDArray[np.uint64]]:
    """Hash the objects that are stored in one range of at most `BLOCK` bytes; return their indices and hashes."""
    sizes = [side.source(number).size for number in range(int(side.member[places].max()) + 1)] if len(places) else [0]
    length = side.stop[places] - side.start[places]
    fitting = (side.start[places] >= 0) & (length <= BLOCK)
    fitting &= side.stop[places] <= np.array(sizes, np.int64)[side.member[places]]
    places, length = places[fitting], length[fitting]
    hashes = np.zeros((len(places), 2), np.uint64)
    for batch in batches(side.member[places].astype(np.int64), side.start[places], length):
        hashes[batch] = side.stored(places[batch]).hashes()
    return places, hashes
