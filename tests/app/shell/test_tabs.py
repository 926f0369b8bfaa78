"""Tabs of the window: one per file, with everything that was seen of it; by mouse and by keys."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QMessageBox, QTabBar, QToolButton
from pytestqt.qtbot import QtBot

from shardcore import Depth, Span
from shardscope.session.documents import Document, titles
from shardscope.session.open_request import OpenRequest
from shardscope.shell.file_tabs import MANY
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.startup.single_instance import Handover
from shardscope.views.hits import HitsTable
from tests.app.shell.conftest import opened


@pytest.fixture
def small(data: Path) -> Path:
    return data / "swh" / "small.shard"


@pytest.fixture
def two(window: MainWindow, qtbot: QtBot, small: Path) -> MainWindow:
    return opened(window, qtbot, small, small.with_name("medium.shard"))


def bar(window: MainWindow) -> QTabBar:
    return window.file_tabs.tabs


def texts(window: MainWindow) -> list[str]:
    return [bar(window).tabText(number) for number in range(bar(window).count())]


def middle(window: MainWindow, number: int) -> QPoint:
    return bar(window).tabRect(number).center()


# --- by mouse ---


def test_one_file_needs_no_bar(window: MainWindow, qtbot: QtBot, small: Path) -> None:
    opened(window, qtbot, small)
    assert not window.file_tabs.isVisible()
    opened(window, qtbot, small.with_name("one.shard"))
    assert window.file_tabs.isVisible()
    assert texts(window) == ["small.shard", "one.shard"]
    button = bar(window).tabButton(1, QTabBar.ButtonPosition.RightSide)
    assert button is not None
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    settle(window, 20)
    assert not window.file_tabs.isVisible()
    assert window.windowTitle().startswith("small.shard")


def test_each_file_that_does_not_open_is_named(window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    gone = [tmp_path / "one.shard", tmp_path / "two.shard"]
    window.open_files([(str(path), None) for path in (small, *gone)])
    qtbot.waitUntil(lambda: len(window.notices.all) == 2 and window.session.uri == str(small))
    assert all(path.name in window.notices.text for path in gone)


def test_equal_names_get_their_folder() -> None:
    paths = ["/a/x/s.shard", "/a/y/s.shard", "/a/y/t.shard", "s3://bucket/x/u.shard"]
    documents = [Document(OpenRequest(path)) for path in paths]
    assert titles(documents) == ["s.shard — x", "s.shard — y", "t.shard", "u.shard"]
    far = [Document(OpenRequest(path)) for path in ("/a/one/z/s.shard", "/a/two/z/s.shard")]
    assert titles(far) == ["s.shard — one", "s.shard — two"]


def test_damage_is_seen_on_the_tab(window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.shard"
    broken.write_bytes(small.read_bytes()[:600])
    opened(window, qtbot, broken, small)
    assert texts(window) == ["▲ broken.shard", "small.shard"]


def test_a_click_shows_a_file(two: MainWindow, qtbot: QtBot) -> None:
    recent = two.settings.recent
    assert recent[0].endswith("medium.shard")
    qtbot.mouseClick(bar(two), Qt.MouseButton.LeftButton, pos=middle(two, 0))
    settle(two, 20)
    assert two.windowTitle().startswith("small.shard")
    assert two.objects.model.rowCount() == 13
    assert two.hex.state.layout.size == two.session.shard.source.size
    assert two.settings.recent == recent, "switching is no opening"


def test_a_tab_is_dragged_to_another_place(two: MainWindow, qtbot: QtBot) -> None:
    start, stop = middle(two, 1), middle(two, 0)
    qtbot.mousePress(bar(two), Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 11):
        qtbot.mouseMove(bar(two), start + (stop - start) * step / 10 - QPoint(step, 0))
    qtbot.mouseRelease(bar(two), Qt.MouseButton.LeftButton, pos=stop - QPoint(10, 0))
    settle(two, 20)
    assert texts(two) == ["medium.shard", "small.shard"]
    assert [one.request.name for one in two.session.documents.all] == ["medium.shard", "small.shard"]
    assert two.windowTitle().startswith("medium.shard")


@pytest.mark.thorough
def test_the_menu_of_a_tab_closes_the_others(two: MainWindow, qtbot: QtBot, small: Path) -> None:
    opened(two, qtbot, small.with_name("one.shard"))
    menu = two.file_tabs.tabs.menu_of(0)
    menu_entry(menu, "Copy path").trigger()
    assert QGuiApplication.clipboard().text() == str(small)
    assert menu_entry(menu, "Show in folder").isEnabled()
    menu_entry(two.file_tabs.tabs.menu_of(1), "Close to the right").trigger()
    assert texts(two) == ["small.shard", "medium.shard"]
    assert not menu_entry(two.file_tabs.tabs.menu_of(1), "Close to the right").isEnabled()
    menu_entry(two.file_tabs.tabs.menu_of(1), "Close others").trigger()
    settle(two, 20)
    assert texts(two) == ["medium.shard"]


def menu_entry(menu: QMenu, text: str) -> QAction:
    return next(action for action in menu.actions() if action.text().replace("&", "") == text)


@pytest.mark.thorough
def test_many_files_are_listed(two: MainWindow, small: Path, tmp_path: Path) -> None:
    button = two.file_tabs.findChild(QToolButton, "allTabs")
    assert not button.isVisible()
    names = [f"{number}.shard" for number in range(MANY - 2)]
    for name in names:
        shutil.copy(small, tmp_path / name)
    two.open_paths([str(tmp_path / name) for name in names])
    settle(two, 60)
    assert len(texts(two)) == MANY
    button.click()
    assert [two.palette_.list.topLevelItem(n).text(0) for n in range(MANY)] == texts(two)
    two.palette_.leave()


@pytest.mark.thorough
def test_the_welcome_page_is_a_tab_while_files_are_open(window: MainWindow, qtbot: QtBot, small: Path) -> None:
    opened(window, qtbot, small)
    window.session.select_row(3)
    settle(window, 20)
    for back in ("Ctrl+Tab", "close", "click", "middle"):
        window.actions_["welcome"].trigger()
        settle(window, 20)
        assert (texts(window), bar(window).currentIndex()) == (["small.shard", "Welcome"], 1)
        assert window.welcome.isVisible()
        assert window.welcome.isAncestorOf(window.focusWidget()) or window.welcome.hasFocus()
        assert not window.actions_["reload"].isEnabled()
        if back == "close":
            bar(window).tabButton(1, QTabBar.ButtonPosition.RightSide).click()
        elif back == "Ctrl+Tab":
            press(window, Qt.Key.Key_Tab)
        else:
            number, button = (0, Qt.MouseButton.LeftButton) if back == "click" else (1, Qt.MouseButton.MiddleButton)
            qtbot.mouseClick(bar(window), button, pos=middle(window, number))
        settle(window, 20)
        assert not window.welcome.isVisible(), back
        assert not window.file_tabs.isVisible()
        assert window.session.selection.row == 3
    window.actions_["welcome"].trigger()
    window.open(str(small.with_name("gone.shard")))
    qtbot.waitUntil(lambda: bool(window.notices.text))
    assert window.welcome.isVisible(), "what cannot be opened changes nothing"
    window.session.documents.close_document(window.session.documents.all[0])
    settle(window, 20)
    assert not window.file_tabs.isVisible()
    assert texts(window) == []


# --- by keys ---


def press(window: MainWindow, key: Qt.Key, *, shift: bool = False) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier
    if shift:
        modifiers |= Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window.focusWidget() or window, key, modifiers)
    settle(window, 20)


@pytest.mark.thorough
def test_keys_alone_go_through_tabs(two: MainWindow, qtbot: QtBot, small: Path) -> None:
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
        with qtbot.waitSignal(two.session.opened):
            press(two, Qt.Key.Key_T, shift=True)
        settle(two, 20)
        assert texts(two) == ["small.shard", "medium.shard", "one.shard"], part.objectName()


@pytest.mark.thorough
def test_the_tabs_are_reached_and_used_by_keys(two: MainWindow, qtbot: QtBot) -> None:
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


# --- what is found again ---


@pytest.mark.thorough
def test_a_tab_comes_back_as_it_was(two: MainWindow, qtbot: QtBot) -> None:
    hits = two.panels.panel(HitsTable)
    two.hex.search.look_for("Text", "shard")
    qtbot.waitUntil(lambda: hits.model.rowCount() > 0)
    found = hits.model.rowCount()
    two.hex.state.scroll_to(0x4000)
    top = two.hex.state.visible_bytes[0]
    two.objects.show_only("size:>100")
    settle(two, 20)
    two.objects._sort_by(next(n for n, column in enumerate(two.objects.model.columns) if column.order == "size"))
    header = two.tree.nodes.index(0, 0, two.tree.nodes.index(0, 0))
    two.tree.expand(header)
    two.show_part("trace")
    two.notices.add_notice("Something about medium")
    settle(two, 20)
    rows = two.objects.model.rowCount()
    assert top > 0
    two.session.documents.step(1)
    settle(two, 20)
    assert (two.objects.filter.text(), two.objects.model.rowCount(), two.notices.text) == ("", 13, "")
    assert hits.model.rowCount() == 0
    two.tree.collapse_all()
    two.show_part("inspector")
    two.session.documents.step(1)
    settle(two, 20)
    assert two.hex.state.visible_bytes[0] == top
    assert hits.model.rowCount() == two.hex.search.hits.count == found
    assert (two.objects.filter.text(), two.objects._view.order) == ("size:>100", "size")
    assert two.objects.model.rowCount() == rows
    assert two.tree.isExpanded(two.tree.nodes.index(0, 0, two.tree.nodes.index(0, 0)))
    assert two.panels.in_front("trace")
    assert two.notices.text == "Something about medium"


@pytest.mark.thorough
def test_a_decoded_source_is_in_its_tab_again(window: MainWindow, qtbot: QtBot, data: Path, small: Path) -> None:
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
    window.session.documents.step(1)
    settle(window, 20)
    assert [source.name for source in window.hex.tabs.sources] == sources


@pytest.mark.thorough
def test_a_sandbox_belongs_to_its_file(two: MainWindow, qtbot: QtBot) -> None:
    sandbox = two.sandbox_shell.sandbox
    two.session.select_span(Span("", 0, 1))
    sandbox.switch(True)
    settle(two, 20)
    two.hex.view.setFocus()
    two.hex.state.move_caret(0)
    QTest.keyClicks(two.hex.view, "78")
    qtbot.waitUntil(lambda: sandbox.count == 1 and sandbox.source is not None and not sandbox.pending)
    settle(two, 40)
    changes = sandbox.changes
    # The file itself may be open beside it.
    assert texts(two)[1].endswith("medium.shard (sandbox)")
    two.session.documents.step(1)
    settle(two, 20)
    assert (sandbox.on, sandbox.changes) == (False, ())
    assert two.session.documents.unsaved_document is not None
    two.close()
    assert two.isVisible(), "quitting asks about it"
    assert two.windowTitle().startswith("medium.shard")
    (box,) = [one for one in two.findChildren(QMessageBox) if one.objectName() == "discardSandbox"]
    box.reject()
    assert sandbox.on
    assert sandbox.changes == changes
    sandbox.undo()
    qtbot.waitUntil(lambda: sandbox.count == 0)
    settle(two, 20)
    assert two.session.documents.unsaved_document is None


@pytest.mark.thorough
def test_permission_to_change_belongs_to_its_file(
    window: MainWindow, qtbot: QtBot, small: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.shard"
    shutil.copy(small, mine)
    opened(window, qtbot, small, mine)
    switch, typed = window.changing.switch, window.changing.typed
    qtbot.waitUntil(lambda: not switch.edit_permission.why_not)
    switch.allow(True)
    typed.put([(3, b"!")])
    assert typed.count == 1
    window.session.documents.step(1)
    settle(window, 20)
    assert not switch.allowed
    assert typed.count == 0
    window.session.documents.step(1)
    qtbot.waitUntil(lambda: switch.allowed)
    assert typed.count == 1
    typed.discard()


# --- jobs ---


@pytest.mark.thorough
def test_a_verification_behind_is_seen_on_its_tab_and_arrives_there(two: MainWindow, qtbot: QtBot) -> None:
    gate = threading.Event()
    shard, verify = two.session.shard, two.session.shard.verify
    shard.verify = lambda *given, **named: gate.wait(60) and verify(*given, **named)
    two.session.verification.start(Depth.INDEX)
    two.session.documents.step(1)
    qtbot.waitUntil(lambda: texts(two)[1] == "▶ medium.shard")
    gate.set()
    qtbot.waitUntil(lambda: texts(two)[1] == "● medium.shard")
    assert two.session.verification.report is None
    two.session.documents.step(1)
    settle(two, 20)
    assert texts(two)[1] == "medium.shard"
    assert two.session.verification.report is not None


# --- opening ---


@pytest.mark.thorough
def test_another_start_opens_its_files_here(two: MainWindow, qtbot: QtBot, small: Path) -> None:
    two.take_over([Handover(str(small.with_name("one.shard")), None, Span("", 8, 16)), Handover(str(small))])
    qtbot.waitUntil(lambda: two.windowTitle().startswith("one.shard"))
    settle(two, 20)
    assert two.session.selection.span == Span("", 8, 16)
    assert len(texts(two)) == 3


@pytest.mark.parametrize("ends", ["behind", "stopped"])
def test_the_status_line_is_free_when_an_opening_ends(two: MainWindow, qtbot: QtBot, small: Path, ends: str) -> None:
    two.session.documents.may_show = lambda: False
    two.open(str(small.with_name("one.shard")))
    assert "one.shard" in two.line.note.text()
    if ends == "stopped":
        two.jobs.cancel_where(lambda job: job.key == "open")
    qtbot.waitUntil(lambda: not two.line.note.text())
    assert two.session.request.name == "medium.shard"


# --- restoring ---


@pytest.mark.thorough
def test_tabs_are_restored(two: MainWindow, qtbot: QtBot, settings: Settings, small: Path, tmp_path: Path) -> None:
    """The next window opens the same files, in order, the same in front, with the same bytes selected."""
    assert not two.actions_["restore_tabs"].isChecked()
    two.tab_memory.save()
    assert settings.tabs == []
    gone = tmp_path / "gone.shard"
    shutil.copy(small, gone)
    opened(two, qtbot, gone)
    two.session.documents.step(-1)
    settle(two, 20)
    two.session.select_span(Span("", 0x48, 0x50))
    two.actions_["restore_tabs"].trigger()
    two.tab_memory.save()
    gone.unlink()
    other = MainWindow(settings)
    qtbot.addWidget(other)
    other.show()
    other.tab_memory.restore()
    qtbot.waitUntil(lambda: len(other.session.documents.all) == 2 and other.session.shard is not None)
    settle(other, 20)
    assert [one.request.name for one in other.session.documents.all] == ["small.shard", "medium.shard"]
    assert other.session.request.name == "medium.shard"
    assert other.session.selection.span.start == 0x48
    assert "gone.shard" in other.notices.text
    other.end()


def test_no_secret_is_written_down(two: MainWindow, settings: Settings) -> None:
    signed = OpenRequest("https://host/a.shard?X-Amz-Signature=SECRET")
    login = OpenRequest("https://user:SECRET@host/a.shard")
    option = OpenRequest("/a/b.shard", options={"xorbs": "https://user:SECRET@host/x", "deleted": True})
    for number, request in enumerate((signed, login, option)):
        two.session.documents.all.append(Document(request, number=number))
    two.actions_["restore_tabs"].setChecked(True)
    two.tab_memory.save()
    del two.session.documents.all[2:]
    assert "SECRET" not in json.dumps(settings.tabs)
    assert settings.tabs[-1]["options"] == {"deleted": True}
    assert len(settings.tabs) == 3


def test_settings_that_others_wrote_are_passed_over(
    window: MainWindow, qtbot: QtBot, settings: Settings, small: Path
) -> None:
    window.actions_["restore_tabs"].setChecked(True)
    entry = {"uri": "/a", "format": None, "options": {}, "offset": 0}
    wrong: tuple[dict[str, object], ...] = ({"uri": 5}, {"format": "nonsense"}, {"options": []}, {"offset": -1})
    # The cards of the welcome page read their samples.
    settle(window, 40)
    for one in ({}, *(entry | each for each in wrong)):
        settings.tabs = [one]
        window.tab_memory.restore()
        assert window.jobs.open_jobs == (), one
    # A path that is too long for the system is gone.
    settings.tabs = [entry | {"uri": "/" + "a" * 5000}, entry | {"uri": str(small)}]
    window.tab_memory.restore()
    qtbot.waitUntil(lambda: window.session.shard is not None)
    assert [one.request.uri for one in window.session.documents.all] == [str(small)]
