"""Bytes typed, pasted, filled and replaced: in the sandbox in memory, in a file by an edit that can be undone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMessageBox

from shardcore.teaching import resource_paths
from shardcore.teaching.lessons.lesson_list import lessons, lessons_of
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.hex.layout import HexPart
from shardscope.views.inspector.panel import Inspector
from tests.app.shell.conftest import press

SAMPLE = resource_paths.resources() / "samples" / "swh" / "small.shard"


@pytest.fixture(scope="module")
def one(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    made = MainWindow(Settings(tmp_path_factory.mktemp("settings") / "settings.json"))
    made.resize(1300, 800)
    made.show()
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.shard"
    path.write_bytes(SAMPLE.read_bytes())
    return path


@pytest.fixture
def window(one: MainWindow, file: Path) -> Iterator[MainWindow]:
    one.open(str(file))
    until(lambda: one.session.uri == str(file) and bool(one.changing.switch.edit_permission.verbs))
    settle(one)
    assert one.objects.table.model().rowCount() > 0
    one.activateWindow()
    until(lambda: one.isActiveWindow() and QApplication.activeModalWidget() is None)
    yield one
    one.sandbox_shell.sandbox.drop()
    one.changing.typed.discard()
    one.session.documents.close_all()
    settle(one, 20)


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end, "it did not come to that"
        QTest.qWait(2)


def in_sandbox(window: MainWindow) -> None:
    window.sandbox_shell.actions.switch.trigger()
    until(lambda: window.sandbox_shell.sandbox.impact is not None)
    settle(window, 20)


def at(window: MainWindow, start: int, stop: int | None = None, part: HexPart = HexPart.HEX) -> None:
    state = window.hex.state
    window.hex.view.setFocus()
    until(lambda: state.byte_at(start) is not None)
    state.move_caret(start, part=part)
    if stop is not None:
        state.move_caret(stop - 1, extend=True)
    settle(window, 20)


def opened(window: MainWindow) -> bytes:
    sandbox = window.sandbox_shell.sandbox
    until(lambda: sandbox.source is not None and sandbox.source.changes == sandbox.changes)
    until(lambda: sandbox.impact is not None and sandbox.comparing is None)
    settle(window, 20)
    source = sandbox.source
    return source.read(0, source.size)


def keys(window: MainWindow, text: str) -> None:
    for letter in text:
        QApplication.sendEvent(
            window.hex.view, QKeyEvent(QEvent.Type.KeyPress, 0, Qt.KeyboardModifier.NoModifier, letter)
        )


@pytest.mark.thorough
def test_hex_digits_typed_in_a_sandbox_change_bytes_in_memory(window: MainWindow, file: Path) -> None:
    before = file.read_bytes()
    in_sandbox(window)
    at(window, 1500)
    keys(window, "d")
    assert window.hex.state.byte_at(1500) == 0xD0 | before[1500] & 0xF, "shown at once"
    assert window.hex.state.half
    opened(window)
    assert window.hex.state.half, "the second digit is still next"
    keys(window, "ea")
    keys(window, "d")
    assert window.hex.state.selection.caret == 1502
    assert opened(window)[1500:1502] == b"\xde\xad"
    assert opened(window)[1502:] == before[1502:]
    assert window.hex.state.selection.caret == 1502
    sandbox, actions = window.sandbox_shell.sandbox, window.changing.undoing
    assert sandbox.count == 2
    assert [one.fate.value for one in sandbox.impact.objects] == ["wrong"]
    QTest.keySequence(window, actions.undo.shortcut())
    assert opened(window)[1500:1502] == bytes([0xDE, before[1501]])
    QTest.keySequence(window, actions.undo.shortcut())
    assert opened(window) == before
    QTest.keySequence(window, actions.redo.shortcut())
    QTest.keySequence(window, actions.redo.shortcut())
    assert opened(window)[1500:1502] == b"\xde\xad"
    assert file.read_bytes() == before


@pytest.mark.thorough
def test_bytes_are_pasted_filled_and_replaced(window: MainWindow, file: Path) -> None:
    before = file.read_bytes()
    in_sandbox(window)
    at(window, 1500)
    QApplication.clipboard().setText("de ad be ef")
    window.hex.actions_.paste.trigger()
    assert opened(window)[1500:1504] == b"\xde\xad\xbe\xef"
    at(window, 1510, part=HexPart.TEXT)
    window.hex.actions_.paste.trigger()
    assert opened(window)[1510:1521] == b"de ad be ef"
    at(window, 1600, 1610)
    dialog = window.changing.ask_fill()
    assert "10 bytes" in dialog.labelText()
    dialog.setTextValue("01 02 03")
    dialog.accept()
    assert opened(window)[1600:1611] == b"\x01\x02\x03" * 3 + b"\x01" + before[1610:1611]
    at(window, len(before) - 2)
    window.hex.actions_.paste.trigger()
    assert "do not fit: the file ends after 2" in window.notices.text

    word = before[1700:1703]
    assert window.changing.ask_replace() is None
    window.hex.search.look_for("Hex", word.hex(" "))
    until(lambda: window.hex.search.hits.count > 0)
    window.changing.replace("00")
    assert "cannot replace 3" in window.notices.text
    was = opened(window)
    asked = window.changing.ask_replace()
    asked.setTextValue('"abc"')
    asked.accept()
    assert opened(window) == was.replace(word, b"abc")
    assert window.sandbox_shell.sandbox.changes[-1].what.endswith("replaced")
    window.changing.undoing.undo.trigger()
    assert opened(window) == was
    assert file.read_bytes() == before


def test_typing_into_a_read_only_file_says_how_to_allow_it(window: MainWindow, file: Path) -> None:
    before = file.read_bytes()
    at(window, 1500)
    keys(window, "a")
    assert "Allow changes" in window.notices.text
    assert not window.hex.actions_.paste.isEnabled()
    assert window.hex.state.proposed is None
    assert file.read_bytes() == before
    window.changing.actions.allow.trigger()
    assert window.notices.text == "", "what was refused is allowed now"


@pytest.mark.thorough
def test_numbers_under_the_caret_are_typed(window: MainWindow, file: Path) -> None:
    numbers, state, before = window.panels.panel(Inspector).numbers, window.hex.state, file.read_bytes()
    rows = {numbers.item(row, 0).text(): row for row in range(numbers.rowCount())}

    def type_number(kind: str, column: int, text: str) -> None:
        at(window, 1500)
        numbers.editItem(numbers.item(rows[kind], column))
        (editor,) = numbers.findChildren(QLineEdit)
        editor.setText(text)
        QTest.keyClick(editor, Qt.Key.Key_Return)
        until(lambda: not numbers.findChildren(QLineEdit))

    window.show_part("inspector")
    at(window, 1500)
    middle = numbers.visualItemRect(numbers.item(rows["u16"], 1)).center()
    for click in (QTest.mouseClick, QTest.mouseDClick):
        click(numbers.viewport(), Qt.MouseButton.LeftButton, pos=middle)
    assert "Allow changes" in window.notices.text
    window.changing.actions.allow.trigger()
    for kind, column, text, data in (
        ("u16", 1, "513", b"\1\2"),
        ("u16", 2, "0x0201", b"\2\1"),
        ("u64 be", 1, "258", bytes(6) + b"\1\2"),
    ):
        type_number(kind, column, text)
        until(lambda data=data: [state.byte_at(1500 + number) for number in range(len(data))] == list(data))
        window.changing.typed.undo()
        until(lambda: state.byte_at(1500) == before[1500])
    type_number("u16", 1, "70000")
    assert "'70000' does not fit u16" in window.notices.text
    assert not window.changing.typed.changes


def test_selected_bytes_are_saved(window: MainWindow, file: Path, tmp_path: Path) -> None:
    at(window, 1500, 1700)
    dialog = window.hex.actions_.ask_save()
    assert Path(dialog.selectedFiles()[0]) == tmp_path / "small-0x5dc-0x6a3.bin"
    dialog.fileSelected.emit(str(tmp_path / "part"))
    dialog.close()
    until(lambda: "200 bytes saved" in window.notices.text)
    assert (tmp_path / "part").read_bytes() == file.read_bytes()[1500:1700]


@pytest.mark.thorough
def test_bytes_typed_into_a_file_are_written_by_an_edit_that_can_be_undone(window: MainWindow, file: Path) -> None:
    before = file.read_bytes()
    actions, typed = window.changing.actions, window.changing.typed
    actions.allow.trigger()
    at(window, 1500)
    keys(window, "deadbe")
    undo = window.changing.undoing.undo
    assert undo.text() == "&Undo: 1 byte overwritten at 1502"
    field = window.objects.findChild(QLineEdit)
    field.setText("a")
    field.insert("b")
    QTest.keySequence(field, undo.shortcut())
    assert (field.text(), typed.count) == ("a", 3), "text fields keep their own"
    field.clear()
    QTest.keySequence(window, undo.shortcut())
    assert typed.count == 2
    assert window.hex.state.byte_at(1501) == 0xAD
    assert file.read_bytes() == before, "nothing is written before it is asked for"
    assert "not written yet" in window.notices.text
    QTest.keySequence(window, actions.write.shortcut())
    sheet = window.changing.editor.sheet
    until(sheet.apply.isEnabled)
    keys(window, "ff")
    assert typed.count == 2, "the list does not change while it is asked"
    sheet.apply.click()
    until(lambda: file.read_bytes() != before and not typed.changes)
    assert file.read_bytes() == before[:1500] + b"\xde\xad" + before[1502:]
    until(lambda: window.changing.switch.allowed and undo.text() == "&Undo: overwrite 2 bytes" and undo.isEnabled())
    settle(window, 20)
    QTest.keySequence(window, undo.shortcut())
    until(lambda: file.read_bytes() == before)
    until(lambda: "restored to its state" in window.notices.text)


def test_typed_bytes_are_what_every_view_shows(window: MainWindow, file: Path) -> None:
    before, seed = file.read_bytes(), 5008
    inspector, tabs = window.panels.panel(Inspector), window.file_tabs.tabs
    window.open(str(SAMPLE))
    until(lambda: tabs.count() == 2)
    window.session.documents.show(window.session.documents.all[0])
    until(lambda: bool(window.changing.switch.edit_permission.verbs))
    window.changing.actions.allow.trigger()
    window.show_part("structure")
    window.show_part("inspector")
    at(window, seed)

    def seen() -> tuple[object, str, str]:
        node = window.tree.nodes.node(window.tree.currentIndex())
        cell, value = inspector.numbers.item(0, 1), inspector.page.row("value")
        return (node.value if node is not None else None, value.text if value else "", cell.text() if cell else "")

    until(lambda: seen() == (7, "7", "7"))
    keys(window, "09")
    assert window.isWindowModified()
    assert tabs.tabText(0).startswith("* ")
    until(lambda: seen() == (9, "9", "0"))
    caret = window.session.selection.span
    assert caret.start == seed + 1, "typing goes on"
    at(window, seed)
    until(lambda: seen() == (9, "9", "9"))
    window.session.documents.show(window.session.documents.all[1])
    settle(window, 20)
    assert [tabs.tabText(number)[:2] == "* " for number in range(2)] == [True, False]
    window.session.documents.show(window.session.documents.all[0])
    at(window, seed)
    until(lambda: seen() == (9, "9", "9"))
    for _ in range(window.changing.typed.count):
        window.changing.typed.undo()
    until(lambda: seen() == (7, "7", "7"))
    assert not window.isWindowModified()
    assert file.read_bytes() == before
    window.session.documents.close_document(window.session.documents.all[1])


@pytest.mark.thorough
def test_typed_bytes_are_not_lost_unasked(window: MainWindow, file: Path) -> None:
    window.changing.actions.allow.trigger()
    at(window, 1500)
    keys(window, "00")
    window.open(str(SAMPLE))
    until(lambda: window.session.uri == str(SAMPLE))
    assert window.findChild(QMessageBox, "discardTyped") is None
    assert not window.changing.typed.changes
    window.session.documents.close_document(window.session.documents.all[0])
    assert window.session.uri == str(file)
    box = window.findChild(QMessageBox, "discardTyped")
    box.reject()
    assert window.changing.typed.count == 1
    window.session.close()
    box = window.findChildren(QMessageBox, "discardTyped")[-1]
    press(box, "Discard")
    until(lambda: window.session.uri == str(SAMPLE))
    assert not window.changing.typed.changes
    assert len(window.session.documents.all) == 1


@pytest.mark.thorough
def test_del_on_an_object_asks_to_delete_it(window: MainWindow, file: Path) -> None:
    table = window.objects.table
    table.selectRow(0)
    settle(window)
    assert table.selected_count() == 1
    table.setFocus()
    QTest.keyClick(table, Qt.Key.Key_Delete)
    assert "Allow changes" in window.notices.text
    window.changing.actions.allow.trigger()
    assert window.changing.switch.allowed, window.changing.switch.why_not
    QTest.keyClick(table, Qt.Key.Key_Delete)
    sheet = window.changing.editor.sheet
    assert sheet.windowTitle().startswith("Delete")
    sheet.reject()


@pytest.mark.thorough
def test_dropped_changes_do_not_come_back_after_a_lesson(window: MainWindow, file: Path) -> None:
    in_sandbox(window)
    at(window, 1500)
    keys(window, "00")
    opened(window)
    player = window.panels.panel(LessonPanel).player
    player.start(next(one for one in lessons() if one.sample))
    assert player.astray
    box = window.findChildren(QMessageBox, "discardSandbox")[-1]
    press(box, "Discard")
    until(lambda: player.stage is not None)
    player.leave()
    until(lambda: window.session.uri == str(file))
    assert not window.session.request.sandbox
    assert not window.sandbox_shell.sandbox.on
    source = window.session.shard.source if window.session.shard is not None else None
    assert source.read(0, source.size) == file.read_bytes()


@pytest.mark.thorough
def test_a_lesson_does_not_move_the_selection_while_bytes_are_changed(window: MainWindow, file: Path) -> None:
    player = window.panels.panel(LessonPanel).player
    player.start(replace(lessons_of("swh")[0], sample=""))
    until(lambda: player.stage is not None and not window.jobs.open_jobs)
    in_sandbox(window)
    at(window, 1500)
    window.sandbox_shell.sandbox.flip(0)
    opened(window)
    until(lambda: player.stage is not None and not window.jobs.open_jobs)
    settle(window, 20)
    assert 1500 <= window.session.selection.span.start <= 1502
    player.leave()
    settle(window, 20)
