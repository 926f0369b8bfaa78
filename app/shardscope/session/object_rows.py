"""Rows of the object table: filtered and sorted rows, selected rows, and counts of all rows. No Qt here."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shardcore import DataSet, Objects, Shard, State, UsageError
from shardcore.dataclasses import dataclass
from shardcore.model.objects import exact_sum
from shardcore.progress import Progress, no_progress
from shardscope.session.object_filter import NO_ROWS, STATES, STEP, Rows, SomeRows, compact, exact_rows, parse, steps

MAX_SORTED = 16_000_000
"""Maximum number of rows sorted by a numeric column, unless the column is one of `Objects.orders`."""

MAX_SORTED_KEYS = 4_000_000
"""Maximum number of rows sorted by key as text."""

_FIELDS = {"offset": "start", "stored": "stored_size"}


@dataclass(frozen=True, slots=True)
class View:
    """Filter (see `object_filter.parse`) and order: one of `Objects.orders`, or the name of a column."""

    text: str = ""
    order: str = "slot"
    descending: bool = False

    @property
    def plain(self) -> bool:
        return self == View()


class NeedsAllRows(UsageError):
    """Raised by `rows_of` with `whole=False` if a view needs all rows."""


def rows_of(shard: Shard, view: View, progress: Progress = no_progress, *, whole: bool = True) -> SomeRows | None:
    """Return the rows of a view in order; None for all rows in the order of the format.

    Rows without a value in the sorted column come last in both directions.

    Raises:
        NeedsAllRows: The view needs all rows and `whole` is False. A complete key is looked up without the index.
        UsageError: The filter is invalid, or there are too many rows to sort.
    """
    objects = shard.objects
    if view.plain:
        return None
    wanted = parse(view.text, objects)
    exact = exact_rows(shard, wanted.key) if not wanted.rules else None
    if exact is not None:
        return exact
    if not whole:
        raise NeedsAllRows("all rows are needed: load the index first")
    # Filter first: keys are read fastest in the order of the format, and fewer rows are left to sort.
    kept = wanted.rows(objects, progress) if view.text else None
    known, rest = _ordered(shard, view.order, kept, progress)
    known = known[::-1] if view.descending else known
    return np.concatenate([known, rest]).astype(compact(objects)) if len(rest) else known


def can_sort(shard: Shard, order: str) -> bool:
    most = MAX_SORTED_KEYS if order == "key" else MAX_SORTED
    return order in shard.objects.orders or (shard.loaded and len(shard.objects) <= most)


def _ordered(shard: Shard, name: str, kept: SomeRows | None, progress: Progress) -> tuple[SomeRows, SomeRows]:
    """Return the rows sorted by a column in ascending order (stable), and the rows without a value in this column."""
    objects = shard.objects
    rows = np.arange(len(objects), dtype=compact(objects)) if kept is None else kept
    if name in objects.orders:
        order = objects.order(name)
        if order is None:
            return rows, NO_ROWS
        if kept is not None:
            order = order[_marked(len(objects), kept)[order]]
        return _split(objects, name, rows, order)
    if not can_sort(shard, name):
        raise UsageError(f"cannot sort by {name}: the index is not loaded, or there are too many objects")
    parts = list(steps(rows, progress))
    if name == "key":
        texts = [text for part in parts for text in objects.key_texts(part)]
        keyed = [at for at, text in enumerate(texts) if text is not None]
        by_key = rows[np.array(sorted(keyed, key=lambda at: texts[at] or ""), np.int64)]
        return by_key, _missing(len(objects), rows, by_key)
    columns = [getattr(objects.columns(part), _FIELDS.get(name, name)) for part in parts]
    if not columns:
        return NO_ROWS, NO_ROWS
    return _split(objects, name, rows, rows[np.argsort(np.concatenate(columns), kind="stable")])


def _split(objects: Objects, name: str, rows: SomeRows, order: SomeRows) -> tuple[SomeRows, SomeRows]:
    """Split sorted rows into those with a value and those without: value -1 (first in `order`), or not in `order`."""
    left_out = _missing(len(objects), rows, order)
    field = _FIELDS.get(name, name)
    if name not in ("size", "stored", "offset") or not len(order):
        return order, left_out

    def unknown(at: int) -> bool:
        return int(getattr(objects.columns(order[at : at + 1].astype(np.int64)), field)[0]) < 0

    known = bisect_left(range(len(order)), True, key=lambda at: not unknown(at))
    return order[known:], np.concatenate([order[:known], left_out]) if known else left_out


def _marked(count: int, rows: SomeRows) -> NDArray[np.bool_]:
    marked = np.zeros(count, np.bool_)
    marked[rows] = True
    return marked


def _missing(count: int, rows: SomeRows, order: SomeRows) -> SomeRows:
    return NO_ROWS if len(order) == len(rows) else rows[~_marked(count, order)[rows]]


# --- selected rows ---


@dataclass(frozen=True, eq=False)
class RowRanges:
    """Rows of a table in display order; create it with `of`. Call `rows` and `pieces`, which build arrays, in a job.

    Attributes:
        parts: Half-open ranges of table positions, sorted and disjoint.
        order: Row of `Shard.objects` at each position; None if positions are rows.
    """

    parts: tuple[range, ...] = ()
    order: NDArray[np.integer] | None = None

    @staticmethod
    def of(parts: Iterable[range], order: NDArray[np.integer] | None = None) -> RowRanges:
        joined: list[range] = []
        for part in sorted((part for part in parts if part), key=lambda part: part.start):
            if joined and part.start <= joined[-1].stop:
                joined[-1] = range(joined[-1].start, max(joined[-1].stop, part.stop))
            else:
                joined.append(part)
        return RowRanges(tuple(joined), order)

    @staticmethod
    def all_of(count: int) -> RowRanges:
        return RowRanges.of([range(count)])

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def first(self) -> int | None:
        return next(iter(self.head(1).rows().tolist()), None)

    def head(self, most: int) -> RowRanges:
        kept: list[range] = []
        for part in self.parts:
            if most <= 0:
                break
            kept.append(part[:most])
            most -= len(kept[-1])
        return RowRanges(tuple(kept), self.order)

    def rows(self) -> Rows:
        parts = [self._rows(part) for part in self.parts]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def pieces(self, step: int = STEP, progress: Progress = no_progress) -> Iterator[Rows]:
        done, total = 0, sum(map(len, self.parts))
        for part in self.parts:
            for start in range(part.start, part.stop, step):
                piece = range(start, min(start + step, part.stop))
                progress(done, total)
                yield self._rows(piece)
                done += len(piece)

    def _rows(self, part: range) -> Rows:
        if self.order is None:
            return np.arange(part.start, part.stop, dtype=np.int64)
        return self.order[part.start : part.stop].astype(np.int64)


# --- counts ---

MOST_COUNTED = 16_000_000
"""Maximum number of rows counted in a local file."""

MOST_COUNTED_FAR = 100_000
"""Maximum number of rows counted in a remote file, where reading rows takes requests."""

_NOTHING = (State.UNUSED, State.DELETED)


@dataclass(frozen=True, slots=True)
class ObjectCounts:
    """Counts of all rows. `constant`: columns with the same value in all rows; `state` only if all are live."""

    kinds: tuple[tuple[str, int], ...]
    states: tuple[tuple[str, int], ...]
    codecs: tuple[tuple[str, int], ...]
    largest: int
    constant: frozenset[str]


def countable(rows: int, *, far: bool) -> bool:
    return rows <= (MOST_COUNTED_FAR if far else MOST_COUNTED)


def count(shard: Shard, progress: Progress = no_progress) -> ObjectCounts:
    """Count all rows; O(rows), reads the index."""
    objects = shard.objects
    kinds, states, codecs = (np.zeros(256, np.int64) for _ in range(3))
    largest, stored_differs = 0, False
    for rows in RowRanges.all_of(len(objects)).pieces(progress=progress):
        columns = objects.columns(rows)
        kinds += np.bincount(columns.kind, minlength=256)
        states += np.bincount(columns.state, minlength=256)
        there = ~np.isin(columns.state, np.array(_NOTHING, np.uint8))
        codecs += np.bincount(columns.codec[there], minlength=256)
        largest = max(largest, int(columns.size.max(initial=0)))
        stored_differs = stored_differs or bool(
            ((columns.stored_size != columns.size) & (columns.stored_size >= 0)).any()
        )
    by_state = _present(STATES, states)
    constant = {
        "kind": np.count_nonzero(kinds) < 2,
        "state": [name for name, _ in by_state] in ([], ["live"]),
        "codec": np.count_nonzero(codecs) < 2,
        "stored": not stored_differs,
        "shard": not isinstance(shard, DataSet) or len(shard.members) < 2,
    }
    names = frozenset(name for name, same in constant.items() if same)
    return ObjectCounts(_present(objects.kinds, kinds), by_state, _present(objects.codecs, codecs), largest, names)


def _present(names: Sequence[str], counts: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    return tuple((name, found) for name, found in zip(names, counts.tolist(), strict=False) if found)


@dataclass(frozen=True, slots=True)
class SizeSum:
    size: int
    unknown: int


def add_up(shard: Shard, chosen: RowRanges, progress: Progress = no_progress) -> SizeSum:
    size = unknown = 0
    for rows in chosen.pieces(progress=progress):
        columns = shard.objects.columns(rows)
        known = columns.size >= 0
        size += exact_sum(columns.size[known])
        unknown += int(np.count_nonzero(~known & ~np.isin(columns.state, np.array(_NOTHING, np.uint8))))
    return SizeSum(size, unknown)
