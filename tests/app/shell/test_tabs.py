"""Tabs of the window: one per file, with everything that was seen of it; by mouse and by keys."""

from __future__ import annotations

import gc
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QTabBar
from pytestqt.qtbot import QtBot

from shardcore import Depth, Span
from shardcore.teaching import resources
from shardscope.session.documents import Document
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState
from shardscope.shell.file_tabs import titles
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.startup.single import Handover
from shardscope.tasks.new_shard.new_shards import NewShardDialog
from shardscope.widgets import fonts


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page; no thread is left when it is closed."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(1440, 900)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.end()
    assert made.jobs.open_jobs == ()


def opened(window: MainWindow, qtbot: QtBot, *paths: Path) -> MainWindow:
    """Opens files, each in its tab, the last in front."""
    for path in paths:
        with qtbot.waitSignal(window.session.opened, timeout=10_000):
            window.open(str(path))
        settle(window, 20)
    return window


@pytest.fixture
def small(data: Path) -> Path:
    """A shard of 12 objects."""
    return data / "swh" / "small.shard"


@pytest.fixture
def two(window: MainWindow, qtbot: QtBot, small: Path) -> MainWindow:
    """A window with two tabs, the second in front."""
    return opened(window, qtbot, small, small.with_name("medium.shard"))


def bar(window: MainWindow) -> QTabBar:
    """The tabs."""
    return window.file_tabs.tabs


def texts(window: MainWindow) -> list[str]:
    """The names on the tabs."""
    return [bar(window).tabText(number) for number in range(bar(window).count())]


def middle(window: MainWindow, number: int) -> QPoint:
    """The middle of a tab."""
    return bar(window).tabRect(number).center()


# --- the bar ---


@pytest.mark.thorough
def test_one_file_needs_no_bar(window: MainWindow, qtbot: QtBot, small: Path) -> None:
    """The bar is there from the second file on, and goes with it."""
    opened(window, qtbot, small)
    assert not window.file_tabs.isVisible()
    opened(window, qtbot, small.with_name("one.shard"))
    assert window.file_tabs.isVisible()
    assert texts(window) == ["small.shard", "one.shard"]
    window.session.close()
    settle(window, 20)
    assert not window.file_tabs.isVisible()
    assert window.windowTitle().startswith("small.shard")


def test_panels_keep_their_widths_when_tabs_appear(window: MainWindow, qtbot: QtBot, small: Path) -> None:
    """Panels and bytes lose the height of the bar, and nothing else."""
    opened(window, qtbot, small)
    docks = [dock for name, dock in window.panels.by_name.items() if window.panels.in_front(name)]
    left = [dock for dock in docks if dock.x() < 5]
    widths, height, bytes_ = [dock.width() for dock in docks], sum(dock.height() for dock in left), window.hex.size()
    opened(window, qtbot, small.with_name("one.shard"))
    assert [dock.width() for dock in docks] == widths
    assert height - sum(dock.height() for dock in left) == window.file_tabs.height()
    assert bytes_ - window.hex.size() == QSize(0, window.file_tabs.height())


def test_each_file_that_does_not_open_is_named(window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    """Of several files two are gone: the others open, and a notice names each of the two."""
    gone = [tmp_path / "one.shard", tmp_path / "two.shard"]
    window.open_files([(str(path), None) for path in (small, *gone)])
    qtbot.waitUntil(lambda: len(window.notices.all) == 2 and window.session.uri == str(small))
    assert all(path.name in window.notices.text for path in gone)


@pytest.mark.thorough
def test_a_layout_stored_with_one_file_does_not_hide_the_tabs(two: MainWindow, qtbot: QtBot) -> None:
    """Putting the panels back, or folding them in a small window, leaves the bar."""
    two.default_layout()
    settle(two, 20)
    assert two.file_tabs.isVisible()
    two.resize(700, 480)
    settle(two, 20)
    assert two.file_tabs.isVisible()
    two.resize(1440, 900)
    settle(two, 20)
    assert two.file_tabs.isVisible()


def test_equal_names_get_their_folder() -> None:
    """Files of one name are told apart by the folder in which they differ."""
    paths = ["/a/x/s.shard", "/a/y/s.shard", "/a/y/t.shard", "s3://bucket/x/u.shard"]
    documents = [Document(OpenRequest(path)) for path in paths]
    assert titles(documents) == ["s.shard — x", "s.shard — y", "t.shard", "u.shard"]
    far = [Document(OpenRequest(path)) for path in ("/a/one/z/s.shard", "/a/two/z/s.shard")]
    assert titles(far) == ["s.shard — one", "s.shard — two"]


def test_a_tab_names_its_file_in_full(two: MainWindow, small: Path) -> None:
    """The tooltip has the whole path; screen readers get the name without signs."""
    assert str(small) in bar(two).tabToolTip(0)
    assert bar(two).accessibleTabName(0) == "small.shard"
    assert bar(two).accessibleName()
    button = bar(two).tabButton(0, QTabBar.ButtonPosition.RightSide)
    assert button is not None
    assert button.accessibleName() == "Close small.shard"


def test_names_and_the_badge_are_whole_at_every_zoom(two: MainWindow, qtbot: QtBot) -> None:
    """As soon as a zoom is painted: the tabs, with their crosses, and *Read-only* in the status line."""
    tabs, chip = bar(two), two.changing.chip
    for zoom in (1.1, 1.25, 1.5, 1.75, 2.0):
        two.zoom(larger=True)
        assert fonts.zoom() == zoom
        QApplication.processEvents()
        assert all(tabs.tabRect(number).width() >= tabs.tabSizeHint(number).width() for number in range(2))
        qtbot.waitUntil(lambda: chip.width() == chip.sizeHint().width())
        assert chip.width() >= chip.fontMetrics().horizontalAdvance(chip.text()) + 2 * round(8 * zoom)


def test_damage_is_seen_on_the_tab(window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    """A damaged file has a sign on its tab, also behind another."""
    broken = tmp_path / "broken.shard"
    broken.write_bytes(small.read_bytes()[:600])
    opened(window, qtbot, broken, small)
    assert texts(window) == ["▲ broken.shard", "small.shard"]
    assert "Damaged" in bar(window).accessibleTabName(0)


# --- by mouse ---


def test_a_click_shows_a_file(two: MainWindow, qtbot: QtBot) -> None:
    """The window shows the file of the tab: title, objects and bytes."""
    qtbot.mouseClick(bar(two), Qt.MouseButton.LeftButton, pos=middle(two, 0))
    settle(two, 20)
    assert two.windowTitle().startswith("small.shard")
    assert two.objects.model.rowCount() == 13
    assert two.hex.state.layout.size == two.session.shard.source.size  # type: ignore[union-attr]


@pytest.mark.thorough
def test_the_middle_button_closes(two: MainWindow, qtbot: QtBot) -> None:
    """Also a tab behind, without showing it."""
    qtbot.mouseClick(bar(two), Qt.MouseButton.MiddleButton, pos=middle(two, 0))
    assert texts(two) == ["medium.shard"]
    assert two.windowTitle().startswith("medium.shard")


@pytest.mark.thorough
def test_the_cross_closes(two: MainWindow, qtbot: QtBot) -> None:
    """Each tab has a button that closes it."""
    button = bar(two).tabButton(1, QTabBar.ButtonPosition.RightSide)
    assert button is not None
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert texts(two) == ["small.shard"]
    assert two.windowTitle().startswith("small.shard")


def test_a_tab_is_dragged_to_another_place(two: MainWindow, qtbot: QtBot) -> None:
    """The order is the user's; the file in front stays in front."""
    start, stop = middle(two, 1), middle(two, 0)
    qtbot.mousePress(bar(two), Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 11):
        qtbot.mouseMove(bar(two), start + (stop - start) * step / 10 - QPoint(step, 0))
    qtbot.mouseRelease(bar(two), Qt.MouseButton.LeftButton, pos=stop - QPoint(10, 0))
    settle(two, 20)
    assert texts(two) == ["medium.shard", "small.shard"]
    assert [one.request.name for one in two.session.documents] == ["medium.shard", "small.shard"]
    assert two.windowTitle().startswith("medium.shard")


@pytest.mark.thorough
def test_the_menu_of_a_tab_closes_the_others(two: MainWindow, qtbot: QtBot, small: Path) -> None:
    """*Close others* leaves the tab that it was requested on."""
    opened(two, qtbot, small.with_name("one.shard"))
    menu = two.file_tabs.tabs.menu_of(0)
    others = next(action for action in menu.actions() if "others" in action.text())
    others.trigger()
    settle(two, 20)
    assert texts(two) == ["small.shard"]
    menu.close()


# --- by keys ---


def press(window: MainWindow, key: Qt.Key, *, shift: bool = False) -> None:
    """Presses a key with Ctrl on whatever has the keyboard."""
    modifiers = Qt.KeyboardModifier.ControlModifier
    if shift:
        modifiers |= Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window.focusWidget() or window, key, modifiers)
    settle(window, 20)


@pytest.mark.thorough
def test_keys_alone_go_through_tabs(two: MainWindow, qtbot: QtBot, small: Path) -> None:
    """Ctrl+Tab, Ctrl+Shift+Tab, Ctrl+W and Ctrl+Shift+T work wherever the keyboard is."""
    opened(two, qtbot, small.with_name("one.shard"))
    for part in (two.hex.view, two.objects.table, two.objects.filter, two.tree, two.hex.address.field):
        part.setFocus()
        press(two, Qt.Key.Key_Tab)
        assert two.windowTitle().startswith("small.shard"), part.objectName()
        part.setFocus()
        press(two, Qt.Key.Key_Backtab, shift=True)
        assert two.windowTitle().startswith("one.shard"), part.objectName()
        part.setFocus()
        press(two, Qt.Key.Key_W)
        assert texts(two) == ["small.shard", "medium.shard"], part.objectName()
        assert two.windowTitle().startswith("medium.shard")
        part.setFocus()
        with qtbot.waitSignal(two.session.opened, timeout=10_000):
            press(two, Qt.Key.Key_T, shift=True)
        settle(two, 20)
        assert texts(two) == ["small.shard", "medium.shard", "one.shard"], part.objectName()


@pytest.mark.thorough
def test_the_tabs_are_reached_and_used_by_keys(two: MainWindow, qtbot: QtBot) -> None:
    """With the keyboard on the bar, arrows show, Ctrl+arrows move and Del closes; the keyboard stays there."""
    tabs = bar(two)
    tabs.setFocus(Qt.FocusReason.TabFocusReason)
    assert tabs.focusPolicy() & Qt.FocusPolicy.TabFocus
    QTest.keyClick(tabs, Qt.Key.Key_Left)
    settle(two, 20)
    assert two.windowTitle().startswith("small.shard")
    assert tabs.hasFocus()
    press(two, Qt.Key.Key_Right)
    assert texts(two) == ["medium.shard", "small.shard"]
    QTest.keyClick(tabs, Qt.Key.Key_Delete)
    settle(two, 20)
    assert texts(two) == ["medium.shard"]


def test_closing_the_last_tab_shows_the_welcome_page(two: MainWindow) -> None:
    """Ctrl+W on the last file leads to the welcome page, not out of the window."""
    press(two, Qt.Key.Key_W)
    press(two, Qt.Key.Key_W)
    assert two.pages.currentWidget() is two.welcome
    assert two.isVisible()


# --- what is found again ---


@pytest.mark.thorough
def test_the_bytes_are_where_they_were(two: MainWindow) -> None:
    """The first row of the bytes and the selection come back."""
    two.hex.state.scroll_to(0x4000)
    top = two.hex.state.visible_bytes[0]
    assert top > 0
    two.session.step(1)
    settle(two, 20)
    two.session.step(1)
    settle(two, 20)
    assert two.hex.state.visible_bytes[0] == top


@pytest.mark.thorough
def test_a_decoded_source_is_in_its_tab_again(window: MainWindow, qtbot: QtBot, data: Path, small: Path) -> None:
    """What was opened of the contents stays open for its file, and does not show up in another."""
    compressed = next((data / "bloscpack").glob("*.blp"))
    opened(window, qtbot, compressed)
    shard = window.session.shard
    assert shard is not None
    window.session.select_row(0)
    settle(window, 20)
    window.hex.actions_.decoded.trigger()
    settle(window, 20)
    sources = [source.name for source in window.hex.tabs.sources]
    opened(window, qtbot, small)
    assert [source.name for source in window.hex.tabs.sources] == [""]
    window.session.step(1)
    settle(window, 20)
    assert [source.name for source in window.hex.tabs.sources] == sources


@pytest.mark.thorough
def test_the_list_of_objects_is_as_it_was(two: MainWindow, qtbot: QtBot) -> None:
    """Filter, order and scroll place of the objects come back; the other file has its own."""
    two.objects.show_only("size:>100")
    settle(two, 20)
    order = next(n for n, column in enumerate(two.objects.model.columns) if column.order == "size")
    two.objects._sort_by(order)
    settle(two, 20)
    scroll = two.objects.table.verticalScrollBar()
    scroll.setValue(scroll.maximum() // 2)
    rows, value = two.objects.model.rowCount(), scroll.value()
    assert value > 0
    two.session.step(1)
    settle(two, 20)
    assert two.objects.filter.text() == ""
    assert two.objects.model.rowCount() == 13
    two.session.step(1)
    settle(two, 20)
    assert two.objects.filter.text() == "size:>100"
    assert two.objects._view.order == "size"
    assert (two.objects.model.rowCount(), scroll.value()) == (rows, value)


@pytest.mark.thorough
def test_the_tree_is_expanded_as_it_was(two: MainWindow) -> None:
    """Expanded nodes are expanded again, each in its own file."""
    tree = two.tree
    root = tree.nodes.index(0, 0)
    header = tree.nodes.index(0, 0, root)
    tree.expand(header)
    settle(two, 20)
    name = header.data()
    two.session.step(1)
    settle(two, 20)
    tree.collapse_all()
    two.session.step(1)
    settle(two, 20)
    again = tree.nodes.index(0, 0, tree.nodes.index(0, 0))
    assert again.data() == name
    assert tree.isExpanded(again)


@pytest.mark.thorough
def test_the_panel_in_front_is_the_one_of_its_file(two: MainWindow) -> None:
    """Each file brings back the panels that were in front; no panel changes its size."""
    two.show_part("trace")
    settle(two, 20)
    two.session.step(1)
    settle(two, 20)
    two.show_part("inspector")
    settle(two, 20)
    two.session.step(1)
    settle(two, 20)
    assert two.panels.in_front("trace")
    assert not two.panels.in_front("inspector")


@pytest.mark.thorough
def test_notices_belong_to_their_file(two: MainWindow) -> None:
    """A notice about one file is not shown over another, and is there again on return."""
    two.notices.tell("Something about medium")
    two.session.step(1)
    settle(two, 20)
    assert two.notices.text == ""
    two.session.step(1)
    settle(two, 20)
    assert two.notices.text == "Something about medium"


@pytest.mark.thorough
def test_a_sandbox_belongs_to_its_file(two: MainWindow, qtbot: QtBot) -> None:
    """Changes in memory stay with their tab; the other file has none, and may have its own."""
    sandbox = two.breaking.sandbox
    two.session.select_span(Span("", 0, 1))
    sandbox.switch(True)
    settle(two, 20)
    sandbox.flip(0)
    qtbot.waitUntil(lambda: sandbox.count == 1 and sandbox.source is not None)
    settle(two, 40)
    changes = sandbox.changes
    # The file itself may be open beside it.
    assert texts(two)[1].endswith("medium.shard (sandbox)")
    two.session.step(1)
    settle(two, 20)
    assert not sandbox.on
    assert sandbox.changes == ()
    assert two.session.unsaved_document is not None
    two.session.step(1)
    settle(two, 20)
    assert sandbox.on
    assert sandbox.changes == changes
    assert sandbox.source is not None
    sandbox.undo()
    qtbot.waitUntil(lambda: sandbox.count == 0)
    settle(two, 20)
    assert two.session.unsaved_document is None


@pytest.mark.thorough
def test_quitting_asks_about_a_sandbox_behind(two: MainWindow, qtbot: QtBot) -> None:
    """A parked file with changes in memory is shown, and the question is asked over it."""
    sandbox = two.breaking.sandbox
    sandbox.switch(True)
    settle(two, 20)
    two.session.select_span(Span("", 0, 1))
    sandbox.overwrite(b"x")
    qtbot.waitUntil(lambda: sandbox.count == 1 and sandbox.source is not None)
    settle(two, 40)
    two.session.step(1)
    settle(two, 20)
    two.close()
    assert two.isVisible()
    assert two.windowTitle().startswith("medium.shard")
    (box,) = [one for one in two.findChildren(QMessageBox) if one.objectName() == "discardSandbox"]
    box.reject()
    sandbox.drop()


@pytest.mark.thorough
def test_permission_to_change_belongs_to_its_file(
    window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path
) -> None:
    """What may be changed may be changed on return, with the bytes that were typed; the other file is read only."""
    mine = tmp_path / "mine.shard"
    shutil.copy(small, mine)
    opened(window, qtbot, small, mine)
    switch, typed = window.changing.switch, window.byte_editing.typed
    qtbot.waitUntil(lambda: not switch.standing.why_not)
    switch.allow(True)
    typed.put([(3, b"!")])
    assert typed.count == 1
    window.session.step(1)
    settle(window, 20)
    assert not switch.allowed
    assert typed.count == 0
    window.session.step(1)
    qtbot.waitUntil(lambda: switch.allowed)
    assert typed.count == 1
    typed.discard()


# --- jobs ---


@pytest.mark.thorough
def test_a_verification_behind_is_seen_on_its_tab_and_arrives_there(two: MainWindow, qtbot: QtBot) -> None:
    """The tab shows that it runs, then that there is something new; its findings are shown with the file."""
    gate = threading.Event()
    shard = two.session.shard
    assert shard is not None
    verify = shard.verify

    def slow(*arguments: object, **options: object) -> object:
        assert gate.wait(20)
        return verify(*arguments, **options)  # type: ignore[arg-type]

    shard.verify = slow  # type: ignore[method-assign, assignment]
    two.session.verify(Depth.INDEX)
    two.session.step(1)
    qtbot.waitUntil(lambda: texts(two)[1] == "▶ medium.shard")
    gate.set()
    qtbot.waitUntil(lambda: texts(two)[1] == "● medium.shard")
    assert two.session.report is None
    two.session.step(1)
    settle(two, 20)
    assert texts(two)[1] == "medium.shard"
    assert two.session.report is not None


# --- opening ---


def test_what_is_open_comes_to_the_front(two: MainWindow, small: Path) -> None:
    """Opening the same file again shows its tab."""
    two.open(str(small))
    settle(two, 20)
    assert two.windowTitle().startswith("small.shard")
    assert len(texts(two)) == 2


def test_switching_is_no_opening(two: MainWindow, small: Path) -> None:
    """The list of recent files stays as it is when tabs are switched."""
    recent = two.settings.recent
    assert recent[0].endswith("medium.shard")
    two.session.step(1)
    settle(two, 20)
    assert two.settings.recent == recent


@pytest.mark.thorough
def test_learning_on_a_file_that_is_open(two: MainWindow, qtbot: QtBot) -> None:
    """*Learn* on an open sample shows its tab and begins the lesson."""
    sample = next(one for one in resources.main_samples() if one.format == "swh")
    opened(two, qtbot, sample.path)
    two.session.step(1)
    settle(two, 20)
    two.learn(str(sample.path))
    settle(two, 40)
    assert two.session.request.uri == str(sample.path)
    assert two.panels.in_front("lessons")


@pytest.mark.thorough
def test_a_lesson_waits_in_its_tab(two: MainWindow, qtbot: QtBot) -> None:
    """Another tab interrupts a lesson; its own tab goes on with it, and *Return* leads there."""
    sample = next(one for one in resources.main_samples() if one.format == "swh")
    two.learn(str(sample.path))
    settle(two, 40)
    player = two.help.teaching._panel.player
    assert player.lesson is not None
    qtbot.waitUntil(lambda: player.stage is not None, timeout=10_000)
    two.session.step(1)
    settle(two, 40)
    assert player.astray
    tabs = texts(two)
    player.go(player.number)
    qtbot.waitUntil(lambda: player.stage is not None, timeout=10_000)
    assert not player.astray
    assert texts(two) == tabs
    assert two.session.request.uri == str(sample.path)
    player.leave()
    settle(two, 20)


def test_several_files_of_a_command_line_are_tabs(window: MainWindow, qtbot: QtBot, small: Path) -> None:
    """They are tabs of one window, in their order, the first in front."""
    paths = [str(small), str(small.with_name("one.shard")), str(small.with_name("medium.shard"))]
    window.open_files([(path, None) for path in paths])
    qtbot.waitUntil(lambda: len(texts(window)) == 3, timeout=10_000)
    settle(window, 20)
    assert texts(window) == ["small.shard", "one.shard", "medium.shard"]
    assert window.windowTitle().startswith("small.shard")


@pytest.mark.thorough
def test_another_start_opens_its_files_here(two: MainWindow, qtbot: QtBot, small: Path) -> None:
    """What a second start was given opens in tabs; its first file is in front, with its bytes selected."""
    two.take_over([Handover(str(small.with_name("one.shard")), None, Span("", 8, 16)), Handover(str(small))])
    qtbot.waitUntil(lambda: two.windowTitle().startswith("one.shard"), timeout=10_000)
    settle(two, 20)
    assert two.session.selection.span == Span("", 8, 16)
    assert len(texts(two)) == 3


@pytest.mark.parametrize("ends", ["behind", "stopped"])
def test_the_status_line_is_free_when_an_opening_ends(two: MainWindow, qtbot: QtBot, small: Path, ends: str) -> None:
    """However it ends: behind a dialog, or because it was stopped."""
    two.session.may_show = lambda: False
    two.open(str(small.with_name("one.shard")))
    assert "one.shard" in two.line.note.text()
    if ends == "stopped":
        two.jobs.cancel_where(lambda job: job.key == "open")
    qtbot.waitUntil(lambda: not two.line.note.text())
    assert two.session.request.name == "medium.shard"


def test_a_shard_that_was_written_is_shown_below_its_result(
    two: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path
) -> None:
    """The dialog stays where there is something to read; it is about the new shard."""
    opened(two, qtbot, data / "des" / "meta.des")
    two.new_shards.convert.trigger()
    qtbot.waitUntil(lambda: two.findChild(NewShardDialog) is not None)
    sheet = two.findChild(NewShardDialog)
    assert sheet is not None
    sheet.form.formats.choose("swh")
    sheet.form.place.line.setText(str(tmp_path / "des.shard"))
    qtbot.waitUntil(sheet.form.write.isEnabled)
    sheet.form.write.click()
    qtbot.waitUntil(lambda: two.session.uri == str(tmp_path / "des.shard"), timeout=10_000)
    assert sheet.isVisible()
    sheet.accept()


# --- restoring ---


@pytest.mark.thorough
def test_tabs_are_not_restored_unless_wanted(two: MainWindow, settings: Settings) -> None:
    """It is off at first, and nothing is written down then."""
    assert not two.tab_memory.chosen.isChecked()
    two.tab_memory.save()
    assert settings.tabs == []


def test_a_path_that_is_too_long_is_gone(window: MainWindow, qtbot: QtBot, settings: Settings, small: Path) -> None:
    """One entry that no file system has does not keep the others from being restored."""
    rest = {"format": None, "options": {}, "offset": 0}
    settings.restores_tabs = True
    window.tab_memory.chosen.setChecked(True)
    settings.tabs = [{"uri": "/" + "a" * 5000, **rest}, {"uri": str(small), **rest}]
    window.tab_memory.restore()
    qtbot.waitUntil(lambda: window.session.shard is not None, timeout=10_000)
    assert [one.request.uri for one in window.session.documents] == [str(small)]


@pytest.mark.thorough
def test_tabs_are_restored(two: MainWindow, qtbot: QtBot, settings: Settings, small: Path, tmp_path: Path) -> None:
    """The next window opens the same files, in order, the same in front, with the same bytes selected."""
    gone = tmp_path / "gone.shard"
    shutil.copy(small, gone)
    opened(two, qtbot, gone)
    two.session.step(-1)
    settle(two, 20)
    two.session.select_span(Span("", 0x48, 0x50))
    two.tab_memory.chosen.trigger()
    two.tab_memory.save()
    gone.unlink()
    other = MainWindow(settings)
    qtbot.addWidget(other)
    other.show()
    other.tab_memory.restore()
    qtbot.waitUntil(lambda: len(other.session.documents) == 2 and other.session.shard is not None, timeout=10_000)
    settle(other, 20)
    assert [one.request.name for one in other.session.documents] == ["small.shard", "medium.shard"]
    assert other.session.request.name == "medium.shard"
    assert other.session.selection.span is not None
    assert other.session.selection.span.start == 0x48
    assert "gone.shard" in other.notices.text
    other.end()


def test_no_secret_is_written_down(two: MainWindow, settings: Settings) -> None:
    """Addresses with a login or a signature are left out, and so are options with one."""
    signed = OpenRequest("https://host/a.shard?X-Amz-Signature=SECRET")
    login = OpenRequest("https://user:SECRET@host/a.shard")
    option = OpenRequest("/a/b.shard", options={"xorbs": "https://user:SECRET@host/x", "deleted": True})
    for number, request in enumerate((signed, login, option)):
        two.session.documents.append(Document(request, number=number))
    two.tab_memory.chosen.setChecked(True)
    two.tab_memory.save()
    del two.session.documents[2:]
    assert "SECRET" not in json.dumps(settings.tabs)
    assert settings.tabs[-1]["options"] == {"deleted": True}
    assert len(settings.tabs) == 3


def test_settings_that_others_wrote_are_passed_over(window: MainWindow, settings: Settings) -> None:
    """An entry that is none of this program opens nothing."""
    window.tab_memory.chosen.setChecked(True)
    entries: list[dict[str, object]] = [
        {},
        {"uri": 5, "format": None, "options": {}, "offset": 0},
        {"uri": "/a", "format": "nonsense", "options": {}, "offset": 0},
        {"uri": "/a", "format": None, "options": [], "offset": 0},
        {"uri": "/a", "format": None, "options": {}, "offset": -1},
    ]
    for entry in entries:
        settings.tabs = [entry]
        window.tab_memory.restore()
        assert window.jobs.open_jobs == (), entry


# --- nothing is left behind ---


def descriptors() -> int:
    """How many files, sockets and pipes are open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def resident() -> int:
    """Bytes of memory that the process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill_and_empty(window: MainWindow, qtbot: QtBot, paths: list[Path]) -> None:
    """Opens files, shows some once more, and closes them all."""
    for path in paths:
        with qtbot.waitSignal(window.session.opened, timeout=10_000):
            window.open(str(path))
        qtbot.waitUntil(lambda: window.session.index_state is IndexState.LOADED, timeout=10_000)
    for _ in paths[:6]:
        window.session.step(1)
    settle(window, 5)
    while window.session.documents:
        window.session.close()
    qtbot.waitUntil(lambda: not window.jobs.open_jobs, timeout=10_000)
    settle(window, 5)
    gc.collect()


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")
def test_thirty_tabs_leave_nothing_behind(window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    """30 tabs opened and closed leave no thread, no descriptor and no 10 MB behind."""
    paths = [tmp_path / f"{number}.shard" for number in range(30)]
    for path in paths:
        shutil.copy(small.with_name("medium.shard"), path)
    # Modules, fonts and caches that stay are there after the first round.
    fill_and_empty(window, qtbot, paths[:4])
    threads, files, memory = threading.active_count(), descriptors(), resident()
    fill_and_empty(window, qtbot, paths)
    assert threading.active_count() <= threads
    # Threads of the pool come and go, each with a descriptor of its own; a tab that kept one would keep thirty.
    assert descriptors() < files + 10
    assert resident() - memory < 10_000_000
