"""Drop targets: Open, and Is it in here?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from shardscope.shell.drop_targets import DropPlace
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings
from shardscope.tasks.new_shard.new_shards import NewShardDialog
from tests.app.conftest import open_in

COPY = Qt.DropAction.CopyAction
LEFT = Qt.MouseButton.LeftButton
PLAIN = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window with nothing open."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(1200, 800)
    made.show()
    yield made
    made.close()


def mime_of(*paths: Path) -> QMimeData:
    """What a file manager drags."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return mime


class Dragging:
    """A drag over a window, as Qt delivers it: to the top widget under the pointer that takes drops."""

    def __init__(self, window: MainWindow, mime: QMimeData) -> None:
        self.window = window
        self.mime = mime
        self.target: QWidget | None = None

    def to(self, point: QPoint) -> None:
        """Moves the pointer: leave, enter and move, as the widget under it changes."""
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
        """Lets the file go."""
        self.to(point)
        self.to(point)
        assert self.target is not None
        place = QPointF(self.target.mapFrom(self.window, point))
        QApplication.sendEvent(self.target, QDropEvent(place, COPY, self.mime, LEFT, PLAIN))

    def leave(self) -> None:
        """The pointer leaves the window."""
        if self.target is not None:
            QApplication.sendEvent(self.target, QDragLeaveEvent())

    def _under(self, point: QPoint) -> QWidget:
        widget: QWidget | None = self.window.childAt(point)
        while widget is not None and not widget.acceptDrops():
            widget = widget.parentWidget()
        return widget or self.window


def middle(window: MainWindow, place: DropPlace) -> QPoint:
    """The middle of a place."""
    return window.drop_places.rect_of(place).center().toPoint()


@pytest.mark.thorough
def test_one_place_without_a_file(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """With nothing open a drop anywhere opens."""
    drag = Dragging(window, mime_of(data / "swh" / "one.shard"))
    drag.to(QPoint(600, 400))
    assert not window.drop_places.isHidden()
    assert window.drop_places.places == (DropPlace.OPEN,)
    drag.drop(QPoint(1100, 400))
    assert window.drop_places.isHidden()
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"))


def test_two_places_over_an_open_file(window: MainWindow, qtbot: QtBot, data: Path, tmp_path: Path) -> None:
    """Left opens the file, right looks for it among the objects and says whether it is there."""
    open_in(window.session, qtbot, data / "swh" / "small.shard")
    shard = window.session.shard
    assert shard is not None
    dropped = tmp_path / "dropped"
    dropped.write_bytes(shard.read(shard.objects.ref(0)))
    drag = Dragging(window, mime_of(dropped))
    drag.to(QPoint(600, 400))
    assert window.drop_places.places == (DropPlace.OPEN, DropPlace.SEEK)
    assert window.drop_places.geometry() == window.rect()
    drag.drop(middle(window, DropPlace.SEEK))
    qtbot.waitUntil(lambda: window.session.selection.row == 0)
    assert window.session.shard is shard
    drag = Dragging(window, mime_of(data / "swh" / "one.shard"))
    drag.to(QPoint(600, 400))
    drag.drop(middle(window, DropPlace.OPEN))
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"))


def test_places_go_with_the_drag(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """Leaving the window, at once or later, hides the places; nothing is opened, and no dock changes its size."""
    open_in(window.session, qtbot, data / "swh" / "small.shard")
    settle(window, 40)
    sizes = [dock.size() for dock in window.panels.by_name.values()]
    for steps in (1, 2, 3):
        drag = Dragging(window, mime_of(data / "swh" / "one.shard"))
        for step in range(steps):
            drag.to(QPoint(300 + 200 * step, 400))
        assert not window.drop_places.isHidden()
        drag.leave()
        assert window.drop_places.isHidden()
    assert [dock.size() for dock in window.panels.by_name.values()] == sizes


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
    """Whatever is open: left opens each in a tab, in order; right begins the sheet for a new shard with them."""
    paths = (data / "swh" / "one.shard", data / "swh" / "small.shard")
    for is_open in (False, True):
        if is_open:
            open_in(window.session, qtbot, data / "swh" / "small.shard")
        drag = Dragging(window, mime_of(*paths))
        drag.to(QPoint(600, 400))
        assert window.drop_places.places == (DropPlace.OPEN, DropPlace.PACK)
        drag.drop(middle(window, DropPlace.PACK))
        qtbot.waitUntil(lambda: window.findChild(NewShardDialog) is not None)
        sheet = window.findChild(NewShardDialog)
        assert sheet is not None
        assert sheet.form.inputs == tuple(map(str, paths))
        sheet.reject()
        qtbot.waitUntil(lambda: window.findChild(NewShardDialog) is None)
    window.session.close_all()
    drag = Dragging(window, mime_of(*paths))
    drag.to(QPoint(600, 400))
    drag.drop(middle(window, DropPlace.OPEN))
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"), timeout=10_000)
    qtbot.waitUntil(lambda: [one.request.name for one in window.session.documents] == ["one.shard", "small.shard"])


def test_the_dialog_opens_several_files(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """*Open…* lets several be chosen: each is a tab, and the first is shown."""
    window.actions_.open.trigger()
    dialog = window.findChild(QFileDialog)
    assert dialog is not None
    assert dialog.fileMode() is QFileDialog.FileMode.ExistingFiles
    dialog.filesSelected.emit([str(data / "swh" / f"{name}.shard") for name in ("one", "small")])
    dialog.close()
    qtbot.waitUntil(lambda: window.windowTitle().startswith("one.shard"), timeout=10_000)
    qtbot.waitUntil(lambda: [one.request.name for one in window.session.documents] == ["one.shard", "small.shard"])


@pytest.mark.thorough
def test_the_place_under_the_pointer_is_lit(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """It is told apart by more than its colour: its frame is thick and closed."""
    open_in(window.session, qtbot, data / "swh" / "small.shard")
    drag = Dragging(window, mime_of(data / "swh" / "one.shard"))
    drag.to(QPoint(100, 400))
    drag.to(QPoint(100, 401))
    left = window.drop_places.grab().toImage()
    drag.to(QPoint(1100, 400))
    right = window.drop_places.grab().toImage()
    assert left != right
    drag.leave()
