"""Questions before a large download, and before opening a store that a file refers to."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from shardcore import StoreUntrusted
from shardcore.model.text import size_text
from shardscope.session.fetch_cost import CostlyRead
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.widgets.request_costs import Price, money_text, price_called, seconds_text

USUAL_RATE = 12_500_000
"""Assumed download speed in bytes per second (100 Mbit/s)."""


class FetchQuestion(QObject):
    """Shows the confirmations that the session requests, one at a time; closes them with the file."""

    def __init__(self, session: Session, settings: Settings, window: QWidget) -> None:
        super().__init__(window)
        self._settings = settings
        self._window = window
        self._question: QMessageBox | None = None
        self._session = session
        session.costly.connect(self.ask)
        session.untrusted.connect(self.ask_store)
        session.closed.connect(self._drop)

    def ask(self, costly: CostlyRead) -> QMessageBox:
        size = size_text(costly.size)
        yes = self.tr("&Fetch {0}").format(size)
        box = self._box("costly", self.tr("Large download"), yes, costly.go, costly.refuse)
        box.setText(self.tr("{0} fetches up to {1}.").format(costly.what, size))
        box.setInformativeText(cost_text(costly.size, price_called(self._settings.price)))
        box.open()
        return box

    def ask_store(self, error: StoreUntrusted, go: Callable[[], object], refuse: Callable[[], object]) -> QMessageBox:
        """Ask whether to open a store or folder that a file refers to; *Cancel* is the default button."""
        title = self.tr("Connect?") if error.who else self.tr("Open?")
        yes = self.tr("&Connect") if error.who else self.tr("&Open")
        box = self._box("untrusted", title, yes, go, refuse)
        box.setText(error.question)
        box.setInformativeText(self.tr("The opened file refers to it. Continue only if you trust that file."))
        # Enter must not agree by accident.
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.open()
        return box

    def _box(
        self, name: str, title: str, yes: str, go: Callable[[], object], refuse: Callable[[], object]
    ) -> QMessageBox:
        self._drop()
        box = self._question = QMessageBox(self._window)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setObjectName(name)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle(title)
        agree = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(agree)
        box.setEscapeButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.finished.connect(self._answered)
        # After the box is closed, since documents are not shown while a dialog is open.
        box.finished.connect(lambda _: go() if box.clickedButton() is agree else refuse())
        return box

    def _answered(self, _: int) -> None:
        self._question = None

    def _drop(self) -> None:
        if self._question is not None:
            self._question.reject()


def cost_text(size: int, price: Price) -> str:
    """Return time and price of fetching `size` bytes in one request."""
    lasts, cost = seconds_text(size / USUAL_RATE), money_text(price.of(1, size))
    return f"About {lasts} at 100 Mbit/s; costs about {cost} ({price.name})."
