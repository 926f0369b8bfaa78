"""Notes in the window: the panel, the flags in bytes, overview and tree, and what is stored."""

from __future__ import annotations

from pathlib import Path
from shutil import copy
from threading import Event
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.operations.notes import add_note, open_notes
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.views.notes import NoteDialog, NotesPanel
from shardscope.views.structure.tree import StructureTree, joined_tip
from tests.app.conftest import open_in, visible

SIZE = Span("", 72, 80)


@pytest.fixture
def file(tmp_path: Path, data: Path) -> Path:
    """A shard."""
    return Path(copy(data / "swh" / "small.shard", tmp_path / "small.shard"))


@pytest.fixture
def panel(qtbot: QtBot, session: Session, file: Path) -> NotesPanel:
    """The panel beside the shard."""
    made = visible(qtbot, NotesPanel(session), 700, 240)
    open_noted(session, qtbot, file)
    return made


def open_noted(session: Session, qtbot: QtBot, path: Path) -> None:
    """Opens a file and waits until its notes are read."""
    open_in(session, qtbot, path)
    qtbot.waitUntil(lambda: session.notes.book is not None or bool(session.notes.error))


def add(session: Session, qtbot: QtBot, span: Span, text: str) -> None:
    """Adds a note and waits until it is stored and its field is known."""
    session.notes.add(span, text)
    qtbot.waitUntil(lambda: any(note.span == span and note.text == text for note in session.notes.all))
    qtbot.waitUntil(lambda: span in session.notes.places)


def texts(session: Session) -> list[str]:
    return [note.text for note in session.notes.all]


def rows(panel: NotesPanel) -> list[list[str]]:
    """What the table says."""
    model = panel.model
    return [[str(model.index(row, column).data()) for column in range(4)] for row in range(model.rowCount())]


def test_notes_survive_reload_and_restart(qtbot: QtBot, panel: NotesPanel, session: Session, file: Path) -> None:
    """Beside the file or in the data folder; in a sandbox they are read-only."""
    add(session, qtbot, SIZE, "the size")
    with qtbot.waitSignal(session.opened):
        session.reload()
    qtbot.waitUntil(lambda: texts(session) == ["the size"])
    beside = file.with_name("small.shard.notes.json")
    panel.beside.click()
    qtbot.waitUntil(lambda: beside.exists() and panel.beside.isChecked())
    other = Session(session.jobs)
    open_noted(other, qtbot, file)
    assert texts(other) == ["the size"]
    other.close()
    panel.beside.click()
    qtbot.waitUntil(lambda: not beside.exists() and not panel.beside.isChecked())
    with qtbot.waitSignal(session.opened):
        session.open(OpenRequest(str(file), sandbox=True))
    qtbot.waitUntil(lambda: texts(session) == ["the size"])
    assert "sandbox" in panel.state.text()
    for part in (panel.add_button, panel.edit, panel.delete, panel.restore, panel.beside):
        assert not part.isEnabled()
    session.close()
    assert session.notes.all == ()
    assert panel.model.rowCount() == 0


def test_choosing_a_row_selects_its_bytes(qtbot: QtBot, panel: NotesPanel, session: Session) -> None:
    other = Span("", 4000, 4040)
    add(session, qtbot, SIZE, "one")
    add(session, qtbot, other, "two")
    panel.table.setCurrentIndex(panel.model.index(1, 0))
    assert session.selection.span == other
    for backward, span in ((False, SIZE), (True, other)):
        panel.go(backward=backward)
        assert session.selection.span == span
    session.select_span(Span("", 100, 101))
    for backward, span in ((False, other), (True, SIZE)):
        panel.go(backward=backward)
        assert session.selection.span == span


def test_notes_sorted_by_field_follow_the_names_that_arrive(qtbot: QtBot, panel: NotesPanel, session: Session) -> None:
    panel.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    for span, text in ((SIZE, "a header field"), (Span("", 4000, 4040), "a later byte")):
        add(session, qtbot, span, text)
    fields = [row[2] for row in rows(panel)]
    assert len(set(fields)) == 2
    assert fields == sorted(fields, reverse=True)


def test_a_note_is_written_edited_and_restored_by_keys(qtbot: QtBot, panel: NotesPanel, session: Session) -> None:
    session.select_span(SIZE)
    qtbot.waitUntil(lambda: session.selection.complete)
    panel.add_button.click()
    dialog = panel.window().findChild(NoteDialog)
    QTest.keyClicks(dialog.field, "the size")
    QTest.keyClick(dialog.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: rows(panel) == [["0x48", "8", "header › index_size", "⚑ the size"]])
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.table.setFocus()
    panel.table.selectRow(0)
    QTest.keyClick(panel.table, Qt.Key.Key_F2)
    dialog = next(one for one in panel.window().findChildren(NoteDialog) if one.isVisible())
    assert dialog.field.toPlainText() == "the size"
    dialog.field.setPlainText("better\nand longer")
    dialog.accept()
    qtbot.waitUntil(lambda: rows(panel)[0][3] == "⚑ better …")
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.table.selectRow(0)
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: rows(panel) == [] and panel.undo_button.isEnabled())
    assert not session.notes.book.path.exists()
    panel.undo_button.click()
    qtbot.waitUntil(lambda: texts(session) == ["better\nand longer"])
    qtbot.waitUntil(lambda: not panel.undo_button.isEnabled())


def test_a_damaged_notes_file_is_named_and_left(qtbot: QtBot, session: Session, file: Path) -> None:
    beside = file.with_name("small.shard.notes.json")
    beside.write_text("{")
    panel = visible(qtbot, NotesPanel(session))
    open_noted(session, qtbot, file)
    assert str(beside) in panel.empty.text()
    assert not panel.add_button.isEnabled()
    assert panel.ask() is None
    assert beside.read_text() == "{"


def test_notes_stay_with_an_edited_file(qtbot: QtBot, panel: NotesPanel, session: Session, file: Path) -> None:
    def noted(path: Path) -> list[str]:
        with shardcore.open(path) as shard:
            return [note.text for note in open_notes(shard).notes]

    add(session, qtbot, SIZE, "one")
    before = file.read_bytes()
    edited = before[:600] + b"!" + before[601:]
    file.write_bytes(edited)
    with qtbot.waitSignal(session.opened):
        session.reload()
    qtbot.waitUntil(lambda: texts(session) == ["one"])
    assert "has changed" in panel.state.text()
    add(session, qtbot, Span("", 8, 16), "two")
    assert noted(file) == ["two", "one"]
    file.write_bytes(before)
    assert noted(file) == ["one"]
    other = file.with_name("other.shard")
    other.write_bytes(edited[:601] + b"!" + edited[602:])
    open_noted(session, qtbot, other)
    assert texts(session) == noted(other) == []


def test_notes_are_exported_as_markdown(qtbot: QtBot, panel: NotesPanel, session: Session, tmp_path: Path) -> None:
    add(session, qtbot, SIZE, "the size")
    panel.export_button.click()
    dialog = panel.findChild(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "out.md"))
    dialog.reject()
    qtbot.waitUntil(lambda: (tmp_path / "out.md").exists() and not session.jobs.open_jobs)
    assert "- 0x48–0x4f · 8 bytes (header › index_size): the size\n" in (tmp_path / "out.md").read_text()


def test_the_tree_flags_the_node_that_contains_the_note(qtbot: QtBot, session: Session, file: Path) -> None:
    tree, note = visible(qtbot, StructureTree(session), 420, 400), "⚑ the <size>"
    open_noted(session, qtbot, file)
    add(session, qtbot, SIZE, "the <size>")
    qtbot.waitUntil(lambda: bool(tree.noted.ends))
    header = tree.nodes.index(0, 0, tree.nodes.index(0, 0))
    assert tree.notes_at(header) == note
    tree.expand(header)
    qtbot.waitUntil(lambda: tree.nodes.rowCount(header) > 6)
    assert tree.notes_at(header) == ""
    fields = [tree.nodes.index(row, 0, header) for row in range(tree.nodes.rowCount(header))]
    assert {field.data(): tree.notes_at(field) for field in fields if tree.notes_at(field)} == {"index_size": note}
    assert joined_tip("plain", note).endswith("the &lt;size&gt;</span>")
    assert joined_tip("<span>a&lt;</span>", "⚑ <b>\nc") == "<span>a&lt;</span><br>⚑ &lt;b&gt;<br>c"


def test_a_note_is_stored_when_its_file_is_closed_at_once(
    qtbot: QtBot, panel: NotesPanel, session: Session, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = Event()

    def late(*arguments: Any) -> Any:
        go_on.wait(60)
        return add_note(*arguments)

    monkeypatch.setattr("shardscope.session.notes.add_note", late)
    session.notes.add(SIZE, "the size")
    session.close()
    go_on.set()
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
    open_noted(session, qtbot, file)
    assert texts(session) == ["the size"]
