"""The one status line: what is selected, or for a while what was just done; the format at its end."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QStatusBar, QWidget

from shardscope.looks.elided import Elided


class StatusLine(QStatusBar):
    """However long its texts are, the window is as wide as before.

    Args:
        selection: What is selected.
        ends: What stands at the right.
        window: Its window.

    Attributes:
        note: The message, while there is one.
    """

    def __init__(self, selection: QWidget, ends: Sequence[QWidget], window: QMainWindow) -> None:
        super().__init__(window)
        self.setObjectName("statusLine")
        self.setSizeGripEnabled(False)
        self.setContentsMargins(6, 0, 10, 0)
        self.note = Elided(greedy=True)
        self.note.setObjectName("statusMessage")
        self._pages = QStackedWidget(self)
        self._selection = selection
        self._pages.addWidget(selection)
        self._pages.addWidget(self.note)
        self._over = QTimer(self)
        self._over.setSingleShot(True)
        self._over.timeout.connect(lambda: self.say(""))
        self.addWidget(self._pages, 3)
        for end in ends:
            self.addPermanentWidget(end)

    def say(self, text: str, milliseconds: int = 0) -> None:
        """Shows a message instead of the selection.

        Args:
            text: The message; empty for the selection again.
            milliseconds: For how long; 0 until there is another.
        """
        self._over.stop()
        self.note.tell(text)
        self._pages.setCurrentWidget(self.note if text else self._selection)
        if text and milliseconds:
            self._over.start(milliseconds)
