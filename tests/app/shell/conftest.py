"""A window, and a window with a file, for the tests of the shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings

NORMAL = QSize(1440, 840)


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page; no job is left when it is closed."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(NORMAL)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.end()
    assert made.jobs.open_jobs == ()


@pytest.fixture
def small(window: MainWindow, qtbot: QtBot, data: Path) -> MainWindow:
    """The window with 12 objects."""
    return opened(window, qtbot, data / "swh" / "small.shard")


def asked(qtbot: QtBot, window: MainWindow, name: str) -> QMessageBox:
    """The question of a name, once it is asked."""
    qtbot.waitUntil(lambda: any(box.isVisible() for box in window.findChildren(QMessageBox, name)))
    return next(box for box in window.findChildren(QMessageBox, name) if box.isVisible())


def press(box: QMessageBox, text: str) -> None:
    """Click the button of a text."""
    next(button for button in box.buttons() if text in button.text().replace("&", "")).click()


def opened(window: MainWindow, qtbot: QtBot, *paths: Path) -> MainWindow:
    """Open files, each in its tab, the last in front, and wait until nothing moves."""
    for path in paths:
        with qtbot.waitSignal(window.session.opened):
            window.open(str(path))
        settle(window, 20)
    return window
