"""What belongs to a byte on real shards: the frames around it, the record of its table, the fields beside it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from shardcore import SectionRole, Span
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.row_width import RowMode, RowWidth
from tests.app.hex_samples import section

SLOT = 40


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
    qtbot.waitUntil(lambda: column.shown and len(column.line(grid, 4).places) == 2)
    line = column.line(grid, 4)
    assert [(f.path, f.value, f.target is not None) for f in line.fields] == [
        ("header › index_position", f"{section(session, SectionRole.INDEX).start:#x}", True),
        ("header › index_size", f"{session.shard.fields['header.index_size']:,}" if session.shard else "", False),
    ]

    def click(x: float) -> None:
        y = grid.row_y(4) + grid.row / 2
        place = QPoint(round(column.left(grid) + x), round(y))
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
