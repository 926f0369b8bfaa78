"""Selection of the objects that extracting all of them writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import UsageError
from shardcore.model.objects import Objects, in_states, row_steps
from shardcore.model.text import short
from shardcore.operations.extraction.options import ExtractOptions
from shardcore.shards.shard import Shard

STEP = 1 << 16
"""Rows looked at at once."""

Rows = NDArray[np.int64]


def all_rows(objects: Objects) -> Iterator[Rows]:
    """Return all rows, in pieces."""
    return row_steps(len(objects), STEP)


def rows_in_file_order(objects: Objects) -> Iterator[Rows]:
    """Yield all rows, in pieces; those that are slots of a hash function in the order of their objects in the file."""
    order = objects.order("offset") if objects.hashed_rows and "offset" in objects.orders else None
    if order is None:
        yield from all_rows(objects)
        return
    others = np.ones(len(objects), np.bool_)
    others[order] = False
    rows = np.concatenate([order, np.flatnonzero(others)])
    yield from (rows[first : first + STEP] for first in range(0, len(rows), STEP))


def outer_kinds(objects: Objects) -> tuple[int, ...]:
    """Return the codes of the kinds that are no parts of others (not the chunks of a file)."""
    return tuple(code for code, name in enumerate(objects.kinds) if name not in objects.inner_kinds)


def taken_rows(
    objects: Objects, pieces: Iterable[Rows], options: ExtractOptions, kinds: tuple[int, ...] | None = None
) -> Iterator[Rows]:
    """Yield those of some rows that are taken, in pieces.

    Args:
        objects: The objects.
        pieces: Rows.
        options: Report which states are taken.
        kinds: Codes of the kinds that are taken; None for all.

    Raises:
        SourceError: The bytes cannot be read.
    """
    for rows in pieces:
        columns = objects.columns(rows)
        keep = in_states(columns.state, options.states)
        if kinds is not None:
            keep &= np.isin(columns.kind, kinds)
        yield rows[keep]


def kind_code(shard: Shard, kind: str | None) -> int | None:
    """Return the code of a kind of objects; None for all kinds.

    Raises:
        UsageError: The shard has no such objects.
    """
    if kind is None:
        return None
    if kind not in shard.objects.kinds:
        raise no_kind(kind, shard.objects.kinds)
    return shard.objects.kinds.index(kind)


def no_kind(kind: str, kinds: tuple[str, ...]) -> UsageError:
    """Return the error for a kind of objects that a shard does not have."""
    return UsageError(f"no objects of kind {short(kind)} here, only {', '.join(kinds)}")
