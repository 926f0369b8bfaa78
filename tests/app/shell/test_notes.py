"""Notes and the search for a key in the window, by keyboard alone."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.operations.notes import open_notes
from shardscope.session.jobs import IO_THREADS, Job, JobPriority
from shardscope.shell.main_window import MainWindow
from shardscope.startup.single_instance import Handover
from shardscope.views.notes import NoteDialog, NotesPanel

SHIFT, CONTROL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def opened(qtbot: QtBot, window: MainWindow, path: Path) -> None:
    window.open(str(path))
    qtbot.waitUntil(lambda: window.session.uri == str(path) and window.session.notes.book is not None)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.hex.view.setFocus()


def keep_busy(window: MainWindow) -> Event:
    gate = Event()

    def work(job: Job) -> None:
        while not gate.wait(0.01):
            job.check()

    for _ in range(IO_THREADS):
        window.jobs.submit(work, priority=JobPriority.SCREEN, lasting=True)
    return gate


@pytest.mark.thorough
def test_notes_by_keyboard(qtbot: QtBot, window: MainWindow, data: Path) -> None:
    """Ctrl+B writes a note on the selected bytes, F4 and Shift+F4 walk through them, Alt+N shows the list."""
    opened(qtbot, window, data / "swh" / "small.shard")
    for start in (72, 8):
        qtbot.waitUntil(window.isActiveWindow)
        window.session.select_span(Span("", start, start + 8))
        QTest.keyClick(window.hex.view, Qt.Key.Key_B, CONTROL)
        dialog = window.findChild(NoteDialog)
        QTest.keyClicks(dialog.field, f"at {start}")
        QTest.keyClick(dialog.field, Qt.Key.Key_Return, CONTROL)
        qtbot.waitUntil(lambda: not window.findChildren(NoteDialog))
        window.activateWindow()
    qtbot.waitUntil(lambda: [note.text for note in window.session.notes.all] == ["at 8", "at 72"])
    qtbot.waitUntil(window.isActiveWindow)
    window.hex.view.setFocus()
    QTest.keyClick(window.hex.view, Qt.Key.Key_F4)
    assert window.session.selection.span == Span("", 72, 80)
    QTest.keyClick(window.hex.view, Qt.Key.Key_F4, SHIFT)
    assert window.session.selection.span == Span("", 8, 16)
    QTest.keyClick(window.hex.view, Qt.Key.Key_N, Qt.KeyboardModifier.AltModifier)
    panel = window.panels.panel(NotesPanel)
    assert window.panels.in_front("notes")
    assert window.focusWidget() is panel.table
    QTest.keyClick(panel.table, Qt.Key.Key_End)
    assert window.session.selection.span is not None


@pytest.mark.thorough
def test_a_key_is_found_in_a_folder_and_opened(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for name, key in (("a.des", "other"), ("b.des", "mine")):
        with shardcore.create(tmp_path / "files" / name, format="des") as writer:
            writer.add("first", b"1")
            writer.add(key, b"12345")
    with shardcore.open(tmp_path / "files" / "b.des") as shard:
        expected = shard.find("mine").spans[0]
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_K, CONTROL | SHIFT)
    dialog = window.finding.dialog
    QTest.keyClicks(dialog.key, "mine")
    dialog.where.setEditText(str(tmp_path / "files"))
    QTest.keyClick(dialog.key, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not dialog.searching and dialog.model.rowCount() == 1)
    dialog.table.selectRow(0)
    QTest.keyClick(dialog.table, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.session.shard is not None and window.session.uri.endswith("b.des"))
    qtbot.waitUntil(lambda: window.session.selection.span == expected)
    assert not dialog.searching
    dialog.reject()


@pytest.mark.thorough
def test_a_note_is_stored_when_everything_closes_at_once(
    qtbot: QtBot, window: MainWindow, data: Path, tmp_path: Path
) -> None:
    path, other = tmp_path / "a.shard", data / "swh" / "one.shard"
    path.write_bytes((data / "swh" / "small.shard").read_bytes())
    opened(qtbot, window, other)
    opened(qtbot, window, path)
    busy = keep_busy(window)
    window.session.notes.add(Span("", 8, 16), "left")
    window.session.documents.step(1)
    assert window.session.uri == str(other)
    busy.set()
    window.session.documents.step(1)
    qtbot.waitUntil(lambda: [note.text for note in window.session.notes.all] == ["left"])
    keep_busy(window)
    window.session.notes.add(Span("", 16, 24), "closed")
    window.close()
    with shardcore.open(path) as shard:
        assert [note.text for note in open_notes(shard).notes] == ["left", "closed"]


@pytest.mark.thorough
def test_a_second_start_does_not_change_the_file_below_a_dialog(qtbot: QtBot, window: MainWindow, data: Path) -> None:
    one, two = data / "swh" / "one.shard", data / "swh" / "small.shard"
    opened(qtbot, window, one)
    opened(qtbot, window, two)
    window.session.select_span(Span("", 8, 16))
    window.panels.panel(NotesPanel).ask()
    dialog = window.findChild(NoteDialog)
    window.take_over([Handover(str(one)), Handover(str(data / "swh" / "medium.shard"))])
    qtbot.waitUntil(lambda: len(window.session.documents.all) == 3)
    assert window.session.uri == str(two)
    QTest.keyClicks(dialog.field, "here")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return, CONTROL)
    qtbot.waitUntil(lambda: [note.text for note in window.session.notes.all] == ["here"])
    assert window.session.uri == str(two)
