"""The shard index and the minishard indices of an opened shard, read on demand and cached; thread-safe.

For a lookup, `pair` and `minishard` read one byte range each; `table` reads all minishard indices. The error of a
damaged minishard is recorded, and the others stay readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shardcore.codecs.decompress import decompress
from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.neuroglancer.layout import (
    ENTRY_SIZE,
    SHARD_INDEX_ENTRY,
    MinishardEntries,
    Numbers,
    RangeFault,
    ShardIndex,
    entries_of,
    entry_count,
    pair_span,
    range_fault,
    range_faults,
    read_pairs,
)
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.span import Span
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import LruCache, Once
from shardcore.shards.file_shard import ranges_of
from shardcore.sources.base import Source

KEPT_WHOLE = 1 << 20
"""Maximum size in bytes of a shard index that is read on opening; of a larger one, only requested entries are read."""
KEPT_ENTRIES = 64 << 20
"""Cache size of minishards read by lookups, in bytes."""
KEPT_PER_BYTE = 2
"""Approximate memory of cached entries, in bytes per byte of the decoded minishard index."""
PROGRESS_EVERY = 256
DECODED_FLOOR = 16 << 20
"""Decoded size in bytes that is accepted for any minishard index, however small its stored size is."""
DECODED_RATIO = 64
"""Maximum ratio of decoded to stored size of a minishard index whose decoded size is above `DECODED_FLOOR`."""
TOTAL_FLOOR = 16 << 20
TOTAL_RATIO = 2
"""Maximum decoded size of all indices together, as a multiple of the file size, if it is above `TOTAL_FLOOR` bytes."""
CLAIMED_RATIO = 1
CLAIMED_FLOOR = 1 << 16
"""Total size in bytes of all index ranges that is accepted even for smaller files; shared ranges count each time."""
_SHARED = "its index overlaps those of many other minishards"


class MinishardDamage:
    """Mapping from the number of a damaged minishard to its error, created on access: half a million take 0.5 GB.

    `pairs` has start and end of each minishard index, relative to the end of the shard index (`base`), shape
    `(2**m, 2)`. `faults` has the `RangeFault` of each minishard.
    """

    def __init__(self, pairs: Numbers, base: int, size: int) -> None:
        self._pairs, self._base, self._size = pairs, base, size
        self.faults = range_faults(pairs, base, size)
        self._codes = np.zeros(len(pairs), np.int32)
        self._texts = [""]

    def note(self, number: int | npt.NDArray[np.int64], text: str) -> None:
        """Record an error text for one or more minishards. Call it only before `numbers` is used."""
        self._codes[number] = len(self._texts)
        self._texts.append(text)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero((self.faults != RangeFault.NONE) | (self._codes > 0)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: int) -> bool:
        return bool(self.faults[number] or self._codes[number])

    def __getitem__(self, number: int) -> FormatError:
        start, end = map(int, self._pairs[number])
        if fault := range_fault(number, start, end, self._base, self._size):
            return FormatError(fault, span=pair_span(number))
        text = f"minishard {number}: {self._texts[self._codes[number]]}"
        return FormatError(text, span=Span("", self._base + start, self._base + end))


@dataclass(frozen=True, slots=True)
class MinishardTable:
    """All entries of a shard, sorted by minishard; within a minishard they are in the order of its index.

    `pairs` has start and end of each minishard index, relative to the end of the shard index, shape `(2**m, 2)`.
    """

    pairs: Numbers
    entries: MinishardEntries
    damage: MinishardDamage

    def rows_of(self, minishard: int) -> range:
        listed = self.entries.minishards
        # The methods are twice as fast as the functions of the same name.
        return range(int(listed.searchsorted(minishard, "left")), int(listed.searchsorted(minishard, "right")))


class IndexLevels:
    """Shard index and minishard indices of one shard.

    `head` is the complete shard index, or empty if it is too large; `base` is its size. Offsets count from its end.
    """

    def __init__(self, source: Source, spec: ShardingSpec, head: bytes = b"") -> None:
        self.source, self.spec, self.base = source, spec, spec.index_size
        self._head = head[: self.base] if len(head) >= self.base else b""
        self._kept: LruCache[int, tuple[MinishardEntries, int]] = LruCache(KEPT_ENTRIES)
        self._table: Once[MinishardTable] = Once()

    @property
    def known_table(self) -> MinishardTable | None:
        return self._table.value

    @property
    def known_pairs(self) -> Numbers | None:
        """The shard index: start and end offset of each minishard index, shape `(2**m, 2)`; None if not in memory."""
        table = self._table.value
        if table is not None:
            return table.pairs
        return read_pairs(self._head) if self._head else None

    @property
    def shard_index(self) -> ShardIndex:
        return ShardIndex(self.spec.minishards, self.source.size, self.rows)

    def rows(self, first: int, last: int) -> npt.NDArray[np.void]:
        size = SHARD_INDEX_ENTRY.size
        data = self._head[first * size : last * size] if self._head else self.source.read(first * size, last * size)
        return SHARD_INDEX_ENTRY.read(data, count=last - first)

    def pair(self, minishard: int, source: Source) -> tuple[int, int]:
        """Return the half-open byte range of a minishard index; raise FormatError if it is not within the file."""
        table = self._table.value
        if table is not None:
            start, end = table.pairs[minishard].tolist()
        else:
            place = pair_span(minishard)
            data = self._head[place.start : place.stop] if self._head else source.read(place.start, place.stop)
            start, end = SHARD_INDEX_ENTRY.read_one(data).values()
        if fault := range_fault(minishard, start, end, self.base, self.source.size):
            raise FormatError(fault, span=pair_span(minishard))
        return (self.base + start, self.base + end) if start < end else (self.base, self.base)

    def minishard(
        self, number: int, source: Source, place: tuple[int, int] | None = None
    ) -> tuple[MinishardEntries, int]:
        """Return the entries of a minishard and the size of its decoded index in bytes, read from `source`.

        `place` is the result of `pair`; None to call it here. Raises FormatError if the minishard is damaged.
        """
        table = self._table.value
        if table is not None:
            if number in table.damage:
                raise table.damage[number]
            entries = table.entries.part(table.rows_of(number))
            return entries, ENTRY_SIZE * len(entries)
        if (kept := self._kept.get(number)) is not None:
            return kept
        start, stop = place or self.pair(number, source)
        if start == stop:
            return entries_of([], [], self.base, self.source.size), 0
        decoded = self.decode(number, source.read(start, stop), Span("", start, stop))
        found = entries_of([decoded], [number], self.base, self.source.size), len(decoded)
        return self._kept.put(number, found, KEPT_PER_BYTE * len(decoded))

    def table(self, progress: Progress = no_progress) -> MinishardTable:
        """Return the table of all entries, read once; the errors of damaged minishards are in its `damage`."""
        table = self._table.get(lambda: self._read_table(progress))
        self._kept.clear()
        return table

    def lister(self, start: int, stop: int) -> int | None:
        """Return the first minishard whose index is at `[start, stop)`; None if no cached entry has this range."""
        pairs = self.known_pairs
        if pairs is None or not self.base <= start < stop:
            return None
        same = (pairs == np.array([start - self.base, stop - self.base], np.uint64)).all(axis=1)
        return int(np.argmax(same)) if same.any() else None

    def decode(self, minishard: int, stored: bytes, place: Span, room: int | None = None) -> bytes:
        """Decode a minishard index; raise FormatError if it is corrupt, or its size exceeds `room` or a fixed limit."""
        limit = max(DECODED_FLOOR, DECODED_RATIO * len(stored))
        codec = "gzip" if self.spec.minishard_index_encoding == "gzip" else "none"
        try:
            data = decompress(codec, stored, limit=limit if room is None else min(limit, room), span=place)
            entry_count(len(data))
        except (FormatError, LimitExceeded) as error:
            raise FormatError(f"index of minishard {minishard}: {error.message}", span=place) from error
        return data

    def _read_table(self, progress: Progress) -> MinishardTable:
        pairs = self.known_pairs
        if pairs is None:
            pairs = read_pairs(self.source.read(0, self.base))
        damage = MinishardDamage(pairs, self.base, self.source.size)
        indices: list[bytes] = []
        numbers: list[int] = []
        room = max(TOTAL_FLOOR, TOTAL_RATIO * self.source.size)
        for number, place, stored in self._stored(pairs, damage, progress):
            if room <= 0:
                damage.note(number, _SHARED)
                continue
            try:
                decoded = self.decode(number, stored, place, room)
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

    def _stored(self, pairs: Numbers, damage: MinishardDamage, progress: Progress) -> Iterator[tuple[int, Span, bytes]]:
        """Yield number, span and stored bytes of the minishard indices with a valid range, read in batches."""
        used = np.flatnonzero((pairs[:, 0] != pairs[:, 1]) & (damage.faults == RangeFault.NONE))
        # No overflow, because each range is within the file and their number is limited.
        ends = np.cumsum((pairs[used, 1] - pairs[used, 0]).astype(np.int64))
        allowed = max(CLAIMED_FLOOR, CLAIMED_RATIO * self.source.size)
        damage.note(used[ends > allowed], _SHARED)
        used = used[ends <= allowed]
        places = pairs[used].astype(np.int64) + self.base
        for at, stored in enumerate(ranges_of(self.source, *places.T)):
            if at % PROGRESS_EVERY == 0:
                progress(at, len(used))
            yield int(used[at]), Span("", *places[at].tolist()), stored
        progress(len(used), len(used))
