"""Selected rows as ranges: the cost does not depend on the number of rows. No Qt here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEP = 1 << 16
"""Rows per array of `pieces`."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowRanges:
    """Rows of a table in display order; create it with `of`. Call `rows` and `pieces`, which build arrays, in a job.

    Attributes:
        parts: Half-open ranges of table positions, sorted and disjoint.
        order: Row of `Shard.objects` at each position; None if positions are rows.
    """

    parts: tuple[range, ...] = ()
    order: NDArray[np.integer] | None = None

    @staticmethod
    def of(parts: Iterable[range], order: NDArray[np.integer] | None = None) -> RowRanges:
        joined: list[range] = []
        for part in sorted((part for part in parts if part), key=lambda part: part.start):
            if joined and part.start <= joined[-1].stop:
                joined[-1] = range(joined[-1].start, max(joined[-1].stop, part.stop))
            else:
                joined.append(part)
        return RowRanges(tuple(joined), order)

    @staticmethod
    def all_of(count: int) -> RowRanges:
        return RowRanges.of([range(count)])

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def first(self) -> int | None:
        return next(iter(self.head(1).rows().tolist()), None)

    def head(self, most: int) -> RowRanges:
        kept: list[range] = []
        for part in self.parts:
            if most <= 0:
                break
            kept.append(part[:most])
            most -= len(kept[-1])
        return RowRanges(tuple(kept), self.order)

    def rows(self) -> Rows:
        parts = [self._rows(part) for part in self.parts]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def pieces(self, step: int = STEP) -> Iterator[Rows]:
        for part in self.parts:
            for start in range(part.start, part.stop, step):
                yield self._rows(range(start, min(start + step, part.stop)))

    def _rows(self, part: range) -> Rows:
        if self.order is None:
            return np.arange(part.start, part.stop, dtype=np.int64)
        return self.order[part.start : part.stop].astype(np.int64)
