"""Search for objects in damaged files: the interface of the formats' search functions, and helpers for them.

A format declares `Format.salvage`, a function that gets a `Damaged` and yields `SalvagedObject`s. It may use
`Damaged.shard`, but must also work if that is None. It allocates no memory by counts that the file declares.
`shardcore.operations.recover` calls it, writes the files, and creates the report.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, field
from shardcore.errors import DEFAULT_LIMIT, ShardError, raise_if_ended
from shardcore.model.finding import ContentBudget
from shardcore.model.objects import ObjectRef, State, in_states, row_steps
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.progress import Progress, no_progress
from shardcore.shards.open_context import nothing_else
from shardcore.shards.shard import Shard, bounded
from shardcore.sources.base import Source, read_pieces

WINDOW = 1 << 20
"""Number of bytes that are read and searched at a time."""

CANDIDATE = 1024
"""Number of bytes that each examined offset takes from the limit `Damaged.work`, besides the bytes examined there."""

_NEAR = 1 << 18


class Near:
    """Buffered reader for many small reads that are close to each other."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._start, self._data = 0, b""

    def __call__(self, start: int, stop: int) -> bytes:
        at = start - self._start
        if at < 0 or stop - self._start > len(self._data):
            self._start = start
            self._data = self._source.read(start, max(stop, min(start + _NEAR, self._source.size)))
            at = 0
        return self._data[at : at + stop - start]


class Condition(Enum):
    """Condition of an object found in a damaged file."""

    WHOLE = "whole"
    """A checksum in the file confirms all bytes."""
    UNCHECKED = "unchecked"
    """Can be extracted, but the file has no checksum of it."""
    DAMAGED = "damaged"
    """The stored bytes are corrupt."""
    LOST = "lost"
    """Listed in the index, but the bytes are missing."""

    @property
    def label(self) -> str:
        """Label for display: intact, unverified, damaged or lost."""
        return {"whole": "intact", "unchecked": "unverified"}.get(self.value, self.value)


@dataclass(slots=True)
class Damaged:
    """Damaged file in which objects are searched.

    Attributes:
        shard: The partially opened shard; None if opening fails completely.
        limit: Maximum uncompressed bytes of one object.
        reopen: Opens other bytes as the same format, such as the file with a repaired frame.
        work: Limit of the search, since a malicious file may seem to contain objects at every offset.
        notes: Messages for the report, added during the search.
        left_out: Messages about bytes that were not searched because of the limit `work`.
        raw: Whether ranges that belong to no object are yielded, too.
        unclaimed: Ranges `[start, stop)` that belong to no object; they may be uncompressed contents.
        declared: Number of objects that the file declares; None if unknown.
    """

    source: Source
    shard: Shard | None = None
    reopen: Callable[[Source], Shard] = nothing_else
    limit: int = DEFAULT_LIMIT
    progress: Progress = no_progress
    work: ContentBudget = field(default_factory=lambda: ContentBudget(0))
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    raw: bool = False
    unclaimed: list[tuple[int, int]] = field(default_factory=list)
    declared: int | None = None

    def affords(self, at: int, size: int = 0) -> bool:
        """Charge an offset and `size` bytes to the limit `work`; if it is used up, add one message and return False."""
        if self.work.left > 0:
            self.work.spend(CANDIDATE + size)
            return True
        if not self.left_out:
            rest = plural(max(self.source.size - at, 0), "byte")
            self.left_out.append(f"the search ended at byte {at:#x}: the last {rest} were not searched")
        return False

    def longest(self, usual: int) -> int:
        """Return the maximum bytes of an index that are searched: `usual`, or more if the user raised the limit."""
        return max(usual, self.work.left >> 16)


@dataclass(frozen=True, slots=True)
class SalvagedObject:
    """Object found in a damaged file.

    Attributes:
        name: Name of the file to which it is extracted; may be unsafe.
        pieces: Yields its content, and raises an error at corrupt bytes; None if there is no content.
        checked_by: Name of the checksum that has confirmed the content once `pieces` is exhausted; empty for none.
        why: Reason why it is damaged or lost, if known before `pieces` is read.
        raw: True for a byte range that belongs to no object.
    """

    key: str | None
    name: str
    spans: tuple[Span, ...]
    pieces: Callable[[], Iterator[bytes]] | None = None
    checked_by: str = ""
    why: str = ""
    without_index: bool = False
    raw: bool = False


Checked = Callable[[ObjectRef], str]
"""Function that returns the name of the checksum that confirms an object; empty if there is none."""


def indexed(damaged: Damaged, checked: Checked, *, kinds: frozenset[str] | None = None) -> Iterator[SalvagedObject]:
    """Yield the objects that are still in the index, if the shard can be opened partially; `kinds` None means all."""
    for ref in refs(damaged, kinds):
        assert damaged.shard is not None
        name = ref.key if ref.key is not None else f"row-{ref.row}"
        if ref.error or ref.state is State.DAMAGED:
            why = ref.error or "the reference to it is invalid"
            yield SalvagedObject(ref.key, name, ref.spans, why=why)
        else:
            pieces = partial(bounded, damaged.shard, ref, damaged.limit)
            yield SalvagedObject(ref.key, name, ref.spans, pieces, checked(ref))


def refs(damaged: Damaged, kinds: frozenset[str] | None = None) -> Iterator[ObjectRef]:
    """Yield the objects of a partially opened shard in row order, without deleted ones."""
    shard = damaged.shard
    if shard is None:
        return
    try:
        shard.load_index()
        count = len(shard.objects)
    except ShardError as error:
        raise_if_ended(error)
        return
    for rows in _rows(shard, count, kinds):
        yield from shard.objects.refs(rows)


def _rows(shard: Shard, count: int, kinds: frozenset[str] | None) -> Iterator[NDArray[np.int64]]:
    wanted = [number for number, kind in enumerate(shard.objects.kinds) if kinds is None or kind in kinds]
    for rows in row_steps(count, 1000):
        columns = shard.objects.columns(rows)
        gone = in_states(columns.state, (State.UNUSED, State.DELETED, State.TOMBSTONED))
        yield rows[~gone & np.isin(columns.kind, wanted)]


def occurrences(
    source: Source, pattern: bytes, start: int, stop: int, progress: Progress = no_progress
) -> Iterator[int]:
    """Yield the offsets of a pattern in `[start, stop)`, ascending; reads the source window by window."""
    at = start
    while at < stop:
        progress(at, stop)
        end = min(at + WINDOW, stop)
        window = source.read(at, min(end + len(pattern) - 1, stop))
        here = window.find(pattern)
        while here >= 0:
            yield at + here
            here = window.find(pattern, here + 1)
        at = end


def unclaimed(damaged: Damaged, gaps: Iterable[tuple[int, int]]) -> Iterator[SalvagedObject]:
    """Yield the byte ranges `gaps`, which belong to no object, as raw objects if `damaged.raw`; else add a note."""
    found = [(start, stop) for start, stop in gaps if stop > start]
    damaged.unclaimed.extend(found)
    if not damaged.raw:
        if found:
            many = plural(sum(stop - start for start, stop in found), "byte")
            where = plural(len(found), "range")
            damaged.notes.append(f"{many} in {where} belong to no object, and can be extracted as raw ranges")
        return
    for start, stop in found:
        pieces = partial(read_pieces, damaged.source, start, stop)
        why = "bytes of no object: uncompressed content, damaged content, or unused"
        yield SalvagedObject(
            None, f"raw-{start}-{stop}", (Span("", start, stop),), pieces, why=why, without_index=True, raw=True
        )


class Covered:
    def __init__(self) -> None:
        self._edges = array("q")
        self._starts = self._stops = np.zeros(0, np.int64)

    def add(self, start: int, stop: int) -> None:
        self._edges.extend((start, stop))

    def gaps(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the parts of `[start, stop)` that no added range covers."""
        if self._edges:
            self._join()
        at = start
        for number in range(int(np.searchsorted(self._stops, start, "right")), len(self._starts)):
            first = int(self._starts[number])
            if first >= stop:
                break
            if first > at:
                yield at, first
            at = int(self._stops[number])
        if at < stop:
            yield at, stop

    def _join(self) -> None:
        added = np.array(self._edges, np.int64).reshape(-1, 2)
        self._edges = array("q")
        starts, stops = np.append(self._starts, added[:, 0]), np.append(self._stops, added[:, 1])
        some = stops > starts
        starts, stops = starts[some], stops[some]
        order = np.argsort(starts, kind="stable")
        starts, stops = starts[order], np.maximum.accumulate(stops[order])
        apart = starts[1:] > stops[:-1]
        self._starts = starts[np.append(True, apart)[: len(starts)]]
        self._stops = stops[np.append(apart, True)[: len(stops)]]
