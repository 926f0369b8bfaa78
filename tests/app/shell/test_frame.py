"""The frame of the window: one bar, one status line, and docks that nothing moves."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QTabBar, QToolButton
from pytestqt.qtbot import QtBot

from shardcore import FormatError, Remedy, ShardError, Span
from shardcore.testing import sampled
from shardscope.session.error_words import ADVICE, error_text
from shardscope.session.open_request import OpenRequest
from shardscope.shell.fixed_size_frame import FixedSizeFrame
from shardscope.shell.main_window import MainWindow
from shardscope.shell.notices import NoticeTone
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from tests.app.shell.conftest import NORMAL, opened

ROWS = 26
SIDE = 420
"""Width of the left docks at the first start."""


def docks(window: MainWindow) -> dict[str, QRect]:
    panels = window.panels
    return {name: dock.geometry() for name, dock in panels.by_name.items() if panels.in_front(name)}


def buttons(window: MainWindow) -> list[QToolButton]:
    top = window.top
    return [top.find_button, top.look_up_button, top.extract_button, top.verify_button]


def close_buttons(window: MainWindow) -> list[QToolButton]:
    bars = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    side = QTabBar.ButtonPosition.RightSide
    found = [bar.tabButton(tab, side) for bar in bars if bar.isVisible() for tab in range(bar.count())]
    return [button for button in found if isinstance(button, QToolButton)]


_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly


def rows(window: MainWindow) -> int:
    start, stop = window.hex.state.visible_bytes
    return (stop - start) // window.hex.state.layout.width


def neighbours(window: MainWindow) -> dict[str, set[str]]:
    found = window.panels.by_name.items()
    return {name: {other.objectName() for other in window.tabifiedDockWidgets(dock)} for name, dock in found}


# --- room for the bytes ---


def test_five_panels_are_there_at_the_first_start(small: MainWindow) -> None:
    by_name = small.panels.by_name
    assert by_name.keys() - small.panels.closed == {"structure", "objects", "inspector", "trace", "preview"}
    assert docks(small).keys() == {"structure", "objects", "inspector"}
    bars = small.findChildren(QTabBar, options=_DIRECT)
    assert "Panels: Inspector, Lookup, Preview" in {bar.accessibleName() for bar in bars}
    assert by_name["structure"].geometry().bottom() < by_name["objects"].geometry().top()


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


def test_what_stands_behind_a_tab_is_hidden(small: MainWindow) -> None:
    for name in ("lessons", "trace", "findings", "transfers"):
        small.show_part(name)
        settle(small, 20)
        assert small.panels.in_front(name)
        for other, dock in small.panels.by_name.items():
            part = dock.widget()
            assert isinstance(part, FixedSizeFrame)
            assert part.part.isVisible() == small.panels.in_front(other), other


# --- nothing moves ---


def test_no_message_moves_a_dock(small: MainWindow, qtbot: QtBot) -> None:
    before = docks(small)
    long = "Something is wrong with this file. " * 40
    small.notices.add_notice(long, NoticeTone.ERROR, action="Do something about it")
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


def test_no_button_takes_the_letter_of_a_menu(small: MainWindow) -> None:
    menus = {QKeySequence.mnemonic(action.text()).toString() for action in small.menuBar().actions()}
    buttons = {button.text() for button in small.findChildren(QAbstractButton) if button.window() is small}
    assert not {text for text in buttons if text and QKeySequence.mnemonic(text).toString() in menus - {""}}


def test_letters_open_one_entry_of_a_menu(small: MainWindow) -> None:
    menus = [menu for menu in small.menuBar().findChildren(QMenu) if menu.actions()]
    assert len(menus) > 6
    for menu in menus:
        letters = [QKeySequence.mnemonic(action.text()).toString() for action in menu.actions()]
        used = [letter for letter in letters if letter]
        assert len(used) == len(set(used)), [action.text() for action in menu.actions()]


@pytest.mark.parametrize(
    "content", sampled([b"", b"Dear reader, this is not a shard. " * 20, b"SWHShard" + b"\xff" * 300], 1)
)
def test_no_file_moves_a_dock(small: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path, content: bytes) -> None:
    # The tabs of several files are there.
    opened(small, qtbot, data / "swh" / "one.shard")
    before = docks(small)
    path = tmp_path / "other.shard"
    path.write_bytes(content)
    opened(small, qtbot, path)
    assert small.notices.text
    assert docks(small) == before


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
    small.actions_.default_layout.trigger()
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


def test_small_windows_fold_and_unfold(small: MainWindow, qtbot: QtBot) -> None:
    before = docks(small)
    structure = small.panels.by_name["structure"]
    QApplication.processEvents()
    small.resize(700, 500)
    qtbot.waitUntil(lambda: len(small.tabifiedDockWidgets(structure)) == 4)
    small.resize(NORMAL)
    qtbot.waitUntil(lambda: docks(small) == before)


# --- actions ---

ALWAYS = {
    "Missions…",
    *(
        "Open…",
        "Open folder…",
        "Find key in folder…",
        "Open address…",
        "Open as…",
        "New shard…",
        "Restore tabs at start",
        "Quit",
        "Panel or file…",
        "Full screen",
        "About Shardscope",
    ),
    *("Zoom in", "Zoom out", "100 %"),
    *("Follow system", "Light", "Dark", "Light, colour-blind safe", "Dark, colour-blind safe", "Dark room"),
    *("Lessons", "Glossary", "Keyboard shortcuts", "Format reference", "Offsets in decimal", "Reduced motion"),
    "Save picture of the window…",
}


def menu_actions(window: MainWindow) -> list[QAction]:
    found: list[QAction] = []

    def walk(actions: list[QAction]) -> None:
        for action in actions:
            menu = action.menu()
            if menu in (window.actions_.recent, window.actions_.samples):
                continue
            if menu is not None:
                walk(menu.actions())  # type: ignore[attr-defined]
            elif not action.isSeparator():
                found.append(action)

    walk(window.menuBar().actions())
    return found


def test_with_a_file_actions_are_on_and_off_again(small: MainWindow) -> None:
    enabled = {action.text().replace("&", "") for action in menu_actions(small) if action.isEnabled()}
    assert {"Go to …", "Find …", "Reload", "Close", "Verify content", "Look up key…", "Default layout"} <= enabled
    small.session.close()
    enabled = {action.text().replace("&", "") for action in menu_actions(small) if action.isEnabled()}
    assert enabled == ALWAYS | {"Reopen closed tab"}


def test_keys_of_menus_work_everywhere(small: MainWindow) -> None:
    for action in menu_actions(small):
        if not action.shortcut().isEmpty():
            assert action.shortcutContext() is Qt.ShortcutContext.WindowShortcut, action.text()


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
