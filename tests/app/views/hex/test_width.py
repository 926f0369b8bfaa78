"""Rows of bytes for any width, and the records that rows may have the width of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shardcore
from shardcore import Node, Shard
from shardcore.teaching import resources
from shardscope.views.hex.layout import MAX_WIDTH, HexLayout
from shardscope.views.hex.row_width import record_of, table_record_of
from shardscope.views.hex.scene import frames_of
from tests.app.hex_samples import INDEX, SLOT, sample_tree

ROOT = sample_tree()
INDEX_NODE = ROOT.children[1]


def test_a_table_offers_its_record() -> None:
    slot = INDEX_NODE.children[2]
    path = (ROOT, INDEX_NODE, slot, slot.children[1])
    assert table_record_of(path, "") == (SLOT.size, "record")
    assert record_of(path, "") == (SLOT.size, INDEX + 2 * SLOT.size)
    header = ROOT.children[0]
    assert table_record_of((ROOT, header, header.children[0]), "") is None
    assert table_record_of((), "") is None
    named = Node("slot 2", slot.span, children=slot.children)
    assert table_record_of((ROOT, INDEX_NODE, named, named.children[0]), "") == (SLOT.size, "slot")
    assert table_record_of(path, "elsewhere") is None


def opened(title: str) -> Shard:
    """A sample, with its index."""
    path = next(one.path for one in resources.samples() if title in str(one.path))
    return shardcore.open(path)


@pytest.mark.parametrize("title", ["swh/small", "bloscpack/array"])
def test_a_thousand_rows_are_no_record(title: str) -> None:
    with opened(title) as shard:
        shard.load_index()
        for path in shard.fields_in(0, 4096):
            frames = frames_of(path, "")
            assert frames[0] == (path[-1].span.start, path[-1].span.stop)
            for outer, inner in zip(frames[1:], frames, strict=False):
                assert outer[0] <= inner[0] <= inner[1] <= outer[1]


widths = st.integers(1, MAX_WIDTH)


@given(st.integers(1, 2**63), widths, st.integers(0, 2**63), st.integers(0, 2**63))
def test_rows_and_cells_are_inverse(size: int, width: int, origin: int, offset: int) -> None:
    layout = HexLayout.aligned(size, width, origin)
    offset %= size
    row, cell = layout.row_of(offset), layout.column_of(offset)
    assert layout.row_start(row) + cell == offset
    assert 0 <= cell < width
    assert 0 <= row < layout.rows
    assert layout.column_of(origin) == 0
    assert layout.row_of(size - 1) == layout.rows - 1
    assert -width < layout.row_start(0) <= 0
