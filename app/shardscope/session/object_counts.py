"""Counts of objects by kind, state and codec, columns with one value, and sums of sizes. No Qt here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore import DataSet, Shard, State
from shardcore.progress import Progress, no_progress
from shardscope.session.object_filter import STATES
from shardscope.session.row_ranges import RowRanges

MOST_COUNTED = 16_000_000
"""Maximum number of rows counted in a local file."""

MOST_COUNTED_FAR = 100_000
"""Maximum number of rows counted in a remote file, where reading rows takes requests."""

_NOTHING = (State.UNUSED, State.DELETED)


@dataclass(frozen=True, slots=True)
class ObjectCounts:
    """Numbers of rows by kind, state and codec.

    `constant` names the columns with one value in all rows; it has `state` only if all objects are live.
    """

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
    largest, stored_differs, total, done = 0, False, len(objects), 0
    for rows in RowRanges.all_of(total).pieces():
        progress(done, total)
        done += len(rows)
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
    size = unknown = done = 0
    for rows in chosen.pieces():
        progress(done, len(chosen))
        done += len(rows)
        columns = shard.objects.columns(rows)
        known = columns.size >= 0
        size += _sum(columns.size[known])
        unknown += int(np.count_nonzero(~known & ~np.isin(columns.state, np.array(_NOTHING, np.uint8))))
    return SizeSum(size, unknown)


def _sum(sizes: NDArray[np.int64]) -> int:
    """Return the exact sum; the sizes in a damaged file may exceed 64 bits together."""
    return (int((sizes >> 32).sum()) << 32) + int((sizes & 0xFFFFFFFF).sum())
