"""Number of running jobs in the status line."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from shardcore.model.number_words import plural
from shardscope.session.jobs import Jobs
from shardscope.shell.status_line import StatusLine


class JobStatus(QObject):
    """Counts the jobs that are shown.

    Args:
        jobs: Those of the window.
        running: Number of jobs shown that are running.
        line: Shows their number.
        stop: The action that stops them; there is something to stop while one runs.
        parent: The window.
    """

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
        """Cancel all jobs that are shown."""
        for job in self._jobs.open_jobs:
            if job.title:
                job.cancel()

    def _count(self) -> None:
        running = self._running()
        self._line.busy.setText(f"▶ {plural(running, 'job')}" if running else "")
        self._stop.setEnabled(running > 0)
