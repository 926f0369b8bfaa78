"""Dragging objects out of the table: what is ready when, what the mouse does to the selection, what programs get."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QPixmap
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.objects import drag_out
from shardscope.views.objects.drag_out import DragOut
from shardscope.views.objects.table import ObjectTable
from shardscope.widgets.object_model import ObjectModel
from tests.app.conftest import open_in
from tests.remote.servers import RangeServer

LEFT = Qt.MouseButton.LeftButton


class Rig:
    """A table with a drag-out whose drags are noted instead of run."""

    def __init__(self, session: Session, qtbot: QtBot) -> None:
        self.session = session
        self.qtbot = qtbot
        self.model = ObjectModel(session)
        self.table = ObjectTable(self.model)
        self.drag = DragOut(session, self.table, lambda: self.table.selected_ranges().rows().tolist())
        self.drag.run_drag = self._note
        self.drags: list[list[Path]] = []
        self.texts: list[str] = []
        self.messages: list[str] = []
        session.message.connect(self.messages.append)
        session.troubled.connect(lambda text, _: self.messages.append(text))
        qtbot.addWidget(self.table)
        self.table.resize(900, 500)
        self.table.show()

    def _note(self, mime: QMimeData, pixmap: QPixmap) -> None:
        self.drags.append([Path(url.toLocalFile()) for url in mime.urls()])
        self.texts.append(mime.text())

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
        # The move of the test library has no buttons.
        event = _moved(self.table, place)
        QApplication.sendEvent(self.table.viewport(), event)

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


def _moved(table: ObjectTable, place: QPoint) -> Any:
    point = QPointF(place)
    whole = QPointF(table.viewport().mapToGlobal(place))
    none = Qt.KeyboardModifier.NoModifier
    return QMouseEvent(QEvent.Type.MouseMove, point, whole, Qt.MouseButton.NoButton, LEFT, none)


@pytest.fixture
def rig(session: Session, qtbot: QtBot, data: Path) -> Iterator[Rig]:
    """The small sample."""
    open_in(session, qtbot, data / "swh/small.shard")
    made = Rig(session, qtbot)
    made.model.load()
    made.settle()
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
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)
    assert rig.drags == [[path]]
    assert rig.texts == [str(path)]


def test_several_rows(rig: Rig) -> None:
    chosen: list[int] = []
    rig.table.selectRow(0)
    rig.qtbot.mouseClick(rig.table.viewport(), LEFT, Qt.KeyboardModifier.ShiftModifier, rig.place(2))
    rig.table.rows_chosen.connect(chosen.append)
    rig.press(1)
    rig.move(1, 30)
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)
    assert chosen == []
    assert len(rig.drags[0]) == 3
    assert rig.table.selected_count() == 3


def test_a_click_selects(rig: Rig) -> None:
    chosen: list[int] = []
    rig.table.selectAll()
    rig.table.rows_chosen.connect(chosen.append)
    rig.press(4)
    rig.release(4)
    assert rig.table.selected_ranges().rows().tolist() == [4]
    assert 4 in chosen


def test_clicks_do_not_pile_up(rig: Rig) -> None:
    """Files written for a press are removed with the next press unless they were dragged."""
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
    assert rig.drags[0][0] in rig.written()


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
    assert titles == ["Prepare 1 object to drag"]
    assert rig.drags[0][0].stat().st_size == 1790


class _Slow:
    """Holds the streams of a shard until it is let go."""

    def __init__(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        shard: Any = session.shard
        stream = shard.stream

        def held(ref: Any) -> Iterator[bytes]:
            self.gate.wait(60)
            yield from stream(ref)

        monkeypatch.setattr(shard, "stream", held)


@pytest.fixture
def slow(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Slow]:
    """Bytes that take their time."""
    made = _Slow(rig.session, monkeypatch)
    yield made
    made.gate.set()


def test_drag_that_waits(rig: Rig, slow: _Slow) -> None:
    rig.press(0)
    rig.move(0, 30)
    rig.qtbot.waitUntil(lambda: rig.session.jobs.newest(("drag", rig.drag)) is not None)
    assert rig.drags == []
    slow.gate.set()
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)


def test_released_too_early(rig: Rig, slow: _Slow) -> None:
    """No drag starts after the button was released; the message reports that the files are ready."""
    rig.press(0)
    rig.move(0, 30)
    rig.release(0)
    slow.gate.set()
    rig.qtbot.waitUntil(lambda: any("ready" in message for message in rig.messages))
    assert rig.drags == []
    rig.press(0)
    rig.move(0, 30)
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)


def test_escape(rig: Rig, slow: _Slow) -> None:
    rig.press(0)
    rig.move(0, 30)
    rig.qtbot.waitUntil(lambda: rig.drag._job is not None)
    rig.qtbot.keyClick(rig.table, Qt.Key.Key_Escape)
    slow.gate.set()
    rig.settle()
    assert rig.drags == []
    assert rig.written() == []


def test_click_stops_reading(rig: Rig, slow: _Slow) -> None:
    rig.press(0)
    QApplication.processEvents()
    job = rig.session.jobs.newest(("drag", rig.drag))
    rig.release(0)
    assert job.cancelled


def test_copy_files(rig: Rig) -> None:
    rig.table.selectRow(0)
    rig.drag.copy_files()
    rig.qtbot.waitUntil(lambda: any("copied" in message for message in rig.messages))
    mime = QGuiApplication.clipboard().mimeData()
    (url,) = mime.urls()
    assert Path(url.toLocalFile()) == rig.written()[0]
    assert bytes(mime.data("x-special/gnome-copied-files").data()).decode() == f"copy\n{url.toString()}"
    QGuiApplication.clipboard().clear()


def test_closing(rig: Rig) -> None:
    """Dragged files stay when the shard is closed; the others are removed."""
    rig.press(0)
    rig.move(0, 30)
    rig.settle()
    rig.release(0)
    rig.press(2)
    rig.settle()
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
    rig.model.load()
    rig.settle()
    row = 0
    rig.press(row)
    rig.settle()
    assert rig.written() == []
    rig.move(row, QApplication.startDragDistance())
    rig.qtbot.waitUntil(lambda: len(rig.drags) == 1)
    (path,) = rig.written()
    assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    rig.release(row)
    monkeypatch.setattr(drag_out, "FAR_MOST", 0)
    other = 2
    rig.press(other)
    rig.settle()
    rig.move(other, QApplication.startDragDistance())
    rig.settle()
    assert len(rig.drags) == 1
    assert rig.messages == ["Too large to drag: extract the objects instead"]
    rig.release(other)
    rig.drag.close()
