"""A window for tests that say nothing about its size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window on its welcome page."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.show()
    yield made
    made.close()
