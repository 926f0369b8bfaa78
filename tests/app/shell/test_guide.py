"""The pages of the docs name menus, panels and keys that the window has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from shardscope.learning.help.shortcuts import shortcuts
from shardscope.shell.main_window import MainWindow
from shardscope.shell.panels import PANELS
from shardscope.startup.settings import Settings

DOCS = Path(__file__).parents[3] / "docs"
MENUS = "File|Edit|View|Go|Tools|Learn|Help"
_PATH = re.compile(rf"\*((?:{MENUS})(?: › [^*›]+)+)\*")
_ROW = re.compile(r"^\| ((?:Ctrl|Alt|Shift|F\d)[^|]*) \|", re.MULTILINE)


def entries(menu: QMenu, before: str) -> Iterator[str]:
    for action in menu.actions():
        if not action.isSeparator():
            path = f"{before} › {plain(action)}"
            yield path
            below = action.menu()
            if isinstance(below, QMenu):
                yield from entries(below, path)


def plain(action: QAction) -> str:
    return re.sub(r" …$", "…", action.text().replace("&", "")).strip()


def test_menus_and_keys_of_the_pages_exist(qtbot: QtBot, tmp_path: Path) -> None:
    window = MainWindow(Settings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    found = {
        path
        for top in window.menuBar().actions()
        if isinstance(menu := top.menu(), QMenu)
        for path in entries(menu, plain(top))
    }
    keys = {key for one in shortcuts(window) for key in one.keys.split(", ")}
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for path in _PATH.findall(text):
            named = re.sub(r"\s+", " ", path)
            assert any(one.removesuffix("…") == named.removesuffix("…") for one in found), f"{page.name}: {named}"
    for page in (DOCS / "guide").glob("*.md"):
        for row in _ROW.findall(page.read_text(encoding="utf-8")):
            for key in re.split(r", |; with.*", row):
                short = key.replace("Page Down", "PgDown").replace("Page Up", "PgUp")
                assert short in keys | OWN, f"{page.name}: {key}"
    index = (DOCS / "guide" / "index.md").read_text(encoding="utf-8")
    assert all(panel.shortcut in index for panel in PANELS if panel.name != "hits")


OWN = {"Ctrl+Home", "Ctrl+End", "Ctrl+PgDown", "Ctrl+PgUp", "Shift+F1"}
"""Keys of the bytes themselves, which are no entries of a menu."""
