"""Where bytes stand, for any width and lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardscope.views.hex.layout import MAX_WIDTH, HexLayout, cell_at_column, hex_column

widths = st.integers(1, MAX_WIDTH)


@given(st.integers(1, 2**63), widths, st.integers(0, 2**63), st.integers(0, 2**63))
def test_rows_and_cells_are_inverse(size: int, width: int, origin: int, offset: int) -> None:
    """Row and cell give back the offset; the origin begins a row; the last byte is in the last row."""
    layout = HexLayout.aligned(size, width, origin)
    offset %= size
    row, cell = layout.row_of(offset), layout.column_of(offset)
    assert layout.row_start(row) + cell == offset
    assert 0 <= cell < width
    assert 0 <= row < layout.rows
    assert layout.column_of(origin) == 0
    assert layout.row_of(size - 1) == layout.rows - 1
    assert -width < layout.row_start(0) <= 0


@given(widths)
def test_the_pointer_finds_each_cell(width: int) -> None:
    """From the first to the last pixel of its two digits, a cell is found."""
    for cell in range(width):
        for column in (hex_column(cell), hex_column(cell) + 1.99):
            assert cell_at_column(column, width) == cell
    assert cell_at_column(-5, width) == 0
    assert cell_at_column(5000, width) == width - 1


@given(widths)
def test_half_characters_belong_to_the_nearest_byte(width: int) -> None:
    """Both digits of a byte are its own; the background has no hole, and the bytes stand in order."""
    halves = range(2 * (hex_column(width - 1) + 2) + 2)
    owners = [cell_at_column((half - 1) / 2, width) for half in halves]  # the part begins half a character before
    assert owners == sorted(owners)
    assert set(owners) == set(range(width))
    for cell in range(width):
        first = 2 * hex_column(cell) + 1
        assert owners[first : first + 4] == [cell] * 4


@pytest.mark.parametrize(("size", "digits"), [(0, 8), (1, 8), (2**32, 10), (2**32 + 1, 11), (2**60, 17), (2**64, 18)])
def test_the_gutter_is_as_wide_as_the_longest_offset(size: int, digits: int) -> None:
    """The widest offset fits, and small files look alike."""
    assert HexLayout(size).digits == digits


@pytest.mark.parametrize(("width", "lead"), [(0, 0), (MAX_WIDTH + 1, 0), (16, 16), (16, -1)])
def test_impossible_layouts_are_refused(width: int, lead: int) -> None:
    """A row has at least a byte, and a lead is shorter than a row."""
    with pytest.raises(ValueError, match="no layout"):
        HexLayout(100, width, lead)
