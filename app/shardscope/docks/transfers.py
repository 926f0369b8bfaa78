"""What is under way: the jobs of the window, and the requests for remote files."""

from __future__ import annotations

from PySide6.QtWidgets import QTabWidget, QWidget

from shardcore import Tape
from shardscope.docks.job_list import JobList
from shardscope.docks.tape.panel import TapePanel
from shardscope.models.transfer_model import TransferModel
from shardscope.session import Session
from shardscope.settings import Settings


class Transfers(QTabWidget):
    """Two tabs: jobs, and the request tape.

    Attributes:
        jobs: The jobs.
        tape: The requests.
    """

    def __init__(self, session: Session, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("transferTabs")
        self.setDocumentMode(True)
        self.jobs = JobList(session.jobs, self)
        self.tape = TapePanel(session, settings, self)
        self.addTab(self.jobs, self.tr("Jobs"))
        self.addTab(self.tape, self.tr("Requests"))
        self.tabBar().setAccessibleName(self.tr("Jobs or requests"))
        session.tape_changed.connect(self._tape_changed)
        self.currentChanged.connect(lambda _: self.setFocusProxy(self.currentWidget()))
        self.setFocusProxy(self.jobs)

    def _tape_changed(self, tape: Tape | None) -> None:
        """Of what is remote the requests are news; jobs are listed as before."""
        self.setCurrentWidget(self.jobs if tape is None else self.tape)

    @property
    def model(self) -> TransferModel:
        """The jobs that are listed."""
        return self.jobs.model
