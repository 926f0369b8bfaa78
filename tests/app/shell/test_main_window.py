"""The whole window: opening, one selection everywhere, messages, themes, and a quiet end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QDropEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCommandLinkButton, QMessageBox, QWidget
from pytestqt.qtbot import QtBot

import shardcore
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

NAMES = ("hexView", "overview", "structureTree", "objectTable", "inspector", "findingsTable", "transfers", "tracePanel")


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page; no thread is left when it is closed."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(1440, 900)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()
    assert made.jobs.open_jobs == ()
    assert made.jobs.submitted == made.jobs.reported


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> MainWindow:
    """Opens a sample and waits until nothing moves any more."""
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(path))
    settle(window, 40)
    return window


@pytest.fixture
def small(window: MainWindow, qtbot: QtBot, data: Path) -> MainWindow:
    """The window with 12 objects."""
    return opened(window, qtbot, data / "swh" / "small.shard")


def current_node(window: MainWindow) -> Node:
    """The node that is current in the tree."""
    node = window.panels.panel(StructureTree).currentIndex().data(NODE_ROLE)
    assert isinstance(node, Node)
    return node


def current_row(window: MainWindow) -> int:
    """The object that is current in the table."""
    return window.objects.model.row_of(window.objects.table.currentIndex())


# --- what is there ---


def test_the_parts_are_there_by_name(small: MainWindow) -> None:
    """Every part of the window has its name, is shown or on a tab, and tells screen readers what it is."""
    for name in NAMES:
        part = small.findChild(QWidget, name)
        assert part is not None, name
        assert part.accessibleName(), name
    for name in ("hexView", "overview", "structureTree", "objectTable", "inspector"):
        part = small.findChild(QWidget, name)
        assert part is not None
        assert part.isVisible(), name


def test_the_welcome_page_opens_the_sample(window: MainWindow, qtbot: QtBot) -> None:
    """The first start shows the samples; Return opens one, and closing it comes back to the welcome page."""
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
def test_a_sample_of_contents_opens_with_its_preview(window: MainWindow, qtbot: QtBot) -> None:
    """A sample that is there for its contents opens with the preview of its first object, every time."""
    card = next(card for card in window.welcome.samples.cards if card.sample.path.name == "contents.des")
    preview = window.findChild(PreviewPanel)
    for _ in range(2):
        QTest.keyClick(card, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: preview.shown is not None and preview.shown.ref.row == 0, timeout=20_000)
        assert preview.isVisible()
        settle(window, 40)
        window.session.close()


@pytest.mark.thorough
def test_a_voxel_is_looked_up_in_the_trace(window: MainWindow, qtbot: QtBot) -> None:
    """*Look up* beside a voxel shows the steps of the lookup."""
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
    """The list of objects requests the choice of a key space, instead of an index that is never read."""
    opened(window, qtbot, resources.path("samples/neuroglancer/segmentation/info").parent)
    assert why_none(window.session) == "Choose a key space first."
    cards = window.spaces.findChildren(QCommandLinkButton)
    assert window.spaces.isVisible()
    assert [card.text() for card in cards] == ["16_16_16", "32_32_32", "mesh", "skeletons"]
    facts = "segmentation scale · 64 × 64 × 64 voxels · 16 × 16 × 16 nm · sharded"
    assert cards[0].description().replace("\u00a0", " ") == facts
    with qtbot.waitSignal(window.session.opened):
        cards[2].click()
    assert window.session.uri.endswith("segmentation/mesh")
    assert window.hex.isVisible()


def test_every_action_has_words_and_no_shortcut_is_given_twice(window: MainWindow) -> None:
    """Each shortcut of the window means one thing, and each action says what it does."""
    actions = [action for action in window.findChildren(QAction) if not action.isSeparator()]
    seen: dict[str, str] = {}
    for action in actions:
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
        local = action.shortcutContext() is Qt.ShortcutContext.WidgetWithChildrenShortcut
        if keys and not local:
            if keys in ("Ctrl+Z", "Ctrl+Shift+Z"):
                continue  # of the sandbox, of typed bytes, of the last edit: only one of them is enabled at a time
            assert keys not in seen, f"{keys}: {seen[keys]} and {action.text()}"
            seen[keys] = action.text()
    assert {"Ctrl+O", "Ctrl+G", "Ctrl+F", "Ctrl+E", "Ctrl+L", "Ctrl+T", "F5"} <= set(seen)
    menus = [action.menu() for action in window.menuBar().actions()]
    for menu in menus:
        for action in menu.actions():  # type: ignore[union-attr]
            assert action.isSeparator() or action.text()


@pytest.mark.thorough
def test_a_list_of_panels_and_files_opens_by_one_key(small: MainWindow, qtbot: QtBot) -> None:
    """Ctrl+P lists all panels, recent files and samples; one that is closed opens, and has the keyboard."""
    quick = small.actions_.quick
    assert small.panels.by_name["charts"].isHidden()
    assert small.actions_.go_to.shortcut().toString() == "Ctrl+P"
    small.actions_.go_to.trigger()
    assert quick.isVisible()
    assert quick.activeAction() is quick.actions()[0]
    texts = [action.text().replace("&", "") for action in quick.actions() if not action.isSeparator()]
    assert texts[0] == "Structure"
    assert texts[-2:] == ["Open recent", "Open sample"]
    qtbot.keyClick(quick, Qt.Key.Key_C)
    qtbot.waitUntil(lambda: not small.panels.by_name["charts"].isHidden())
    assert not quick.isVisible()


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
def test_a_byte_selects_everywhere(small: MainWindow, qtbot: QtBot) -> None:
    """A byte chosen in the hex view: tree, object table and inspector follow."""
    small.hex.view.state.move_caret(700)
    qtbot.waitUntil(lambda: small.session.selection.complete)
    settle(small, 40)
    row = small.session.selection.row
    assert row is not None
    assert current_node(small).name == "content"
    assert current_node(small).span.covers(700)
    assert current_row(small) == row


@pytest.mark.thorough
def test_a_node_selects_everywhere(small: MainWindow, qtbot: QtBot) -> None:
    """A node chosen in the tree: the hex view shows its bytes, the object table its object."""
    tree = small.panels.panel(StructureTree)
    root = tree.nodes.index(0, 0)
    section = tree.nodes.index(2, 0, root)
    tree.expand(section)
    qtbot.waitUntil(lambda: tree.nodes.rowCount(section) == 12)
    tree.setCurrentIndex(tree.nodes.index(3, 0, section))
    settle(small, 40)
    node = current_node(small)
    assert small.hex.view.state.selection.span == node.span
    assert small.session.selection.ref is not None
    assert small.session.selection.ref.key == node.name
    assert current_row(small) == small.session.selection.row


@pytest.mark.thorough
def test_an_object_selects_everywhere(small: MainWindow, qtbot: QtBot) -> None:
    """A row chosen by the mouse: bytes and tree follow, and the row stays where it is."""
    table = small.objects.table
    place = table.visualRect(table.model().index(3, 1)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    settle(small, 40)
    ref = small.session.selection.ref
    assert ref is not None
    assert ref.row == 3
    assert small.hex.view.state.selection.span == ref.spans[0]
    assert current_node(small).span == ref.spans[0]
    assert current_row(small) == 3


@pytest.mark.thorough
def test_the_keyboard_walks_through_the_objects(small: MainWindow) -> None:
    """Down in the table goes to the next object, and everything follows."""
    small.show_part("objects", focus=True)
    small.session.select_row(0)
    settle(small, 40)
    QTest.keyClick(small.objects.table, Qt.Key.Key_Down)
    settle(small, 40)
    assert small.session.selection.row == 1
    assert current_row(small) == 1


@pytest.mark.thorough
def test_back_goes_where_one_came_from(small: MainWindow) -> None:
    """Alt+Left returns, Alt+Right comes back."""
    small.session.select_span(Span("", 40, 48))
    small.session.select_span(Span("", 4500, 4501))
    small.actions_.back.trigger()
    assert small.session.selection.span == Span("", 40, 48)
    assert small.hex.view.state.selection.span == Span("", 40, 48)
    small.actions_.forward.trigger()
    assert small.hex.view.state.selection.span == Span("", 4500, 4501)
    settle(small, 40)


@pytest.mark.thorough
def test_a_key_of_the_table_is_traced(small: MainWindow, qtbot: QtBot) -> None:
    """*Look up* on the bar walks the lookup of the selected object; each step selects its bytes."""
    small.session.select_row(3)
    settle(small, 40)
    small.top.look_up_button.click()
    qtbot.waitUntil(lambda: small.trace.trace is not None)
    settle(small, 40)
    assert small.trace.trace is not None
    assert small.trace.trace.outcome == "found"
    number = next(n for n, step in enumerate(small.trace.trace.steps) if step.title == "Is it really this key?")
    small.session.go_to_step(number)
    settle(small, 40)
    assert small.hex.view.state.selection.span == small.trace.trace.steps[number].spans[0]


@pytest.mark.thorough
def test_enter_on_an_object_goes_to_its_bytes(small: MainWindow, qtbot: QtBot) -> None:
    """The bytes are selected from the first stored one on, and the keyboard is with them."""
    small.objects.table.selectRow(3)
    QTest.keyClick(small.objects.table, Qt.Key.Key_Return)
    settle(small, 40)
    assert small.session.shard is not None
    content = small.session.shard.objects.ref(3).spans[0]
    assert small.hex.view.state.selection.span == content
    assert small.hex.view.state.selection.caret == content.start
    assert small.focusWidget() is small.hex.view


def test_objects_offer_to_be_copied_as_files(small: MainWindow) -> None:
    """The menu of a row has what the menu *Edit* offers for it."""
    assert small.objects.actions_.copy_files in small.objects.table.actions()


# --- bad input ---


def test_a_damaged_file_says_where_and_stays_open(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """Damage is told with its place, its byte is selected, and the rest can be looked at."""
    content = bytearray((data / "swh" / "small.shard").read_bytes())
    content[4990:5000] = b"\xff" * 10
    path = tmp_path / "damaged.shard"
    path.write_bytes(content)
    opened(window, qtbot, path)
    shard = window.session.shard
    assert shard is not None
    assert shard.damage is not None
    assert "Damaged" in window.notices.text
    assert shard.damage.span is not None
    assert f"{shard.damage.span.start:#x}" in window.notices.text
    assert window.hex.view.state.selection.span.start == shard.damage.span.start
    window.session.select_span(Span("", 700, 701))
    settle(window, 40)
    assert current_node(window).span.covers(700)
    assert "Damaged" in window.notices.text


def test_what_is_no_shard_is_shown_as_bytes(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """A file that nobody recognises says so, and its bytes can be looked at."""
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear reader, this is not a shard. " * 50)
    opened(window, qtbot, path)
    assert window.notices.text.startswith("letter.txt is not in a known shard format. Showing raw bytes.")
    assert window.hex.view.state.layout.size == path.stat().st_size


def test_an_empty_file(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """A file without a byte is told, and breaks nothing."""
    path = tmp_path / "empty.shard"
    path.write_bytes(b"")
    opened(window, qtbot, path)
    assert window.notices.text == "The file is empty (0 bytes)."


def test_a_file_that_is_gone_cannot_be_opened(small: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """The bar says why, and offers to try again; what was open stays open."""
    with qtbot.waitSignal(small.session.failed):
        small.open(str(tmp_path / "nothing.shard"))
    assert small.notices.text == "Cannot open nothing.shard: no such file or directory."
    assert small.notices.button.text() == "Try again"
    assert small.windowTitle() == "small.shard[*] — Shardscope"


@pytest.mark.thorough
def test_a_file_that_shrinks_offers_to_reload(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """The file is cut while it is open: a bar with *Reload*, no crash; reloading shows the damage."""
    path = tmp_path / "shrinks.shard"
    shutil.copy(data / "swh" / "medium.shard", path)
    opened(window, qtbot, path)
    os.truncate(path, 1000)
    with qtbot.waitSignal(window.session.source_trouble, timeout=10_000):
        window.session.select_span(Span("", 300_000, 300_001))
        window.session.check_source()
    assert window.notices.button.text() == "Reload"
    with qtbot.waitSignal(window.session.opened):
        window.notices.button.click()
    settle(window, 40)
    assert "Damaged" in window.notices.text
    assert window.hex.view.state.layout.size == 1000


def test_a_file_that_vanishes_offers_to_reload(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """The file is removed while it is open: the bar says so; reloading in vain keeps what is on the screen."""
    path = tmp_path / "vanishes.shard"
    shutil.copy(data / "swh" / "small.shard", path)
    opened(window, qtbot, path)
    path.unlink()
    with qtbot.waitSignal(window.session.source_trouble, timeout=10_000):
        window.session.check_source()
    with qtbot.waitSignal(window.session.failed):
        window.notices.button.click()
    assert window.session.shard is not None
    assert window.notices.text


# --- dropping, themes, the end ---


@pytest.mark.thorough
def test_a_dropped_file_is_opened(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """A file dropped on the window opens, after the drop is over."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(data / "swh" / "one.shard"))])
    drop = QDropEvent(
        QPointF(400, 400),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(drop)
    assert window.session.shard is None
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"))
    settle(window, 40)


@pytest.mark.thorough
def test_themes_change_at_once(small: MainWindow) -> None:
    """A theme changes the colours of the open window, and is remembered."""
    for name in ("dark", "light-safe", "system"):
        small.set_theme(name)
        QApplication.processEvents()
        colour = small.grab().toImage().pixelColor(2, small.height() // 2)
        assert (colour.lightnessF() < 0.5) is name.startswith("dark")
        assert small.settings.theme == name


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


def test_about_tells_the_versions(window: MainWindow, qtbot: QtBot) -> None:
    """The versions that matter for a report are there."""
    window.actions_.about.trigger()
    box = window.findChild(QMessageBox)
    assert box is not None
    assert f"Shardscope {shardcore.__version__}" in box.text()
    assert [button.text() for button in box.buttons()][-1] == "&Documentation"
    assert "PySide6" in box.informativeText()
    assert "swh" in box.informativeText()
    box.close()


@pytest.mark.thorough
def test_closing_in_the_middle_of_work_is_quiet(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """The window can be closed while everything is still on its way."""
    window.open(str(data / "swh" / "medium.shard"))
    qtbot.waitUntil(lambda: window.session.shard is not None)
    assert window.session.index_state in (IndexState.LOADING, IndexState.LOADED)
    window.session.select_span(Span("", 300_000, 300_001))
    window.close()
    assert window.jobs.open_jobs == ()


# --- data sets and guesses ---


def in_front(part: QWidget) -> bool:
    """Whether a part can be seen; docks behind a tab count as visible to Qt."""
    return not part.visibleRegion().isEmpty()


@pytest.mark.thorough
def test_a_data_set_brings_its_members_to_the_front(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """The structure lies in front, its first level the members; a member's byte reaches all parts."""
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


def test_a_guess_stands_in_the_bar(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """An inferred specification is told above the bytes, can be dismissed, and can be changed from the menu."""
    assert not window.actions_.change.isEnabled()
    opened(window, qtbot, data / "neuroglancer" / "bare_shard" / "0.shard")
    assert window.notices.text.startswith("Specification inferred")
    assert window.actions_.change.isEnabled()
    window.notices.all[0].dismiss.click()
    assert window.notices.text == ""
    window.session.close()
    assert not window.actions_.change.isEnabled()


def test_the_status_line_names_the_format_and_its_tooltip_the_evidence(small: MainWindow) -> None:
    """The name is for people; how the format was detected is a detail."""
    assert small.line.kind.text() == "Software Heritage Read Shard v1"
    assert small.line.kind.toolTip() == "Detected by: magic SWHShard"


def test_bytes_alone_have_a_summary_of_their_own(window: MainWindow, qtbot: QtBot, tmp_path: Path) -> None:
    """What is not a shard shows nothing of the file that was open before."""
    opened(window, qtbot, resources.path("samples/bloscpack/array.blp"))
    summary = window.panels.panel(Inspector).file
    qtbot.waitUntil(lambda: bool(summary.links))
    path = tmp_path / "notes.txt"
    path.write_text("no shard")
    opened(window, qtbot, path)
    qtbot.waitUntil(lambda: not summary.links)
    assert not summary.picture.isVisible()
    assert not summary.buttons.isVisible()
    row = summary.form.value("format")
    assert row is not None
    assert row.text == "not a known shard format"
