"""Drop targets: Open, and Find in shard."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardscope.shell.drop_targets import DropTarget
from shardscope.shell.main_window import MainWindow
from shardscope.tasks.new_shard.new_shards import NewShardDialog
from tests.app.conftest import open_in

COPY = Qt.DropAction.CopyAction
LEFT = Qt.MouseButton.LeftButton
PLAIN = Qt.KeyboardModifier.NoModifier


def mime_of(*paths: Path) -> QMimeData:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


class Dragging:
    def __init__(self, window: MainWindow, mime: QMimeData) -> None:
        self.window = window
        self.mime = mime
        self.target: QWidget | None = None

    def to(self, point: QPoint) -> None:
        target = self._under(point)
        if target is not self.target:
            if self.target is not None:
                QApplication.sendEvent(self.target, QDragLeaveEvent())
            enter = QDragEnterEvent(target.mapFrom(self.window, point), COPY, self.mime, LEFT, PLAIN)
            self.target = target
            QApplication.sendEvent(target, enter)
        else:
            move = QDragMoveEvent(target.mapFrom(self.window, point), COPY, self.mime, LEFT, PLAIN)
            QApplication.sendEvent(target, move)

    def drop(self, point: QPoint) -> None:
        self.to(point)
        self.to(point)
        place = QPointF(self.target.mapFrom(self.window, point))
        QApplication.sendEvent(self.target, QDropEvent(place, COPY, self.mime, LEFT, PLAIN))

    def leave(self) -> None:
        if self.target is not None:
            QApplication.sendEvent(self.target, QDragLeaveEvent())

    def _under(self, point: QPoint) -> QWidget:
        widget: QWidget | None = self.window.childAt(point)
        while widget is not None and not widget.acceptDrops():
            widget = widget.parentWidget()
        return widget or self.window


def middle(window: MainWindow, place: DropTarget) -> QPoint:
    return window.drop_places.rect_of(place).center().toPoint()


def test_two_places_over_an_open_file(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    open_in(window.session, qtbot, data / "swh" / "small.shard")
    shard = window.session.shard
    dropped = tmp_path / "dropped"
    dropped.write_bytes(shard.read(shard.objects.ref(0)))
    assert window.acceptDrops()
    drag = Dragging(window, mime_of(dropped))
    drag.to(QPoint(600, 400))
    assert window.drop_places.places == (DropTarget.OPEN, DropTarget.SEEK)
    assert window.drop_places.geometry() == window.rect()
    drag.drop(middle(window, DropTarget.SEEK))
    qtbot.waitUntil(lambda: window.session.selection.row == 0)
    assert window.session.shard is shard
    drag = Dragging(window, mime_of(data / "swh" / "one.shard"))
    drag.to(QPoint(600, 400))
    drag.drop(middle(window, DropTarget.OPEN))
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"))


@pytest.mark.thorough
def test_other_drags_show_nothing(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Text, and addresses elsewhere, are not taken."""
    open_in(window.session, qtbot, data / "swh" / "small.shard")
    text, far = QMimeData(), QMimeData()
    text.setText("hello")
    far.setUrls([QUrl.fromLocalFile(str(data / "swh" / "one.shard")), QUrl("https://example.org/two.shard")])
    for mime in (text, far):
        Dragging(window, mime).to(QPoint(600, 10))
        assert window.drop_places.isHidden()


def test_several_files_are_opened_or_packed(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    paths = (data / "swh" / "one.shard", data / "swh" / "small.shard")
    drag = Dragging(window, mime_of(*paths))
    drag.to(QPoint(600, 400))
    assert window.drop_places.places == (DropTarget.OPEN, DropTarget.PACK)
    drag.drop(middle(window, DropTarget.PACK))
    qtbot.waitUntil(lambda: window.findChild(NewShardDialog) is not None)
    sheet = window.findChild(NewShardDialog)
    assert sheet.inputs == tuple(map(str, paths))
    sheet.reject()
    drag = Dragging(window, mime_of(*paths))
    drag.to(QPoint(600, 400))
    drag.drop(middle(window, DropTarget.OPEN))
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"))
    qtbot.waitUntil(lambda: [one.request.name for one in window.session.documents.all] == ["one.shard", "small.shard"])
