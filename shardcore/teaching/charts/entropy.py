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
    edges: NDArray[np.int64]
    bits: NDArray[np.float64]
    seen: NDArray[np.int64]
    size: int

    @property
    def looked_at(self) -> int:
        return int(self.seen.sum())

    @property
    def whole(self) -> bool:
        return self.looked_at == self.size


def bits_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    totals = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / totals[:, None]
        terms = np.where(counts > 0, shares * np.log2(shares), 0.0)
    bits = np.maximum(-terms.sum(axis=1), 0.0)
    return np.where(totals > 0, bits, np.nan)


def highest_bits(seen: int) -> float:
    if seen > PAGE:
        return 8 - (_VALUES - 1) / (2 * seen * math.log(2))
    counts = np.arange(1, seen + 1)
    # The binomial distribution of the count of one value, in logarithms: its factors are too large and too small.
    chances = np.cumsum(np.log(seen + 1 - counts) - np.log(counts))
    chances += counts * np.log(1 / _VALUES) + (seen - counts) * np.log1p(-1 / _VALUES)
    return float(_VALUES * np.sum(np.exp(chances) * (counts / seen) * -np.log2(counts / seen)))


def edges_of(size: int, most: int) -> NDArray[np.int64]:
    places = max(min(most, size // LEAST), 1)
    return np.array([size * at // places for at in range(places + 1)], np.int64)


def sampled_entropy(source: Source, progress: Progress = no_progress, *, loaded_only: bool = False) -> Entropy:
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
    if stop - start <= PAGE:
        return start, stop
    at = start + (stop - start - PAGE) // 2
    return at, at + PAGE


def _loaded_page(here: list[tuple[int, int]], start: int, stop: int) -> tuple[int, int] | None:
    for first, last in here:
        low, high = max(first, start), min(last, stop)
        if high - low >= min(LEAST, stop - start):
            return low, min(high, low + PAGE)
    return None
