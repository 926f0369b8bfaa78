"""*What is this?*: every part of the window says what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QDockWidget, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from shardscope.learning.help.whats_this import sentences
from shardscope.shell.help_menu import PAGE
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(1440, 840)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def explained(part: QWidget) -> bool:
    """Whether a part, or what it lies in, has words; the window itself does not count."""
    while not part.isWindow():
        if part.whatsThis():
            return True
        parent = part.parentWidget()
        if parent is None:
            return False
        part = parent
    return False


def without_words(window: MainWindow) -> list[str]:
    """The parts that can be seen and named, and say nothing."""
    parts = [part for part in window.findChildren(QWidget) if part.isVisible() and part.objectName()]
    parts = [part for part in parts if not isinstance(part.parent(), QTabBar)]  # Qt scrolls many tabs by buttons
    return [part.objectName() for part in parts if part.window() is window and not explained(part)]


@pytest.mark.thorough
def test_every_part_says_what_it_is(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """On the welcome page, and with a file and each dock in front, everything with a name has words."""
    assert without_words(window) == []
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(data / "swh" / "small.shard"))
    settle(window, 40)
    assert without_words(window) == []
    for name in window.panels.by_name:
        window.show_part(name)
        assert without_words(window) == []


def test_every_dock_has_words_of_its_own(window: MainWindow) -> None:
    """A panel that is added to the table must be explained, too."""
    assert [dock.objectName() for dock in window.findChildren(QDockWidget) if not dock.whatsThis()] == []


def test_no_words_are_about_nothing(window: MainWindow) -> None:
    """Each name in the list is a part of the window, and its words are a sentence or two, with an end."""
    for name, sentence in sentences().items():
        assert window.findChild(QWidget, name) is not None, name
        assert sentence.endswith(".")
        assert len(sentence) < 260


def test_the_help_menu(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Shift+F1 asks; Alt+F1 shows the page of what is open; the glossary is an entry of its own."""
    assert window.help.whats_this.shortcut().toString() == "Shift+F1"
    window.help.glossary.trigger()
    page = window.findChild(QWidget, PAGE)
    assert page is not None
    assert page.isVisible()
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(data / "swh" / "small.shard"))
    settle(window, 40)
    window.help.page.trigger()
    assert page.isVisible()
