"""The panel of objects: filter, order, extraction, keys, dropped files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardscope.session import opened
from shardscope.session.jobs import Jobs
from shardscope.session.session import IndexState, Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.panel import ObjectPanel
from shardscope.widgets.object_model import ObjectModel
from tests.app.conftest import open_in, visible
from tests.app.widgets.test_object_model import ManyObjects


@pytest.fixture
def session(jobs: Jobs) -> Iterator[Session]:
    """A session with nothing open."""
    made = Session(jobs)
    yield made
    made.close()


@pytest.fixture
def panel(qtbot: QtBot, session: Session, tmp_path: Path, data: Path) -> ObjectPanel:
    """The panel on 12 objects, and on deleted ones: a job counts the states, then their column is shown."""
    made = panel_on(qtbot, session, tmp_path, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: "state" in made.table.visible_columns)
    return made


@pytest.fixture
def large(qtbot: QtBot, session: Session, tmp_path: Path, data: Path) -> ObjectPanel:
    """The panel on 2,000 objects."""
    return panel_on(qtbot, session, tmp_path, data / "swh" / "medium.shard")


def panel_on(qtbot: QtBot, session: Session, folder: Path, path: Path) -> ObjectPanel:
    """A panel, shown, with a sample."""
    made = visible(qtbot, ObjectPanel(session, Settings(folder / "settings.json")), 900, 400)
    open_in(session, qtbot, path)
    return made


def keys(panel: ObjectPanel) -> list[str | None]:
    """All keys that are shown, in their order."""
    shard = panel._session.shard
    model = panel.model
    rows = np.array([model.row_of(model.index(n, 0)) for n in range(model.rowCount())], np.int64)
    return shard.objects.key_texts(rows)


def choose(panel: ObjectPanel, *places: int) -> None:
    """Selects rows of the table."""
    flags = QItemSelectionModel.SelectionFlag
    panel.table.selectionModel().clear()
    for place in places:
        panel.table.selectionModel().select(panel.model.index(place, 0), flags.Select | flags.Rows)


def test_typing_filters(qtbot: QtBot, large: ObjectPanel) -> None:
    QTest.keyClicks(large.filter, "ab")
    qtbot.waitUntil(lambda: 0 < large.model.total < 2000)
    assert all("ab" in str(key) for key in keys(large))
    assert large.status.text().startswith(f"{large.model.total} of 2,027 rows")
    QTest.keyClick(large.filter, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: large.model.total == 2027)


def test_keys_are_copied(qtbot: QtBot, panel: ObjectPanel) -> None:
    choose(panel, 0, 2)
    expected = keys(panel)
    QTest.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: QApplication.clipboard().text() == f"{expected[0]}\n{expected[2]}")


def test_selected_objects_are_checked(qtbot: QtBot, panel: ObjectPanel) -> None:
    choose(panel, 0)
    job = panel.actions_.check_selected()
    qtbot.waitUntil(lambda: bool(job.note))
    assert job.note == f"readable: 1,790 bytes, sha256 {keys(panel)[0]}"


def test_a_dropped_file_is_sought(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path) -> None:
    shard = panel._session.shard
    path = tmp_path / "photo.png"
    path.write_bytes(shard.read(shard.objects.ref(3)))
    drop(panel, path)
    qtbot.waitUntil(lambda: panel._session.selection.row == 3)
    assert "photo.png was found" in panel.status.text()
    other = tmp_path / "other"
    other.write_bytes(b"nowhere")
    drop(panel, other)
    qtbot.waitUntil(lambda: "other was not found" in panel.status.text())


def drop(panel: ObjectPanel, path: Path) -> None:
    """Drops a file on the filter."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    panel.filter.dropEvent(QDropEvent(QPointF(5, 5), copy, mime, left, Qt.KeyboardModifier.NoModifier))


def test_selecting_a_million_rows_asks_for_none_of_them(
    qtbot: QtBot, panel: ObjectPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel._session.listing = ManyObjects(1_000_000)
    panel.model.load()
    panel.grab()
    calls = 0
    counted = ObjectModel.rowCount

    def row_count(self: ObjectModel, *arguments: Any) -> int:
        nonlocal calls
        calls += 1
        return counted(self, *arguments)

    monkeypatch.setattr(ObjectModel, "rowCount", row_count)
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(panel.table, Qt.Key.Key_A, control)
    panel.grab()
    assert panel.table.selected_ranges().parts == (range(1_000_000),)
    left, place = Qt.MouseButton.LeftButton, panel.table.visualRect(panel.model.index(2, 1)).center()
    QTest.mouseClick(panel.table.viewport(), left, pos=place)
    QTest.keyClick(panel.table, Qt.Key.Key_End, control | shift)
    panel.grab()
    assert panel.table.selected_ranges().parts == (range(2, 1_000_000),)
    assert panel.actions_.extract.isEnabled()
    assert calls < 20_000


def test_the_object_that_is_looked_up_stays_selected(qtbot: QtBot, session: Session, panel: ObjectPanel) -> None:
    shard = session.shard
    keys = [key for key in shard.objects.keys[:3] if key is not None]
    session.select_row(1)
    qtbot.waitUntil(lambda: panel.table.selected_ranges().rows().tolist() == [1])
    session.look_up(keys[1])
    qtbot.waitUntil(lambda: session.walk.step == 0)
    for step in range(session.walk.steps):
        session.go_to_step(step)
        qtbot.waitUntil(lambda: session.selection.complete)
        assert panel.table.selected_ranges().rows().tolist() == [1], step
        assert panel.actions_.extract.isEnabled(), step
    session.look_up(keys[2])
    qtbot.waitUntil(lambda: session.walk.key == keys[2] and session.walk.step == 0)
    qtbot.waitUntil(lambda: session.selection.complete and not panel.table.selected_count())


def test_rows_are_copied_as_they_are_shown(qtbot: QtBot, panel: ObjectPanel) -> None:
    choose(panel, 0, 2)
    expected, names = keys(panel), panel.table.visible_columns
    panel.actions_.copy_rows.trigger()
    qtbot.waitUntil(lambda: "\t" in QApplication.clipboard().text())
    head, first, second = (line.split("\t") for line in QApplication.clipboard().text().split("\n"))
    assert head == names
    assert [first[names.index("key")], second[names.index("key")]] == [expected[0], expected[2]]
    panel.actions_.copy_json.trigger()
    qtbot.waitUntil(lambda: QApplication.clipboard().text().startswith("["))
    rows = json.loads(QApplication.clipboard().text())
    assert [["" if value is None else str(value) for value in row.values()] for row in rows] == [first, second]
    assert isinstance(rows[0]["size"], int)


def test_a_filter_that_hides_the_selected_row_ends_what_can_be_done_with_it(qtbot: QtBot, panel: ObjectPanel) -> None:
    qtbot.waitUntil(lambda: panel._session.index_state is IndexState.LOADED and not panel._session.jobs.open_jobs)
    panel.table.follow(0)
    assert panel.actions_.extract.isEnabled()
    panel.filter.setText("state:unused")
    qtbot.waitUntil(lambda: panel.model.total == 1)
    assert not panel.actions_.extract.isEnabled()


@pytest.mark.parametrize("first", ["filter", "index"])
def test_a_filter_before_the_index_is_read(
    qtbot: QtBot, session: Session, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Rows of a filter typed before the index was read are shown with their keys."""
    monkeypatch.setattr(opened, "AUTO_INDEX_BYTES", 0)
    panel = visible(qtbot, ObjectPanel(session, Settings(tmp_path / "settings.json")), 900, 400)
    with qtbot.waitSignal(session.opened):
        session.open(str(data / "neuroglancer" / "skeletons_murmur_gzip"))
    assert panel.model.rowCount() == 0
    panel.filter.setText("15*")
    if first == "index":
        session.load_index()
    panel._apply_now()
    qtbot.waitUntil(lambda: panel.model.rowCount() > 0 and not session.jobs.open_jobs)
    qtbot.waitUntil(lambda: str(panel.model.index(0, 1).data()).startswith("15"))
    assert 0 < panel.model.rowCount() < 100
    assert "stopped" not in panel.status.text()


@pytest.mark.parametrize("order", ["slot", "size"])
def test_typing_finds_a_key(qtbot: QtBot, large: ObjectPanel, order: str) -> None:
    if order == "size":
        large._sort_by(next(n for n, column in enumerate(large.model.columns) if column.order == "size"))
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
