"""Activity panel: running and finished jobs, and for remote files the request log."""

from __future__ import annotations

import time
from functools import cached_property

from PySide6.QtCore import QModelIndex, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStyle,
    QStyleOptionProgressBar,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import RequestLog
from shardscope.session.display_text import clock_text, error_text, pace_text
from shardscope.session.jobs import Job, Jobs, JobState, alive
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks.task_dialog import RESULT_PAGE, ProgressPage, ResultPage, TaskDialog
from shardscope.views.request_log import RequestLogPanel
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.table import THING_ROLE, CellDelegate, Column, Index, RowTable, TableModel, TableOrText

SIGNS = {
    JobState.WAITING: "◌",
    JobState.RUNNING: "▶",
    JobState.DONE: "✔",
    JobState.FAILED: "✖",
    JobState.CANCELLED: "■",
    JobState.BROKEN: "◐",
}

_TONES = {JobState.DONE: "ok", JobState.FAILED: "error", JobState.BROKEN: "warning"}

MOST_ENDED_JOBS = 200

_PROGRESS, _TIME = 2, 3


def percent(job: Job) -> int | None:
    """Return the progress of a job, 0 to 100; None if its total is unknown."""
    if job.state is JobState.DONE:
        return 100
    return None if job.total_amount <= 0 else min(100 * job.done_amount // job.total_amount, 100)


def _progress_text(job: Job) -> str:
    share = percent(job)
    return "" if share is None else f"{share} %"


def _time_text(job: Job) -> str:
    if not job.started:
        return ""
    seconds = (job.ended or time.monotonic()) - job.started
    return f"{seconds:.1f} s" if seconds < 60 else clock_text(seconds)


def _result_text(job: Job) -> str:
    return job.note or (error_text(job.error) if job.state is JobState.FAILED else pace_text(job))


def _tip(job: Job) -> str:
    return " · ".join(text for text in (job.title, _time_text(job), _result_text(job)) if text)


def _signed(option: QStyleOptionViewItem, colours: theme.Palette, job: Job) -> None:
    option.text = f"{SIGNS[job.state]} {job.state.value}"
    option.palette.setColor(option.palette.ColorRole.Text, getattr(colours, _TONES.get(job.state, "muted")))


COLUMNS = (
    Column("Job", lambda job: job.title, 120, tip=_tip, stretched=True),
    Column("State", lambda job: job.state.value, tip=_tip, look=_signed),
    Column("Progress", _progress_text, 84, tip=_tip),
    Column("Time", _time_text, tip=_tip),
    Column("Rate, result", _result_text, 90, tip=_tip),
)


class TransferModel(TableModel):
    things: list[Job]

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent, COLUMNS)
        self.things = []
        jobs.added.connect(self._add)
        jobs.changed.connect(self._change)
        self._clock = made(QTimer(self), interval=500, timeout=self._tick)

    @property
    def running(self) -> int:
        return sum(not job.state.ended for job in self.things)

    def clear_ended(self) -> None:
        self.show_things([job for job in self.things if not job.state.ended])

    def _add(self, job: Job) -> None:
        self.beginInsertRows(QModelIndex(), 0, 0)
        self.things.insert(0, job)
        self.endInsertRows()
        self._clock.start()
        ended = [n for n, old in enumerate(self.things) if old.state.ended]
        for row in reversed(ended[MOST_ENDED_JOBS:]):
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


class JobDelegate(CellDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        job = index.data(THING_ROLE)
        if index.column() != _PROGRESS or job.state.ended:
            super().paint(painter, option, index)
            return
        bar = QStyleOptionProgressBar()
        bar.rect = option.rect.adjusted(4, 4, -4, -4)
        bar.minimum, bar.maximum = 0, 100
        bar.progress, bar.text = percent(job) or 0, _progress_text(job) or "working"
        bar.textVisible = True
        bar.state |= QStyle.StateFlag.State_Enabled | QStyle.StateFlag.State_Horizontal
        bar.palette = option.palette
        QApplication.style().drawControl(QStyle.ControlElement.CE_ProgressBar, bar, painter)


class JobDialog(TaskDialog):
    name = "jobDialog"
    words = "Activity"
    modal = of_file = False

    def __init__(self, job: Job, session: Session, window: QWidget) -> None:
        super().__init__(session, window)
        self.job = job
        self.progress: ProgressPage | None = None
        self.outcome: ResultPage | None = None
        self.pages.addWidget(QWidget(self))
        self.resize(RESULT_PAGE)
        session.jobs.changed.connect(self._changed)
        self._changed(job)

    def _changed(self, job: Job) -> None:
        if job is not self.job or self.outcome is not None:
            return
        if job in self.session.jobs.open_jobs:
            self.progress = self.progress or ProgressPage(self, job, self.reject)
            return
        verdict, tone = f"{SIGNS[job.state]} {job.state.value} · {_time_text(job)}", _TONES.get(job.state, "muted")
        text = "\n".join(filter(None, (_result_text(job), job.details)))
        self.outcome = page = ResultPage(self, job.title, verdict, tone, text)
        if job.open_result is not None:
            page.add_button(self.tr("&Open"), job.open_result)


class JobList(QWidget):
    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = TransferModel(session.jobs, self)
        self.table = RowTable(self.model, self, "transfers", self.tr("Activity"))
        self.table.activated.connect(lambda index: self.show_job(self.model.things[index.row()]))
        self.table.setItemDelegate(JobDelegate(self.table))
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setFocusProxy(self.table)
        self.summary = Elided(greedy=True, parent=self)
        resume = self.tr("Continue after the connection was lost. Complete files are not fetched again.")
        show = self.tr("Progress or result of the selected job (Return)")
        cancel = self.tr("Cancel the selected jobs, or all if none is selected (Delete)")
        clear = self.tr("Remove finished jobs from the list")
        self.resume_button, self.show_button, self.cancel_button, self.clear_button = buttons = [
            made(QPushButton(text, self), toolTip=about, clicked=act)
            for text, about, act in (
                (self.tr("Resume"), resume, self.resume_selected),
                (self.tr("Show…"), show, lambda _: self.show_job(self._chosen[0])),
                (self.tr("Cancel"), cancel, self.cancel_selected),
                (self.tr("Clear"), clear, self.model.clear_ended),
            )
        ]
        # Below the summary: beside a request log, there is no room for both in one line.
        bar = lay(
            QVBoxLayout(), self.summary, lay(QHBoxLayout(), *buttons, 1, spacing=8), margins=(8, 4, 8, 6), spacing=3
        )
        self._body = TableOrText(self.table, self)
        for part in (self.table, self._body.label):
            part.setMinimumHeight(1)  # else a low panel cuts the buttons
        lay(QVBoxLayout(self), bar, self._body)
        changes = self.model.rowsInserted, self.model.modelReset, self.model.dataChanged
        for changed in (*changes, self.table.selectionModel().selectionChanged):
            changed.connect(self._update)
        self._update()

    @property
    def _chosen(self) -> list[Job]:
        """Selected jobs, or all jobs if none is selected."""
        rows = [index.row() for index in self.table.selectionModel().selectedRows()]
        return [self.model.things[row] for row in rows] or list(self.model.things)

    def cancel_selected(self) -> None:
        for job in self._chosen:
            job.cancel()

    def show_job(self, job: Job) -> QDialog | None:
        if job.show is not None and alive(job.show):
            job.show()
            return None
        dialog = JobDialog(job, self._session, self.window())
        dialog.show()
        return dialog

    def resume_selected(self) -> None:
        for job in self._chosen:
            if job.resume is not None:
                job.resume()
                return

    def _update(self) -> None:
        jobs, running = self.model.things, self.model.running
        listed = self.tr(
            "Verifications, extractions, searches, long reads and requests for remote files are listed here."
        )
        self._body.show_table(bool(jobs), listed)
        self.show_button.setEnabled(bool(jobs))
        self.cancel_button.setEnabled(running > 0)
        self.resume_button.setVisible(any(job.resume is not None for job in jobs))
        self.resume_button.setEnabled(any(job.resume is not None for job in self._chosen))
        self.clear_button.setEnabled(len(jobs) > running)
        some = self.tr("{0} running, {1} finished").format(running, len(jobs) - running)
        self.summary.setText(some if jobs else self.tr("No activity yet"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.cancel_selected()
        else:
            super().keyPressEvent(event)


class Transfers(QSplitter):
    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "activity", handleWidth=1)
        self._session, self._settings = session, settings
        self.jobs = made(JobList(session, self), minimumSize=QSize(1, 1))
        self.model = self.jobs.model
        session.documents.request_log_changed.connect(self._request_log_changed)
        self._request_log_changed(session.documents.request_log)

    @cached_property
    def request_log(self) -> RequestLogPanel:
        return made(RequestLogPanel(self._session, self._settings, self), minimumSize=QSize(1, 1))

    def _request_log_changed(self, request_log: RequestLog | None) -> None:
        # Local files have no log.
        if request_log is not None or "request_log" in vars(self):
            self.request_log.setVisible(request_log is not None)
        self.setStretchFactor(0, 2)
        self.setStretchFactor(1, 3)
        self.setFocusProxy(self.jobs if request_log is None else self.request_log)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        high = event.size().height() > event.size().width()
        self.setOrientation(Qt.Orientation.Vertical if high else Qt.Orientation.Horizontal)
