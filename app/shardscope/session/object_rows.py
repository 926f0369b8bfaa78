"""Rows of the object table for a filter and an order. No Qt here."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore import Objects, Shard, UsageError
from shardcore.progress import Progress, no_progress
from shardscope.session.object_filter import NO_ROWS, SomeRows, compact, exact_rows, parse, steps

MAX_SORTED = 16_000_000
"""Maximum number of rows sorted by a numeric column without a stored order."""

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
    """Raised if a view needs all rows, which `whole=False` excludes."""


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
    """Return the rows in ascending order (stable), and the rows without a value in it."""
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
        raise UsageError(f"this shard cannot be sorted by {name}")
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
    """Split an ascending order into rows with and without a value; -1 at its beginning and absent rows have none."""
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
