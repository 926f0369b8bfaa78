"""A window in which files are changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings


@pytest.fixture(scope="module")
def one(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """A window for all of these tests."""
    made = MainWindow(Settings(tmp_path_factory.mktemp("settings") / "settings.json"))
    made.resize(1200, 800)
    made.show()
    yield made
    made.close()


@pytest.fixture
def window(one: MainWindow) -> Iterator[MainWindow]:
    """The window; what was opened is closed afterwards."""
    yield one
    one.session.documents.close_all()
    settle(one, 20)
