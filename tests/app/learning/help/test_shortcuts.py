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
from tests.app.conftest import visible


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page."""
    made = visible(qtbot, MainWindow(settings))
    qtbot.waitExposed(made)
    yield made
    made.close()


def shown(sheet: ShortcutDialog) -> list[str]:
    """What the sheet lists now."""
    return [item.text(0) for item in sheet.shown()]


def test_every_shortcut_of_the_window_is_listed(window: MainWindow) -> None:
    """Each action with keys, of a menu or of a panel alone, is there once, with its group; texts are plain."""
    window.menuBar().actions()[0].menu().addAction("Do some&thing…").setShortcut(QKeySequence("Ctrl+Shift+F12"))
    listed = shortcuts(window)
    with_keys = [action for action in window.findChildren(QAction) if not action.shortcut().isEmpty()]
    assert {id(entry.action) for entry in listed} == set(map(id, with_keys))
    assert len(listed) == len(with_keys)
    groups = {(entry.group, entry.text) for entry in listed}
    assert {("File", "Open"), ("File", "Do something")} <= groups
    assert {"Lookup", "Panels", "Help"} <= {group for group, _ in groups}
    assert not [text for _, text in groups if "&" in text or "…" in text]


def test_f1_opens_the_sheet_and_esc_closes_it(window: MainWindow, qtbot: QtBot) -> None:
    """F1 opens one sheet; all words that are typed must be there, in the name, the group or the keys."""
    window.activateWindow()
    QTest.keyClick(window, Qt.Key.Key_F1)
    (sheet,) = window.findChildren(ShortcutDialog)
    assert sheet.focusWidget() is sheet.field
    assert show_shortcuts(window) is sheet
    everything = len(shown(sheet))
    sheet.field.setText("verify")
    assert all("verify" in text.lower() for text in shown(sheet))
    for text, found in (("ctrl+o open", "Open"), ("no such words", "")):
        sheet.field.setText(text)
        assert "".join(shown(sheet)[:1]) == found
    assert sheet.note.text()
    sheet.field.clear()
    assert len(shown(sheet)) == everything
    with qtbot.waitSignal(sheet.destroyed):
        QTest.keyClick(sheet.field, Qt.Key.Key_Escape)


def test_return_does_it(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Return closes the sheet and does what is selected; what is not possible is not done."""
    with qtbot.waitSignal(window.session.opened):
        window.open(str(data / "swh" / "small.shard"))
    settle(window, 40)
    sheet = show_shortcuts(window)
    QTest.keyClicks(sheet.field, "verify index")
    (wanted,) = [e.action for e in shortcuts(window) if e.text == "Verify index"]
    with qtbot.waitSignals([wanted.triggered, sheet.destroyed]):
        QTest.keyClick(sheet.field, Qt.Key.Key_Return)
    settle(window, 40)
    sheet = show_shortcuts(window)
    wanted.setEnabled(False)
    QTest.keyClicks(sheet.field, "verify index")
    with qtbot.assertNotEmitted(wanted.triggered):
        for key in (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Return):
            QTest.keyClick(sheet.field, key)
    sheet.close()
