"""Text: find, wrap, and texts that are long."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.preview.text_view import FIRST, MOST_LINE, TextView, shown_text, tokens_of
from tests.app.views.preview.preview_rig import PreviewRig

SCRIPT = b"import os\r\n\r\n\r\ndef main():\r\n    return OS.path\r\n"


@pytest.fixture
def rig(session: Session, qtbot: QtBot, tmp_path: Path) -> PreviewRig:
    """A short and a long text."""
    objects = {
        "a.py": SCRIPT,
        "long.txt": b"0123456789abcde\n" * 40_000,
        "wide.py": "x = '\U0001f600\U0001f600' # name\nname = 1\n".encode(),
        "line.txt": b"x" * 200_000 + b"\nlast \xe2\x80\xae line\n",
    }
    made = PreviewRig(session, qtbot, tmp_path, objects)
    made.panel.activateWindow()
    return made


def test_find(rig: PreviewRig) -> None:
    view = rig.view(TextView)
    view.lines.setFocus()
    rig.qtbot.waitUntil(view.lines.hasFocus)
    rig.qtbot.keyClick(view.lines, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = view.find_bar.field
    rig.qtbot.waitUntil(field.hasFocus)
    rig.qtbot.keyClicks(field, "os")
    assert view.find_bar.count.text() == "1 of 2"
    rig.qtbot.keyClick(field, Qt.Key.Key_Return)
    assert view.find_bar.count.text() == "2 of 2"
    assert view.lines.textCursor().selectedText() == "OS"
    rig.qtbot.keyClick(field, Qt.Key.Key_Return)
    assert view.find_bar.count.text() == "1 of 2"
    rig.qtbot.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert view.find_bar.count.text() == "2 of 2"
    rig.qtbot.keyClicks(field, "x")
    assert view.find_bar.count.text() == "Not found"
    rig.qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert not view.find_bar.isVisible()
    assert view.lines.hasFocus()
    assert not view.lines.extraSelections()


def test_keys_choose_lines(rig: PreviewRig) -> None:
    view = rig.view(TextView)
    for _ in range(3):
        rig.qtbot.keyClick(view.lines, Qt.Key.Key_Down)
    assert rig.selected() == b"def main():\r\n"


def test_find_of_the_bytes_is_left_alone(rig: PreviewRig) -> None:
    """Ctrl+F is claimed only where the view has a find line."""
    view = rig.view(TextView)
    modifier = Qt.KeyboardModifier.ControlModifier
    claimed = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_F, modifier)
    claimed.ignore()
    QApplication.sendEvent(view.lines, claimed)
    assert claimed.isAccepted()
    rig.panel._say("nothing")
    other = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_F, modifier)
    other.ignore()
    QApplication.sendEvent(rig.panel, other)
    assert not other.isAccepted()


def test_a_long_text_begins_with_a_part(rig: PreviewRig) -> None:
    rig.show("long.txt")
    view = rig.view(TextView)
    assert FIRST - 16 <= len(view.lines.toPlainText()) <= FIRST
    assert view.all.text() == "Show all 625 KiB"
    view.mark(16 * 39_999, 16 * 39_999 + 1)
    assert len(view.lines.toPlainText()) > FIRST
    assert not view.all.isVisible()


def test_long_lines_are_cut(rig: PreviewRig) -> None:
    rig.show("line.txt")
    first, last, _ = rig.view(TextView).lines.toPlainText().split("\n")
    assert first == "x" * MOST_LINE + " … (200,000 characters)"
    assert last == "last \\u202e line"
    assert shown_text("a\r\nb\rc") == "a\nb\\rc"


def test_places_are_right_after_characters_beyond_the_first_plane(rig: PreviewRig) -> None:
    """An emoji counts twice in Qt; matches and colours after it are not shifted."""
    lines = rig.view(TextView).lines
    text = "# \U0001f600\U0001f600\nimport os\n"
    tokens = tokens_of(text, "Python")
    lines.show_text(text, tokens)
    assert lines.find_all("os") == 1
    assert lines.textCursor().selectedText() == "os"
    start, stop, _ = tokens[-1]
    cursor = lines.textCursor()
    cursor.setPosition(start)
    cursor.setPosition(stop, cursor.MoveMode.KeepAnchor)
    assert cursor.selectedText() == "import"
