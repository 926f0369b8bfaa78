"""Notices of extractions: progress and *Cancel*, then the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from shardcore import Remedy
from shardcore.model.text import plural, shown
from shardscope.session.error_messages import ACTIONS
from shardscope.session.extraction import Failure
from shardscope.session.jobs import Job
from shardscope.session.session import Session
from shardscope.shell.notices import Button, Notice, Notices, NoticeTone
from shardscope.tasks.extract import ExtractTask, Result
from shardscope.widgets.plain_text import tip


class ExtractionNotices(QObject):
    """Shows one notice per running extraction; a new one removes the outcome of the previous one."""

    def __init__(self, extracting: ExtractTask, session: Session, notices: Notices, parent: QWidget) -> None:
        super().__init__(parent)
        self.open_url: Callable[[QUrl], bool] = QDesktopServices.openUrl
        self._extracting = extracting
        self._session = session
        self._notices = notices
        self._window = parent
        self._running: dict[Job, tuple[Result, Notice]] = {}
        extracting.started.connect(self._started)
        extracting.finished.connect(self._finished)
        session.jobs.changed.connect(self._progressed)

    def _started(self, result: Result) -> None:
        for about in ("extraction", "open folder"):
            self._notices.clear(about)
        cancel = Button(self.tr("Cancel"), result.job.cancel, closes=False)
        about = f"extraction {result.job.number}"
        notice = self._notices.add_notice(
            self._progress_text(result), NoticeTone.NOTE, buttons=[cancel], about=about, lasting=True
        )
        self._running[result.job] = result, notice
        self._progressed(result.job)

    def _progressed(self, job: Job) -> None:
        if job in self._running:
            result, notice = self._running[job]
            notice.set_text(self._progress_text(result))
            notice.set_progress(job.done_amount, job.total_amount)
            self._notices.fit()

    def _progress_text(self, result: Result) -> str:
        where = result.wanted.where
        if not result.found.total:
            return self.tr("Extracting to {0} …").format(where)
        count = f"{result.found.files:,} of {plural(result.found.total, 'file')}"
        return self.tr("Extracting to {0}: {1}").format(where, count)

    def _finished(self, result: Result) -> None:
        _, notice = self._running.pop(result.job)
        self._notices.remove(notice)
        found, where = result.found, result.wanted.where
        buttons = []
        if found.files or found.skipped:
            buttons.append(Button(self.tr("Open folder"), partial(self._open_folder, where), closes=False))
        if found.failures:
            box = partial(failures_box, found.failures, found.failed, self._window)
            buttons.append(Button(self.tr("Failures…"), lambda: box().open(), closes=False))
        # Other remedies do not apply to an open file.
        if found.remedy in (Remedy.DELETED, Remedy.XORBS):
            buttons.append(Button(ACTIONS[found.remedy], partial(self._mend, result, found.remedy)))
        if not found.complete:
            early = found.stopped or found.cancelled
            again = self.tr("Retry") if early else self.tr("Retry failed")
            again = self.tr("Resume") if found.lost or (early and found.files) else again
            buttons.append(Button(again, partial(self._extracting.retry, result), closes=False))
        tone = NoticeTone.SUCCESS if found.complete else NoticeTone.WARNING if found.cancelled else NoticeTone.ERROR
        if found.complete and not found.files:
            tone = NoticeTone.NOTE
        outcome = self._notices.add_notice(result.text, tone, buttons=buttons, about="extraction")
        outcome.setToolTip(tip(f"{result.text}\n{where}"))

    def _mend(self, result: Result, remedy: Remedy) -> None:
        """Apply a remedy to the extracted file, which may be in another tab."""
        if self._session.show_shard(result.wanted.shard):
            self._session.remedy_wanted.emit(remedy)

    def _open_folder(self, where: Path) -> None:
        if not self.open_url(QUrl.fromLocalFile(str(where))):
            text = self.tr("Cannot open a file manager. The files are in {0}").format(where)
            self._notices.add_notice(text, NoticeTone.NOTE, about="open folder")


def failures_box(failures: Sequence[Failure], total: int, parent: QWidget) -> QDialog:
    box = QDialog(parent)
    box.setObjectName("extractFailures")
    box.setWindowTitle(QCoreApplication.translate("ExtractionNotices", "Not extracted"))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    more = f"; the first {len(failures):,}:" if total > len(failures) else ""
    head = QLabel(
        QCoreApplication.translate("ExtractionNotices", "{0} could not be written").format(plural(total, "file"))
        + more,
        box,
    )
    head.setTextFormat(Qt.TextFormat.PlainText)
    table = QTableWidget(len(failures), 2, box)
    table.setObjectName("failureTable")
    table.setAccessibleName(QCoreApplication.translate("ExtractionNotices", "Failures"))
    table.setHorizontalHeaderLabels(["Object", "Reason"])
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    for row, failure in enumerate(failures):
        for column, text in enumerate((failure.name, failure.reason)):
            item = QTableWidgetItem(shown(text))
            item.setToolTip(tip(text))
            table.setItem(row, column, item)
    table.setColumnWidth(0, 240)
    table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, box)
    buttons.rejected.connect(box.reject)
    column_layout = QVBoxLayout(box)
    column_layout.setContentsMargins(18, 16, 18, 14)
    column_layout.setSpacing(10)
    column_layout.addWidget(head)
    column_layout.addWidget(table, 1)
    column_layout.addWidget(buttons)
    box.resize(760, 360)
    return box
