"""Status line: the selection or a message, running jobs, and the format."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QStatusBar, QWidget

from shardcore.model.text import plural
from shardscope.session.debounce import Debounce
from shardscope.session.jobs import Jobs
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.plain_text import tip

MESSAGE_MILLISECONDS = 12_000
"""Milliseconds for which a message replaces the selection."""


class StatusLine(QStatusBar):
    def __init__(self, selection: QWidget, window: QMainWindow) -> None:
        super().__init__(window)
        self.setObjectName("statusLine")
        self.setAccessibleName(QCoreApplication.translate("StatusLine", "Status"))
        self.setSizeGripEnabled(False)
        self.setContentsMargins(6, 0, 10, 0)
        self.note = Elided(greedy=True)
        self.note.setObjectName("statusMessage")
        self.busy = Elided(parent=self)
        self.kind = Elided(parent=self)
        self.kind.setObjectName("formatLabel")
        self._pages = QStackedWidget(self)
        self._selection = selection
        self._pages.addWidget(selection)
        self._pages.addWidget(self.note)
        self._over = Debounce(self, lambda: self.say(""))
        self.addWidget(self._pages, 3)
        self.addPermanentWidget(self.busy)
        self._signs = 2
        self.addPermanentWidget(self.kind)

    def add_sign(self, sign: QWidget) -> None:
        self.insertPermanentWidget(self._signs, sign)
        sign.show()

    def say(self, text: str, milliseconds: int = 0) -> None:
        """Show a message, or the selection if it is empty; for 0 milliseconds, until the next message."""
        self._over.stop()
        self.note.set_text(text)
        self._pages.setCurrentWidget(self.note if text else self._selection)
        if text and milliseconds:
            self._over.start(milliseconds)

    def say_for_a_while(self, text: object) -> None:
        self.say(str(text), MESSAGE_MILLISECONDS)

    def show_format(self, name: str, why: str) -> None:
        self.kind.set_text(name)
        self.kind.setToolTip(self.tr("Detected by: {0}").format(tip(why)) if why else "")

    def count_jobs(self, jobs: Jobs, running: Callable[[], int], stop: QAction) -> None:
        def count(_: object = None) -> None:
            number = running()
            self.busy.setText(f"▶ {plural(number, 'job')}" if number else "")
            stop.setEnabled(number > 0)

        jobs.added.connect(count)
        jobs.changed.connect(count)
        count()
