"""Text of a lesson in preview: read again when its file changes."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Signal
from shiboken6 import delete

from shardcore.teaching.lessons.lesson import Lesson
from shardcore.teaching.lessons.lesson_list import read_lesson
from shardscope.session.debounce import Debounce
from shardscope.session.jobs import Jobs

SOON_MILLISECONDS = 100
"""Delay in milliseconds, so that several writes by an editor count as one change."""


class LessonTrial(QObject):
    read = Signal(object)
    refused = Signal(str)
    """Carries the error of an invalid lesson, with its line."""

    def __init__(self, jobs: Jobs, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.path: Path | None = None
        self._files: QFileSystemWatcher | None = None
        self._soon = Debounce(self, self.reload, SOON_MILLISECONDS)

    def start(self, path: Path) -> None:
        self.stop()
        self.path = path
        self._files = QFileSystemWatcher([str(path)])
        self._files.fileChanged.connect(self._soon.again)
        self.reload()

    def stop(self) -> None:
        self.path = None
        self._soon.stop()
        if self._files is not None:
            # Delete it on this thread: the garbage collector may run on any other.
            delete(self._files)
            self._files = None

    def reload(self) -> None:
        path = self.path
        if path is None:
            return
        if self._files is not None:
            # For the system, a replaced file is another file; watch it again.
            self._files.removePath(str(path))
            self._files.addPath(str(path))

        def done(lesson: Lesson | None, error: BaseException | None) -> None:
            if path != self.path:
                return
            if lesson is not None:
                self.read.emit(lesson)
            else:
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                self.refused.emit(self.tr("{0} is not a lesson yet: {1}").format(path.name, why))

        self._jobs.submit(lambda _: read_lesson(path), key=("lesson text", self), lasting=True, done=done)
