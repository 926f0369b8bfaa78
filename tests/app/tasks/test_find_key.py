"""Finding the files of a folder that hold a key, and opening one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks import find_key as module
from shardscope.tasks.find_key import FindKeyDialog, FindKeyTask
from tests.app.conftest import open_in, visible


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with shards, two of which have the key, one that is damaged, and a text."""
    top = tmp_path / "files"
    for name, key in (("a.des", "mine"), ("sub/b.des", "mine"), ("c.des", "other"), ("d.des", "mine")):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        with shardcore.create(top / name, format="des") as writer:
            writer.add(key, b"12345")
    (top / "d.des").write_bytes((top / "d.des").read_bytes()[:-7])
    (top / "readme").write_text("no shard")
    return top


@pytest.fixture
def task(qtbot: QtBot, session: Session, settings: Settings) -> FindKeyTask:
    """The task on an empty window."""
    window = visible(qtbot, QWidget())
    return FindKeyTask(session, settings, window)


def rows(dialog: FindKeyDialog) -> list[list[str]]:
    """What the table says."""
    model = dialog.model
    return [[str(model.index(row, column).data()) for column in range(3)] for row in range(model.rowCount())]


def search(qtbot: QtBot, dialog: FindKeyDialog, key: str, folder: Path) -> None:
    """Types key and folder, presses Return, and waits for the end."""
    dialog.key.setText(key)
    dialog.where.setEditText(str(folder))
    QTest.keyClick(dialog.key, Qt.Key.Key_Return)
    assert dialog.searching
    qtbot.waitUntil(lambda: not dialog.searching)


def test_files_that_hold_the_key_are_listed(qtbot: QtBot, task: FindKeyTask, files: Path) -> None:
    dialog = task.ask()
    assert not dialog.start.isEnabled()
    search(qtbot, dialog, "mine", files)
    assert rows(dialog) == [["a.des", "des", "5"], ["✖ d.des", "", ""], ["sub/b.des", "des", "5"]]
    assert "footer" in str(dialog.model.index(1, 3).data())
    search(qtbot, dialog, "absent", files)
    assert [row[0] for row in rows(dialog)] == ["✖ d.des"]
    assert dialog.message.text.startswith("Not found")
    dialog.reject()


def test_a_row_opens_its_file_at_the_object(qtbot: QtBot, task: FindKeyTask, session: Session, files: Path) -> None:
    dialog = task.ask()
    search(qtbot, dialog, "mine", files)
    with shardcore.open(files / "sub" / "b.des") as shard:
        expected = shard.find("mine").spans[0]
    wanted: list[tuple[OpenRequest, Span | None]] = []
    session.tab_wanted.connect(lambda request, span: wanted.append((request, span)))
    assert not dialog.open_button.isEnabled()
    dialog.table.setFocus()
    dialog.table.setCurrentIndex(dialog.model.index(2, 0))
    QTest.keyClick(dialog.table, Qt.Key.Key_Return)
    dialog.open_button.click()
    assert [(request.uri, span) for request, span in wanted] == [(str(files / "sub" / "b.des"), expected)] * 2
    dialog.table.setCurrentIndex(dialog.model.index(1, 0))
    dialog.open_button.click()
    assert (wanted[-1][0].uri, wanted[-1][1]) == (str(files / "d.des"), None)
    dialog.reject()


def test_the_dialog_begins_with_what_is_selected(
    qtbot: QtBot, task: FindKeyTask, session: Session, settings: Settings, files: Path
) -> None:
    settings.add_searched_folder("/old")
    open_in(session, qtbot, files / "a.des")
    session.select_row(0)
    qtbot.waitUntil(lambda: session.selection.ref is not None)
    dialog = task.ask()
    assert task.ask() is dialog
    assert dialog.key.text() == "mine"
    assert [dialog.where.itemText(row) for row in range(dialog.where.count())] == [str(files), "/old"]
    search(qtbot, dialog, "mine", files)
    assert settings.searched_folders == [str(files), "/old"]
    dialog.reject()
    assert task.dialog is None


def test_a_search_is_cancelled(
    qtbot: QtBot, task: FindKeyTask, session: Session, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = module.find_in

    def endless(key: str, paths: list[str], **options: object) -> object:
        return find(key, paths * 100_000, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "find_in", endless)
    dialog = task.ask()
    dialog.key.setText("mine")
    dialog.where.setEditText(str(files))
    dialog.start.click()
    assert dialog.start.text() == "&Cancel"
    qtbot.waitUntil(lambda: dialog.model.rowCount() > 0)
    dialog.start.click()
    qtbot.waitUntil(lambda: not dialog.searching)
    assert dialog.message.text == "Cancelled"
    assert dialog.model.rowCount() > 0
    dialog.start.click()
    assert dialog.searching
    (job,) = session.jobs.open_jobs
    dialog.hide_button.click()
    assert dialog.searching
    assert not dialog.isVisible()
    job.show()
    assert dialog.isVisible()
    dialog.reject()
    assert job.show is None
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
