"""What belongs to a byte: the frames around it, the record of its table, the fields beside it; rows of any width."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Node, SectionRole, Span
from shardcore.teaching import resource_paths
from shardscope.session.session import Session
from shardscope.views.hex.actions import RowMode, RowWidth, record_of, table_record_of
from shardscope.views.hex.layout import MAX_WIDTH, HexLayout
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.state import frames_of
from tests.app.hex_samples import INDEX, sample_tree, section
from tests.app.hex_samples import SLOT as RECORD

SLOT = 40
WIDTH = RECORD.size


def test_the_caret_has_its_field_and_its_record_framed(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    index = section(session, SectionRole.INDEX).start
    swh.view.state.move_caret(index + 2 * SLOT + 35)
    slot = (index + 2 * SLOT, index + 3 * SLOT)
    qtbot.waitUntil(lambda: swh.state.frames == ((slot[0] + 32, slot[1]), slot))
    menu = QMenu(swh)
    swh.rows.fill(menu)
    next(action for action in menu.findChildren(QAction) if action.text() == "One slot (40 bytes)").trigger()
    assert (swh.state.layout.width, swh.state.layout.column_of(index)) == (SLOT, 0)
    swh.rows.choose(RowWidth(RowMode.AUTO))
    assert swh.state.layout.width == 16
    swh.actions_.select_record.trigger()
    assert session.selection.span == Span("", *slot)


def test_fields_stand_beside_the_bytes(qtbot: QtBot, swh: HexPanel, session: Session) -> None:
    column, grid = swh.view.column, swh.state.grid
    swh.resize(1300, 640)
    qtbot.waitUntil(lambda: column.shown and len(column.line(4).places) == 2)
    line = column.line(4)
    assert [(f.path, f.value, f.target is not None) for f in line.fields] == [
        ("header › index_position", f"{section(session, SectionRole.INDEX).start:#x}", True),
        ("header › index_size", f"{session.shard.fields['header.index_size']:,}" if session.shard else "", False),
    ]

    def click(x: float) -> None:
        y = grid.row_y(4) + grid.row / 2
        place = QPoint(round(grid.width + x), round(y))
        qtbot.mouseClick(swh.view.viewport(), Qt.MouseButton.LeftButton, pos=place)

    click(line.places[1].left + 3)
    assert session.selection.span == Span("", 72, 80)
    click(line.places[0].left + 3)
    assert session.selection.span == Span("", 64, 72)
    click((line.places[0].arrow + line.places[0].right) / 2)
    assert session.selection.span == section(session, SectionRole.INDEX)
    swh.actions_.fields.setChecked(False)
    assert not column.shown
    swh.actions_.fields.setChecked(True)
    swh.resize(700, 640)
    assert not column.shown


def test_a_table_offers_its_record() -> None:
    root = sample_tree()
    header, index, *_ = root.children
    slot = index.children[2]
    path = (root, index, slot, slot.children[1])
    named = Node("slot 2", slot.span, children=slot.children)
    assert record_of(path, "") == (WIDTH, INDEX + 2 * WIDTH)
    for path_, source, record in (
        (path, "", (WIDTH, "record")),
        ((root, index, named, named.children[0]), "", (WIDTH, "slot")),
        ((root, header, header.children[0]), "", None),
        ((), "", None),
        (path, "elsewhere", None),
    ):
        assert table_record_of(path_, source) == record


@pytest.mark.parametrize("sample", ["swh/small.shard", "bloscpack/array.blp"])
def test_a_thousand_rows_are_no_record(sample: str) -> None:
    with shardcore.open(resource_paths.path(f"samples/{sample}")) as shard:
        shard.load_index()
        for path in shard.fields_in(0, 4096):
            frames = frames_of(path, "")
            assert frames[0] == (path[-1].span.start, path[-1].span.stop)
            for outer, inner in pairwise(reversed(frames)):
                assert outer[0] <= inner[0] <= inner[1] <= outer[1]


@given(st.integers(1, 2**63), st.integers(1, MAX_WIDTH), st.integers(0, 2**63), st.integers(0, 2**63))
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
