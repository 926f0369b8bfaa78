"""Tables: order by column, cells and their bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session.session import Session
from shardscope.views.preview.rows_view import RowsView
from tests.app.views.preview.preview_rig import PreviewRig

TABLE = b'name,count,note\nb,10,"x, ""y"""\nA,9,\nc,,z\nd,1000,last\n'


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """A table with quotes, empty cells and numbers."""
    objects = {"t.csv": TABLE, "wide.csv": TABLE.decode().encode("utf-16"), "many.csv": b"a,b\n" + b"1,2\n" * 20_000}
    return PreviewRig(session, qtbot, tmp_path, objects)


def column(view: RowsView, number: int) -> list[str]:
    """The texts of a column, from top to bottom."""
    return [view.rows.index(row, number).data() for row in range(view.rows.rowCount())]


def test_numbers_are_ordered_as_numbers(rig: PreviewRig) -> None:
    view = rig.view(RowsView)
    assert column(view, 0) == ["b", "A", "c", "d"]
    view.rows.sort(1, Qt.SortOrder.AscendingOrder)
    assert column(view, 1) == ["9", "10", "1000", ""]
    view.rows.sort(1, Qt.SortOrder.DescendingOrder)
    assert column(view, 1) == ["1000", "10", "9", ""]
    view.rows.sort(0, Qt.SortOrder.AscendingOrder)
    assert column(view, 0) == ["A", "b", "c", "d"]
    view.rows.sort(-1)
    assert column(view, 0) == ["b", "A", "c", "d"]
    assert [view.rows.headerData(row, Qt.Orientation.Vertical) for row in range(2)] == ["1", "2"]


def test_a_cell_has_its_bytes(rig: PreviewRig) -> None:
    view = rig.view(RowsView)
    assert column(view, 2)[0] == 'x, "y"'
    view.rows.sort(0, Qt.SortOrder.AscendingOrder)
    view.table.entered.emit(view.rows.index(1, 2))
    assert rig.highlighted() == b'"x, ""y"""'
    view.table.entered.emit(view.rows.index(0, 2))
    assert not rig.session.highlights
    view.table.clicked.emit(view.rows.index(3, 1))
    assert rig.selected() == b"1000"
    span = rig.session.selection.span
    rig.session.select_span(Span(span.source, span.stop + 2, span.stop + 3))
    rig.qtbot.waitUntil(lambda: view.table.currentIndex() == view.rows.index(3, 2))


def test_keys_walk_through_cells(rig: PreviewRig) -> None:
    view = rig.view(RowsView)
    rig.panel.activateWindow()
    view.table.setFocus()
    rig.qtbot.waitUntil(view.table.hasFocus)
    view.table.setCurrentIndex(view.rows.index(0, 0))
    rig.qtbot.keyClick(view.table, Qt.Key.Key_Right)
    assert rig.selected() == b"10"
    rig.qtbot.keyClick(view.table, Qt.Key.Key_Down)
    assert rig.selected() == b"9"


def test_only_shown_cells_are_parsed(rig: PreviewRig, monkeypatch: pytest.MonkeyPatch) -> None:
    from shardscope.views.preview import rows_view

    parsed: list[int] = []
    real = rows_view.cell_spans

    def counted(data: bytes, start: int, stop: int, delimiter: str) -> list[tuple[int, int]]:
        parsed.append(start)
        return real(data, start, stop, delimiter)

    monkeypatch.setattr(rows_view, "cell_spans", counted)
    rig.show("many.csv")
    assert rig.view(RowsView).rows.rowCount() == 20_000
    assert len(parsed) < 1000
