"""The panel of objects: filter, order, extraction, keys, dropped files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QItemSelectionModel, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot

from shardcore import State
from shardscope.session import opened
from shardscope.session.jobs import Jobs, JobState
from shardscope.session.session import IndexState, Session
from shardscope.startup.settings import Settings
from shardscope.views.objects.paint import row_height
from shardscope.views.objects.panel import ObjectPanel
from shardscope.views.objects.table import LONG_KEY, MAX_PIXELS
from shardscope.widgets.object_model import ObjectModel
from tests.app.conftest import extract_to, open_in
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
    made = ObjectPanel(session, Settings(folder / "settings.json"))
    qtbot.addWidget(made)
    made.resize(900, 400)
    made.show()
    open_in(session, qtbot, path)
    return made


def keys(panel: ObjectPanel) -> list[str | None]:
    """All keys that are shown, in their order."""
    shard = panel._session.shard
    assert shard is not None
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
    """A part of a key leaves the keys that have it; clearing shows all again."""
    QTest.keyClicks(large.filter, "ab")
    qtbot.waitUntil(lambda: 0 < large.model.total < 2000)
    assert all("ab" in str(key) for key in keys(large))
    assert large.status.text().startswith(f"{large.model.total} of 2,027 rows")
    QTest.keyClick(large.filter, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: large.model.total == 2027)


def test_nothing_fits(qtbot: QtBot, large: ObjectPanel) -> None:
    """A filter that fits nothing shows nothing and says so."""
    QTest.keyClicks(large.filter, "zz")
    qtbot.waitUntil(lambda: large.model.total == 0)
    assert large.status.text().startswith("0 of 2,027 rows")


def test_unused_rows_can_be_hidden(qtbot: QtBot, panel: ObjectPanel) -> None:
    """One of 13 slots is unused: it can be left out."""
    panel.hide_unused.trigger()
    qtbot.waitUntil(lambda: panel.model.total == 12)
    assert None not in keys(panel)


@pytest.mark.parametrize(("name", "column"), [("size", "size"), ("start", "start"), ("row", "row")])
def test_headers_sort(qtbot: QtBot, large: ObjectPanel, name: str, column: str) -> None:
    """A click on a header sorts by it, a second one turns the order round; the filter stays."""
    large.filter.setText("1*")
    qtbot.waitUntil(lambda: 0 < large.model.total < 2000)
    section = [c.name for c in large.model.columns].index(name)
    shard = large._session.shard
    assert shard is not None

    def values() -> list[int]:
        model = large.model
        rows = np.array([model.row_of(model.index(n, 0)) for n in range(model.rowCount())], np.int64)
        found: list[int] = getattr(shard.objects.columns(rows), column).tolist()
        return found

    before = large.model.total
    for backwards in (True, False) if name == "row" else (False, True):
        large.table.horizontalHeader().sectionClicked.emit(section)
        qtbot.waitUntil(lambda: large._session.jobs.newest(("rows", large)) is None)
        assert values() == sorted(values(), reverse=backwards)
        assert large.model.total == before


def test_the_selection_survives_sorting(qtbot: QtBot, panel: ObjectPanel) -> None:
    """What is selected stays selected, wherever it goes."""
    panel._session.select_row(5)
    qtbot.waitUntil(lambda: panel._session.selection.complete)
    panel.table.horizontalHeader().sectionClicked.emit(3)
    qtbot.waitUntil(lambda: panel.model.row_of(panel.model.index(0, 0)) != 0)
    qtbot.waitUntil(lambda: panel.model.row_of(panel.table.currentIndex()) == 5)


def test_objects_are_extracted_with_a_manifest(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path) -> None:
    """The selected objects become files, byte by byte, beside a manifest; unused rows are left out."""
    choose(panel, *range(13))
    target = tmp_path / "out"
    job = extract_to(panel.actions_, target)
    assert job is not None
    qtbot.waitUntil(lambda: job.state.ended)
    assert job.state is JobState.DONE
    manifest = json.loads((target / "manifest.json").read_text())
    assert len(manifest["objects"]) == 12
    for entry in manifest["objects"]:
        content = (target / entry["path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"] == entry["key"]
    qtbot.waitUntil(lambda: "12 files" in job.note)


def test_an_extraction_can_be_cancelled(qtbot: QtBot, large: ObjectPanel, tmp_path: Path) -> None:
    """Cancel stops between two pieces: what is complete stays, nothing half is left."""
    large.table.selectAll()
    assert large.table.selected_count() == 2027
    target = tmp_path / "out"
    job = extract_to(large.actions_, target)
    assert job is not None
    job.cancel()
    qtbot.waitUntil(lambda: job.state.ended)
    assert job.state is JobState.CANCELLED
    left = list(target.iterdir()) if target.exists() else []
    assert not [path for path in left if path.name.endswith(".part")]


@pytest.mark.thorough
def test_an_extraction_outlives_the_shard(qtbot: QtBot, large: ObjectPanel, tmp_path: Path, data: Path) -> None:
    """Opening another file does not stop an extraction that runs."""
    large.table.selectAll()
    target = tmp_path / "out"
    job = extract_to(large.actions_, target)
    assert job is not None
    open_in(large._session, qtbot, data / "swh" / "one.shard")
    qtbot.waitUntil(lambda: job.state.ended, timeout=20_000)
    assert job.state is JobState.DONE
    assert len(list(target.iterdir())) == 2001


def test_keys_are_copied(qtbot: QtBot, panel: ObjectPanel) -> None:
    """Ctrl+C in the table gives the keys of the selected rows, one per line."""
    choose(panel, 0, 2)
    expected = keys(panel)
    QTest.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: QApplication.clipboard().text() == f"{expected[0]}\n{expected[2]}")


def test_selected_objects_are_checked(qtbot: QtBot, panel: ObjectPanel) -> None:
    """*Verify* of one object tells its size and digest."""
    choose(panel, 0)
    job = panel.actions_.check_selected()
    assert job is not None
    qtbot.waitUntil(lambda: bool(job.note))
    assert job.note == f"readable: 1,790 bytes, sha256 {keys(panel)[0]}"


def test_a_dropped_file_is_sought(qtbot: QtBot, panel: ObjectPanel, tmp_path: Path) -> None:
    """A file dropped on the filter is found and selected, or said not to be there."""
    shard = panel._session.shard
    assert shard is not None
    path = tmp_path / "photo.png"
    path.write_bytes(shard.read(shard.objects.ref(3)))
    drop(panel, path)
    qtbot.waitUntil(lambda: panel._session.selection.row == 3)
    assert "photo.png is here" in panel.status.text()
    other = tmp_path / "other"
    other.write_bytes(b"nowhere")
    drop(panel, other)
    qtbot.waitUntil(lambda: "other is not here" in panel.status.text())


def drop(panel: ObjectPanel, path: Path) -> None:
    """Drops a file on the filter."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    panel.filter.dropEvent(QDropEvent(QPointF(5, 5), copy, mime, left, Qt.KeyboardModifier.NoModifier))


def test_rows_that_can_be_scrolled_follow_the_font(panel: ObjectPanel) -> None:
    """A larger font makes rows higher and blocks smaller: pixels never leave 32 bits."""
    for points in (8, 30):
        font = panel.table.font()
        font.setPointSize(points)
        panel.table.setFont(font)
        rows = panel.model._most
        assert rows * row_height(panel.table) < MAX_PIXELS
        assert (rows + 5000) * row_height(panel.table) > MAX_PIXELS


def test_what_is_painted_is_what_is_there(qtbot: QtBot, panel: ObjectPanel) -> None:
    """The painter shows the texts of the model: selecting, cutting and states included."""
    qtbot.waitUntil(lambda: panel.model.row_texts(9)[1] is State.UNUSED)
    before = panel.table.grab().toImage()
    panel.table.selectRow(2)
    qtbot.waitUntil(lambda: panel.table.grab().toImage() != before)
    assert panel.table._painter._row(9).texts[2] == "unused"
    assert panel.table._painter._row(9).texts[0] == "9"
    assert len(panel.table._painter._row(0).texts[1]) == 64
    panel.table.setColumnWidth(1, 120)
    long = panel.table._painter._row(0).texts[1]
    assert "…" in long
    assert long.startswith("94d9")


def test_keys_get_the_room_they_want(qtbot: QtBot, panel: ObjectPanel) -> None:
    """Keys that fit are shown whole when their rows arrive; in a narrow table they leave room for the rest."""
    table = panel.table
    qtbot.waitUntil(lambda: panel.model.row_texts(9)[1] is State.UNUSED)
    wide = table.columnWidth(1)
    assert wide > table._painter.width_of("0" * 64, "key")
    panel.resize(500, 300)
    qtbot.waitUntil(lambda: table.columnWidth(1) < wide)
    assert table.columnWidth(1) >= table.fontMetrics().horizontalAdvance("0" * LONG_KEY)


def test_selecting_a_million_rows_asks_for_none_of_them(
    qtbot: QtBot, panel: ObjectPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl+A, Shift+End and what they paint cost the same for a million rows as for a screen of them."""
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
    """No step of its lookup deselects it, and it can be extracted all the way; another object's lookup deselects it."""
    shard = session.shard
    assert shard is not None
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
    """*Copy rows* gives the visible columns with tabs between them, *Copy as JSON* the same; numbers have no commas."""
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


def test_copy_in_the_table_copies_keys(qtbot: QtBot, session: Session, panel: ObjectPanel) -> None:
    """Ctrl+C is the table's own while it has the keyboard, although a menu has it for the bytes."""
    event = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    event.ignore()
    QApplication.sendEvent(panel.table, event)
    assert event.isAccepted()


def test_rows_are_dimmed_while_others_are_sought(qtbot: QtBot, panel: ObjectPanel) -> None:
    """Rows of the last filter do not look like those of the next one."""
    table = panel.table
    qtbot.addWidget(table.window())
    table.window().resize(600, 400)
    table.window().show()
    before = table.viewport().grab().toImage()
    table.dim(True)
    dimmed = table.viewport().grab().toImage()
    table.dim(False)
    assert dimmed != before
    assert table.viewport().grab().toImage() == before


def test_the_placeholder_is_not_cut(panel: ObjectPanel) -> None:
    """It fits into the least width of the field, and names a part of a key."""
    field = panel.filter
    assert "part" in field.placeholderText()
    assert field.fontMetrics().horizontalAdvance(field.placeholderText()) <= field.minimumWidth() - 24


def test_a_filter_that_hides_the_selected_row_ends_what_can_be_done_with_it(qtbot: QtBot, panel: ObjectPanel) -> None:
    """No button is enabled that would do nothing."""
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
    """Rows of a filter that was typed before the objects were known are shown with their keys, and no note stays."""
    monkeypatch.setattr(opened, "AUTO_INDEX_BYTES", 0)
    panel = ObjectPanel(session, Settings(tmp_path / "settings.json"))
    qtbot.addWidget(panel)
    panel.resize(900, 400)
    panel.show()
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


def test_the_cross_goes_with_the_filter(qtbot: QtBot, panel: ObjectPanel, data: Path) -> None:
    """The button that clears the filter is not there for another file, whose filter is empty."""
    panel.filter.setText("a*")
    cross = panel.filter.findChild(QToolButton)
    assert cross is not None
    qtbot.waitUntil(cross.isVisible)
    open_in(panel._session, qtbot, data / "swh" / "medium.shard")
    assert panel.filter.text() == ""
    qtbot.waitUntil(lambda: not cross.isVisible())


@pytest.mark.parametrize("order", ["slot", "size"])
def test_typing_finds_a_key(qtbot: QtBot, large: ObjectPanel, order: str) -> None:
    """It selects the next row, in the order that is shown, whose key begins so, and after the last one the first."""
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


def test_no_letter_is_a_command(panel: ObjectPanel) -> None:
    """Letters are what keys are typed with."""
    assert all(len(key.toString()) > 1 for action in panel.table.actions() for key in action.shortcuts())
