"""Minishard indices to columns and back."""

from __future__ import annotations

import struct

import pytest

from shardcore.formats.neuroglancer.minishard import MinishardEntries, entries_of, index_of


def rows_of(entries: MinishardEntries) -> list[tuple[int, int, int]]:
    return list(zip(entries.ids.tolist(), entries.starts.tolist(), entries.sizes.tolist(), strict=True))


def test_the_worked_example() -> None:
    index = struct.pack("<6Q", 1, 8, 0, 0, 3, 4)
    entries = entries_of([index], [0], 32, 116)
    assert rows_of(entries) == [(1, 32, 3), (9, 35, 4)]
    assert entries.inside.all()
    assert not entries.wrapped.any()
    assert index_of(entries.ids, entries.starts, entries.sizes, 32) == index


@pytest.mark.parametrize(
    ("gap", "size", "inside"),
    [(0, 84, True), (84, 0, True), (0, 85, False), (85, 0, False), (2**64 - 16, 4, False), (0, 2**64 - 1, False)],
)
def test_values_outside_the_file(gap: int, size: int, inside: bool) -> None:
    entries = entries_of([struct.pack("<3Q", 5, gap, size)], [0], 16, 100)
    assert entries.inside.tolist() == [inside]
