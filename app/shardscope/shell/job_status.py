"""Number of running jobs in the status line."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from shardcore.model.number_words import plural
from shardscope.session.jobs import Jobs
from shardscope.shell.status_line import StatusLine


class JobStatus(QObject):
    def __init__(
        self,
        jobs: Jobs,
        running: Callable[[], int],
        line: StatusLine,
        stop: QAction,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._running = running
        self._line = line
        self._stop = stop
        jobs.added.connect(lambda _: self._count())
        jobs.changed.connect(lambda _: self._count())
        self._count()

    def stop_all(self) -> None:
        for job in self._jobs.open_jobs:
            if job.title:
                job.cancel()

    def _count(self) -> None:
        running = self._running()
        self._line.busy.setText(f"▶ {plural(running, 'job')}" if running else "")
        self._stop.setEnabled(running > 0)
