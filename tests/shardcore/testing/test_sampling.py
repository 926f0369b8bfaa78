"""Samples of large matrices: the same each time, with the edges, and all of it in a full run."""

from __future__ import annotations

from shardcore.testing import sampled

MATRIX = range(1000)


def test_a_sample_is_seeded_and_has_the_edges() -> None:
    some = sampled(MATRIX, 20, keep=(500, 501, 5000), full=False)
    assert some == sampled(MATRIX, 20, keep=(500, 501, 5000), full=False)
    assert some == sorted(set(some))
    assert {0, 500, 501, 999} <= set(some) <= set(MATRIX)
    assert 20 <= len(some) <= 22


def test_a_full_run_leaves_nothing_out() -> None:
    assert sampled(MATRIX, 20, full=True) == list(MATRIX)
    assert sampled(range(20), 20, full=False) == list(range(20))
    assert sampled((), 20, full=False) == []
