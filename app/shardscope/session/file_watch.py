"""When to ask whether the opened file is still what it was: no clock ticks while nothing happens."""

from __future__ import annotations

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from shiboken6 import delete

from shardcore import Source

SOON_MILLISECONDS = 50
"""A program that writes a file does it in many pieces: they are one change."""

RARELY_MILLISECONDS = 15_000
"""The system does not tell of files on other machines: they are asked about now and then."""


class SourceWatch(QObject):
    """Emits `due()` when the system tells of a change, when the user comes back, and now and then while he looks."""

    due = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._uri = ""
        self._files: QFileSystemWatcher | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SOON_MILLISECONDS)
        self._soon.timeout.connect(self._tell)
        self._rarely = QTimer(self)
        self._rarely.setTimerType(Qt.TimerType.VeryCoarseTimer)
        self._rarely.setInterval(RARELY_MILLISECONDS)
        self._rarely.timeout.connect(self._tell)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._state_changed)

    @property
    def ticks(self) -> bool:
        """Whether it asks now and then, and not only when it is told."""
        return self._rarely.isActive()

    def start(self, source: Source) -> None:
        """Watches a local file."""
        self.stop()
        if not source.watchable:
            return
        self._uri = source.uri
        self._files = QFileSystemWatcher([self._uri])
        self._files.fileChanged.connect(self._changed)
        if QGuiApplication.applicationState() is Qt.ApplicationState.ApplicationActive:
            self._rarely.start()

    def stop(self) -> None:
        """Nothing is open."""
        self._soon.stop()
        self._rarely.stop()
        self._uri = ""
        if self._files is not None:
            # At once, on this thread: Python might let it go on any other.
            delete(self._files)
            self._files = None

    def _changed(self, _: str) -> None:
        self._soon.start()

    def _tell(self) -> None:
        if self._files is not None:
            # What was put in place of the file is another one to the system.
            self._files.removePath(self._uri)
            self._files.addPath(self._uri)
        self.due.emit()

    # Declared, so that Qt finds it as long as the object lives: the application outlives whoever watches.
    @Slot(Qt.ApplicationState)
    def _state_changed(self, state: Qt.ApplicationState) -> None:
        if not self._uri:
            return
        if state is Qt.ApplicationState.ApplicationActive:
            self._soon.start()
            self._rarely.start()
        else:
            self._rarely.stop()
