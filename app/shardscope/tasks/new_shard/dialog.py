"""The sheet for a new shard: the form, how far writing is, and what came out."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QDialog, QStackedWidget, QVBoxLayout, QWidget

from shardcore.operations.pack import Packed
from shardscope.tasks.new_shard.form import PackForm, Start
from shardscope.tasks.new_shard.result_page import ResultPage, WritingPage

FULL = QSize(1240, 790)
"""The size of the sheet where the window is larger than that."""

SMALL_PAGE = QSize(580, 190)
"""The size while it is written."""

RESULT_PAGE = QSize(640, 360)
"""The size where there is something to read afterwards."""

_AROUND = 40


class PackSheet(QDialog):
    """Shows the form, then how far writing is, then what came out. Open it with `open()`.

    `write_wanted` tells that *Write* was pressed; the answer is `begin_writing`, and then `tell_written` or
    `tell_failed`.
    """

    write_wanted = Signal()

    def __init__(self, start: Start, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("packSheet")
        converting = start.shard is not None
        self.setWindowTitle(self.tr("Convert to another format") if converting else self.tr("New shard"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAcceptDrops(not converting)
        self._stop: Callable[[], object] = self.reject
        self.form = PackForm(start, self)
        self.writing = WritingPage(self)
        self.outcome = ResultPage(self)
        self.pages = QStackedWidget(self)
        for page in (self.form, self.writing, self.outcome):
            self.pages.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)
        self.form.write_wanted.connect(self.write_wanted)
        self.form.cancel_wanted.connect(self.reject)
        self.writing.hide_wanted.connect(self.reject)
        self.writing.stop_wanted.connect(self._stop_writing)
        self.outcome.closed.connect(self.accept)
        room = parent.window().size() if parent is not None else FULL
        self._form_size = FULL.boundedTo(room - QSize(_AROUND, _AROUND))
        self.resize(self._form_size)

    def minimumSizeHint(self) -> QSize:
        """Everything scrolls: it fits the smallest window."""
        return QSize(420, 300)

    # --- what it is told ---

    def begin_writing(self, name: str, stop: Callable[[], object]) -> None:
        """It is being written.

        Args:
            name: What.
            stop: Stops it.
        """
        self.writing.begin(name)
        self._stop = stop
        self._form_size = self.size()
        self.pages.setCurrentWidget(self.writing)
        self._become(SMALL_PAGE)
        self.writing.hide_button.setFocus()

    def tell_written(self, packed: Packed, name: str, *, stay: bool) -> None:
        """It is written.

        Args:
            packed: What came out.
            name: What it is called.
            stay: Whether there is something to read.
        """
        if not stay:
            self.accept()
            return
        self.outcome.tell(packed, name)
        self.pages.setCurrentWidget(self.outcome)
        self._become(RESULT_PAGE)

    def leave_form(self) -> None:
        """What was to be converted is closed; what is being written goes on."""
        if self.pages.currentIndex() == 0:
            self.reject()

    def tell_failed(self, why: str) -> None:
        """Writing failed; everything can be changed again."""
        self.pages.setCurrentWidget(self.form)
        self._become(self._form_size)
        self.form.tell_failed(why)

    # --- inside ---

    def _become(self, size: QSize) -> None:
        """Takes another size, about the same middle."""
        place = QRect(QPoint(0, 0), size.boundedTo(self._form_size))
        place.moveCenter(self.geometry().center())
        self.setGeometry(place)

    def _stop_writing(self) -> None:
        self.writing.stop.setEnabled(False)
        self._stop()

    # --- events ---

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Takes files and folders."""
        if event.source() is None and dropped_paths(event):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        """Adds them to what is packed."""
        if self.form.contents is not None and self.pages.currentIndex() == 0:
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self.form.contents.add(dropped_paths(event))


def dropped_paths(event: QDropEvent) -> list[str]:
    """The local files and folders that are dragged."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
