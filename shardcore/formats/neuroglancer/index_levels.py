"""The two index levels of an opened shard, read on demand and cached; thread-safe.

`pair` and `minishard` cost a lookup one range each. `table` reads all minishard indices. A damaged minishard is kept as
its error; the others stay readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decompress import decompress
from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.neuroglancer.layout import (
    ENTRY_SIZE,
    SHARD_INDEX_ENTRY,
    RangeFault,
    ShardIndex,
    as_pairs,
    entry_count,
    range_fault,
)
from shardcore.formats.neuroglancer.minishard import MinishardEntries, Numbers, entries_of
from shardcore.formats.neuroglancer.minishard_damage import MinishardDamage
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import LruCache, Once
from shardcore.sources.base import Source

KEPT_WHOLE = 1 << 20
"""Size in bytes up to which a shard index is read on opening; of a larger one, single entries are read."""
KEPT_ENTRIES = 64 << 20
"""Cache size of minishards read by lookups, in bytes."""
KEPT_PER_BYTE = 2
"""Approximate memory of entries per byte of a decoded index."""
BATCH = 8 << 20
DECODED_FLOOR = 16 << 20
"""Decoded size in bytes that is accepted for any minishard index."""
DECODED_RATIO = 64
"""Beyond that, the maximum ratio of decoded to stored size of a minishard index."""
TOTAL_FLOOR = 16 << 20
TOTAL_RATIO = 2
"""Maximum decoded size of all indices together, as a multiple of the file size; `DECODED_FLOOR` is always accepted."""
CLAIMED_RATIO = 1
CLAIMED_FLOOR = 1 << 16
"""Total size of all ranges that is always accepted; above it, the size of the file. Shared ranges count each time."""
_SHARED = "its index overlaps those of many other minishards"


@dataclass(frozen=True, slots=True)
class MinishardTable:
    """All entries of a shard, by minishard, and in each in index order.

    `pairs` has start and end of each minishard index, relative to the end of the shard index, shape `(2**m, 2)`.
    """

    pairs: Numbers
    entries: MinishardEntries
    damage: MinishardDamage

    def rows_of(self, minishard: int) -> range:
        listed = self.entries.minishards
        first = int(np.searchsorted(listed, minishard, "left"))
        return range(first, int(np.searchsorted(listed, minishard, "right")))


class IndexLevels:
    """Shard index and minishard indices of one shard; `head` is the whole shard index if it is in memory."""

    def __init__(self, source: Source, spec: ShardingSpec, head: bytes = b"") -> None:
        self.source = source
        self.spec = spec
        self._head = head if len(head) >= spec.index_size else b""
        self._kept: LruCache[int, tuple[MinishardEntries, int]] = LruCache(KEPT_ENTRIES)
        self._table: Once[MinishardTable] = Once()

    @property
    def base(self) -> int:
        return self.spec.index_size

    @property
    def loaded(self) -> bool:
        return self._table.value is not None

    @property
    def known_table(self) -> MinishardTable | None:
        return self._table.value

    @property
    def shard_index(self) -> ShardIndex:
        return ShardIndex(self.spec.minishards, self.source.size, self.rows)

    def rows(self, first: int, last: int) -> npt.NDArray[np.void]:
        size = SHARD_INDEX_ENTRY.size
        data = self._head[first * size : last * size] if self._head else self.source.read(first * size, last * size)
        return SHARD_INDEX_ENTRY.read(data, count=last - first)

    def known_pairs(self) -> Numbers | None:
        """Return the shard index, shape `(2**m, 2)`, or None if it is not in memory."""
        table = self._table.value
        if table is not None:
            return table.pairs
        return _as_pairs(self._head[: self.base]) if self._head else None

    def pair(self, minishard: int, source: Source) -> tuple[int, int]:
        """Return the absolute range of a minishard index, half-open; raise FormatError if it is invalid."""
        table = self._table.value
        if table is not None:
            return self._checked(minishard, *table.pairs[minishard].tolist())
        place = pair_span(minishard)
        data = self._head[place.start : place.stop] if self._head else source.read(place.start, place.stop)
        entry = SHARD_INDEX_ENTRY.read_one(data)
        return self._checked(minishard, entry["start_offset"], entry["end_offset"])

    def minishard(
        self, number: int, source: Source, place: tuple[int, int] | None = None
    ) -> tuple[MinishardEntries, int]:
        """Return entries and decoded index size of a minishard, read through `source`, which may count reads.

        `place` is the result of `pair`, if known. Raises FormatError if the minishard is damaged.
        """
        table = self._table.value
        if table is not None:
            return self._listed(table, number)
        kept = self._kept.get(number)
        if kept is not None:
            return kept
        start, stop = place or self.pair(number, source)
        if start == stop:
            return entries_of([], [], self.base, self.source.size), 0
        decoded = self._decoded(number, source.read(start, stop), Span("", start, stop))
        found = entries_of([decoded], [number], self.base, self.source.size), len(decoded)
        return self._kept.put(number, found, KEPT_PER_BYTE * len(decoded))

    def _listed(self, table: MinishardTable, number: int) -> tuple[MinishardEntries, int]:
        if number in table.damage:
            raise table.damage[number]
        entries = table.entries.part(table.rows_of(number))
        return entries, ENTRY_SIZE * len(entries)

    def table(self, progress: Progress = no_progress) -> MinishardTable:
        """Return all entries, read once; errors of damaged minishards are recorded in it."""
        table = self._table.get(lambda: self._read_table(progress))
        self._kept.clear()
        return table

    def lists(self, start: int, stop: int) -> bool:
        return self.lister(start, stop) is not None

    def decoded(self, start: int, stop: int) -> bytes:
        number = self.lister(start, stop)
        place = Span("", start, stop)
        if number is None:
            raise FormatError("no minishard index at this range", span=place)
        return self._decoded(number, self.source.read(start, stop), place)

    def lister(self, start: int, stop: int) -> int | None:
        """Return the first minishard whose index is at `[start, stop)`; None if the shard index is not in memory."""
        pairs = self.known_pairs()
        if pairs is None or not self.base <= start < stop:
            return None
        same = (pairs[:, 0] == np.uint64(start - self.base)) & (pairs[:, 1] == np.uint64(stop - self.base))
        return int(np.argmax(same)) if same.any() else None

    def _read_table(self, progress: Progress) -> MinishardTable:
        pairs = self.known_pairs()
        if pairs is None:
            pairs = _as_pairs(self.source.read(0, self.base))
        damage = MinishardDamage(pairs, self.base, self.source.size)
        indices: list[bytes] = []
        numbers: list[int] = []
        room = max(TOTAL_FLOOR, TOTAL_RATIO * self.source.size)
        for number, stored in self._stored(pairs, damage, progress):
            start, stop = (self.base + int(end) for end in pairs[number])
            if room <= 0:
                damage.note(number, _SHARED)
                continue
            try:
                decoded = self._decoded(number, stored, Span("", start, stop), room)
            except FormatError as error:
                # An index over the remaining limit uses it up; otherwise many such indices would be decompressed.
                if isinstance(error.__cause__, LimitExceeded):
                    room -= min(max(DECODED_FLOOR, DECODED_RATIO * len(stored)), room)
                damage.note(number, error.message.removeprefix(f"minishard {number}: "))
                continue
            room -= len(decoded)
            indices.append(decoded)
            numbers.append(number)
        return MinishardTable(pairs, entries_of(indices, numbers, self.base, self.source.size), damage)

    def _stored(self, pairs: Numbers, damage: MinishardDamage, progress: Progress) -> Iterator[tuple[int, bytes]]:
        batch: list[tuple[int, tuple[int, int]]] = []
        pending = 0
        used = np.flatnonzero((pairs[:, 0] != pairs[:, 1]) & (damage.faults == RangeFault.NONE))
        # No overflow, because each range is within the file and their number is limited.
        allowed = max(CLAIMED_FLOOR, CLAIMED_RATIO * self.source.size)
        claimed = np.cumsum((pairs[used, 1] - pairs[used, 0]).astype(np.int64)) <= allowed
        damage.note(used[~claimed], _SHARED)
        used = used[claimed]
        for done, (number, (first, last)) in enumerate(zip(used.tolist(), pairs[used].tolist(), strict=True)):
            start, stop = self.base + first, self.base + last
            batch.append((number, (start, stop)))
            pending += stop - start
            if pending >= BATCH or len(batch) >= 4096:
                yield from self._batch(batch)
                batch, pending = [], 0
                progress(done, len(used))
        yield from self._batch(batch)
        progress(len(used), len(used))

    def _batch(self, batch: list[tuple[int, tuple[int, int]]]) -> Iterator[tuple[int, bytes]]:
        stored = self.source.read_many([place for _, place in batch])
        return zip([number for number, _ in batch], stored, strict=True)

    def _checked(self, minishard: int, start: int, end: int) -> tuple[int, int]:
        fault = range_fault(minishard, start, end, self.base, self.source.size)
        if fault:
            raise FormatError(fault, span=pair_span(minishard))
        return (self.base + start, self.base + end) if start < end else (self.base, self.base)

    def _decoded(self, minishard: int, stored: bytes, place: Span, room: int | None = None) -> bytes:
        codec = "gzip" if self.spec.minishard_index_encoding == "gzip" else "none"
        limit = max(DECODED_FLOOR, DECODED_RATIO * len(stored))
        try:
            data = decompress(codec, stored, limit=limit if room is None else min(limit, room), span=place)
            entry_count(len(data))
        except (FormatError, LimitExceeded) as error:
            raise FormatError(f"index of minishard {minishard}: {error.message}", span=place) from error
        return data


def pair_span(minishard: int) -> Span:
    at = minishard * SHARD_INDEX_ENTRY.size
    return Span("", at, at + SHARD_INDEX_ENTRY.size)


def _as_pairs(data: bytes) -> Numbers:
    return as_pairs(SHARD_INDEX_ENTRY.read(data, count=len(data) // SHARD_INDEX_ENTRY.size))
