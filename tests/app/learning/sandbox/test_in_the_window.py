"""The sandbox in the window: changes in memory, who notices, copies, the question before it is dropped; salvage."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardcore.operations.recover import REPORT
from shardcore.shards.trace import DAMAGED
from shardcore.teaching import resources
from shardcore.teaching.impact import Fate
from shardscope.learning.lessons.panel import LessonPanel
from shardscope.learning.sandbox.panel import BitRow, SandboxPanel
from shardscope.learning.sandbox.sandbox import Sandbox
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.tasks.edit.permitted import standing

SAMPLE = resources.resources() / "samples" / "swh" / "small.shard"


@pytest.fixture(scope="module")
def one(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """A window for all of these tests."""
    made = MainWindow(Settings(tmp_path_factory.mktemp("settings") / "settings.json"))
    made.resize(1300, 800)
    made.show()
    yield made
    made.breaking.sandbox.drop()
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A copy of the sample, so that writing to it would show."""
    path = tmp_path / "small.shard"
    path.write_bytes(SAMPLE.read_bytes())
    return path


def break_safely(window: MainWindow, path: Path) -> None:
    """Opens a file and lays a sandbox over it, unless there is one."""
    if window.breaking.sandbox.on and window.session.uri == str(path):
        return
    window.breaking.sandbox.drop()
    window.open(str(path))
    until(lambda: window.session.uri == str(path) and not window.session.request.sandbox)
    settle(window, 20)
    window.breaking.actions.switch.trigger()
    until(lambda: window.breaking.sandbox.impact is not None)
    settle(window, 20)


@pytest.fixture
def own(one: MainWindow, file: Path) -> Iterator[MainWindow]:
    """The window with a file of the test in a sandbox, which goes afterwards."""
    break_safely(one, file)
    yield one
    one.breaking.sandbox.drop()
    one.session.close_all()
    settle(one, 20)


def until(there: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end
        QTest.qWait(2)


def changed(window: MainWindow, do: Callable[[], object]) -> Sandbox:
    """Does something, and waits until its bytes are open and compared."""
    sandbox = window.breaking.sandbox
    before = sandbox.changes
    do()
    until(lambda: sandbox.changes != before and sandbox.impact is not None and sandbox.comparing is None)
    return sandbox


def select(window: MainWindow, start: int, stop: int) -> None:
    """Selects bytes."""
    window.session.select_span(Span("", start, stop))
    settle(window, 20)


def fates(sandbox: Sandbox) -> dict[str, int]:
    """How many objects have each fate."""
    assert sandbox.impact is not None
    return {fate.value: count for fate, count in sandbox.impact.counts.items()}


@pytest.mark.thorough
def test_a_sandbox_moves_no_dock_and_says_what_it_is(one: MainWindow, file: Path) -> None:
    """A banner and a frame; docks keep their sizes, edits and extraction are off and say why; it goes again."""
    one.open(str(file))
    settle(one, 40)
    one.show_part("sandbox")
    settle(one, 20)
    docks = {name: dock.size() for name, dock in one.panels.by_name.items()}
    one.breaking.actions.switch.trigger()
    until(lambda: one.breaking.sandbox.impact is not None)
    assert one.breaking.banner.isVisible()
    assert "the file on disk is not changed" in one.breaking.banner.label.text()
    assert one.breaking.frame.isVisible()
    assert one.changing.chip.text().endswith("Sandbox copy · 0 changes")
    assert one.breaking.panel.news.text.startswith("Nothing is changed yet")
    assert "(sandbox)" in one.windowTitle()
    assert {name: dock.size() for name, dock in one.panels.by_name.items()} == docks
    assert not one.objects.actions_.extract_all.isEnabled()
    assert "sandbox" in one.objects.actions_.extract_all.toolTip()
    assert not one.new_shards.convert.isEnabled()
    shard = one.session.shard
    assert shard is not None
    assert "sandbox" in standing(shard, str(file)).why_not
    one.objects.table.selectRow(0)
    one.drag_out.copy_files()
    assert "sandbox" in one.notices.text
    one.breaking.actions.switch.trigger()
    until(lambda: not one.session.request.sandbox)
    settle(one, 20)
    assert not one.breaking.banner.isVisible()
    assert "Read-only" in one.changing.chip.text()
    assert one.objects.actions_.extract_all.isEnabled()
    assert {name: dock.size() for name, dock in one.panels.by_name.items()} == docks
    one.session.close_all()
    settle(one, 20)


@pytest.mark.thorough
def test_a_copy_has_the_changes_and_nothing_is_replaced_unasked(own: MainWindow, file: Path) -> None:
    """The copy appears under its name; not over a file that is there, and never over the file itself."""
    window = own
    select(window, 1500, 1501)
    changed(window, lambda: window.breaking.sandbox.flip(0))
    assert window.changing.chip.accessibleName() == "Sandbox copy · 1 change"
    expected = bytearray(file.read_bytes())
    expected[1500] ^= 1
    copy = file.parent / "copy.shard"
    assert window.breaking.sandbox.unsaved
    window.breaking.save_to(copy, agreed=False)
    until(lambda: not window.breaking.sandbox.unsaved)
    assert copy.read_bytes() == expected
    assert "Sandbox saved as " in window.notices.text
    for path, agreed, told in ((copy, False, "exists already"), (file, True, "is the file itself")):
        window.notices.clear()
        window.breaking.save_to(path, agreed=agreed)
        until(lambda: bool(window.notices.text))
        assert told in window.notices.text
    assert file.read_bytes() == SAMPLE.read_bytes()


@pytest.mark.thorough
def test_changes_are_dropped_only_after_a_question(own: MainWindow, file: Path) -> None:
    """Closing the tab or the window asks once there is something to lose; another file leaves it in its tab."""
    window = own
    other = file.parent / "other.shard"
    other.write_bytes(SAMPLE.read_bytes())
    select(window, 1500, 1501)
    changed(window, lambda: window.breaking.sandbox.flip(0))

    def question() -> QMessageBox:
        (box,) = [one for one in window.findChildren(QMessageBox) if one.isVisible()]
        return box

    for leave in (window.session.close, window.close):
        leave()
        box = question()
        assert "1 change" in box.text()
        box.reject()
        settle(window, 20)
        assert window.isVisible()
        assert len(window.breaking.sandbox.changes) == 1
    window.open(str(other))
    until(lambda: window.session.uri == str(other))
    settle(window, 20)
    assert not window.breaking.sandbox.on
    window.session.close_document(window.session.documents[0])
    assert len(window.breaking.sandbox.changes) == 1
    drop = next(one for one in question().findChildren(QPushButton) if one.text().replace("&", "") == "Discard")
    drop.click()
    until(lambda: window.session.uri == str(other))
    assert not window.breaking.sandbox.on
    assert window.hex.state.sandboxed is None


@pytest.mark.thorough
def test_a_file_that_changes_on_disk_ends_the_sandbox_in_words(own: MainWindow, file: Path) -> None:
    """Changes count from the bytes that were there: with others underneath nothing is made up."""
    window = own
    select(window, 1500, 1501)
    changed(window, lambda: window.breaking.sandbox.flip(0))
    file.write_bytes(SAMPLE.read_bytes() + b"more")
    window.breaking.sandbox.flip(1)
    until(lambda: "start over" in window.notices.text)
    assert len(window.breaking.sandbox.changes) == 1


@pytest.mark.thorough
def test_a_file_of_a_folder_is_broken_where_it_is_shown(one: MainWindow) -> None:
    """Of a data set the file whose bytes are selected is opened by itself, at the same byte; the menu has missions."""
    folder = resources.resources() / "samples" / "neuroglancer" / "worked"
    one.open(str(folder))
    settle(one, 40)
    one.breaking.actions.missions.trigger()
    settle(one, 20)
    cards = one.panels.panel(LessonPanel).list.cards
    assert sum(card.lesson.name.startswith("mission-") for card in cards) == 6
    sandbox, switch = one.breaking.sandbox, one.breaking.actions.switch
    one.session.select_span(Span("info", 0, 1))
    settle(one, 20)
    assert not switch.isEnabled()
    assert "one of its files" in switch.toolTip()
    one.session.select_span(Span("1.shard", 5, 7))
    settle(one, 20)
    assert "1.shard" in switch.toolTip()
    assert not one.breaking.actions.salvage.isEnabled()
    switch.trigger()
    until(lambda: sandbox.on and sandbox.impact is not None)
    settle(one, 20)
    assert one.session.uri == str(folder / "1.shard")
    assert one.session.selection.span == Span("", 5, 7)
    sandbox.drop()
    one.session.close_all()
    settle(one, 20)


def bytes_are_changed_in_memory_and_the_report_tells_who_noticed(window: MainWindow, file: Path) -> None:
    """Flip, type, cut, undo, redo, start over: structure, findings and objects follow; the file stays."""
    panel = window.panels.panel(SandboxPanel)
    before = file.read_bytes()
    select(window, 1500, 1501)
    until(panel.bits.keys[0].isEnabled)
    sandbox = changed(window, panel.bits.keys[3].click)
    assert fates(sandbox) == {"wrong": 1, "same": 11}
    tops = [panel.report.topLevelItem(number) for number in range(panel.report.topLevelItemCount())]
    texts = [item.text(0) for item in tops if item is not None]
    assert texts[0] == "Detected by: content"
    assert texts[-1] == "Objects: 11 as before"
    report = window.session.report
    assert report is not None
    assert [finding.code for finding in report.findings] == ["swh.content-hash"]
    marks = window.hex.state.sandboxed
    assert marks is not None
    assert marks.new == ((1500, 1501),)
    assert window.session.selection.span == Span("", 1500, 1501)
    sandbox = changed(window, lambda: sandbox.put([(1500, b"ab")]))
    assert marks.new != window.hex.state.sandboxed.new if window.hex.state.sandboxed else False
    select(window, 600, 610)
    sandbox = changed(window, window.breaking.actions.cut.trigger)
    assert sandbox.source is not None
    assert sandbox.source.size == len(before) - 10
    assert window.hex.state.layout.size == len(before) - 10
    assert sandbox.source.cuts == ((600, 10),)
    assert fates(sandbox) == {"refused": 12}
    sandbox = changed(window, window.breaking.actions.undo.trigger)
    assert fates(sandbox) == {"wrong": 1, "same": 11}
    sandbox = changed(window, window.breaking.actions.redo.trigger)
    assert len(sandbox.changes) == 3
    sandbox = changed(window, window.breaking.actions.start_over.trigger)
    assert fates(sandbox) == {"same": 12}
    assert len(sandbox.undone) >= 3
    select(window, 4985, 4986)
    sandbox = changed(window, window.breaking.actions.cut_rest.trigger)
    assert sandbox.impact is not None
    assert sandbox.impact.counts[Fate.REFUSED] == 12
    assert not window.notices.text
    assert file.read_bytes() == before


def new_bytes_are_shown_as_changed_and_not_by_colour_alone(window: MainWindow, file: Path) -> None:
    """In the hex view crossed lines and a dotted frame, on the overview a diamond: shapes that were not there."""
    select(window, 520, 521)
    plain = window.hex.view.grab().toImage()
    strip = window.hex.overview.grab().toImage()
    changed(window, lambda: window.breaking.sandbox.flip(0))
    settle(window, 20)
    warning = QColor(window.breaking.banner.palette().color(window.breaking.banner.foregroundRole()))
    assert window.hex.view.grab().toImage() != plain
    assert window.hex.overview.grab().toImage() != strip
    assert warning.isValid()
    x = window.hex.overview.x_of(520)
    assert "sandbox" in window.hex.overview.tip_at(x)


def by_keyboard_alone(window: MainWindow, file: Path) -> None:
    """Ctrl+Alt+F goes to the bits, a digit flips one; Ctrl+Z takes it back."""
    select(window, 1500, 1501)
    panel = window.panels.panel(SandboxPanel)
    until(panel.bits.keys[0].isEnabled)
    window.breaking.actions.to_bits.trigger()
    settle(window, 20)
    focus = QApplication.focusWidget() or panel.bits
    changed(window, lambda: QTest.keyClick(focus, Qt.Key.Key_2))
    assert window.breaking.sandbox.changes[0].what == "bit 2 of byte 0x5dc flipped"
    sandbox = changed(window, window.breaking.actions.undo.trigger)
    assert sandbox.changes == ()
    keys = [action.shortcut().toString() for action in window.breaking.actions.inside]
    assert all(keys)


def what_is_whole_is_listed_and_extracted(window: MainWindow, file: Path) -> None:
    """Of the changed bytes, and it says so: eleven of twelve objects are whole, and each file has its digest."""
    select(window, 1500, 1501)
    changed(window, lambda: window.breaking.sandbox.flip(0))
    sheet = window.breaking.salvaging.ask()
    assert sheet is not None
    until(sheet.take.isEnabled)
    assert "✓ 11 intact" in sheet.title.text()
    assert "✖ 1 damaged" in sheet.title.text()
    out = file.parent / "out"
    window.breaking.salvaging.take_to(out)
    until((out / REPORT).exists)
    until(lambda: "Written to" in sheet.title.text())
    report = json.loads((out / REPORT).read_text())
    assert report["whole"] == 11
    for item in report["items"]:
        if item["path"]:
            assert hashlib.sha256((out / item["path"]).read_bytes()).hexdigest() == item["sha256"]
    sheet.reject()


def the_bits_say_what_they_are(window: MainWindow, file: Path) -> None:
    """Each key has its number and worth; a narrow panel shows all eight."""
    panel = window.panels.panel(SandboxPanel)
    select(window, 32 + 7, 40)
    until(panel.bits.keys[0].isEnabled)
    assert [panel.bits.keys[bit].text() for bit in range(8)] == ["1", *"0000000"]
    assert panel.bits.keys[7].toolTip() == "Flip bit 7, worth 128"
    panel.bits.resize(panel.bits.minimumSizeHint())
    assert all(not key.geometry().isEmpty() for key in panel.bits.keys.values())
    assert panel.bits.mapTo(window, QPoint(0, 0)).x() > 0


def the_lookup_and_its_drawing_follow_the_bytes(window: MainWindow, file: Path) -> None:
    """One bit of a displacement: the same key is looked up again, and the drawing in front shows where it comes to now.

    It takes the old drawing's place, and what is selected stays; taken back, the key lives where it did.
    """
    key, drawings = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", window.hex.drawings
    window.session.look_up(key)
    until(lambda: window.session.walk.trace is not None)
    window.session.go_to_step(2)
    drawings.show("parking")

    def drawn(title: str) -> bool:
        drawing = drawings.panel.drawing if drawings.panel is not None else None
        return drawings.in_front and drawing is not None and drawing.title == title

    until(lambda: drawn("Why the key e3b0… is in slot 1"))
    select(window, 5052, 5053)
    changed(window, lambda: window.breaking.sandbox.flip(0))
    until(lambda: drawn("The key e3b0… belongs in slot 3, but is not stored there"))
    trace = window.session.walk.trace
    assert trace is not None
    assert trace.outcome == DAMAGED
    assert window.session.walk.step == 2
    assert window.session.selection.span == Span("", 5052, 5053)
    changed(window, window.breaking.actions.undo.trigger)
    until(lambda: drawn("Why the key e3b0… is in slot 1"))
    drawings.hide()


PROMISES = (
    bytes_are_changed_in_memory_and_the_report_tells_who_noticed,
    new_bytes_are_shown_as_changed_and_not_by_colour_alone,
    by_keyboard_alone,
    what_is_whole_is_listed_and_extracted,
    the_bits_say_what_they_are,
    the_lookup_and_its_drawing_follow_the_bytes,
)


@pytest.mark.thorough
def test_what_a_sandbox_promises(own: MainWindow, file: Path) -> None:
    """One after the other in one sandbox, which starts over between them; see each of them."""
    for promise in PROMISES:
        promise(own, file)
        if own.breaking.sandbox.changes:
            changed(own, own.breaking.sandbox.start_over)


def test_a_change_leaves_the_keyboard_in_the_sandbox(own: MainWindow, file: Path) -> None:
    """The file is opened again for each change; the next bit can be flipped at once."""
    break_safely(own, file)
    panel = own.panels.panel(SandboxPanel)
    own.session.select_span(Span("", 87, 88))
    until(panel.bits.keys[7].isEnabled)
    own.activateWindow()
    panel.to_bits()
    until(panel.bits.keys[7].hasFocus)
    QTest.keyClick(panel.bits.keys[7], Qt.Key.Key_Space)
    until(lambda: panel.bits.keys[7].text() == "1" and own.session.shard is not None)
    assert panel.bits.keys[7].hasFocus()


def test_a_flipped_bit_keeps_the_keyboard(qtbot: QtBot) -> None:
    """While the changed file is opened there is no byte: the key is pressed again afterwards, not before."""
    bits = BitRow()
    qtbot.addWidget(bits)
    bits.show()
    bits.set_byte(0x79)
    flipped: list[int] = []
    bits.flipped.connect(flipped.append)
    bits.activateWindow()
    bits.keys[7].setFocus()
    qtbot.waitUntil(bits.keys[7].hasFocus)
    for value in (None, 0xF9):
        bits.set_byte(value)
        assert bits.keys[7].hasFocus()
        qtbot.keyClick(bits.keys[7], Qt.Key.Key_Space)
    assert flipped == [7]


def test_labels_of_sandbox_and_recovery_are_plain_words(one: MainWindow) -> None:
    """One to three words, the same in menu and panel."""
    actions, panel = one.breaking.actions, one.panels.panel(SandboxPanel)
    assert actions.switch.text().replace("&", "") == panel.begin.text() == "Use sandbox"
    assert actions.salvage.text().replace("&", "") == panel.salvage_button.text() == "Recover objects…"
