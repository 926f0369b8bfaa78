"""The whole window: opening, one selection everywhere, messages, themes, and a quiet end."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCommandLinkButton, QWidget
from pytestqt.qtbot import QtBot

from shardcore import Node, Span
from shardcore.teaching import resources
from shardscope.session.session import IndexState
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.inspector.panel import Inspector
from shardscope.views.objects.panel import why_none
from shardscope.views.preview.panel import PreviewPanel
from shardscope.views.structure.tree import StructureTree
from shardscope.views.trace.panel import TracePanel
from shardscope.widgets.node_model import NODE_ROLE
from tests.app.shell.conftest import opened


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
    assert window.settings.recent == [str(resources.path("samples/swh/small.shard"))]


@pytest.mark.thorough
def test_a_voxel_is_looked_up_in_the_trace(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resources.path("samples/neuroglancer/volume/info").parent / "8_8_16")
    window.show_part("preview")
    view = window.panels.panel(PreviewPanel).volume
    qtbot.waitUntil(lambda: view.slice is not None and view.isVisible(), timeout=20_000)
    view.plane.chosen.emit(3, 3)
    qtbot.waitUntil(view.look_up.isEnabled)
    view.look_up.click()
    qtbot.waitUntil(lambda: window.panels.panel(TracePanel).isVisible())
    qtbot.waitUntil(lambda: window.session.walk.trace is not None)
    settle(window, 40)


def test_a_data_set_of_key_spaces_has_no_objects_yet(window: MainWindow, qtbot: QtBot) -> None:
    opened(window, qtbot, resources.path("samples/neuroglancer/segmentation/info").parent)
    assert why_none(window.session) == "Choose a key space first."
    cards = window.spaces.findChildren(QCommandLinkButton)
    assert window.spaces.isVisible()
    assert [card.text() for card in cards] == ["16_16_16", "32_32_32", "mesh", "skeletons"]
    with qtbot.waitSignal(window.session.opened):
        cards[2].click()
    assert window.session.uri.endswith("segmentation/mesh")
    assert window.hex.isVisible()


def test_no_shortcut_is_given_twice(window: MainWindow) -> None:
    seen: dict[str, str] = {}
    for action in window.findChildren(QAction):
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
        local = action.shortcutContext() is Qt.ShortcutContext.WidgetWithChildrenShortcut
        # Undo is of the sandbox, of typed bytes, or of the last edit: only one of them is enabled at a time.
        if keys and not local and keys not in ("Ctrl+Z", "Ctrl+Shift+Z"):
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
        assert small.session.caret == Span("", 700, 700)


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
    with qtbot.waitSignal(small.session.failed):
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
    with qtbot.waitSignal(window.session.source_trouble):
        window.session.select_span(Span("", 300_000, 300_001))
        window.session.check_source()
    assert window.notices.button.text() == "Reload"
    with qtbot.waitSignal(window.session.opened):
        window.notices.button.click()
    settle(window, 40)
    assert "Damaged" in window.notices.text
    assert window.hex.view.state.layout.size == 1000
    path.unlink()
    with qtbot.waitSignal(window.session.source_trouble):
        window.session.check_source()
    with qtbot.waitSignal(window.session.failed):
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
    second.default_layout()
    assert second.panels.by_name["inspector"].isVisible()
    second.close()


@pytest.mark.thorough
def test_closing_in_the_middle_of_work_is_quiet(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    window.open(str(data / "swh" / "medium.shard"))
    qtbot.waitUntil(lambda: window.session.shard is not None)
    assert window.session.index_state in (IndexState.LOADING, IndexState.LOADED)
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
