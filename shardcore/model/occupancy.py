"""Load: how many of something there is in each of many places, against how it would be at best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from shardcore.progress import Progress

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Load: number of objects or keys per place.

    Attributes:
        title: `Keys in each minishard`.
        place: What a place is called, in the singular.
        thing: What is counted, in the singular.
        counts: Count, shape `(places,)`.
        doc: One or two sentences: what the reader sees, and why it matters.
        ideal: How many there would be at best, for each place or for all; None where there is no such number.
        ideal_name: What the ideal is: `evenly spread`.
        by_chance: Whether a hash spreads the things, so that the numbers of a binomial distribution are the measure.
        row_bounds: The rows of `Shard.objects` in place i are `[row_bounds[i], row_bounds[i + 1])`; None where rows
            do not lie so.
        starts: First byte of each place in the file; None where places have no bytes of their own.
        stops: One past the last byte of each.
        key_prefixes: How the keys of each place begin, where that is what makes a place.
        names: What each place is called where a number says too little: the files of a data set.
    """

    title: str
    place: str
    thing: str
    counts: I64
    doc: str
    ideal: float | F64 | None = None
    ideal_name: str = "evenly spread"
    by_chance: bool = False
    row_bounds: I64 | None = None
    starts: I64 | None = None
    stops: I64 | None = None
    key_prefixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def places(self) -> int:
        """Number of places."""
        return len(self.counts)

    @property
    def total(self) -> int:
        """Number of things."""
        return int(self.counts.sum())

    def ideals(self) -> F64 | None:
        """Return the ideal of each place, shape `(places,)`."""
        return None if self.ideal is None else np.broadcast_to(np.asarray(self.ideal, np.float64), (self.places,))

    def rows_in(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the rows in the places `[first, last)`, half-open; None where rows do not lie so."""
        if self.row_bounds is None:
            return None
        return int(self.row_bounds[first]), int(self.row_bounds[last])

    def bytes_in(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the bytes from the first to the last of some places; None where they have none."""
        if self.starts is None or self.stops is None:
            return None
        starts, stops = self.starts[first:last], self.stops[first:last]
        solid = stops > starts
        return (int(starts[solid].min()), int(stops[solid].max())) if solid.any() else None


@dataclass(frozen=True, slots=True)
class LoadSource:
    """A load that can be had.

    Attributes:
        name: Short, one of its format: `slots`.
        title: As `Load.title`.
        reads: Bytes that have to be read first, at most; 0 where all is known.
        make: Reads and counts.
    """

    name: str
    title: str
    reads: int
    make: Callable[[Progress], Load] = field(compare=False)


def counts_of(numbers: NDArray[np.integer], places: int) -> I64:
    """Return how often each of the numbers below `places` occurs."""
    return np.bincount(numbers.astype(np.int64, copy=False), minlength=places)[:places].astype(np.int64)


def binomial(things: int, places: int, most: int) -> F64:
    """Return how many of some places hold 0, 1, … `most` things when each thing falls into any place alike.

    Args:
        things: Number of things.
        places: Over how many places.
        most: The largest number that is requested.

    Returns:
        Expected numbers of places, shape `(most + 1,)`; they add up to `places` but for what is beyond `most`.
    """
    found = np.zeros(most + 1)
    if places <= 1:
        if things <= most:
            found[things] = places
        return found
    p, whole = 1.0 / places, lgamma(things + 1)
    inside, outside = np.log(p), np.log1p(-p)
    for k in range(min(most, things) + 1):
        log = whole - lgamma(k + 1) - lgamma(things - k + 1) + k * inside + (things - k) * outside
        found[k] = places * np.exp(log)
    return found
