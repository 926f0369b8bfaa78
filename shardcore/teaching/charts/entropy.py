"""Entropy along a file: from 0 bits per byte (all alike) to 8 (random).

Short windows measure less: see `highest_bits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.progress import Progress, no_progress
from shardcore.shards.whole_file import WholeFiles
from shardcore.sources.base import RANGE, Source, read_pieces

PAGE = 4096
"""Bytes of a sample."""

LEAST = 256
"""Bytes that a point stands for, at least: of fewer nothing can be stated."""

MOST_SAMPLED = 256
"""Places that are sampled of a large file."""

MOST_POINTS = 1024
"""Points of a file that is read whole."""

READ_WHOLE = 32 << 20
"""Remote files up to this size are fetched whole: the samples would be as many requests as there are places."""

_BATCH = 32
_VALUES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Entropy:
    """The entropy of places along a file.

    Attributes:
        edges: Edges of the places, int64, shape `(n + 1,)`.
        bits: Bits for each byte, shape `(n,)`; NaN where nothing was looked at.
        seen: Bytes that were looked at in each place, int64.
        size: Bytes of the file.
    """

    edges: NDArray[np.int64]
    bits: NDArray[np.float64]
    seen: NDArray[np.int64]
    size: int

    @property
    def looked_at(self) -> int:
        """Bytes that were looked at."""
        return int(self.seen.sum())

    @property
    def whole(self) -> bool:
        """Return whether every byte was looked at."""
        return self.looked_at == self.size


def bits_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Entropy in bits from counts of byte values, shape `(n, 256)`; NaN where there are none."""
    totals = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / totals[:, None]
        terms = np.where(counts > 0, shares * np.log2(shares), 0.0)
    bits = np.maximum(-terms.sum(axis=1), 0.0)
    return np.where(totals > 0, bits, np.nan)


def highest_bits(seen: int) -> float:
    """Return the mean entropy of windows of random bytes: 8 bits per byte is reached by long windows only.

    In 256 random bytes many of the 256 values do not occur: 7.17 bits are measured. In 4,096 bytes it is 7.95.

    Args:
        seen: Bytes of a window, at least 1.
    """
    if seen > PAGE:
        return 8 - (_VALUES - 1) / (2 * seen * math.log(2))
    counts = np.arange(1, seen + 1)
    # The binomial distribution of the count of one value, in logarithms: its factors are too large and too small.
    chances = np.cumsum(np.log(seen + 1 - counts) - np.log(counts))
    chances += counts * np.log(1 / _VALUES) + (seen - counts) * np.log1p(-1 / _VALUES)
    return float(_VALUES * np.sum(np.exp(chances) * (counts / seen) * -np.log2(counts / seen)))


def edges_of(size: int, most: int) -> NDArray[np.int64]:
    """Cut a file into places of equal size, at most `most` of them."""
    places = max(min(most, size // LEAST), 1)
    return np.array([size * at // places for at in range(places + 1)], np.int64)


def sampled_entropy(source: Source, progress: Progress = no_progress, *, loaded_only: bool = False) -> Entropy:
    """Return the entropy of samples: the middle page of each place. Reads at most 1 MiB, in parallel.

    A remote file of up to 32 MiB is fetched whole, which takes fewer requests.

    Args:
        source: The file.
        progress: Receives the progress.
        loaded_only: Whether only bytes are looked at that are here already: nothing is fetched.

    Raises:
        SourceError: The bytes cannot be read.
    """
    edges = edges_of(source.size, MOST_SAMPLED)
    counts = np.zeros((len(edges) - 1, _VALUES), np.int64)
    here = list(source.loaded(0, source.size)) if loaded_only else []
    pages = [
        (_loaded_page(here, start, stop) if loaded_only else _middle(start, stop)) or (start, start)
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    with WholeFiles(source, 0 if loaded_only else READ_WHOLE, longest=RANGE):
        for first in range(0, len(pages), _BATCH):
            progress(first, len(counts))
            for number, data in enumerate(source.read_many(pages[first : first + _BATCH]), first):
                counts[number] = np.bincount(np.frombuffer(data, np.uint8), minlength=_VALUES)
    progress(len(counts), len(counts))
    return Entropy(edges, bits_of(counts), counts.sum(axis=1), source.size)


def whole_entropy(source: Source, progress: Progress = no_progress) -> Entropy:
    """Return the entropy of all bytes; read the file from end to end.

    Raises:
        SourceError: The bytes cannot be read.
    """
    edges, size = edges_of(source.size, MOST_POINTS), source.size
    counts = np.zeros((len(edges) - 1, _VALUES), np.int64)
    stop = 0
    for piece in read_pieces(source, 0, size):
        progress(stop, size)
        start, stop = stop, stop + len(piece)
        data = np.frombuffer(piece, np.uint8)
        first = int(np.searchsorted(edges, start, "right")) - 1
        last = int(np.searchsorted(edges, stop, "left"))
        cuts = np.clip(edges[first : last + 1], start, stop) - start
        for number, (low, high) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
            counts[first + number] += np.bincount(data[low:high], minlength=_VALUES)
    progress(size, max(size, 1))
    return Entropy(edges, bits_of(counts), counts.sum(axis=1), size)


def _middle(start: int, stop: int) -> tuple[int, int]:
    """Return the page in the middle of a place; all of a place that is no longer."""
    if stop - start <= PAGE:
        return start, stop
    at = start + (stop - start - PAGE) // 2
    return at, at + PAGE


def _loaded_page(here: list[tuple[int, int]], start: int, stop: int) -> tuple[int, int] | None:
    """Return the first bytes of a place that are here, up to a page of them."""
    for first, last in here:
        low, high = max(first, start), min(last, stop)
        if high - low >= min(LEAST, stop - start):
            return low, min(high, low + PAGE)
    return None
