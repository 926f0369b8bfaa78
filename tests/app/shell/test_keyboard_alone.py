"""A whole run by the keyboard alone: nothing is clicked, nothing is called."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractItemView, QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.learning.help.format_page import FormatPage
from shardscope.shell.main_window import MainWindow
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle

KEY = "9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964"
"""A key of the first sample; its 264 bytes begin at 697."""

MOST_STOPS = 200
"""Keys of a way around the window."""


class Hands:
    def __init__(self, window: MainWindow) -> None:
        self.window = window

    @property
    def at(self) -> QWidget:
        found = QApplication.focusWidget()
        assert found is not None, "the keyboard is nowhere"
        return found

    def press(self, keys: str) -> None:
        combined = QKeySequence(keys)[0]
        QTest.keyClick(self.at, combined.key(), combined.keyboardModifiers())
        settle(self.window, 40)

    def type(self, text: str) -> None:
        QTest.keyClicks(self.at, text)
        settle(self.window, 40)

    def tab_to(self, name: str) -> None:
        seen = []
        for _ in range(60):
            here = self.at.objectName() or type(self.at).__name__
            if here == name:
                return
            seen.append(here)
            QTest.keyClick(self.at, Qt.Key.Key_Tab)
        pytest.fail(f"Tab does not come to {name}: {seen}")


@pytest.fixture
def hands(window: MainWindow, qtbot: QtBot) -> Hands:
    with qtbot.waitActive(window):
        window.activateWindow()
    made = Hands(window)
    made.tab_to("SampleCard")
    made.press("Return")
    assert window.session.shard is not None
    return made


def selected(window: MainWindow) -> Span | None:
    return window.session.selection.span


@pytest.mark.thorough
def test_a_sample_is_opened_read_and_closed(window: MainWindow, hands: Hands) -> None:
    assert hands.at.objectName() == "hexView"
    hands.press("Down")
    hands.press("Down")
    hands.press("Right")
    assert selected(window) == Span("", 33, 34)
    hands.press("Alt+1")
    assert hands.at.objectName() == "structureTree"
    # The tree stands on the field that owns the byte.
    hands.press("Down")
    assert selected(window) == Span("", 40, 48)
    hands.press("Alt+2")
    assert hands.at.objectName() == "objectTable"
    hands.press("Down")
    hands.press("Down")
    row = window.session.selection.row
    assert row is not None
    hands.press("Alt+Left")
    assert window.session.selection.row == row - 1
    hands.press("Ctrl+F4")
    assert window.session.shard is None
    assert window.welcome.isVisible()


@pytest.mark.thorough
def test_a_key_is_looked_up(window: MainWindow, hands: Hands) -> None:
    hands.press("Ctrl+T")
    hands.type(KEY)
    hands.press("Return")
    trace = window.session.lookup.walk.trace
    assert trace.outcome == "found"
    for number in range(1, len(trace.steps)):
        hands.press("Ctrl+Down")
        assert window.session.lookup.walk.step == number
    hands.press("Ctrl+Up")
    assert window.session.lookup.walk.step == len(trace.steps) - 2


def test_bytes_are_found(window: MainWindow, hands: Hands) -> None:
    """Find a text, go to the next hit, come back to the bytes by Esc."""
    hands.press("Ctrl+F")
    assert hands.at.objectName() == "searchField"
    hands.type("53 57 48")
    hands.press("Return")
    assert selected(window) == Span("", 0, 3)
    hands.press("Escape")
    assert hands.at.objectName() == "hexView"


@pytest.mark.thorough
def test_help_is_at_hand(window: MainWindow, hands: Hands) -> None:
    """The list of keys opens and closes; the page takes the keyboard, and its links are followed by Tab and Return."""
    hands.press("Ctrl+F1")
    assert hands.at.objectName() == "paletteField"
    hands.press("Escape")
    hands.press("F1")
    assert hands.window.panels.panel(FormatPage).choice.currentData() == "hex"
    hands.press("Alt+F1")
    assert hands.at.objectName() == "pageText"
    field = window.panels.by_name["formatPage"].widget()
    assert field.isVisible()
    span = selected(window)
    for _ in range(12):
        QTest.keyClick(hands.at, Qt.Key.Key_Tab)
        text = hands.at
        if text.textCursor().charFormat().anchorHref().startswith("field:"):
            hands.press("Return")
            break
    assert selected(window) != span
    assert window.session.selection.path


@pytest.mark.thorough
def test_objects_are_extracted(window: MainWindow, hands: Hands, tmp_path: Path) -> None:
    """Ctrl+E on a row opens the sheet; a folder typed, Return: the file is there, and the sheet is gone."""
    hands.press("Alt+2")
    hands.press("Down")
    hands.press("Ctrl+E")
    assert hands.at.window().objectName() == "extractSheet"
    hands.press("Ctrl+A")
    hands.type(str(tmp_path / "out"))
    hands.press("Return")
    assert hands.at.window() is window
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.name != "manifest.json"]
    assert len(files) == 1
    assert window.notices.text.startswith("1 file written")
    hands.press("Ctrl+E")
    assert hands.at.window() is not window
    hands.press("Escape")
    assert hands.at.objectName() == "objectTable"


@pytest.mark.thorough
def test_every_panel_is_one_key_away(window: MainWindow, hands: Hands) -> None:
    digits = [panel for panel in PANELS if panel.shortcut[-1].isdigit()]
    assert [panel.shortcut for panel in digits] == [f"Alt+{number % 10}" for number in range(1, 11)]
    seen = [window.panels.by_name[panel.name] for panel in digits if window.panels.in_front(panel.name)]
    assert seen == sorted(seen, key=lambda dock: (dock.x(), dock.y()))
    for panel in PANELS:
        hands.press(panel.shortcut)
        dock = window.panels.by_name[panel.name]
        assert dock.isVisible(), panel.name
        assert dock is hands.at or dock.isAncestorOf(hands.at), (panel.name, hands.at.objectName())


@pytest.mark.thorough
def test_the_keyboard_stays_where_something_is_shown(window: MainWindow, hands: Hands) -> None:
    """A closed panel gives way to the one before; a panel that covers the one with the keyboard gets it."""
    panels = window.panels
    for name, closed in (("trace", "lessons"), ("inspector", "sandbox"), ("hits", "notes")):
        for one in (name, closed):
            panels.show(one, focus=True)
            settle(window, 40)
        panels.by_name[closed].close()
        settle(window, 40)
        assert panels.in_front(name)
        assert panels.by_name[name].has_keyboard(), name
    for number in range(1, 4):
        panels.show("notes", focus=True)
        hands.press(f"Ctrl+{number}")
        assert panels.by_name["findings"].has_keyboard(), number
    hands.press("Ctrl+1")
    assert panels.by_name["findings"].has_keyboard()
    window.hex.view.setFocus()
    hands.press("Ctrl+1")
    assert hands.at is window.hex.view


def click(hands: Hands, view: QAbstractItemView, index: QModelIndex) -> None:
    at = view.visualRect(index).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    settle(hands.window, 40)


@pytest.mark.thorough
def test_a_click_on_an_object_gives_the_keyboard_to_the_objects(window: MainWindow, hands: Hands) -> None:
    table = window.objects.table
    window.objects.filter.setFocus()
    click(hands, table, table.objects.index(2, 1))
    assert hands.at is table
    hands.press("Down")
    assert window.session.selection.row == 3
    hands.type("T")
    assert window.objects.filter.text() == ""
    hands.press("Ctrl+A")
    assert table.selected_count() == table.objects.rowCount()


@pytest.mark.thorough
def test_tab_reaches_the_tree_and_the_objects_and_comes_back(window: MainWindow, hands: Hands) -> None:
    for part in ("objects", "hits", "findings", "transfers"):
        window.show_part(part)
        settle(window, 40)
        window.hex.view.setFocus()
        seen: list[QWidget] = [window.hex.view]
        for _ in range(MOST_STOPS):
            QTest.keyClick(hands.at, Qt.Key.Key_Tab)
            if hands.at is window.hex.view:
                break
            seen.append(hands.at)
        assert hands.at is window.hex.view, f"Tab stops at {hands.at} with {part} in front"
        assert {window.tree, window.objects.table} <= {*seen}
        # Tab goes from link to link in a page of text, back again from its last one.
        stops = [one for one, _ in groupby(reversed(seen))]
        for _ in range(MOST_STOPS):
            QTest.keyClick(hands.at, Qt.Key.Key_Backtab)
            if hands.at is not stops[0]:
                stops.pop(0)
                assert not stops or hands.at is stops[0]
            if hands.at is window.hex.view:
                break
        assert stops == [window.hex.view]


@pytest.mark.parametrize("way", [("Alt+2",), ("Ctrl+L", "Down")])
def test_the_first_down_selects_the_first_object(window: MainWindow, hands: Hands, way: tuple[str, ...]) -> None:
    for keys in way:
        hands.press(keys)
    assert window.session.selection.row is None
    hands.press("Down")
    assert window.session.selection.row == 0
    hands.press("Down")
    assert window.session.selection.row == 1


@pytest.mark.thorough
def test_return_presses_a_button(window: MainWindow, hands: Hands) -> None:
    """A chip, a button of the bar: what has the keyboard is pressed by Return as by Space."""
    chip = window.objects.chips.buttons["state", "live"]
    chip.setFocus()
    hands.press("Return")
    assert window.objects.filter.text() == "state:live"
    window.top.find_button.setFocus()
    hands.press("Return")
    assert hands.at is window.hex.search.field
    dock = window.panels.by_name["objects"]
    dock.setFloating(True)
    settle(window, 40)
    chip.setFocus()
    QTest.keyClick(chip, Qt.Key.Key_Return)
    assert window.objects.filter.text() == ""
    dock.setFloating(False)
