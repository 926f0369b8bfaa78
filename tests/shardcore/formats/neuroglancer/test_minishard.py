"""Minishard indices to columns and back."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import FormatError
from shardcore.formats.neuroglancer.minishard import MinishardEntries, entries_of, index_of, overlaps

U64 = st.integers(0, 2**64 - 1)


def by_hand(index: bytes, index_size: int) -> list[tuple[int, int, int]]:
    """The rule of the specification, one number at a time."""
    count = len(index) // 24
    words = struct.unpack(f"<{3 * count}Q", index)
    rows, key, end = [], 0, index_size
    for delta, gap, size in zip(words[:count], words[count : 2 * count], words[2 * count :], strict=True):
        key = (key + delta) % 2**64
        start = (end + gap) % 2**64
        end = (start + size) % 2**64
        rows.append((key, start, size))
    return rows


def rows_of(entries: MinishardEntries) -> list[tuple[int, int, int]]:
    """The columns as rows of Python numbers."""
    return list(zip(entries.ids.tolist(), entries.starts.tolist(), entries.sizes.tolist(), strict=True))


def test_the_worked_example() -> None:
    """Bytes 39..87 of the worked example are ids 1 and 9 at 32..35 and 35..39."""
    index = struct.pack("<6Q", 1, 8, 0, 0, 3, 4)
    entries = entries_of([index], [0], 32, 116)
    assert rows_of(entries) == [(1, 32, 3), (9, 35, 4)]
    assert entries.inside.all()
    assert not entries.wrapped.any()
    assert index_of(entries.ids, entries.starts, entries.sizes, 32) == index


@given(st.lists(st.lists(st.tuples(U64, U64, U64), max_size=6), max_size=5), st.integers(0, 24))
def test_many_minishards_at_once(tables: list[list[tuple[int, int, int]]], bits: int) -> None:
    """Any number of minishards, empty ones among them, give what the rule gives one number at a time."""
    base = 16 << bits
    words = [[row[column] for column in range(3) for row in table] for table in tables]
    indices = [struct.pack(f"<{len(numbers)}Q", *numbers) for numbers in words]
    entries = entries_of(indices, list(range(len(tables))), base, 2**40)
    assert rows_of(entries) == [row for index in indices for row in by_hand(index, base)]
    assert entries.minishards.tolist() == [number for number, table in enumerate(tables) for _ in table]
    assert entries.slots.tolist() == [slot for table in tables for slot in range(len(table))]
    for number, index in enumerate(indices):
        own = entries.minishards == number
        assert index_of(entries.ids[own], entries.starts[own], entries.sizes[own], base) == index
    for (_, start, size), inside in zip(rows_of(entries), entries.inside.tolist(), strict=True):
        assert inside == (base <= start and start + size <= 2**40)


@given(st.lists(U64, min_size=1, max_size=8))
def test_a_sum_past_the_limit_is_marked(deltas: list[int]) -> None:
    """Exactly the rows where the running sum of ids passes 2**64 are marked."""
    count = len(deltas)
    index = struct.pack(f"<{3 * count}Q", *deltas, *[0] * (2 * count))
    expected, key = [], 0
    for delta in deltas:
        expected.append(key + delta >= 2**64)
        key = (key + delta) % 2**64
    assert entries_of([index], [0], 16, 100).wrapped.tolist() == expected


@pytest.mark.parametrize(
    ("gap", "size", "inside"),
    [
        (0, 84, True),
        (84, 0, True),
        (0, 85, False),
        (85, 0, False),
        (2**64 - 16, 4, False),
        (0, 2**64 - 1, False),
    ],
)
def test_values_outside_the_file(gap: int, size: int, inside: bool) -> None:
    """A value must lie between shard index and end of file; sums that wrap do not fool the check."""
    entries = entries_of([struct.pack("<3Q", 5, gap, size)], [0], 16, 100)
    assert entries.inside.tolist() == [inside]


def test_lengths_must_be_whole_entries() -> None:
    """An index whose length is not a multiple of 24 is refused."""
    with pytest.raises(FormatError, match="multiple of 24"):
        entries_of([bytes(40)], [0], 32, 100)


def test_overlaps() -> None:
    """Touching values and empty ones do not overlap; shared bytes count, whatever the order."""
    starts = np.array([40, 32, 36, 36], dtype=np.uint64)
    assert overlaps(starts, np.array([4, 4, 4, 0], dtype=np.uint64)) == 0
    assert overlaps(starts, np.array([4, 20, 4, 0], dtype=np.uint64)) == 2
    assert overlaps(starts[:0], starts[:0]) == 0
