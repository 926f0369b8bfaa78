"""Activity panel: jobs, and for remote files the request log."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from shardcore import RequestLog
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.transfers.job_list import JobList
from shardscope.views.transfers.request_log.panel import RequestLogPanel
from shardscope.widgets.transfer_model import TransferModel

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
