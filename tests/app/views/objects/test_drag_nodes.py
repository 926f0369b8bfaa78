"""Nodes of the tree are dragged as files: an object as its content, anything else as its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QModelIndex, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QPixmap
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from tests.app.conftest import open_in, visible

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(qtbot: QtBot, settings: Settings, data: Path) -> Iterator[MainWindow]:
    """A window on 12 objects."""
    made = visible(qtbot, MainWindow(settings), 1200, 900)
    open_in(made.session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: made.tree.nodes.rowCount(made.tree.nodes.index(0, 0)) > 0)
    yield made
    made.close()


def find(window: MainWindow, qtbot: QtBot, *names: str) -> QModelIndex:
    """The index of a node, by the names on the way to it."""
    index, nodes = window.tree.nodes.index(0, 0), window.tree.nodes
    for name in names:
        window.tree.expand(index)

        def children(parent: QModelIndex = index) -> dict[str, QModelIndex]:
            found = {}
            for row in range(nodes.rowCount(parent)):
                child = nodes.index(row, 0, parent)
                nodes.data(child)
                node = nodes.node(child)
                if node is not None:
                    found[node.name] = child
            return found

        qtbot.waitUntil(lambda: (name == "*" and bool(children())) or name in children())  # noqa: B023
        index = next(iter(children().values())) if name == "*" else children()[name]
    window.tree.scrollTo(index)
    QApplication.processEvents()
    return index


def drag(window: MainWindow, qtbot: QtBot, index: QModelIndex) -> list[Path]:
    """Presses on a node and moves; gives the files that are dragged."""
    dragged: list[list[Path]] = []

    def note(mime: QMimeData, pixmap: QPixmap) -> None:
        dragged.append([Path(url.toLocalFile()) for url in mime.urls()])

    window.drag_nodes.run_drag = note
    port = window.tree.viewport()
    place = window.tree.visualRect(index).center()
    qtbot.mousePress(port, LEFT, pos=place)
    for distance in (3, 30):
        point = QPointF(place.x() + distance, place.y())
        whole = QPointF(port.mapToGlobal(point.toPoint()))
        none = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(
            port, QMouseEvent(QEvent.Type.MouseMove, point, whole, Qt.MouseButton.NoButton, LEFT, none)
        )
    qtbot.waitUntil(lambda: bool(dragged))
    qtbot.mouseRelease(port, LEFT, pos=place)
    return dragged[0]


def test_a_field_is_its_bytes_and_an_object_its_content(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    (path,) = drag(window, qtbot, find(window, qtbot, "header", "objects_count"))
    assert path.name == "objects_count.bin"
    assert path.read_bytes() == (data / "swh" / "small.shard").read_bytes()[40:48]
    index = find(window, qtbot, "objects", "*")
    shard = window.session.shard
    ref = shard.objects.ref(window.tree.nodes.node(index).row)
    (path,) = drag(window, qtbot, index)
    assert path.name == ref.key
    assert path.read_bytes() == shard.read(ref)
    index = find(window, qtbot, "header")
    qtbot.mouseClick(window.tree.viewport(), LEFT, pos=window.tree.visualRect(index).center())
    assert window.tree.currentIndex() == index, "a press that does not move is a click"
