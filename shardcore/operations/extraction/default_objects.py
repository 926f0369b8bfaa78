"""Selection of the rows that are extracted by default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import UsageError
from shardcore.model.objects import Objects, in_states, row_steps
from shardcore.model.safe_text import short
from shardcore.operations.extraction.options import ExtractOptions
from shardcore.shards.shard import Shard

STEP = 1 << 16

Rows = NDArray[np.int64]


def all_rows(objects: Objects) -> Iterator[Rows]:
    return row_steps(len(objects), STEP)


def rows_in_file_order(objects: Objects) -> Iterator[Rows]:
    """Yield all rows in pieces; if rows are slots of a hash function, they are sorted by offset."""
    order = objects.order("offset") if objects.hashed_rows and "offset" in objects.orders else None
    if order is None:
        yield from all_rows(objects)
        return
    others = np.ones(len(objects), np.bool_)
    others[order] = False
    rows = np.concatenate([order, np.flatnonzero(others)])
    yield from (rows[first : first + STEP] for first in range(0, len(rows), STEP))


def outer_kinds(objects: Objects) -> tuple[int, ...]:
    """Return the codes of the kinds that are not parts of other objects, as the chunks of a file are."""
    return tuple(code for code, name in enumerate(objects.kinds) if name not in objects.inner_kinds)


def taken_rows(
    objects: Objects, pieces: Iterable[Rows], options: ExtractOptions, kinds: tuple[int, ...] | None = None
) -> Iterator[Rows]:
    """Yield the rows whose state and kind are selected, in pieces; `kinds` are codes, None for all kinds."""
    for rows in pieces:
        columns = objects.columns(rows)
        keep = in_states(columns.state, options.states)
        if kinds is not None:
            keep &= np.isin(columns.kind, kinds)
        yield rows[keep]


def kind_code(shard: Shard, kind: str | None) -> int | None:
    if kind is None:
        return None
    if kind not in shard.objects.kinds:
        raise no_kind(kind, shard.objects.kinds)
    return shard.objects.kinds.index(kind)


def no_kind(kind: str, kinds: tuple[str, ...]) -> UsageError:
    return UsageError(f"no objects of kind {short(kind)} (available: {', '.join(kinds)})")
