"""Dragging objects out of the table: what is ready when, what the mouse does to the selection, what programs get."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QModelIndex, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QPixmap
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from shardscope.views.objects import drag_out
from shardscope.views.objects.drag_out import DragOut
from shardscope.views.objects.model import ObjectModel
from shardscope.views.objects.table import ObjectTable
from tests.app.conftest import open_in, visible
from tests.remote.servers import RangeServer

LEFT = Qt.MouseButton.LeftButton


def moved(port: QWidget, place: QPoint) -> None:
    """Moves with the left button down: the move of the test library has no buttons."""
    whole, none = QPointF(port.mapToGlobal(place)), Qt.KeyboardModifier.NoModifier
    kind, button = QEvent.Type.MouseMove, Qt.MouseButton.NoButton
    QApplication.sendEvent(port, QMouseEvent(kind, QPointF(place), whole, button, LEFT, none))


class Rig:
    """A table with a drag-out whose drags are noted instead of run."""

    def __init__(self, session: Session, qtbot: QtBot) -> None:
        self.session, self.qtbot, self.model = session, qtbot, ObjectModel(session)
        self.table = ObjectTable(self.model)
        self.drag = DragOut(session, self.table, lambda: self.table.selected_ranges().rows().tolist())
        self.drag.run_drag = self._note
        self.drags, self.messages = list[list[Path]](), list[str]()
        session.message.connect(self.messages.append)
        session.troubled.connect(lambda text, _: self.messages.append(text))
        visible(qtbot, self.table, 900, 500)
        self.model.load()
        self.settle()

    def _note(self, mime: QMimeData, pixmap: QPixmap) -> None:
        self.drags.append([Path(url.toLocalFile()) for url in mime.urls()])

    def place(self, row: int) -> QPoint:
        """A point on the key of a row."""
        return self.table.visualRect(self.model.index(row, 1)).center()

    def press(self, row: int) -> None:
        """Presses the left button on a row."""
        self.qtbot.mousePress(self.table.viewport(), LEFT, pos=self.place(row))

    def move(self, row: int, distance: int) -> None:
        """Moves with the button down."""
        place = self.place(row) + QPoint(0, distance)
        self.qtbot.mouseMove(self.table.viewport(), place)
        moved(self.table.viewport(), place)

    def release(self, row: int) -> None:
        """Lets the button go."""
        self.qtbot.mouseRelease(self.table.viewport(), LEFT, pos=self.place(row))

    def settle(self) -> None:
        """Waits until nothing is on its way."""
        QApplication.processEvents()
        self.qtbot.waitUntil(lambda: not self.session.jobs.open_jobs)

    def written(self) -> list[Path]:
        """The files that are ready, of all sets, whether wanted or not."""
        root = self.drag._folders._root
        names = [] if root is None else root.rglob("*")
        return sorted(path for path in names if path.is_file() and path.name != "manifest.json")


@pytest.fixture
def rig(session: Session, qtbot: QtBot, data: Path) -> Iterator[Rig]:
    """The small sample."""
    open_in(session, qtbot, data / "swh/small.shard")
    made = Rig(session, qtbot)
    yield made
    made.drag.close()


def test_files_are_ready_before_the_drag_begins(rig: Rig) -> None:
    rig.press(0)
    rig.settle()
    (path,) = rig.written()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    rig.move(0, QApplication.startDragDistance() - 1)
    rig.settle()
    assert rig.drags == []
    rig.move(0, QApplication.startDragDistance())
    rig.qtbot.waitUntil(lambda: rig.drags == [[path]])
    rig.release(0)


def test_a_drag_keeps_the_selection_and_a_click_selects(rig: Rig) -> None:
    chosen: list[int] = []
    rig.table.selectRow(0)
    rig.qtbot.mouseClick(rig.table.viewport(), LEFT, Qt.KeyboardModifier.ShiftModifier, rig.place(2))
    rig.table.rows_chosen.connect(chosen.append)
    rig.press(1)
    rig.move(1, 30)
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)
    assert (len(rig.drags[0]), rig.table.selected_count(), chosen) == (3, 3, [])
    rig.release(1)
    rig.table.selectAll()
    rig.press(4)
    rig.release(4)
    assert rig.table.selected_ranges().rows().tolist() == [4]
    assert 4 in chosen


def test_large_ones_wait_for_the_drag(rig: Rig) -> None:
    """Above the limit a press writes nothing; the drag starts a visible job."""
    titles: list[str] = []
    rig.session.jobs.added.connect(lambda job: titles.append(job.title))
    rig.drag.small = 100
    rig.press(0)
    rig.settle()
    assert rig.written() == []
    rig.move(0, 30)
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)
    assert len(titles) == 1
    assert rig.drags[0][0].stat().st_size == 1790


@pytest.fixture
def gate(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Holds the streams of the shard until it is set."""
    made, shard = threading.Event(), rig.session.shard
    stream: Any = shard.stream

    def held(ref: Any) -> Iterator[bytes]:
        made.wait(60)
        yield from stream(ref)

    monkeypatch.setattr(shard, "stream", held)
    yield made
    made.set()


def test_released_too_early(rig: Rig, gate: threading.Event) -> None:
    """No drag starts after the button was released; the message reports that the files are ready."""
    rig.press(0)
    rig.move(0, 30)
    rig.release(0)
    gate.set()
    rig.qtbot.waitUntil(lambda: any("ready" in message for message in rig.messages))
    assert rig.drags == []
    rig.press(0)
    rig.move(0, 30)
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)


def test_escape(rig: Rig, gate: threading.Event) -> None:
    rig.press(0)
    rig.move(0, 30)
    rig.qtbot.waitUntil(lambda: rig.drag._job is not None)
    rig.qtbot.keyClick(rig.table, Qt.Key.Key_Escape)
    rig.release(0)
    rig.press(2)
    QApplication.processEvents()
    job = rig.session.jobs.newest(("drag", rig.drag))
    rig.release(2)
    assert job.cancelled, "a click stops reading"
    gate.set()
    rig.settle()
    assert rig.drags == []
    assert rig.written() == []


def test_copy_files(rig: Rig) -> None:
    rig.table.selectRow(0)
    rig.drag.copy_files()
    rig.qtbot.waitUntil(lambda: any("copied" in message for message in rig.messages))
    mime = QGuiApplication.clipboard().mimeData()
    (url,) = mime.urls()
    assert Path(url.toLocalFile()) == rig.written()[0]
    assert bytes(mime.data("x-special/gnome-copied-files").data()).decode() == f"copy\n{url.toString()}"
    QGuiApplication.clipboard().clear()


def test_clicks_do_not_pile_up_and_closing_keeps_what_was_dragged(rig: Rig) -> None:
    """Files written for a press are removed with the next press or the shard, unless they were dragged."""
    rig.press(0)
    rig.move(0, 30)
    rig.settle()
    rig.release(0)
    for row in (2, 3, 4):
        rig.press(row)
        rig.settle()
        rig.release(row)
    rig.settle()
    assert len(rig.written()) == 2
    rig.session.close()
    rig.settle()
    assert rig.written() == rig.drags[0]


def test_objects_of_another_machine(
    session: Session, qtbot: QtBot, data: Path, server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drag_out, "FAR_SMALL", 0)
    with qtbot.waitSignal(session.opened):
        session.open(server.put("/small.shard", data / "swh/small.shard"))
    rig = Rig(session, qtbot)
    rig.press(0)
    rig.settle()
    assert rig.written() == []
    rig.move(0, QApplication.startDragDistance())
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)
    (path,) = rig.written()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    rig.release(0)
    monkeypatch.setattr(drag_out, "FAR_MOST", 0)
    rig.press(2)
    rig.settle()
    rig.move(2, QApplication.startDragDistance())
    rig.settle()
    assert (len(rig.drags), len(rig.messages)) == (1, 1)
    rig.release(2)
    rig.drag.close()


def test_nodes_of_the_tree_are_dragged_as_files(qtbot: QtBot, session: Session, settings: Settings, data: Path) -> None:
    """Nodes of the tree are dragged as files; a press that does not move is a click."""
    window = visible(qtbot, MainWindow(settings), 1200, 900)
    open_in(window.session, qtbot, data / "swh" / "small.shard")
    tree, nodes, shard, dragged = window.tree, window.tree.nodes, window.session.shard, list[Path]()
    window.drag_nodes.run_drag = lambda mime, _: dragged.extend(Path(url.toLocalFile()) for url in mime.urls())

    def find(*names: str) -> QModelIndex:
        index = nodes.index(0, 0)
        for name in names:
            tree.expand(index)
            found = lambda index=index, name=name: [  # noqa: E731
                child
                for child in (nodes.index(row, 0, index) for row in range(nodes.rowCount(index)))
                if child.data() and nodes.node(child) is not None and name in ("*", nodes.node(child).name)
            ]
            qtbot.waitUntil(lambda found=found: bool(found()))
            index = found()[0]
        tree.scrollTo(index)
        QApplication.processEvents()
        return index

    def drag(index: QModelIndex) -> Path:
        place = tree.visualRect(index).center()
        qtbot.mousePress(tree.viewport(), LEFT, pos=place)
        for distance in (3, 30):
            moved(tree.viewport(), place + QPoint(distance, 0))
        qtbot.waitUntil(lambda: bool(dragged))
        qtbot.mouseRelease(tree.viewport(), LEFT, pos=place)
        return dragged.pop()

    qtbot.waitUntil(lambda: nodes.rowCount(nodes.index(0, 0)) > 0)
    path = drag(find("header", "objects_count"))
    assert (path.name, path.read_bytes()) == ("objects_count.bin", (data / "swh/small.shard").read_bytes()[40:48])
    index = find("objects", "*")
    ref = shard.objects.ref(nodes.node(index).row)
    path = drag(index)
    assert (path.name, path.read_bytes()) == (ref.key, shard.read(ref))
    index = find("header")
    qtbot.mouseClick(tree.viewport(), LEFT, pos=tree.visualRect(index).center())
    assert tree.currentIndex() == index
    window.close()
