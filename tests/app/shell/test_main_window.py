"""The whole window: its frame, opening, one selection everywhere, messages, and a quiet end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QCommandLinkButton,
    QMenu,
    QTabBar,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from shardcore import FormatError, Node, Remedy, ShardError, Span
from shardcore.teaching import resource_paths
from shardscope.session.display_text import ADVICE, error_text
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import IndexState
from shardscope.shell.main_window import MainWindow
from shardscope.shell.notices import NoticeTone
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.inspector.panel import Inspector
from shardscope.views.objects.panel import why_none
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.structure.node_model import NODE_ROLE
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel
from tests.app.shell.conftest import NORMAL, opened


def current_node(window: MainWindow) -> Node:
    node = window.panels.panel(StructureTree).currentIndex().data(NODE_ROLE)
    assert isinstance(node, Node)
    return node


def current_row(window: MainWindow) -> int:
    return window.objects.model.row_of(window.objects.table.currentIndex())


# --- what is there ---


def test_the_welcome_page_opens_the_sample(window: MainWindow, qtbot: QtBot) -> None:
    assert window.welcome.isVisible()
    assert not window.panels.panel(StructureTree).isVisible()
    assert window.windowTitle() == "Shardscope[*]"
    with qtbot.waitSignal(window.session.opened):
        QTest.keyClick(window.welcome.samples.cards[0], Qt.Key.Key_Return)
    assert window.windowTitle() == "small.shard[*] — Shardscope"
    assert window.panels.panel(StructureTree).isVisible()
    settle(window, 40)
    window.session.close()
    assert window.welcome.isVisible()
    assert not window.panels.panel(StructureTree).isVisible()
    assert window.settings.recent == [str(resource_paths.path("samples/swh/small.shard"))]


@pytest.mark.thorough
def test_a_voxel_is_looked_up_in_the_trace(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resource_paths.path("samples/neuroglancer/volume/info").parent / "8_8_16")
    window.show_part("preview")
    view = window.panels.panel(PreviewPanel).volume
    qtbot.waitUntil(lambda: view.slice is not None and view.isVisible(), timeout=20_000)
    view.plane.chosen.emit(3, 3)
    qtbot.waitUntil(view.look_up.isEnabled)
    view.look_up.click()
    qtbot.waitUntil(lambda: window.panels.panel(TracePanel).isVisible())
    qtbot.waitUntil(lambda: window.session.lookup.walk.trace is not None)
    settle(window, 40)


def test_a_data_set_of_key_spaces_has_no_objects_yet(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resource_paths.path("samples/neuroglancer/segmentation/info").parent)
    assert why_none(window.session) == "Choose a key space first."
    cards = window.spaces.findChildren(QCommandLinkButton)
    assert window.spaces.isVisible()
    assert [card.text() for card in cards] == ["16_16_16", "32_32_32", "mesh", "skeletons"]
    with qtbot.waitSignal(window.session.opened):
        cards[2].click()
    assert window.session.uri.endswith("segmentation/mesh")
    assert window.hex.isVisible()


def test_no_part_opens_as_a_window(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """What is filled again before it was shown, and what is shown before it has a place, would take the keyboard."""
    with qtbot.waitActive(window):
        window.activateWindow()
    changes: list[bool] = []
    # No event filter on the application: Qt's own objects that it meets end after Python.
    connection = QGuiApplication.instance().focusWindowChanged.connect(lambda: changes.append(True))
    opened(window, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip", data / "swh" / "small.shard")
    window.session.lookup.start("9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964")
    qtbot.waitUntil(lambda: bool(window.trace.cards))
    settle(window, 40)
    QObject.disconnect(connection)
    assert changes == []


def test_no_shortcut_is_given_twice(window: MainWindow) -> None:
    seen: dict[str, str] = {}
    for action in window.findChildren(QAction):
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
        local = action.shortcutContext() is Qt.ShortcutContext.WidgetWithChildrenShortcut
        if keys and not local:
            assert keys not in seen, f"{keys}: {seen[keys]} and {action.text()}"
            seen[keys] = action.text()
    assert {"Ctrl+O", "Ctrl+G", "Ctrl+F", "Ctrl+E", "Ctrl+L", "Ctrl+T", "F5"} <= set(seen)


# --- one selection ---


def test_opening_selects_the_file(small: MainWindow, qtbot: QtBot) -> None:
    """The file is selected first, and again by Esc, by the first part of the path and by the root of the tree."""
    tree = small.panels.panel(StructureTree)

    def is_file() -> bool:
        settle(small, 40)
        assert current_node(small) == tree.nodes.node(tree.nodes.index(0, 0))
        return small.session.selection.is_file and small.panels.panel(Inspector).file.isVisible()

    assert is_file()
    for choose in (
        lambda: QTest.keyClick(small.hex.view, Qt.Key.Key_Escape),
        lambda: small.hex.breadcrumb.linkActivated.emit("0"),
        lambda: tree.setCurrentIndex(tree.nodes.index(0, 0)),
    ):
        small.hex.view.state.move_caret(700)
        qtbot.waitUntil(lambda: small.session.selection.complete and small.session.selection.row is not None)
        settle(small, 40)
        choose()
        assert is_file()
        assert small.session.document.caret == Span("", 700, 700)


@pytest.mark.thorough
def test_a_byte_a_node_and_an_object_select_everywhere(small: MainWindow, qtbot: QtBot) -> None:
    """What is chosen in the bytes, in the tree or by the mouse in the objects is followed by the two others."""
    small.hex.view.state.move_caret(700)
    qtbot.waitUntil(lambda: small.session.selection.complete)
    settle(small, 40)
    assert small.session.selection.row is not None
    assert current_node(small).name == "content"
    assert current_node(small).span.covers(700)
    assert current_row(small) == small.session.selection.row
    tree = small.panels.panel(StructureTree)
    root = tree.nodes.index(0, 0)
    section = tree.nodes.index(2, 0, root)
    tree.expand(section)
    qtbot.waitUntil(lambda: tree.nodes.rowCount(section) == 12)
    tree.setCurrentIndex(tree.nodes.index(3, 0, section))
    settle(small, 40)
    node = current_node(small)
    assert small.hex.view.state.selection.span == node.span
    assert small.session.selection.ref.key == node.name
    assert current_row(small) == small.session.selection.row
    table = small.objects.table
    place = table.visualRect(table.model().index(5, 1)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    settle(small, 40)
    ref = small.session.selection.ref
    assert (ref.row, current_row(small)) == (5, 5)
    assert small.hex.view.state.selection.span == current_node(small).span == ref.spans[0]


# --- bad input ---


def test_a_damaged_file_says_where_and_stays_open(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    content = bytearray((data / "swh" / "small.shard").read_bytes())
    content[4990:5000] = b"\xff" * 10
    path = tmp_path / "damaged.shard"
    path.write_bytes(content)
    opened(window, qtbot, path)
    shard = window.session.shard
    assert "Damaged" in window.notices.text
    assert f"{shard.damage.span.start:#x}" in window.notices.text
    assert window.hex.view.state.selection.span.start == shard.damage.span.start
    window.session.select_span(Span("", 700, 701))
    settle(window, 40)
    assert current_node(window).span.covers(700)
    assert "Damaged" in window.notices.text


def test_what_is_no_shard_is_shown_as_bytes(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear reader, this is not a shard. " * 50)
    opened(window, qtbot, path)
    assert window.notices.text.startswith("letter.txt is not in a known shard format. Showing raw bytes.")
    assert window.hex.view.state.layout.size == path.stat().st_size


def test_a_file_that_is_gone_cannot_be_opened(small: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    with qtbot.waitSignal(small.session.documents.failed):
        small.open(str(tmp_path / "nothing.shard"))
    assert small.notices.text == "Cannot open nothing.shard: no such file or directory."
    assert small.notices.button.text() == "Try again"
    assert small.windowTitle() == "small.shard[*] — Shardscope"


@pytest.mark.thorough
def test_a_file_that_shrinks_or_vanishes_offers_to_reload(
    window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "shrinks.shard"
    shutil.copy(data / "swh" / "medium.shard", path)
    opened(window, qtbot, path)
    os.truncate(path, 1000)
    with qtbot.waitSignal(window.session.watch.trouble_changed):
        window.session.select_span(Span("", 300_000, 300_001))
        window.session.watch.check()
    assert window.notices.button.text() == "Reload"
    with qtbot.waitSignal(window.session.opened):
        window.notices.button.click()
    settle(window, 40)
    assert "Damaged" in window.notices.text
    assert window.hex.view.state.layout.size == 1000
    path.unlink()
    with qtbot.waitSignal(window.session.watch.trouble_changed):
        window.session.watch.check()
    with qtbot.waitSignal(window.session.documents.failed):
        window.notices.button.click()
    assert window.session.shard is not None


# --- dropping, themes, the end ---


@pytest.mark.thorough
def test_the_layout_is_remembered(qtbot: QtBot, settings: Settings, data: Path) -> None:
    """Docks that were closed stay closed at the next start."""
    first = MainWindow(settings)
    qtbot.addWidget(first)
    first.show()
    opened(first, qtbot, data / "swh" / "small.shard")
    first.panels.by_name["inspector"].close()
    first.close()
    second = MainWindow(settings)
    qtbot.addWidget(second)
    second.show()
    opened(second, qtbot, data / "swh" / "small.shard")
    assert not second.panels.by_name["inspector"].isVisible()
    assert second.panels.by_name["structure"].isVisible()
    second.actions_["default_layout"].trigger()
    assert second.panels.by_name["inspector"].isVisible()
    second.close()


@pytest.mark.thorough
def test_closing_in_the_middle_of_work_is_quiet(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    window.open(str(data / "swh" / "medium.shard"))
    qtbot.waitUntil(lambda: window.session.shard is not None)
    assert window.session.index.state in (IndexState.LOADING, IndexState.LOADED)
    window.session.select_span(Span("", 300_000, 300_001))
    window.close()
    assert window.jobs.open_jobs == ()


@pytest.mark.thorough
def test_searches_are_remembered(small: MainWindow, settings: Settings, qtbot: QtBot) -> None:
    small.hex.search.look_for("Number", "520")
    qtbot.waitUntil(lambda: small.hex.search.status.text() != "")
    small.hex.actions_.fields.setChecked(False)
    other = MainWindow(settings)
    qtbot.addWidget(other)
    assert other.hex.search.history.entries == [("Number", "520")]
    assert not other.hex.actions_.fields.isChecked()
    other.close()


# --- data sets and guesses ---


def in_front(part: QWidget) -> bool:
    return not part.visibleRegion().isEmpty()


@pytest.mark.thorough
def test_a_data_set_brings_its_members_to_the_front(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    opened(window, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip")
    tree = window.panels.panel(StructureTree)
    assert in_front(tree)
    assert not in_front(window.places)
    root = tree.nodes.index(0, 0)
    assert "0.shard" in [tree.nodes.index(row, 0, root).data() for row in range(tree.nodes.rowCount(root))]
    window.places.list.gone.emit(window.places.model.index(1))
    settle(window, 40)
    assert (window.hex.view.state.name, window.hex.view.state.layout.size) == ("1.shard", 2552)
    assert window.hex.breadcrumb.plain.startswith("skeletons_murmur_gzip › 1.shard › ")
    window.show_part("structure")
    settle(window, 40)
    assert current_node(window).span.source == "1.shard"
    opened(window, qtbot, data / "swh" / "small.shard")
    assert in_front(window.panels.panel(StructureTree))
    assert not in_front(window.places)


ROWS = 26
SIDE = 420
"""Width of the left docks at the first start."""


def docks(window: MainWindow) -> dict[str, QRect]:
    panels = window.panels
    return {name: dock.geometry() for name, dock in panels.by_name.items() if panels.in_front(name)}


def close_buttons(window: MainWindow) -> list[QToolButton]:
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    side = QTabBar.ButtonPosition.RightSide
    found = [bar.tabButton(tab, side) for bar in bars if bar.isVisible() for tab in range(bar.count())]
    return [button for button in found if isinstance(button, QToolButton)]


def rows(window: MainWindow) -> int:
    start, stop = window.hex.state.visible_bytes
    return (stop - start) // window.hex.state.layout.width


def neighbours(window: MainWindow) -> dict[str, set[str]]:
    found = window.panels.by_name.items()
    return {name: {other.objectName() for other in window.tabifiedDockWidgets(dock)} for name, dock in found}


# --- room for the bytes ---


def test_panels_on_demand_are_closed_by_their_tab(small: MainWindow, qtbot: QtBot) -> None:
    small.show_part("lessons")
    settle(small, 20)
    assert small.panels.in_front("lessons")
    assert [button.objectName() for button in close_buttons(small)] == ["lessons"]
    qtbot.mouseClick(close_buttons(small)[0], Qt.MouseButton.LeftButton)
    settle(small, 20)
    assert "lessons" in small.panels.closed
    assert any(small.panels.in_front(name) for name in ("inspector", "trace", "preview"))
    assert not close_buttons(small)


def test_a_panel_opened_in_a_small_window_stays_open(small: MainWindow, qtbot: QtBot) -> None:
    small.resize(700, 500)
    qtbot.waitUntil(lambda: small.panels.folded)
    small.show_part("findings")
    settle(small, 20)
    assert docks(small).keys() == {"findings"}
    small.resize(NORMAL)
    qtbot.waitUntil(lambda: "findings" in docks(small))
    settle(small, 20)
    assert docks(small).keys() == {"structure", "objects", "inspector", "findings"}


# --- nothing moves ---


def test_no_message_moves_a_dock(small: MainWindow, qtbot: QtBot) -> None:
    before = docks(small)
    small.notices.add_notice(
        "Something is wrong with this file. " * 40, NoticeTone.ERROR, action="Do something about it"
    )
    small.session.message.emit("a very long sentence about what was done " * 60)
    small.line.show_format("swh 1", "because of many things " * 40)
    small.hex.actions_.find.trigger()
    small.hex.search.status.setText("not found " * 60)
    settle(small, 20)
    assert docks(small) == before
    assert small.notices.isVisible()
    small.notices.clear()
    small.hex.search.close_bar()
    settle(small, 20)
    assert docks(small) == before


def test_a_letter_is_of_one_menu_entry_or_button(small: MainWindow) -> None:
    def letters(menu: QWidget) -> list[str]:
        return [letter for action in menu.actions() if (letter := QKeySequence.mnemonic(action.text()).toString())]

    menus = [menu for menu in small.menuBar().findChildren(QMenu) if menu.actions()]
    assert len(menus) > 6
    for menu in (small.menuBar(), *menus):
        assert len(letters(menu)) == len(set(letters(menu))), [action.text() for action in menu.actions()]
    buttons = {button.text() for button in small.findChildren(QAbstractButton) if button.window() is small}
    assert not {text for text in buttons if QKeySequence.mnemonic(text).toString() in letters(small.menuBar())}


@pytest.mark.thorough
def test_the_default_layout_is_exactly_that(small: MainWindow, qtbot: QtBot) -> None:
    settle(small, 100)
    before, tabs = docks(small), neighbours(small)
    assert before["structure"].width() == SIDE
    by_name = small.panels.by_name
    by_name["objects"].setFloating(True)
    by_name["inspector"].close()
    small.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, by_name["structure"])
    small.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, by_name["findings"])
    small.resizeDocks([by_name["structure"]], [600], Qt.Orientation.Horizontal)
    settle(small, 100)
    assert docks(small) != before
    small.actions_["default_layout"].trigger()
    settle(small, 100)
    assert docks(small) == before
    assert neighbours(small) == tabs
    assert small.panels.closed == {panel.name for panel in PANELS if panel.on_demand}


# --- sizes ---


@pytest.mark.parametrize("size", [(640, 420), (1440, 840), (2560, 1440)])
def test_the_window_has_the_size_that_is_asked_for(small: MainWindow, qtbot: QtBot, size: tuple[int, int]) -> None:
    small.resize(*size)
    assert small.size() == QSize(*size)
    qtbot.waitUntil(lambda: small.panels.folded is (size[0] < 1100))
    least = 4 if size[1] < 500 else ROWS
    qtbot.waitUntil(lambda: rows(small) >= least)
    for place in docks(small).values():
        assert small.rect().contains(place)


# --- actions ---


@pytest.mark.thorough
def test_focus_never_selects(small: MainWindow, qtbot: QtBot) -> None:
    """Going to a part by its key leaves the selection as it is."""
    small.session.select_span(Span("", 700, 701))
    settle(small, 40)
    before = small.session.selection.span
    for name in ("structure", "inspector", "trace", "objects", "findings", "transfers", "places"):
        small.show_part(name, focus=True)
        QTest.keyClick(small.hex.view if name == "places" else small.focusWidget(), Qt.Key.Key_Tab)
        settle(small, 40)
        assert small.session.selection.span == before, name


# --- what the window says ---


def test_every_remedy_is_said_in_words_of_the_window() -> None:
    assert set(ADVICE) == set(Remedy)
    for remedy in Remedy:
        said = error_text(ShardError("It cannot be read", remedy=remedy))
        assert said.startswith("It cannot be read. ")
        assert said.endswith(".")
        assert "--" not in said
        assert "=" not in said
    assert error_text(FormatError("Cut off", span=Span("", 3, 5))) == "Cut off (0x3–0x4 · 2 bytes)"


def test_a_wrong_specification_says_so(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    spec = {
        "@type": "neuroglancer_uint64_sharded_v1",
        "hash": "identity",
        "preshift_bits": 0,
        "minishard_bits": 1,
        "shard_bits": 2,
        "minishard_index_encoding": "raw",
        "data_encoding": "raw",
    }
    path = data / "neuroglancer" / "bare_shard" / "0.shard"
    with qtbot.waitSignal(window.session.opened):
        window.session.open(OpenRequest(str(path), "neuroglancer", {"spec": spec}))
    qtbot.waitUntil(lambda: window.notices.text.startswith("The specification does not match the file: "))
    assert "minishard 0" in window.notices.text
    assert window.notices.button.text() == "Change…"
    settle(window, 40)
