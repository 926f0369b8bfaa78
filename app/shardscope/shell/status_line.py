"""The one status line: what is selected, or for a while what was just done; the format at its end."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QStatusBar, QWidget

from shardscope.session.debounce import Debounce
from shardscope.widgets.elided import Elided
from shardscope.widgets.fonts import px
from shardscope.widgets.plain_text import tip

MESSAGE_MILLISECONDS = 12_000
"""A sentence stands for this long where the selection is reported."""

NARROW = 900
"""Below this width the format is its name alone: how it was recognised is stored in the tooltip."""


class StatusLine(QStatusBar):
    """However long its texts are, the window is as wide as before.

    Attributes:
        note: The message, while there is one.
        busy: Number of running jobs.
        kind: The format, and how it was recognised.
    """

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
        self._format, self._why = "", ""
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
        """Put a sign before the format."""
        self.insertPermanentWidget(self._signs, sign)
        sign.show()

    def say(self, text: str, milliseconds: int = 0) -> None:
        """Show a message instead of the selection.

        Args:
            text: The message; empty for the selection again.
            milliseconds: For how long; 0 until there is another.
        """
        self._over.stop()
        self.note.tell(text)
        self._pages.setCurrentWidget(self.note if text else self._selection)
        if text and milliseconds:
            self._over.start(milliseconds)

    def say_for_a_while(self, text: object) -> None:
        """Show a message as long as it takes to read it."""
        self.say(str(text), MESSAGE_MILLISECONDS)

    def tell_format(self, name: str, why: str) -> None:
        """Report what is open: its format, and how it was recognised; nothing is open without a name."""
        self._format, self._why = name, why
        self._show_format()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_format()

    def _show_format(self) -> None:
        wide = self.width() >= px(NARROW)
        self.kind.tell(f"{self._format}  ·  {self._why}" if wide and self._why else self._format)
        meaning = QCoreApplication.translate("StatusLine", "The format, and how it was recognised: {0}")
        self.kind.setToolTip(meaning.format(tip(self._why)) if self._why else "")
