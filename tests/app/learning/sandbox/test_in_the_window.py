"""The sandbox in the window: changes in memory, who notices, copies, the question before it is dropped; salvage."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.operations.recover import REPORT
from shardcore.shards.trace import DAMAGED
from shardcore.teaching import resource_paths
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.sandbox.panel import BitRow, SandboxPanel
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.tasks.edit.edit_switch import edit_permission
from tests.app.conftest import visible

SAMPLE = resource_paths.resources() / "samples" / "swh" / "small.shard"
SAMPLE_BYTES = SAMPLE.read_bytes()


@pytest.fixture(scope="module")
def one(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """A window for all of these tests."""
    made = MainWindow(Settings(tmp_path_factory.mktemp("settings") / "settings.json"))
    made.resize(1300, 800)
    made.show()
    yield made
    made.sandbox_shell.sandbox.drop()
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A copy of the sample, so that writing to it would show."""
    return Path(shutil.copy(SAMPLE, tmp_path))


def break_safely(window: MainWindow, path: Path) -> None:
    """Opens a file and lays a sandbox over it."""
    window.sandbox_shell.sandbox.drop()
    window.open(str(path))
    until(lambda: window.session.uri == str(path) and not window.session.request.sandbox)
    settle(window, 20)
    window.sandbox_shell.actions.switch.trigger()
    until(lambda: window.sandbox_shell.sandbox.impact is not None)
    settle(window, 20)


@pytest.fixture
def own(one: MainWindow, file: Path) -> Iterator[MainWindow]:
    """The window with a file of the test in a sandbox, which goes afterwards."""
    break_safely(one, file)
    yield one
    one.sandbox_shell.sandbox.drop()
    one.session.documents.close_all()
    settle(one, 20)


def until(there: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end
        QTest.qWait(2)


def changed(window: MainWindow, do: Callable[[], object]) -> Sandbox:
    """Does something, and waits until its bytes are open and compared."""
    sandbox = window.sandbox_shell.sandbox
    before = sandbox.changes
    do()
    until(lambda: sandbox.changes != before and sandbox.impact is not None and sandbox.comparing is None)
    return sandbox


def select(window: MainWindow, start: int, stop: int) -> None:
    """Selects bytes."""
    window.session.select_span(Span("", start, stop))
    settle(window, 20)


def flipped(window: MainWindow) -> Sandbox:
    """Flips a bit in an object."""
    select(window, 1500, 1501)
    return changed(window, lambda: window.sandbox_shell.sandbox.flip(0))


@pytest.mark.thorough
def test_a_sandbox_moves_no_dock_and_says_what_it_is(one: MainWindow, file: Path) -> None:
    """A banner and a frame; docks keep their sizes, edits and extraction are off and say why; it goes again."""

    def docks() -> dict[str, QSize]:
        shown = {name: dock for name, dock in one.panels.by_name.items() if not dock.visibleRegion().isEmpty()}
        return {name: dock.size() for name, dock in shown.items()}

    sandbox_shell, extract = one.sandbox_shell, one.objects.actions_.extract_all
    one.open(str(file))
    settle(one, 40)
    one.show_part("sandbox")
    settle(one, 20)
    before = docks()
    sandbox_shell.actions.switch.trigger()
    until(lambda: sandbox_shell.sandbox.impact is not None)
    assert sandbox_shell.banner.isVisible()
    assert sandbox_shell.frame.isVisible()
    assert "(sandbox)" in one.windowTitle()
    assert docks().items() >= before.items()
    assert not extract.isEnabled()
    assert not one.new_shards.convert.isEnabled()
    one.objects.table.selectRow(0)
    one.drag_out.copy_files()
    for text in (extract.toolTip(), edit_permission(one.session.shard, str(file)).why_not, one.notices.text):
        assert "sandbox" in text
    sandbox_shell.actions.switch.trigger()
    until(lambda: not one.session.request.sandbox)
    settle(one, 20)
    assert not sandbox_shell.banner.isVisible()
    assert extract.isEnabled()
    assert docks().items() >= before.items()
    one.session.documents.close_all()
    settle(one, 20)


@pytest.mark.thorough
def test_a_copy_has_the_changes_and_nothing_is_replaced_unasked(own: MainWindow, file: Path) -> None:
    """The copy appears under its name; not over a file that is there, and never over the file itself."""
    sandbox, notices = flipped(own), own.notices
    expected = bytearray(SAMPLE_BYTES)
    expected[1500] ^= 1
    copy = file.parent / "copy.shard"
    assert sandbox.unsaved
    own.sandbox_shell.save_to(copy, agreed=False)
    until(lambda: not sandbox.unsaved)
    assert copy.read_bytes() == expected
    for path, agreed, told in ((copy, False, "exists already"), (file, True, "is the original file")):
        notices.clear()
        own.sandbox_shell.save_to(path, agreed=agreed)
        until(lambda: bool(notices.text))
        assert told in notices.text
    assert file.read_bytes() == SAMPLE_BYTES


@pytest.mark.thorough
def test_changes_are_dropped_only_after_a_question(own: MainWindow, file: Path) -> None:
    """Closing the tab or the window asks once there is something to lose; another file leaves it in its tab."""
    sandbox, session, other = flipped(own), own.session, file.parent / "other.shard"
    shutil.copy(SAMPLE, other)

    def question() -> QMessageBox:
        (box,) = [one for one in own.findChildren(QMessageBox) if one.isVisible()]
        return box

    for leave in (session.close, own.close):
        leave()
        question().reject()
        settle(own, 20)
        assert own.isVisible()
        assert len(sandbox.changes) == 1
    own.open(str(other))
    until(lambda: session.uri == str(other))
    settle(own, 20)
    assert not own.sandbox_shell.sandbox.on
    session.documents.close_document(session.documents.all[0])
    assert len(sandbox.changes) == 1
    next(one for one in question().findChildren(QPushButton) if one.text().replace("&", "") == "Discard").click()
    until(lambda: session.uri == str(other))
    assert not own.sandbox_shell.sandbox.on
    assert own.hex.state.sandboxed is None


@pytest.mark.thorough
def test_a_file_that_changes_on_disk_ends_the_sandbox_in_words(own: MainWindow, file: Path) -> None:
    """Changes count from the bytes that were there: with others underneath nothing is made up."""
    sandbox = flipped(own)
    file.write_bytes(SAMPLE_BYTES + b"more")
    sandbox.flip(1)
    until(lambda: "start over" in own.notices.text)
    assert len(sandbox.changes) == 1


@pytest.mark.thorough
def test_a_file_of_a_folder_is_broken_where_it_is_shown(one: MainWindow) -> None:
    """Of a data set the file whose bytes are selected is opened by itself, at the same byte; the menu has missions."""
    folder = resource_paths.resources() / "samples" / "neuroglancer" / "worked"
    one.open(str(folder))
    settle(one, 40)
    one.sandbox_shell.actions.missions.trigger()
    settle(one, 20)
    cards = one.panels.panel(LessonPanel).list.cards
    assert sum(card.lesson.name.startswith("mission-") for card in cards) == 6
    sandbox, switch = one.sandbox_shell.sandbox, one.sandbox_shell.actions.switch
    for span, enabled, told in ((Span("info", 0, 1), False, "one of its files"), (Span("1.shard", 5, 7), True, "1.sh")):
        one.session.select_span(span)
        settle(one, 20)
        assert switch.isEnabled() is enabled
        assert told in switch.toolTip()
    assert not one.sandbox_shell.actions.salvage.isEnabled()
    switch.trigger()
    until(lambda: sandbox.on and sandbox.impact is not None)
    settle(one, 20)
    assert (one.session.uri, one.session.selection.span) == (str(folder / "1.shard"), Span("", 5, 7))
    sandbox.drop()
    one.session.documents.close_all()
    settle(one, 20)


@pytest.mark.thorough
def test_bytes_are_changed_in_memory_and_the_report_tells_who_noticed(own: MainWindow, file: Path) -> None:
    """Flip, type, cut, undo, redo, start over: structure, findings and objects follow; the file stays."""
    panel, session, actions, size = (
        own.panels.panel(SandboxPanel),
        own.session,
        own.sandbox_shell.actions,
        len(SAMPLE_BYTES),
    )

    def after(do: Callable[[], object]) -> dict[str, int]:
        return {fate.value: count for fate, count in changed(own, do).impact.counts.items()}

    sandbox = own.sandbox_shell.sandbox
    select(own, 1500, 1501)
    until(panel.bits.keys[0].isEnabled)
    assert after(panel.bits.keys[3].click) == {"wrong": 1, "same": 11}
    tops = [panel.report.topLevelItem(number).text(0) for number in range(panel.report.topLevelItemCount())]
    assert tops[0] == "Detected by: content"
    assert [finding.code for finding in session.verification.report.findings] == ["swh.content-hash"]
    assert own.hex.state.sandboxed.new == ((1500, 1501),)
    assert "sandbox" in own.hex.overview.tip_at(own.hex.overview.x_of(1500))
    assert session.selection.span == Span("", 1500, 1501)
    after(lambda: sandbox.put([(1500, b"ab")]))
    assert own.hex.state.sandboxed.new != ((1500, 1501),)
    select(own, 600, 610)
    assert after(actions.cut.trigger) == {"refused": 12}
    assert sandbox.source.size == own.hex.state.layout.size == size - 10
    assert sandbox.source.cuts == ((600, 10),)
    assert after(actions.undo.trigger) == {"wrong": 1, "same": 11}
    after(actions.redo.trigger)
    assert len(sandbox.changes) == 3
    assert after(actions.start_over.trigger) == {"same": 12}
    assert len(sandbox.undone) >= 3
    select(own, 4985, 4986)
    assert after(actions.cut_rest.trigger) == {"refused": 12}
    after(sandbox.start_over)
    select(own, 1500, 1501)
    until(panel.bits.keys[0].isEnabled)
    own.activateWindow()
    actions.to_bits.trigger()
    until(lambda: panel.bits.isAncestorOf(QApplication.focusWidget()))
    after(lambda: QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_2))
    assert panel.bits.isAncestorOf(QApplication.focusWidget()), "the next bit can be flipped at once"
    assert sandbox.changes[0].what == "bit 2 of byte 0x5dc flipped"
    after(actions.undo.trigger)
    assert sandbox.changes == ()
    assert not own.notices.text
    assert file.read_bytes() == SAMPLE_BYTES


@pytest.mark.thorough
def test_what_is_intact_is_extracted_and_the_drawing_follows_the_bytes(own: MainWindow, file: Path) -> None:
    """Eleven of twelve objects are intact, and each file has its digest; then one bit of a displacement is flipped.

    The same key is looked up again, and the drawing in front shows where it belongs now; taken back, where it was.
    """
    flipped(own)
    sheet = own.sandbox_shell.salvaging.ask()
    until(sheet.take.isEnabled)
    assert "✓ 11 intact" in sheet.title.text()
    assert "✖ 1 damaged" in sheet.title.text()
    out = file.parent / "out"
    sheet.run(out)
    until(lambda: (out / REPORT).exists() and "Written to" in sheet.title.text())
    report = json.loads((out / REPORT).read_text())
    assert report["whole"] == 11
    for item in report["items"]:
        if item["path"]:
            assert hashlib.sha256((out / item["path"]).read_bytes()).hexdigest() == item["sha256"]
    sheet.reject()
    changed(own, own.sandbox_shell.sandbox.start_over)

    session, drawings = own.session, own.hex.drawings
    session.lookup.start("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    until(lambda: session.lookup.walk.trace is not None)
    session.lookup.go_to_step(2)
    drawings.show("parking")

    def drawn(title: str) -> bool:
        drawing = drawings.panel.drawing if drawings.panel is not None else None
        return drawings.in_front and drawing is not None and drawing.title == title

    until(lambda: drawn("Why the key e3b0… is in slot 1"))
    select(own, 5052, 5053)
    changed(own, lambda: own.sandbox_shell.sandbox.flip(0))
    until(lambda: drawn("The key e3b0… belongs in slot 3, but is not stored there"))
    assert (session.lookup.walk.trace.outcome, session.lookup.walk.step) == (DAMAGED, 2)
    assert session.selection.span == Span("", 5052, 5053)
    changed(own, own.sandbox_shell.actions.undo.trigger)
    until(lambda: drawn("Why the key e3b0… is in slot 1"))
    drawings.hide()


def test_a_flipped_bit_keeps_the_keyboard(qtbot: QtBot) -> None:
    """While the changed file is opened there is no byte: the key is pressed again afterwards, not before."""
    bits, flipped = visible(qtbot, BitRow()), list[int]()
    bits.set_byte(0x79)
    bits.flipped.connect(flipped.append)
    bits.activateWindow()
    bits.keys[7].setFocus()
    qtbot.waitUntil(bits.keys[7].hasFocus)
    for value in (None, 0xF9):
        bits.set_byte(value)
        assert bits.keys[7].hasFocus()
        qtbot.keyClick(bits.keys[7], Qt.Key.Key_Space)
    assert flipped == [7]
