"""What is too much for one shard, put into several: the inverse of merging, as clients do it when a shard is full."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.mdb.serialize import FULL, Recipes, size_of

EMPTY_SIZE = size_of(FULL, 0, 0, 0, 0)


def split(recipes: Recipes, after: NDArray[np.int64], limit: int) -> list[Recipes]:
    """The parts of which each makes a shard of at most `limit` bytes, in full form.

    Files and xorbs stay in their order; a file stands with the xorbs that were begun for it, as far as these have room.
    What a file uses besides is described by another shard of the same store.

    Args:
        recipes: All files and xorbs; a single one has room.
        after: How many xorbs each file needs to be there, `(files,)`.
        limit: See above.
    """
    files, segments, chunks = len(recipes.files), len(recipes.segments), len(recipes.chunks)
    if size_of(FULL, files, segments, len(recipes.xorbs), chunks) <= limit:
        return [recipes]
    of_xorbs = size_of(FULL, 0, 0, 1, 0) - EMPTY_SIZE + (size_of(FULL, 0, 0, 0, 1) - EMPTY_SIZE) * recipes.chunk_counts
    of_files = size_of(FULL, 1, 0, 0, 0) - EMPTY_SIZE + (size_of(FULL, 0, 1, 0, 0) - EMPTY_SIZE) * recipes.counts
    # One row: each file after the xorbs that it needs, in the order of their numbers.
    needs = np.maximum.accumulate(after) if files else after
    order = np.lexsort(
        (np.repeat([0, 1], [len(of_xorbs), files]), np.concatenate([np.arange(1, len(of_xorbs) + 1), needs]))
    )
    sizes = np.concatenate([of_xorbs, of_files])[order]
    parts: list[Recipes] = []
    ends = np.cumsum(sizes)
    first = 0
    while first < len(order):
        done = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, done + limit - EMPTY_SIZE, "right"))
        rows = order[first : max(last, first + 1)]
        parts.append(_part(recipes, rows[rows >= len(of_xorbs)] - len(of_xorbs), rows[rows < len(of_xorbs)]))
        first += len(rows)
    return parts


def _part(recipes: Recipes, files: NDArray[np.int64], xorbs: NDArray[np.int64]) -> Recipes:
    """Some files and some xorbs; both are runs of neighbours, or none."""
    segments = _run(recipes.counts, files)
    chunks = _run(recipes.chunk_counts, xorbs)
    return Recipes(
        recipes.files[files],
        recipes.sha256s[files],
        recipes.counts[files],
        recipes.segments[segments],
        recipes.ranges[segments],
        recipes.xorbs[xorbs],
        recipes.chunk_counts[xorbs],
        recipes.chunks[chunks],
    )


def _run(counts: NDArray[np.int64], rows: NDArray[np.int64]) -> slice:
    """The entries of some neighbouring rows in lists that lie one after the other."""
    if not len(rows):
        return slice(0, 0)
    ends = np.cumsum(counts)
    return slice(int(ends[rows[0]] - counts[rows[0]]), int(ends[rows[-1]]))
