"""Selected rows as ranges."""

from __future__ import annotations

import numpy as np

from shardscope.session.row_ranges import RowRanges


def test_ranges_are_sorted_and_joined() -> None:
    chosen = RowRanges.of([range(7, 9), range(2), range(2, 3), range(8, 12), range(5, 5)])
    assert chosen.parts == (range(3), range(7, 12))
    assert len(chosen) == 8
    assert chosen.rows().tolist() == [0, 1, 2, 7, 8, 9, 10, 11]


def test_places_become_rows_of_objects() -> None:
    """A row of a sorted table is not the row of the object."""
    chosen = RowRanges.of([range(1, 3)], np.array([9, 4, 6], np.uint32))
    assert chosen.rows().tolist() == [4, 6]
    assert chosen.rows().dtype == np.int64
    assert chosen.first == 4


def test_millions_cost_nothing_until_they_are_asked_for() -> None:
    chosen = RowRanges.all_of(10**15)
    assert len(chosen) == 10**15
    assert chosen.head(3).rows().tolist() == [0, 1, 2]
    assert next(chosen.pieces(4)).tolist() == [0, 1, 2, 3]
