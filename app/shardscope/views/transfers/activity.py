"""Activity panel: jobs, and for remote files the request log."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionProgressBar,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from shardcore import RequestLog
from shardscope.session.jobs import Job, Jobs, JobState
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.transfers.request_log.panel import RequestLogPanel
from shardscope.widgets import theme
from shardscope.widgets.dock_table_columns import ColumnFitter, ColumnRule
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.table_model import THING_ROLE
from shardscope.widgets.transfer_model import TransferModel, percent

Index = QModelIndex | QPersistentModelIndex

SIGNS = {
    JobState.WAITING: "◌",
    JobState.RUNNING: "▶",
    JobState.DONE: "✔",
    JobState.FAILED: "✖",
    JobState.CANCELLED: "■",
    JobState.BROKEN: "◐",
}


class JobDelegate(QStyledItemDelegate):
    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        job = index.data(THING_ROLE)
        if index.column() == 1 and isinstance(job, Job):
            option.text = f"{SIGNS[job.state]} {job.state.value}"
        if isinstance(job, Job) and index.column() in (1, 4):
            colours = theme.of(self._table)
            colour = {
                JobState.DONE: colours.ok,
                JobState.FAILED: colours.error,
                JobState.BROKEN: colours.warning,
            }.get(job.state, colours.muted)
            option.palette.setColor(option.palette.ColorRole.Text, colour if index.column() == 1 else colours.text)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        job = index.data(THING_ROLE)
        if index.column() != 2 or not isinstance(job, Job) or job.state.ended:
            super().paint(painter, option, index)
            return
        bar = QStyleOptionProgressBar()
        bar.rect = option.rect.adjusted(4, 4, -4, -4)
        bar.minimum, bar.maximum = 0, 100
        share = percent(job)
        bar.progress = share or 0
        bar.text = "working" if share is None else f"{share} %"
        bar.textVisible = True
        bar.state |= QStyle.StateFlag.State_Enabled | QStyle.StateFlag.State_Horizontal
        bar.palette = option.palette
        QApplication.style().drawControl(QStyle.ControlElement.CE_ProgressBar, bar, painter)


class JobList(QWidget):
    def __init__(self, jobs: Jobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = TransferModel(jobs, self)
        self.table = QTableView(self)
        self.setFocusProxy(self.table)
        self.table.setObjectName("transfers")
        self.table.setAccessibleName(self.tr("Activity"))
        self.table.setModel(self.model)
        self.table.setItemDelegate(JobDelegate(self.table))
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setShowGrid(False)
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 12)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        rules = (
            ColumnRule(120),
            ColumnRule(),
            ColumnRule(84),
            ColumnRule(),
            ColumnRule(90),
        )
        ColumnFitter(self.table, rules, 0)
        self.cancel_button = QPushButton(self.tr("Cancel"), self)
        self.cancel_button.setToolTip(self.tr("Cancel the selected jobs, or all if none is selected (Delete)"))
        self.cancel_button.clicked.connect(self.cancel_selected)
        self.resume_button = QPushButton(self.tr("Resume"), self)
        self.resume_button.setToolTip(
            self.tr("Continue after the connection was lost. Complete files are not fetched again.")
        )
        self.resume_button.clicked.connect(self.resume_selected)
        self.clear_button = QPushButton(self.tr("Clear"), self)
        self.clear_button.setToolTip(self.tr("Remove finished jobs from the list"))
        self.clear_button.clicked.connect(self._clear)
        self.summary = Elided(greedy=True, parent=self)
        self.summary.setText(self.tr("No activity yet"))
        empty = QLabel(
            self.tr("Verifications, extractions, searches, long reads and requests for remote files are listed here."),
            self,
        )
        empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        empty.setWordWrap(True)
        empty.setForegroundRole(empty.palette().ColorRole.PlaceholderText)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 6, 8, 6)
        bar.setSpacing(8)
        bar.addWidget(self.summary, 1)
        bar.addWidget(self.resume_button)
        bar.addWidget(self.cancel_button)
        bar.addWidget(self.clear_button)
        self._stack = QStackedLayout()
        self._stack.addWidget(empty)
        self._stack.addWidget(self.table)
        column_layout = QVBoxLayout(self)
        column_layout.setContentsMargins(0, 0, 0, 0)
        column_layout.setSpacing(0)
        column_layout.addLayout(bar)
        column_layout.addLayout(self._stack)
        self.model.rowsInserted.connect(self._update)
        self.model.modelReset.connect(self._update)
        self.model.dataChanged.connect(self._update)
        self.table.selectionModel().selectionChanged.connect(self._update)
        self._update()

    def cancel_selected(self) -> None:
        rows = self.table.selectionModel().selectedRows() or [
            self.model.index(row, 0) for row in range(self.model.rowCount())
        ]
        for index in rows:
            self.model.job(index).cancel()

    @property
    def _resumable(self) -> Job | None:
        chosen = self.table.selectionModel().selectedRows()
        rows = chosen or [self.model.index(row, 0) for row in range(self.model.rowCount())]
        return next((job for job in map(self.model.job, rows) if job.resume is not None), None)

    def resume_selected(self) -> None:
        job = self._resumable
        if job is not None and job.resume is not None:
            job.resume()

    def _clear(self) -> None:
        self.model.clear_ended()

    def _update(self) -> None:
        count, running = self.model.rowCount(), self.model.running
        self._stack.setCurrentIndex(1 if count else 0)
        self.cancel_button.setEnabled(running > 0)
        self.resume_button.setVisible(any(self.model.job(self.model.index(n, 0)).resume for n in range(count)))
        self.resume_button.setEnabled(self._resumable is not None)
        self.clear_button.setEnabled(count > running)
        some = self.tr("{0} running, {1} finished").format(running, count - running)
        self.summary.setText(some if count else self.tr("No activity yet"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.cancel_selected()
        else:
            super().keyPressEvent(event)


_SHARES = (2, 3)


class Transfers(QSplitter):
    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("activity")
        self.setHandleWidth(1)
        self.jobs = JobList(session.jobs, self)
        self.request_log = RequestLogPanel(session, settings, self)
        for part, share in zip((self.jobs, self.request_log), _SHARES, strict=True):
            self.addWidget(part)
            self.setStretchFactor(self.indexOf(part), share)
            part.setMinimumSize(1, 1)
        session.request_log_changed.connect(self._request_log_changed)
        self._request_log_changed(session.request_log)

    def _request_log_changed(self, request_log: RequestLog | None) -> None:
        self.request_log.setVisible(request_log is not None)
        self.setFocusProxy(self.jobs if request_log is None else self.request_log)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        high = event.size().height() > event.size().width()
        self.setOrientation(Qt.Orientation.Vertical if high else Qt.Orientation.Horizontal)

    @property
    def model(self) -> TransferModel:
        return self.jobs.model
