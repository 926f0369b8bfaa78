"""The field of the bar: offsets, names and keys, completed while they are typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardscope import assets
from shardscope.settings import Settings
from shardscope.window.main_window import MainWindow
from shardscope.window.screenshot import settle

NORMAL = QSize(1440, 840)
ROOT = Path(__file__).parents[3]


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window of 1440 × 840."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(NORMAL)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.close()


def opened(window: MainWindow, qtbot: QtBot, path: Path) -> MainWindow:
    """Opens a file and waits until nothing moves any more."""
    with qtbot.waitSignal(window.session.opened, timeout=10_000):
        window.open(str(path))
    settle(window, 40)
    return window


@pytest.fixture
def small(window: MainWindow, qtbot: QtBot, data: Path) -> MainWindow:
    """The window with 12 objects."""
    return opened(window, qtbot, data / "swh" / "small.shard")


def entry(window: MainWindow, text: str) -> list[str]:
    """Types an entry; what is offered then."""
    field = window.hex.address.field
    field.setFocus()
    field.clear()
    QTest.keyClicks(field, text)
    model = window.hex.address.completer.model()
    return [str(model.index(n, 0).data()) for n in range(model.rowCount())]


def test_the_field_takes_a_key(small: MainWindow, qtbot: QtBot) -> None:
    """What is no place and may be a key is looked up, and the lookup is shown."""
    shard = small.session.shard
    assert shard is not None
    key = shard.objects.keys[3]
    assert key is not None
    entry(small, key)
    QTest.keyClick(small.hex.address.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: small.trace.trace is not None)
    assert small.trace.trace is not None
    assert small.trace.trace.outcome == "found"
    assert not small.trace.visibleRegion().isEmpty()
    settle(small, 40)


def test_the_field_completes_what_is_known(small: MainWindow) -> None:
    """Names of sections and fields, keys of rows that were loaded, and what was entered before are offered."""
    shard = small.session.shard
    assert shard is not None
    key = shard.objects.keys[3]
    assert key is not None
    assert any(words.startswith("header.index_position") for words in entry(small, "index_po"))
    assert any(words.startswith(f"object {key[:6]}") for words in entry(small, key[:4]))
    entry(small, "index+40")
    QTest.keyClick(small.hex.address.field, Qt.Key.Key_Return)
    assert any(words.startswith("index+40") for words in entry(small, "ex+4"))
    settle(small, 40)


def test_a_number_may_be_a_byte_or_an_object(window: MainWindow, qtbot: QtBot) -> None:
    """Where keys are numbers both meanings are offered; Enter goes to the byte, and the list says so."""
    opened(window, qtbot, assets.path("samples/bloscpack/array.blp"))
    offered = entry(window, "1")
    assert offered[0].startswith("byte 1 ")
    assert offered[0].endswith("Enter")
    assert offered[1] == "object 1"
    QTest.keyClick(window.hex.address.field, Qt.Key.Key_Return)
    assert window.hex.state.selection.span.start == 1
    entry(window, "1")
    popup = window.hex.address.list
    with qtbot.waitSignal(window.session.walk_changed):
        popup.setCurrentIndex(popup.model().index(1, 0))
        QTest.keyClick(window.hex.address.field, Qt.Key.Key_Return)
    settle(window, 40)
    assert window.session.walk.key == "1"
