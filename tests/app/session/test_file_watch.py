"""A file is watched by the system, not by a clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardcore.sources.local import FileSource
from shardcore.sources.memory import BytesSource
from shardscope.session.opened import SourceWatch


@pytest.fixture
def watch(qapp: QApplication) -> Iterator[SourceWatch]:
    """A watch on nothing."""
    parent = QObject()
    made = SourceWatch(parent)
    yield made
    made.stop()


def test_a_change_is_told_by_the_system(watch: SourceWatch, qtbot: QtBot, tmp_path: Path) -> None:
    path, other = tmp_path / "one", tmp_path / "two"
    path.write_bytes(b"before")
    with FileSource(path) as source:
        watch.start(source)
        with qtbot.waitSignal(watch.due):
            path.write_bytes(b"after")
        other.write_bytes(b"another")
        with qtbot.waitSignal(watch.due):
            other.replace(path)
        with qtbot.waitSignal(watch.due):
            path.write_bytes(b"once more")
    watch.start(BytesSource(b"memory"))
    assert not watch.ticks


def test_nothing_ticks_while_nobody_looks(watch: SourceWatch, qapp: QApplication, qtbot: QtBot, tmp_path: Path) -> None:
    """Remote files are polled while the window is active only."""
    path = tmp_path / "one"
    path.write_bytes(b"bytes")
    with FileSource(path) as source:
        watch.start(source)
        with qtbot.waitSignal(watch.due):
            qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
        assert watch.ticks
        qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)
        assert not watch.ticks
        watch.stop()
        qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationActive)
        assert not watch.ticks
