"""Table model of running and finished jobs."""

from __future__ import annotations

import time

from PySide6.QtCore import QModelIndex, QObject, QTimer

from shardscope.session.error_messages import error_text
from shardscope.session.jobs import Job, Jobs, JobState
from shardscope.widgets.table_model import Index, TableModel

_TIME = 3

MAX_KEPT = 200
"""Maximum number of ended jobs kept in the list."""


class TransferModel(TableModel):
    titles = ("Job", "State", "Progress", "Time", "Result")
    things: list[Job]

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.things = []
        jobs.added.connect(self._add)
        jobs.changed.connect(self._change)
        self._clock = QTimer(self)
        self._clock.setInterval(500)
        self._clock.timeout.connect(self._tick)

    @property
    def running(self) -> int:
        return sum(not job.state.ended for job in self.things)

    def job(self, index: Index) -> Job:
        return self.things[index.row()]

    def clear_ended(self) -> None:
        self.show_things([job for job in self.things if not job.state.ended])

    def _add(self, job: Job) -> None:
        self.beginInsertRows(QModelIndex(), 0, 0)
        self.things.insert(0, job)
        self.endInsertRows()
        self._clock.start()
        ended = [n for n, old in enumerate(self.things) if old.state.ended]
        for row in reversed(ended[MAX_KEPT:]):
            self.beginRemoveRows(QModelIndex(), row, row)
            del self.things[row]
            self.endRemoveRows()

    def _change(self, job: Job) -> None:
        if job in self.things:
            row = self.things.index(job)
            self.change(row, row)

    def _tick(self) -> None:
        if not self.running:
            self._clock.stop()
        self.change(column=_TIME)

    def text(self, row: int, column: int) -> str:
        job = self.things[row]
        return (job.title, job.state.value, progress_text(job), _time_text(job), result_text(job))[column]

    def tip(self, row: int, column: int) -> str:
        return " · ".join(text for text in (self.text(row, one) for one in (0, _TIME, 4)) if text)


def percent(job: Job) -> int | None:
    """Return the progress of a job, 0 to 100; None if its total is unknown."""
    if job.state is JobState.DONE:
        return 100
    return None if job.total_amount <= 0 else min(100 * job.done_amount // job.total_amount, 100)


def progress_text(job: Job) -> str:
    share = percent(job)
    return "" if share is None else f"{share} %"


def result_text(job: Job) -> str:
    return job.note or (error_text(job.error) if job.state is JobState.FAILED else "")


def _time_text(job: Job) -> str:
    if not job.started:
        return ""
    seconds = (job.ended or time.monotonic()) - job.started
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02} min"
