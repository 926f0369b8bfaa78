"""Names for those who do not see the window and in the pages of the docs; letters that every font has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAction, QFont, QFontDatabase, QFontMetrics
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QMenu, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.palette import command, commands
from shardscope.shell.panels import PANELS
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.views.trace.panel import OutcomeBand
from shardscope.views.trace.step_card import NumberSign, Sign, StepCard
from shardscope.widgets.wrap_text import WrapText

ROOT = Path(__file__).parents[3]


def unnamed(window: QWidget) -> list[str]:
    found = []
    for widget in window.findChildren(QWidget):
        if widget.focusPolicy() == Qt.FocusPolicy.NoFocus or widget.objectName().startswith("qt_"):
            continue
        # A text is its own name; Qt makes and names the lists of boxes and the tabs of docks.
        popup = widget.window() is not window.window()
        if isinstance(widget, (QLabel, WrapText)) or popup or widget.parent() is window:
            continue
        if isinstance(widget, QAbstractButton) and not widget.isVisible():
            continue
        interface = QAccessible.queryAccessibleInterface(widget)
        # A placeholder is no name: it goes with the first letter.
        own = isinstance(widget, QLineEdit) or interface is None
        name = "" if own else interface.text(QAccessible.Text.Name)
        if not (name or widget.accessibleName()).strip():
            parents = [type(widget).__name__, widget.objectName()]
            above = widget.parentWidget()
            while above is not None and above is not window:
                parents.append(above.objectName() or type(above).__name__)
                above = above.parentWidget()
            found.append(" < ".join(parents))
    return found


PLAIN = frozenset({"Client", "Border", "ScrollBar", "Splitter", "Grip", "Separator", "Pane", "LayeredPane", "NoRole"})
"""Roles of areas that only hold others, or that Qt moves by itself: they need no name."""

MADE_ELSEWHERE = ("qt_", "search", "sourceTabs")
"""Beginnings of the names of parts of Qt, and of those that name themselves once they have something to show."""


def without_role_or_name(window: QWidget) -> set[str]:
    found = set()
    for part in window.findChildren(QWidget):
        hidden = not part.isVisible() and isinstance(part, (QAbstractButton, QLabel, QTabBar))
        hidden = hidden or (isinstance(part, QTabBar) and not part.count())
        inside = isinstance(part.parent(), QLineEdit) or part.objectName().startswith(MADE_ELSEWHERE)
        if part.window() is not window or hidden or inside:
            continue
        interface = QAccessible.queryAccessibleInterface(part)
        role, name = interface.role().name, interface.text(QAccessible.Text.Name)
        paints = "paintEvent" in vars(type(part)) and type(part).__module__.startswith("shardscope")
        words = isinstance(part, (WrapText, StepCard, Sign, NumberSign))
        empty = not name and role not in PLAIN and not isinstance(part, (QLabel, OutcomeBand))
        if (paints and role in PLAIN and not (words and (name or not getattr(part, "text", "")))) or empty:
            found.add(f"{type(part).__name__} {part.objectName()}: {role}, {name!r}")
    return found


@pytest.mark.thorough
def test_every_part_has_a_role_and_a_name(qtbot: QtBot, settings: Settings) -> None:
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.show()
    settle(window, 40)
    found = {*without_role_or_name(window), *unnamed(window)}
    window.open(str(ROOT / "resources" / "samples" / "swh" / "small.shard"))
    settle(window, 40)
    found |= {*unnamed(window)}
    window.hex.actions_.find.trigger()
    window.session.lookup.start("9d0c38e7aafe062c3a6dfc561e42771ec997d9359bb3d417ac4775a303292964")
    settle(window, 40)
    for panel in window.panels.by_name:
        window.show_part(panel)
        settle(window, 20)
        found |= without_role_or_name(window)
    assert found == set()
    card = QAccessible.queryAccessibleInterface(window.welcome.samples.cards[0])
    assert card.role() is QAccessible.Role.Button
    window.close()


def test_every_letter_that_is_shown_has_a_shape(qtbot: QtBot) -> None:
    family = "DejaVu Sans" if "DejaVu Sans" in QFontDatabase.families() else QApplication.font().family()
    metrics = QFontMetrics(QFont(family))
    missing = {
        f"{letter} (U+{ord(letter):04X}) in {path.name}"
        for folder in ("app", "shardcore")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for letter in set(path.read_text("utf-8"))
        if ord(letter) > 127 and not metrics.inFontUcs4(ord(letter))
    }
    assert missing == set()


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
    keys = {key for found in commands(window) for key in command(*found).keys.split(", ")}
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


OWN = {"Ctrl+Home", "Ctrl+End", "Ctrl+PgDown", "Ctrl+PgUp"}
"""Keys of the bytes themselves, which are no entries of a menu."""
