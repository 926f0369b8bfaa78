"""The panel of objects: filter, order, extraction, keys, dropped files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.session import index
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.model import ObjectModel
from shardscope.views.objects.panel import ObjectPanel
from shardscope.widgets.table import visible_rows
from tests.app.conftest import open_in, visible
from tests.app.widgets.test_object_model import ManyObjects

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def panel(qtbot: QtBot, session: Session, settings: Settings) -> ObjectPanel:
    """The panel, shown, with nothing open."""
    return visible(qtbot, ObjectPanel(session, settings), 900, 400)


@pytest.fixture
def small(qtbot: QtBot, panel: ObjectPanel, data: Path) -> ObjectPanel:
    """The panel on 12 objects and a deleted one."""
    return counted(qtbot, panel, data / "swh" / "small.shard")


@pytest.fixture
def large(qtbot: QtBot, panel: ObjectPanel, data: Path) -> ObjectPanel:
    """The panel on 2,000 objects."""
    return counted(qtbot, panel, data / "swh" / "medium.shard")


def counted(qtbot: QtBot, panel: ObjectPanel, path: Path) -> ObjectPanel:
    """Opens a file, and waits until its rows are counted and there."""
    open_in(panel._session, qtbot, path)
    qtbot.waitUntil(lambda: panel._session.jobs.newest(("count", panel)) is None)
    qtbot.waitUntil(lambda: panel.model.row_texts(0)[1] is not None)
    return panel


def keys(panel: ObjectPanel) -> list[str | None]:
    """All keys that are shown, in their order."""
    model = panel.model
    rows = np.array([model.row_of(model.index(n, 0)) for n in range(model.rowCount())], np.int64)
    return panel._session.shard.objects.key_texts(rows)


def click(panel: ObjectPanel, row: int, modifier: Qt.KeyboardModifier = NONE) -> None:
    """Clicks the key of a row."""
    place = panel.table.visualRect(panel.model.index(row, 1)).center()
    QTest.mouseClick(panel.table.viewport(), LEFT, modifier, place)


def selected(panel: ObjectPanel) -> list[int]:
    """The rows that are selected."""
    return panel.table.selected_ranges().rows().tolist()


def sort_by(panel: ObjectPanel, column: str) -> None:
    """Clicks the header of a column."""
    panel.table.horizontalHeader().sectionClicked.emit([c.name for c in panel.model.columns].index(column))


def test_typing_filters(qtbot: QtBot, large: ObjectPanel) -> None:
    QTest.keyClicks(large.filter, "ab")
    qtbot.waitUntil(lambda: 0 < large.model.total < 2000)
    assert all("ab" in str(key) for key in keys(large))
    assert large.status.text().startswith(f"{large.model.total} of 2,027 rows")
    QTest.keyClick(large.filter, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: large.model.total == 2027)


def test_a_dropped_file_is_sought(qtbot: QtBot, small: ObjectPanel, tmp_path: Path) -> None:
    shard = small._session.shard
    for name, content, told in (
        ("photo.png", shard.read(shard.objects.ref(3)), "photo.png was found"),
        ("other", b"nowhere", "other was not found"),
    ):
        (tmp_path / name).write_bytes(content)
        mime = QMimeData()
        mime.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
        small.filter.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, mime, LEFT, NONE))
        qtbot.waitUntil(lambda told=told: told in small.status.text())
        assert small._session.selection.row == 3


def test_selecting_a_million_rows_reads_none(qtbot: QtBot, small: ObjectPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    small._session.document.listing = ManyObjects(1_000_000)
    small.model.load()
    small.grab()
    calls: list[None] = []
    real = ObjectModel.rowCount
    monkeypatch.setattr(ObjectModel, "rowCount", lambda *arguments: calls.append(None) or real(*arguments))
    QTest.keyClick(small.table, Qt.Key.Key_A, CONTROL)
    small.grab()
    assert small.table.selected_ranges().parts == (range(1_000_000),)
    click(small, 2)
    QTest.keyClick(small.table, Qt.Key.Key_End, CONTROL | SHIFT)
    small.grab()
    assert small.table.selected_ranges().parts == (range(2, 1_000_000),)
    assert small.actions_.extract.isEnabled()
    assert len(calls) < 20_000


def test_the_object_that_is_looked_up_stays_selected(qtbot: QtBot, session: Session, small: ObjectPanel) -> None:
    keys = session.shard.objects.keys
    session.select_row(1)
    qtbot.waitUntil(lambda: selected(small) == [1])
    session.lookup.start(keys[1])
    qtbot.waitUntil(lambda: session.lookup.walk.step == 0)
    for step in range(session.lookup.walk.steps):
        session.lookup.go_to_step(step)
        qtbot.waitUntil(lambda: session.selection.complete)
        assert selected(small) == [1], step
        assert small.actions_.extract.isEnabled(), step
    session.lookup.start(keys[2])
    qtbot.waitUntil(lambda: session.lookup.walk.key == keys[2] and session.lookup.walk.step == 0)
    qtbot.waitUntil(lambda: session.selection.complete and not small.table.selected_count())


def test_rows_are_copied_as_they_are_shown(qtbot: QtBot, small: ObjectPanel) -> None:
    expected, names, clip = keys(small), small.table.visible_columns, QApplication.clipboard()
    click(small, 0)
    job = small.actions_.check_selected()
    qtbot.waitUntil(lambda: bool(job.note))
    assert job.note == f"readable: 1,790 bytes, sha256 {expected[0]}"
    click(small, 2, CONTROL)
    QTest.keyClick(small.table, Qt.Key.Key_C, CONTROL)
    qtbot.waitUntil(lambda: clip.text() == f"{expected[0]}\n{expected[2]}")
    small.actions_.copy_rows.trigger()
    qtbot.waitUntil(lambda: "\t" in clip.text())
    head, first, second = (line.split("\t") for line in clip.text().split("\n"))
    assert head == names
    assert [first[names.index("key")], second[names.index("key")]] == [expected[0], expected[2]]
    small.actions_.copy_json.trigger()
    qtbot.waitUntil(lambda: clip.text().startswith("["))
    rows = json.loads(clip.text())
    assert [["" if value is None else str(value) for value in row.values()] for row in rows] == [first, second]
    assert type(rows[0]["size"]) is int


@pytest.mark.parametrize("first", ["filter", "index"])
def test_a_filter_before_the_index_is_read(
    qtbot: QtBot, session: Session, panel: ObjectPanel, data: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Rows of a filter typed before the index was read are shown with their keys."""
    monkeypatch.setattr(index, "AUTO_INDEX_BYTES", 0)
    with qtbot.waitSignal(session.opened):
        session.open(str(data / "neuroglancer" / "skeletons_murmur_gzip"))
    assert panel.model.rowCount() == 0
    panel.filter.setText("15*")
    if first == "index":
        session.index.load()
    panel._apply_now()
    qtbot.waitUntil(lambda: panel.model.rowCount() > 0 and not session.jobs.open_jobs)
    qtbot.waitUntil(lambda: str(panel.model.index(0, 1).data()).startswith("15"))
    assert 0 < panel.model.rowCount() < 100
    assert "stopped" not in panel.status.text()


@pytest.mark.parametrize("order", ["slot", "size"])
def test_typing_finds_a_key(qtbot: QtBot, large: ObjectPanel, order: str) -> None:
    if order == "size":
        sort_by(large, "size")
        qtbot.waitUntil(lambda: large.model.order is not None)
    shown = [str(key) for key in keys(large)]
    for text, start in (("b", 0), ("B1", 5), ("e", len(shown) - 1)):
        large.table.follow_place(start)
        # What is typed in one go is one beginning, however slow the machine is.
        large.table.keyboardSearch(text)
        at = next(at for at in (*range(start, len(shown)), *range(start)) if shown[at].startswith(text.lower()))
        qtbot.waitUntil(lambda at=at: large._session.selection.row == large.model.row_of(large.model.index(at, 0)))
        assert large.table.currentIndex().row() == at
        large.table._forget_typed()
    large.table.setFocus()
    QTest.keyClick(large.table, Qt.Key.Key_Z)
    qtbot.waitUntil(lambda: "no key begins with z" in large.status.text())


@pytest.mark.parametrize("reason", [Qt.FocusReason.TabFocusReason, Qt.FocusReason.ShortcutFocusReason])
def test_focus_never_selects(qtbot: QtBot, large: ObjectPanel, reason: Qt.FocusReason) -> None:
    session, table = large._session, large.table
    session.select_span(Span("", 40, 48))
    qtbot.waitUntil(lambda: session.selection.complete)
    table.verticalScrollBar().setValue(500)
    large.filter.setFocus()
    before = session.selection
    table.setFocus(reason)
    large.grab()
    assert session.selection is before
    assert not table.selectionModel().hasSelection()
    assert table.verticalScrollBar().value() == 500
    assert table.currentIndex().row() in visible_rows(table)


def test_the_users_choice_of_columns_wins_and_is_remembered(
    qtbot: QtBot, panel: ObjectPanel, session: Session, settings: Settings, data: Path
) -> None:
    def shown(panel: ObjectPanel) -> list[str]:
        return [column.name for n, column in enumerate(panel.model.columns) if not panel.table.isColumnHidden(n)]

    counted(qtbot, panel, data / "bloscpack" / "array.blp")
    menu = panel.columns.menu()
    names = {action.text(): action for action in menu.actions()}
    assert "Key" not in names
    assert [names[name].isChecked() for name in ("Size", "Codec")] == [True, False]
    for name in ("Codec", "Size"):
        names[name].trigger()
    chosen = ["row", "key", "stored", "start", "codec"]
    qtbot.waitUntil(lambda: shown(panel) == chosen)
    other = visible(qtbot, ObjectPanel(session, settings), 900, 400)
    qtbot.waitUntil(lambda: shown(other) == chosen)
    panel.columns.automatic.trigger()
    assert shown(panel) == ["row", "key", "size", "stored", "start"]
    menu.deleteLater()


def test_chips_filter(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    counted(qtbot, panel, data / "swh" / "deleted.shard")
    assert [button.text() for button in panel.chips.buttons.values()] == ["live 10", "unused 3"]
    chip = panel.chips.buttons["state", "unused"]
    for total, checked in ((3, True), (13, False)):
        QTest.mouseClick(chip, LEFT)
        qtbot.waitUntil(lambda total=total: panel.model.total == total)
        assert (panel.filter.text() == "state:unused") is chip.isChecked() is checked


@pytest.mark.parametrize("by_key", [False, True])
def test_a_row_is_left_for_its_bytes(qtbot: QtBot, small: ObjectPanel, by_key: bool) -> None:
    """A double click opens what can be opened; the content of this row cannot."""
    table, session = small.table, small._session
    click(small, 3)
    session.select_span(Span("", 0, 8), table)
    qtbot.waitUntil(lambda: session.selection.complete)
    table.follow(3)
    with qtbot.waitSignal(small.bytes_wanted):
        if by_key:
            QTest.keyClick(table, Qt.Key.Key_Return)
        else:
            QTest.mouseDClick(table.viewport(), LEFT, pos=table.visualRect(small.model.index(3, 1)).center())
    qtbot.waitUntil(lambda: session.selection.complete)
    assert session.selection.span == session.shard.objects.ref(3).spans[0]


def test_what_is_shown_is_selected(small: ObjectPanel) -> None:
    """A current row that is not selected shows nothing."""
    table, session, press = small.table, small._session, QTest.keyClick

    def state() -> tuple[int | None, list[int]]:
        return session.selection.row, selected(small)

    click(small, 1)
    press(table, Qt.Key.Key_Down, CONTROL)
    press(table, Qt.Key.Key_Down, CONTROL)
    assert (table.currentIndex().row(), state()) == (3, (1, [1]))
    press(table, Qt.Key.Key_Space, CONTROL)
    assert state() == (3, [1, 3])
    click(small, 3, CONTROL)
    assert state() == (1, [1])
    click(small, 5, CONTROL)
    for row, rows in ((1, [5]), (5, [])):
        click(small, row, CONTROL)
        assert state() == (5, rows)
    click(small, 5)
    for key, modifier, expected in (
        (Qt.Key.Key_Down, SHIFT, (6, [5, 6])),
        (Qt.Key.Key_Up, SHIFT, (5, [5])),
        (Qt.Key.Key_Down, CONTROL, (5, [5])),
        (Qt.Key.Key_Return, NONE, (6, [6])),
    ):
        press(table, key, modifier)
        assert state() == expected


def test_a_filter_keeps_what_is_selected(qtbot: QtBot, small: ObjectPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hidden row ends what can be done with it; in a large order a row is found by a job."""
    monkeypatch.setattr("shardscope.views.objects.model.MANY_PLACES", 3)
    session = small._session
    click(small, 5)
    for text, total, rows in (("row:4..7", 4, [5]), ("state:unused", 1, []), ("", 13, [5])):
        small.filter.setText(text)
        qtbot.waitUntil(lambda total=total: small.model.total == total)
        qtbot.waitUntil(lambda rows=rows: (selected(small), session.selection.row) == (rows, 5))
        assert small.actions_.extract.isEnabled() is bool(rows)
    sort_by(small, "size")
    qtbot.waitUntil(lambda: small.model.scattered)
    qtbot.waitUntil(lambda: selected(small) == [5])
    session.select_row(4)
    qtbot.waitUntil(lambda: small.model.row_of(small.table.currentIndex()) == 4)


def test_sizes_of_selected_objects_are_summed(qtbot: QtBot, small: ObjectPanel) -> None:
    total = sum(size for size in small._session.listing[0:13].size.tolist() if size > 0)
    small.table.selectAll()
    qtbot.waitUntil(lambda: f"13 selected, {total:,} bytes" in small.status.text())
