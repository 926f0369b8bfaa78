"""The table and its panel as a hand meets them: focus, columns, chips, bars, the way to the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.panel import ObjectPanel
from tests.app.conftest import open_in, visible

SAMPLES = Path(__file__).parents[4] / "resources" / "samples"
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot: QtBot, session: Session, settings: Settings) -> ObjectPanel:
    """A panel on nothing, shown."""
    return visible(qtbot, ObjectPanel(session, settings), 900, 400)


def counted(qtbot: QtBot, panel: ObjectPanel, path: Path) -> None:
    """Opens a file, and waits until its rows are counted and there."""
    open_in(panel._session, qtbot, path)
    qtbot.waitUntil(lambda: panel._session.jobs.newest(("count", panel)) is None)
    qtbot.waitUntil(lambda: panel.model.row_texts(0)[1] is not None)


def shown_columns(panel: ObjectPanel) -> list[str]:
    """The names of the columns that are not hidden."""
    table = panel.table
    return [column.name for n, column in enumerate(panel.model.columns) if not table.isColumnHidden(n)]


@pytest.mark.parametrize("reason", [Qt.FocusReason.TabFocusReason, Qt.FocusReason.ShortcutFocusReason])
def test_focus_never_selects(qtbot: QtBot, panel: ObjectPanel, data: Path, reason: Qt.FocusReason) -> None:
    counted(qtbot, panel, data / "swh" / "medium.shard")
    session = panel._session
    session.select_span(Span("", 40, 48))
    qtbot.waitUntil(lambda: session.selection.complete)
    panel.table.verticalScrollBar().setValue(500)
    panel.filter.setFocus()
    before = session.selection
    panel.table.setFocus(reason)
    panel.grab()
    assert session.selection is before
    assert not panel.table.selectionModel().hasSelection()
    assert panel.table.verticalScrollBar().value() == 500
    assert panel.table.currentIndex().row() in panel.table.visible_places()


def test_the_users_choice_of_columns_wins_and_is_remembered(
    qtbot: QtBot, panel: ObjectPanel, session: Session, settings: Settings, data: Path
) -> None:
    counted(qtbot, panel, data / "bloscpack" / "array.blp")
    menu = panel.columns.menu()
    names = {action.text(): action for action in menu.actions()}
    assert "Key" not in names
    assert names["Size"].isChecked()
    assert not names["Codec"].isChecked()
    names["Codec"].trigger()
    names["Size"].trigger()
    qtbot.waitUntil(lambda: shown_columns(panel) == ["row", "key", "stored", "start", "codec"])
    other = visible(qtbot, ObjectPanel(session, settings), 900, 400)
    qtbot.waitUntil(lambda: shown_columns(other) == ["row", "key", "stored", "start", "codec"])
    panel.columns.automatic.trigger()
    assert shown_columns(panel) == ["row", "key", "size", "stored", "start"]
    menu.deleteLater()


def test_chips_filter(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    counted(qtbot, panel, data / "swh" / "deleted.shard")
    assert [button.text() for button in panel.chips.buttons.values()] == ["live 10", "unused 3"]
    chip = panel.chips.buttons["state", "unused"]
    QTest.mouseClick(chip, LEFT)
    qtbot.waitUntil(lambda: panel.model.total == 3)
    assert panel.filter.text() == "state:unused"
    assert chip.isChecked()
    QTest.mouseClick(chip, LEFT)
    qtbot.waitUntil(lambda: panel.model.total == 13)
    assert not chip.isChecked()


@pytest.mark.parametrize("by_key", [False, True])
def test_a_row_is_left_for_its_bytes(qtbot: QtBot, panel: ObjectPanel, data: Path, by_key: bool) -> None:
    counted(qtbot, panel, data / "swh" / "small.shard")
    table, session = panel.table, panel._session
    place = table.visualRect(panel.model.index(3, 1)).center()
    QTest.mouseClick(table.viewport(), LEFT, pos=place)
    session.select_span(Span("", 0, 8), table)
    qtbot.waitUntil(lambda: session.selection.complete)
    table.follow(3)
    with qtbot.waitSignal(panel.bytes_wanted):
        if by_key:
            QTest.keyClick(table, Qt.Key.Key_Return)
        else:
            QTest.mouseDClick(table.viewport(), LEFT, pos=place)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert session.selection.span == session.shard.objects.ref(3).spans[0]


def test_the_selection_is_added_up(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    counted(qtbot, panel, data / "swh" / "small.shard")
    panel.table.selectAll()
    total = sum(size for size in panel._session.listing[0:13].size.tolist() if size > 0)
    qtbot.waitUntil(lambda: f"13 selected, {total:,} bytes" in panel.status.text())


def test_a_row_is_found_in_a_large_order_by_a_job(
    qtbot: QtBot, panel: ObjectPanel, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardscope.widgets.object_model.MANY_PLACES", 3)
    counted(qtbot, panel, data / "swh" / "small.shard")
    panel.table.horizontalHeader().sectionClicked.emit([c.name for c in panel.model.columns].index("size"))
    qtbot.waitUntil(lambda: panel.model.scattered)
    panel._session.select_row(5)
    qtbot.waitUntil(lambda: panel.model.row_of(panel.table.currentIndex()) == 5)


def test_what_is_shown_is_selected(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """A current row that is not selected shows nothing."""
    counted(qtbot, panel, data / "swh" / "small.shard")
    table, session, keys = panel.table, panel._session, Qt.KeyboardModifier
    control, shift = keys.ControlModifier, keys.ShiftModifier

    def click(row: int, modifier: Qt.KeyboardModifier = keys.NoModifier) -> None:
        place = table.visualRect(panel.model.index(row, 1)).center()
        QTest.mouseClick(table.viewport(), LEFT, modifier, place)

    def state() -> tuple[int | None, list[int]]:
        return session.selection.row, table.selected_ranges().rows().tolist()

    click(1)
    QTest.keyClick(table, Qt.Key.Key_Down, control)
    QTest.keyClick(table, Qt.Key.Key_Down, control)
    assert (table.currentIndex().row(), state()) == (3, (1, [1]))
    QTest.keyClick(table, Qt.Key.Key_Space, control)
    assert state() == (3, [1, 3])
    click(3, control)
    assert state() == (1, [1])
    click(5, control)
    click(1, control)
    assert state() == (5, [5])
    click(5, control)
    assert state() == (5, [])
    click(5)
    QTest.keyClick(table, Qt.Key.Key_Down, shift)
    assert state() == (6, [5, 6])
    QTest.keyClick(table, Qt.Key.Key_Up, shift)
    assert state() == (5, [5])
    QTest.keyClick(table, Qt.Key.Key_Down, control)
    QTest.keyClick(table, Qt.Key.Key_Return)
    assert state() == (6, [6])


def test_a_filter_keeps_what_is_selected(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    counted(qtbot, panel, data / "swh" / "small.shard")
    table = panel.table
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(panel.model.index(5, 1)).center())
    for text, total, selected in (("row:4..7", 4, [5]), ("row:1", 1, []), ("", 13, [5])):
        panel.filter.setText(text)
        qtbot.waitUntil(lambda total=total: panel.model.total == total)  # type: ignore[misc]
        assert table.selected_ranges().rows().tolist() == selected
        assert panel.actions_.extract.isEnabled() is bool(selected)
        assert panel._session.selection.row == 5
    table.horizontalHeader().sectionClicked.emit([c.name for c in panel.model.columns].index("size"))
    qtbot.waitUntil(lambda: panel.model.order is not None)
    assert table.selected_ranges().rows().tolist() == [5]
