"""Does what would help against an error, by one button: serving what was deleted, naming the folder of xorbs."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject

from shardcore import Remedy
from shardscope.looks.remedies import ACTIONS
from shardscope.opening import OpenRequest
from shardscope.session import Session
from shardscope.window.error_bar import ErrorBar, Tone
from shardscope.window.file_dialogs import FileDialogs


class Mending(QObject):
    """Offers a remedy over the bytes where an error has one, and applies it when it is asked for.

    Args:
        session: What is open; it is opened again in another way.
        bar: Where the remedy is offered.
        dialogs: Ask for a folder.
        parent: The window.
    """

    def __init__(self, session: Session, bar: ErrorBar, dialogs: FileDialogs, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._bar = bar
        self._dialogs = dialogs
        session.mendable.connect(self.offer)
        session.remedy_wanted.connect(self.mend)

    def offer(self, text: str, remedy: Remedy) -> None:
        """Tells what is wrong, with the button that mends it."""
        if remedy in (Remedy.DELETED, Remedy.XORBS):
            self._bar.tell(text, Tone.WARNING, action=ACTIONS[remedy], do=partial(self.mend, remedy))

    def mend(self, remedy: Remedy) -> None:
        """Opens what is open in the way that helps; what is selected stays selected."""
        request = self._session.request
        if remedy is Remedy.DELETED:
            self._again(request.serving_deleted())
        elif remedy is Remedy.XORBS:
            self._dialogs.ask_xorbs(lambda folder: self._again(request.with_xorbs(folder)))

    def _again(self, request: OpenRequest) -> None:
        if self._session.shard is not None and request.uri == self._session.request.uri:
            self._session.open(request, select=self._session.selection.span)
