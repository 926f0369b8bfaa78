"""Running and finished jobs as a Qt table model."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer

from shardscope.session.error_words import plain_words
from shardscope.session.jobs import Job, Jobs, JobState
from shardscope.widgets.plain_text import shown, tip

JOB_ROLE = int(Qt.ItemDataRole.UserRole)

COLUMNS = ("Job", "State", "Progress", "Time", "Result")

MAX_KEPT = 200
"""Ended jobs that stay in the list."""

Index = QModelIndex | QPersistentModelIndex


class TransferModel(QAbstractTableModel):
    """All jobs with a title, the latest first."""

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs: list[Job] = []
        jobs.added.connect(self._add)
        jobs.changed.connect(self._change)
        self._clock = QTimer(self)
        self._clock.setInterval(500)
        self._clock.timeout.connect(self._tick)

    @property
    def running(self) -> int:
        """Return how many have not ended."""
        return sum(not job.state.ended for job in self._jobs)

    def job(self, index: Index) -> Job:
        """The job of a row."""
        return self._jobs[index.row()]

    def clear_ended(self) -> None:
        """Forgets the jobs that have ended."""
        self.beginResetModel()
        self._jobs = [job for job in self._jobs if not job.state.ended]
        self.endResetModel()

    def _add(self, job: Job) -> None:
        self.beginInsertRows(QModelIndex(), 0, 0)
        self._jobs.insert(0, job)
        self.endInsertRows()
        self._clock.start()
        ended = [n for n, old in enumerate(self._jobs) if old.state.ended]
        for row in reversed(ended[MAX_KEPT:]):
            self.beginRemoveRows(QModelIndex(), row, row)
            del self._jobs[row]
            self.endRemoveRows()

    def _change(self, job: Job) -> None:
        if job in self._jobs:
            row = self._jobs.index(job)
            self.dataChanged.emit(self.index(row, 0), self.index(row, len(COLUMNS) - 1))

    def _tick(self) -> None:
        if not self.running:
            self._clock.stop()
        if self._jobs:
            self.dataChanged.emit(self.index(0, 3), self.index(len(self._jobs) - 1, 3))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._jobs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Texts, and the job itself (`JOB_ROLE`)."""
        if not index.isValid():
            return None
        job = self._jobs[index.row()]
        if role == JOB_ROLE:
            return job
        texts = (job.title, job.state.value, progress_text(job), _time_text(job), result_text(job))
        if role == Qt.ItemDataRole.DisplayRole:
            return shown(texts[index.column()])
        told = " · ".join(text for text in (texts[0], texts[3], texts[4]) if text)
        return tip(told) if role == Qt.ItemDataRole.ToolTipRole else None


def percent(job: Job) -> int | None:
    """Return how far a job is, 0 to 100; None while that is not known."""
    if job.state is JobState.DONE:
        return 100
    return None if job.total_amount <= 0 else min(100 * job.done_amount // job.total_amount, 100)


def progress_text(job: Job) -> str:
    """Return how far a job is, in words."""
    share = percent(job)
    return "" if share is None else f"{share} %"


def result_text(job: Job) -> str:
    """Return what came out of a job."""
    return job.note or (plain_words(job.error) if job.state is JobState.FAILED else "")


def _time_text(job: Job) -> str:
    if not job.started:
        return ""
    seconds = (job.ended or time.monotonic()) - job.started
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02} min"
