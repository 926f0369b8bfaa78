"""The command palette: what is found, in which order, what runs, and where the keyboard is afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import Span
from shardcore.progress import no_progress
from shardscope.session.object_filter import keys_with
from shardscope.shell.main_window import MainWindow
from shardscope.shell.palette import PaletteEntry, Scope, commands, plain_text, rank
from tests.app.shell.conftest import opened

KEY = "a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda"


def listed(window: MainWindow) -> list[tuple[str, str]]:
    items = window.palette_.list
    return [(items.topLevelItem(n).text(0), items.topLevelItem(n).text(1)) for n in range(items.topLevelItemCount())]


def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    at = QApplication.focusWidget()
    assert at is not None
    QTest.keyClick(at, key, modifiers)


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("open", ["Open", "Open folder", "Reopen", "Two to open"]),
        ("of", ["Open folder"]),
        ("fold op", ["Open folder"]),
        ("ctrl+u", ["Address"]),
        ("pn", []),
    ],
)
def test_the_best_match_is_first(text: str, best: Sequence[str]) -> None:
    entries = [PaletteEntry(one, "File", print) for one in ("Two to open", "Reopen", "Open folder", "Open")]
    entries.append(PaletteEntry("Address", "File", print, "Ctrl+U"))
    ranked = [(found, one.text) for one in entries if (found := rank(text.split(), one)) is not None]
    assert {text for _, text in ranked} == {*best}
    assert min(ranked, default=(0, ""))[1] == "".join(best[:1])


def test_every_action_with_keys_is_a_command(window: MainWindow) -> None:
    window.menuBar().actions()[0].menu().addAction("Do some&thing…").setShortcut(QKeySequence("Ctrl+Shift+F12"))
    found = commands(window)
    with_keys = [one for one in window.findChildren(QAction) if not one.shortcut().isEmpty()]
    assert {id(one) for one in with_keys} <= {id(action) for _, action in found}
    assert len({id(action) for _, action in found}) == len(found)
    window.palette_.open(scope=Scope.SHORTCUTS)
    assert len(listed(window)) == len(with_keys)
    assert {("Do something", "File"), ("Diff with › File", "File"), ("Structure", "Panels")} <= {*listed(window)}
    assert plain_text("A && &b…\tCtrl+B") == "A & b"


def test_what_was_in_use_gets_the_keyboard_back(small: MainWindow, qtbot: QtBot, in_hexadecimal: None) -> None:
    palette, table = small.palette_, small.objects.table
    small.activateWindow()
    for closes in ("Escape", "click", "Return"):
        table.setFocus()
        press(Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
        assert palette.field.hasFocus()
        QTest.keyClicks(palette.field, "decimal")
        assert listed(small) == [("Offsets in decimal", "View")]
        if closes == "click":
            qtbot.mouseClick(palette, Qt.MouseButton.LeftButton, pos=palette.rect().bottomLeft())
        else:
            press(Qt.Key[f"Key_{closes}"])
        assert table.hasFocus(), closes
        assert not palette.isVisible()
    qtbot.waitUntil(lambda: small.settings.decimal_offsets)
    press(Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    small.panels.show("structure", focus=True)
    assert not palette.isVisible(), "another part was chosen"
    assert small.tree.hasFocus()


@pytest.mark.thorough
def test_keys_sections_and_files_are_found(small: MainWindow, qtbot: QtBot, data: Path) -> None:
    palette = small.palette_
    opened(small, qtbot, data / "swh" / "medium.shard", data / "swh" / "small.shard")
    palette.open()
    assert listed(small)[:2] == [("medium.shard", "Open files"), ("Open", "File")]
    small.session.close()
    palette.open()
    assert [text for text, _ in listed(small)[:2]] == ["small.shard", "Open"], "a recent file"
    opened(small, qtbot, data / "swh" / "small.shard")
    palette.open()
    palette.field.setText("index")
    assert listed(small)[0] == ("index · byte 0x1171 · index", "Go to")
    press(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: small.session.selection.span == Span("", 0x1171, 0x1172))
    palette.open("4F7A74D5E")
    qtbot.waitUntil(lambda: (KEY, "Key") in listed(small))
    press(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: small.session.selection.row == 4)
    palette.open("nothing like it")
    assert (listed(small), palette.note.text()) == ([], "No matches")
    palette.open(scope=Scope.TABS)
    QTest.keyClicks(palette.field, "medi")
    press(Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: small.session.request.name == "medium.shard")
    palette.open("Load index")
    press(Qt.Key.Key_Return)
    assert palette.isVisible(), "it is not available"
    for key in (Qt.Key.Key_Tab, Qt.Key.Key_Up, Qt.Key.Key_PageDown):
        press(key)
        assert palette.list.currentItem() is not None


def test_keys_that_begin_with_it_come_first(data: Path) -> None:
    with shardcore.open(data / "swh" / "small.shard") as shard:
        found = keys_with("9d", shard.objects, no_progress)
        assert [key.startswith("9d") for _, key in found][:2] == [True, False]
        assert {*found} == {(row, key) for row, key in enumerate(shard.objects.keys) if key and "9d" in key}
