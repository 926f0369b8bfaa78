"""The sheet of shortcuts: read off the window, searchable, at hand by one key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardscope.learning.help.shortcuts import ShortcutDialog, shortcuts, show_shortcuts
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def shown(sheet: ShortcutDialog) -> list[str]:
    """What the sheet lists now."""
    return [item.text(0) for item in sheet.shown()]


def test_every_shortcut_of_the_window_is_listed(window: MainWindow) -> None:
    """Each action with keys, of a menu or of a panel alone, is there once, with its group; texts are plain."""
    listed = shortcuts(window)
    with_keys = {id(action) for action in window.findChildren(QAction) if not action.shortcut().isEmpty()}
    assert {id(entry.action) for entry in listed} == with_keys
    assert len(listed) == len(with_keys)
    by_keys = {entry.action.shortcut().toString(QKeySequence.SequenceFormat.PortableText): entry for entry in listed}
    assert (by_keys["Ctrl+O"].group, by_keys["Ctrl+O"].text) == ("File", "Open")
    assert by_keys["F1"].group == "Help"
    assert {"Lookup", "Panels"} <= {entry.group for entry in listed}
    assert not [entry.text for entry in listed if "&" in entry.text or "…" in entry.text]


def test_a_new_action_is_listed_by_itself(window: MainWindow) -> None:
    """There is no second list: an action that is added to a menu is on the sheet."""
    action = window.menuBar().actions()[0].menu().addAction("Do some&thing…")  # type: ignore[union-attr]
    action.setShortcut(QKeySequence("Ctrl+Shift+F12"))
    assert ("File", "Do something") in [(entry.group, entry.text) for entry in shortcuts(window)]


def test_f1_opens_the_sheet_and_esc_closes_it(window: MainWindow, qtbot: QtBot) -> None:
    """F1 in the window opens the sheet with the keyboard in its search field; F1 again opens no second; Esc closes."""
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_F1)
    (sheet,) = window.findChildren(ShortcutDialog)
    assert sheet.isVisible()
    assert sheet.focusWidget() is sheet.field
    show_shortcuts(window)
    assert len(window.findChildren(ShortcutDialog)) == 1
    with qtbot.waitSignal(sheet.destroyed):
        QTest.keyClick(sheet.field, Qt.Key.Key_Escape)


def test_words_and_keys_are_searched(window: MainWindow) -> None:
    """All words must be there, in the name, the group or the keys; groups without a hit go; none is said."""
    sheet = show_shortcuts(window)
    everything = len(shown(sheet))
    sheet.field.setText("verify")
    assert shown(sheet)
    assert all("verify" in text.lower() for text in shown(sheet))
    sheet.field.setText("ctrl+o open")
    assert shown(sheet)[0] == "Open"
    sheet.field.setText("no such words")
    assert shown(sheet) == []
    assert sheet.note.text() == "No matching shortcuts"
    sheet.field.clear()
    assert len(shown(sheet)) == everything
    sheet.close()


def test_return_does_it(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Down goes to the next, Return closes the sheet and does what is selected; what is not possible is not done."""
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(data / "swh" / "small.shard"))
    settle(window, 40)
    sheet = show_shortcuts(window)
    QTest.keyClicks(sheet.field, "verify index")
    done: list[bool] = []
    (wanted,) = [e.action for e in shortcuts(window) if e.text == "Verify index"]
    wanted.triggered.connect(lambda _=False: done.append(True))
    with qtbot.waitSignals([wanted.triggered, sheet.destroyed]):
        QTest.keyClick(sheet.field, Qt.Key.Key_Return)
    settle(window, 40)
    sheet = show_shortcuts(window)
    wanted.setEnabled(False)
    QTest.keyClicks(sheet.field, "verify index")
    QTest.keyClick(sheet.field, Qt.Key.Key_Down)
    QTest.keyClick(sheet.field, Qt.Key.Key_Up)
    QTest.keyClick(sheet.field, Qt.Key.Key_Return)
    assert len(done) == 1
    sheet.close()
