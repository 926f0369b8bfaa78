"""A search in the window: marked, listed, remembered, and nothing moves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from shardcore.teaching import resources
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window with a sample."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(QSize(1440, 840))
    made.show()
    made.open(str(resources.path("samples/swh/small.shard")))
    settle(made, 40)
    yield made
    made.close()


def docks(window: MainWindow) -> dict[str, QRect]:
    """Where every dock lies that can be seen."""
    panels = window.panels
    return {name: dock.geometry() for name, dock in panels.by_name.items() if panels.in_front(name)}


def test_a_search_moves_no_dock(window: MainWindow, qtbot: QtBot) -> None:
    """A search, its list of hits below the bytes, and the byte under the pointer: the sides stay as they are."""
    before, view = docks(window), window.hex.view.size()
    window.hex.search.look_for("Number", "520")
    with qtbot.waitSignal(window.hex.search.list_wanted, timeout=10_000):
        window.hex.search.list_all()
    assert window.panels.in_front("hits")
    qtbot.waitUntil(lambda: "hits" in docks(window))
    after = docks(window)
    assert after.pop("hits").top() > window.hex.geometry().bottom()
    assert after == before
    window.hex.search.close_bar()
    window.panels.by_name["hits"].close()
    qtbot.waitUntil(lambda: window.hex.view.size() == view)
    before = docks(window)
    grid, texts = window.hex.state.grid, [label.text() for label in window.findChildren(QLabel)]
    for row in range(5):
        place = QPoint(round(grid.hex_x + 90), round(grid.row_y(row) + grid.row / 2))
        qtbot.mouseMove(window.hex.view.viewport(), place)
    assert window.hex.state.hover is not None
    assert (docks(window), window.hex.view.size()) == (before, view)
    assert [label.text() for label in window.findChildren(QLabel)] == texts


@pytest.mark.thorough
def test_searches_are_remembered(window: MainWindow, settings: Settings, qtbot: QtBot) -> None:
    """What was searched, and whether fields are wanted beside the bytes, is there again in the next window."""
    window.hex.search.look_for("Number", "520")
    qtbot.waitUntil(lambda: window.hex.search.status.text() == "1 of 2, at 0x48 · u64 big-endian")
    window.hex.actions_.fields.setChecked(False)
    other = MainWindow(settings)
    qtbot.addWidget(other)
    assert other.hex.search.history.entries == [("Number", "520")]
    assert not other.hex.actions_.fields.isChecked()
    assert not other.hex.view.column.wanted
    other.close()
