"""Detection of changes of the open file: by events of the system, periodic checks, and errors of reading jobs."""

from __future__ import annotations

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from shiboken6 import delete

from shardcore import Cancelled, ShardError, Source, SourceError
from shardcore.errors import source_lost
from shardcore.shards.inner_source import InnerSource
from shardscope.session.documents import Documents
from shardscope.session.jobs import JobPriority

SOON_MILLISECONDS = 50
"""Delay in milliseconds between a change and its check, since programs write a file in many pieces."""

RARELY_MILLISECONDS = 15_000
"""Interval in milliseconds of periodic checks, since the system reports no changes on network file systems."""


class SourceWatch(QObject):
    """Emits `due` when the file may have changed: on a system event, when the window is activated, and periodically."""

    due = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._uri = ""
        self._files: QFileSystemWatcher | None = None
        self._soon = QTimer(self, interval=SOON_MILLISECONDS, singleShot=True)
        self._rarely = QTimer(self, interval=RARELY_MILLISECONDS, timerType=Qt.TimerType.VeryCoarseTimer)
        for timer in (self._soon, self._rarely):
            timer.timeout.connect(self._emit_due)
        application = QGuiApplication.instance()
        if isinstance(application, QGuiApplication):
            application.applicationStateChanged.connect(self._state_changed)

    @property
    def ticks(self) -> bool:
        return self._rarely.isActive()

    def start(self, source: Source) -> None:
        self.stop()
        if not source.watchable:
            return
        self._uri = source.uri
        self._files = QFileSystemWatcher([self._uri])
        self._files.fileChanged.connect(lambda _: self._soon.start())
        if QGuiApplication.applicationState() is Qt.ApplicationState.ApplicationActive:
            self._rarely.start()

    def stop(self) -> None:
        self._soon.stop()
        self._rarely.stop()
        self._uri = ""
        if self._files is not None:
            # Delete it on this thread: the garbage collector may run on any other.
            delete(self._files)
            self._files = None

    def _emit_due(self) -> None:
        if self._files is not None:
            # A file that was replaced is not watched any more; add it again.
            self._files.removePath(self._uri)
            self._files.addPath(self._uri)
        self.due.emit()

    # A declared slot is disconnected with the object; the application outlives it.
    @Slot(Qt.ApplicationState)
    def _state_changed(self, state: Qt.ApplicationState) -> None:
        if not self._uri:
            return
        if state is Qt.ApplicationState.ApplicationActive:
            self._soon.start()
            self._rarely.start()
        else:
            self._rarely.stop()


class DocumentWatch(QObject):
    """Checks whether the file of the current document was changed or is unavailable, and sets `Document.trouble`."""

    trouble_changed = Signal(object)
    """Carries a `SourceError` when the file was changed or became unavailable, and None when it is available again."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents)
        self._documents = documents
        self._announced: BaseException | None = None
        self._source = SourceWatch(self)
        self._source.due.connect(self.check)
        documents.begun.connect(self._start)
        documents.closed.connect(self._closed)
        documents.read_failed.connect(self.note_error)
        documents.recovered.connect(self._recovered)

    def _start(self) -> None:
        shard = self._documents.current.shard
        source = shard.source if shard is not None else None
        if source is not None:
            self._source.start(source.root if isinstance(source, InnerSource) else source)

    def _closed(self) -> None:
        self._source.stop()
        self._announce(None)

    def announce(self) -> None:
        self._start()
        self._announce(self._documents.current.trouble)
        self.check()

    def check(self) -> None:
        document, shard = self._documents.current, self._documents.current.shard
        source = shard.source if shard is not None else None
        if source is None or document.held or self._documents.jobs.newest(("watch", self)) is not None:
            return

        def done(_: None, error: BaseException | None) -> None:
            # Not with `ask`, which would call this method again after a source error.
            shown = document is self._documents.current and document.shard is shard
            if shown and not document.held and not isinstance(error, Cancelled):
                self.set_trouble(error)

        self._documents.jobs.submit(
            lambda _: source.check_unchanged(), key=("watch", self), priority=JobPriority.PREFETCH, done=done
        )

    def hold(self, *, held: bool) -> None:
        """Ignore changes of the file while the program itself writes it (`held`), or check it again."""
        self._documents.current.held = held
        if not held:
            self.check()

    def note_error(self, error: BaseException | None) -> None:
        """Handle an error of a job: a `SourceError` triggers a check, others are ignored."""
        shard = self._documents.current.shard
        if shard is None or not isinstance(error, SourceError):
            return
        if shard.source is None and source_lost(error):
            # A data set has no file of its own; an error of one shard's server applies to all.
            self.set_trouble(error)
        else:
            self.check()

    def _recovered(self) -> None:
        """Clear the source error of a data set once its server responds; `check` does it for a single file."""
        document = self._documents.current
        shard, error = document.shard, document.trouble
        if shard is None or shard.source is not None or not isinstance(error, ShardError) or not source_lost(error):
            return
        records = shard.tape.records if shard.tape is not None else ()
        if records and records[-1].status // 100 == 2:
            self.set_trouble(None)

    def set_trouble(self, error: BaseException | None) -> None:
        self._documents.current.trouble = error
        self._announce(error)

    def _announce(self, error: BaseException | None) -> None:
        before, self._announced = self._announced, error
        if error is not before and (error is None or str(error) != str(before)):
            self.trouble_changed.emit(error)
