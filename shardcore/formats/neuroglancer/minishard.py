"""Minishard indices as columns, for many minishards at once ("Minishard index format").

A decoded index is three rows of n uint64: id deltas, gaps after the previous value, sizes. Sums are modulo 2**64
as in other readers; wrapped ids are marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shardcore.formats.neuroglancer.layout import MINISHARD_INDEX, entry_count, values_inside

WORDS = np.dtype(MINISHARD_INDEX.fields[0].dtype)
"""Type of the numbers in an index, the same in all three columns."""

Numbers = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MinishardEntries:
    """Entries of one or more minishards; all arrays have the same length.

    `starts` are offsets in the file, `slots` positions in the minishard. `wrapped`: the sum of id deltas exceeds
    2**64; `inside`: the value is between shard index and end of file.
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
        cut = slice(rows.start, rows.stop)
        return MinishardEntries(
            ids=self.ids[cut],
            starts=self.starts[cut],
            sizes=self.sizes[cut],
            minishards=self.minishards[cut],
            slots=self.slots[cut],
            wrapped=self.wrapped[cut],
            inside=self.inside[cut],
        )


def segment_starts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.cumsum(counts) - counts


def running_sums(deltas: Numbers, counts: npt.NDArray[np.int64]) -> Numbers:
    """Return running sums modulo 2**64, restarting after each `counts[j]` numbers."""
    # Exact even if totals wrap, because subtraction is also modulo 2**64.
    totals = np.cumsum(deltas, dtype=np.uint64)
    filled = counts[counts > 0]
    firsts = segment_starts(filled)
    before = totals[firsts] - deltas[firsts]
    return totals - np.repeat(before, filled)


def entries_of(
    indices: Sequence[bytes], minishards: Sequence[int], index_size: int, file_size: int
) -> MinishardEntries:
    """Decode minishard indices; raise FormatError if a size is not a multiple of 24."""
    counts = np.array([entry_count(len(index)) for index in indices], dtype=np.int64)
    words = np.frombuffer(b"".join(indices), dtype=WORDS).astype(np.uint64, copy=False)
    slots = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(segment_starts(counts), counts)
    # A segment is three rows of n words: entry i of row r is word 3 * (entries before) + r * n + i.
    at = np.repeat(3 * segment_starts(counts), counts) + slots
    rows = np.repeat(counts, counts)
    id_deltas, gaps, sizes = words[at], words[at + rows], words[at + 2 * rows]
    del at, rows, words  # frees as much memory as the result takes
    ids = running_sums(id_deltas, counts)
    ends = running_sums(gaps + sizes, counts) + np.uint64(index_size)
    starts = ends - sizes
    return MinishardEntries(
        ids=ids,
        starts=starts,
        sizes=sizes,
        minishards=np.repeat(np.asarray(minishards, dtype=np.int64), counts),
        slots=slots,
        wrapped=ids < id_deltas,
        inside=values_inside(starts, sizes, index_size, file_size),
    )


def index_of(ids: Numbers, starts: Numbers, sizes: Numbers, index_size: int) -> bytes:
    """Return the decoded minishard index of entries; the inverse of `entries_of` for one minishard."""
    ids, starts, sizes = (np.asarray(column, dtype=np.uint64) for column in (ids, starts, sizes))
    id_deltas = np.diff(ids, prepend=np.uint64(0))
    ends = np.concatenate([np.array([index_size], dtype=np.uint64), starts + sizes])[: len(ids)]
    return MINISHARD_INDEX.write({"chunk_ids": id_deltas, "offsets": starts - ends, "sizes": sizes})


def overlaps(starts: Numbers, sizes: Numbers) -> int:
    """Return the number of non-empty ranges that start before the end of an earlier range."""
    kept = sizes > 0
    order = np.argsort(starts[kept], kind="stable")
    begin = starts[kept][order]
    ends = np.maximum.accumulate(begin + sizes[kept][order]) if len(begin) else begin
    return int((begin[1:] < ends[:-1]).sum())
