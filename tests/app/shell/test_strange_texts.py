"""Names and keys that hold what terminals and markup act upon: the window shows all of it, and nothing acts."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QLineEdit, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from shardcore import Depth
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from tests.shardcore.formats.des.made import Stored, shard

STRANGE = "k\u202e<b>bold</b>\x07\x1b[31m&amp"
NAME = os.fsdecode(b"n\xe2\x80\xae<b>bold<b>\x1b[31m\xff & so.des")


def is_markup(text: str) -> bool:
    return re.search(r"<[a-zA-Z/!]", text) is not None


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    kept = [Stored(f"{STRANGE}{n}".encode(), b"content " * (n + 1), "zstd", {STRANGE: STRANGE}) for n in range(3)]
    path = tmp_path / NAME
    path.write_bytes(shard(kept))
    return path


def texts(window: MainWindow) -> Iterator[tuple[QWidget | QAction, str, bool]]:
    for part in [window, *window.findChildren(QWidget)]:
        tips = (part.toolTip(), part.statusTip(), part.whatsThis())
        yield from ((part, text, is_markup(text)) for text in tips)
        yield from ((part, text, False) for text in (part.windowTitle(), part.accessibleName()))
        if isinstance(part, QLabel):
            form = part.textFormat()
            rich = form is Qt.TextFormat.RichText
            rich |= form is Qt.TextFormat.AutoText and is_markup(part.text())
            yield part, part.text(), rich
        elif isinstance(part, QTabBar):
            yield from ((part, part.tabText(n), False) for n in range(part.count()))
            yield from ((part, part.tabToolTip(n), is_markup(part.tabToolTip(n))) for n in range(part.count()))
        elif not isinstance(part, QLineEdit) and callable(text := getattr(part, "text", None)):
            found = text()
            yield part, found if isinstance(found, str) else "", False
    for action in window.findChildren(QAction):
        # What is behind a tab are keys, which menus write at the right.
        yield action, re.sub(r"\tAlt\+\w$", "", action.text()), False
        yield action, action.toolTip(), is_markup(action.toolTip())


def wrong(window: MainWindow) -> list[str]:
    found = []
    for part, text, rich in texts(window):
        acts = [letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")]
        if acts or (rich and "<b>bold" in text):
            found.append(f"{type(part).__name__} {part.objectName()}: {text!a}")
    return found


def test_nothing_out_of_a_file_acts(window: MainWindow, qtbot: QtBot, strange: Path) -> None:
    with qtbot.waitSignal(window.session.opened):
        window.open(str(strange))
    settle(window, 60)
    assert wrong(window) == []
    window.session.select_row(1)
    window.session.lookup.start(f"{STRANGE}1")
    window.session.verification.start(Depth.CONTENT)
    window.session.message.emit(f"Copied {STRANGE}")
    settle(window, 60)
    assert wrong(window) == []
    window.hex.actions_.toggle_decoded()
    settle(window, 60)
    assert wrong(window) == []
    window.open(str(strange.with_name(f"{NAME} is not here")))
    qtbot.waitUntil(lambda: bool(window.notices.text))
    assert wrong(window) == []
    window.session.close()
    settle(window, 60)
    assert window.welcome.recent.model().rowCount() == 1
    assert wrong(window) == []
