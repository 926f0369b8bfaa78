"""The frame of the window: one bar, one status line, and docks that nothing moves."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QMenu, QTabBar, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from shardcore import FormatError, Remedy, ShardError, Span
from shardscope.session.error_words import ADVICE, plain_words
from shardscope.session.open_request import OpenRequest
from shardscope.shell.main_window import MainWindow
from shardscope.shell.notices import NoticeTone
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from tests.app.shell.conftest import NORMAL

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
    small.notices.tell("Something is wrong with this file. " * 40, NoticeTone.ERROR, action="Do something about it")
    small.session.message.emit("a very long sentence about what was done " * 60)
    small.line.tell_format("swh 1", "because of many things " * 40)
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
        said = plain_words(ShardError("It cannot be read", remedy=remedy))
        assert said.startswith("It cannot be read. ")
        assert said.endswith(".")
        assert "--" not in said
        assert "=" not in said
    assert plain_words(FormatError("Cut off", span=Span("", 3, 5))) == "Cut off (0x3–0x4 · 2 bytes)"


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
