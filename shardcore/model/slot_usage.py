"""Slot usage: number of objects per slot, bucket or file, compared with the ideal number."""

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
    """Number of things (such as keys) in each place (slot, bucket, minishard or file).

    Attributes:
        title: Title, such as `Keys in each minishard`.
        place: Noun for a place, singular.
        thing: Noun for a thing, singular.
        doc: One or two sentences.
        ideal: Ideal number of things, per place or for all places; None if there is none.
        by_chance: Whether a hash distributes the things: compare with a binomial distribution.
        row_bounds: Rows of place i: `[row_bounds[i], row_bounds[i + 1])`; None if rows are not contiguous.
        starts: Offset of each place; None if places have no bytes.
        stops: End of each place.
        key_prefixes: Prefix of the keys of each place, if prefixes define places.
        names: Names of places, if numbers are not enough: files of a data set.
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
        return len(self.counts)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def ideals(self) -> F64 | None:
        return None if self.ideal is None else np.broadcast_to(np.asarray(self.ideal, np.float64), (self.places,))

    def rows_in(self, first: int, last: int) -> tuple[int, int] | None:
        if self.row_bounds is None:
            return None
        return int(self.row_bounds[first]), int(self.row_bounds[last])

    def bytes_in(self, first: int, last: int) -> tuple[int, int] | None:
        if self.starts is None or self.stops is None:
            return None
        starts, stops = self.starts[first:last], self.stops[first:last]
        solid = stops > starts
        return (int(starts[solid].min()), int(stops[solid].max())) if solid.any() else None


@dataclass(frozen=True, slots=True)
class LoadSource:
    """Source of a `Load`, which is computed on request: `make` counts and returns it, reading at most `reads` bytes."""

    name: str
    title: str
    reads: int
    make: Callable[[Progress], Load] = field(compare=False)


def counts_of(numbers: NDArray[np.integer], places: int) -> I64:
    return np.bincount(numbers.astype(np.int64, copy=False), minlength=places)[:places].astype(np.int64)


def binomial(things: int, places: int, most: int) -> F64:
    """Return the expected number of places that contain 0, 1, … `most` things, shape `(most + 1,)`."""
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
