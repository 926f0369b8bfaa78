"""Layouts: what is read is what was written, and nothing is read past the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardcore.errors import Truncated
from shardcore.model.record import Columns, Field, FieldRole, Record, layout_table
from shardcore.model.span import Span

MIXED = Record(
    "mixed",
    source="test",
    fields=(
        Field("magic", ("u1", 4), FieldRole.MAGIC, "Always `test`.", default=b"test"),
        Field("count", "<u8", FieldRole.COUNT, "How many."),
        Field("delta", ">i2", FieldRole.NUMBER, "A difference."),
        Field("flag", "u1", FieldRole.FLAGS, "Bits.", default=3),
    ),
)
FIELDS = (Field("key", "<u8", FieldRole.KEY, "Key."), Field("size", "<u4", FieldRole.SIZE, "Size."))
TABLE = Columns("table", source="test", fields=FIELDS)

values = st.fixed_dictionaries(
    {
        "magic": st.binary(min_size=4, max_size=4),
        "count": st.integers(0, 2**64 - 1),
        "delta": st.integers(-(2**15), 2**15 - 1),
        "flag": st.integers(0, 255),
    }
)


def test_fields_lie_without_gaps() -> None:
    assert MIXED.size == 15
    assert MIXED.offsets == {"magic": 0, "count": 4, "delta": 12, "flag": 14}
    assert MIXED.sizes == {"magic": 4, "count": 8, "delta": 2, "flag": 1}


@given(st.lists(values, min_size=1, max_size=5), st.binary(max_size=9))
def test_what_is_packed_is_read(rows: list[dict[str, Any]], lead: bytes) -> None:
    data = lead + b"".join(MIXED.pack(**row) for row in rows)
    got = MIXED.read(data, len(lead), len(rows))
    assert [MIXED.values(row) for row in got] == rows
    assert MIXED.read_one(data, len(lead)) == rows[0]
    assert MIXED.write(got) == data[len(lead) :]
    assert not got.flags.writeable


@pytest.mark.parametrize(
    "wrong", [{"magic": b"12345"}, {"magic": 7}, {"count": -1}, {"count": 2**64}, {"delta": 2**15}, {"other": 1}]
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        MIXED.pack(**wrong)


@pytest.mark.parametrize(("at", "count"), [(0, 2), (1, 1), (16, 1), (-1, 1), (0, -1), (0, 2**62), (2**70, 1)])
def test_reading_past_the_end_is_truncated(at: int, count: int) -> None:
    with pytest.raises(Truncated) as caught:
        MIXED.read(bytes(15), at, count, place=Span("", 100, 115))
    assert 100 <= caught.value.span.start <= caught.value.span.stop == 115
    with pytest.raises(Truncated):
        TABLE.read(bytes(11), count, at)


def test_counts_of_numpy_do_not_wrap() -> None:
    """A count of type `uint64` is not multiplied modulo 2^64."""
    with pytest.raises(Truncated):
        MIXED.read(bytes(15), 0, np.uint64(2**64 - 1))  # type: ignore[arg-type]
    with pytest.raises(Truncated):
        TABLE.read(bytes(24), np.uint64((2**64) // 12 + 1))  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1)), max_size=20), st.integers(0, 5))
def test_columns_are_written_as_they_are_read(rows: list[tuple[int, int]], lead: int) -> None:
    keys, sizes = np.array([r[0] for r in rows], "<u8"), np.array([r[1] for r in rows], "<u4")
    data = bytes(lead) + TABLE.write({"key": keys, "size": sizes})
    got = TABLE.read(data, len(rows), lead)
    assert got["key"].tolist() == keys.tolist()
    assert got["size"].tolist() == sizes.tolist()
    assert TABLE.starts(len(rows)) == {"key": 0, "size": 8 * len(rows)}


def test_byte_orders_are_written_out() -> None:
    with pytest.raises(ValueError, match="byte order"):
        Record("r", source="t", fields=(Field("x", "u4", FieldRole.COUNT, ""),))
    with pytest.raises(ValueError, match="number"):
        Columns("c", source="t", fields=(Field("x", ("u1", 4), FieldRole.KEY, ""),))


def test_layouts_print_themselves() -> None:
    assert "| 12 | 2 | `delta` | i16 BE | A difference. |" in layout_table(MIXED)
    assert [line.split(" | ")[0] for line in layout_table(TABLE).splitlines()[2:4]] == ["| 0", "| 8·n"]
