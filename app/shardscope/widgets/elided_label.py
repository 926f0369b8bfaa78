"""Labels that elide their text where it does not fit, never inside a number; the tooltip shows the full text.

Numbers in the window have grouped digits, so a long run of digits without commas is a key.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QAction, QFontMetrics, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget

from shardcore.model.text import shown
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.plain_text import tip

_WORD = re.compile(r"[\w,.]+")
_NUMBER = re.compile(r"\d[\d,.]*|0x[0-9a-f]+")
_KEY = re.compile(r"\d{5,}|[0-9a-f]{16,}|[a-z]+(?:_[a-z]+)+")


def cut_text(metrics: QFontMetrics | QFontMetricsF, text: str, room: float) -> str:
    """Return the part of a text that fits into `room` pixels; keys and field names are elided in the middle."""
    wide = int(room) if isinstance(metrics, QFontMetrics) else room
    seen = metrics.elidedText(text, Qt.TextElideMode.ElideRight, wide)  # type: ignore[arg-type]
    if seen == text:
        return text
    kept = seen.removesuffix("…")
    # A key may begin with digits; a word with letters is not a number.
    for word in _WORD.finditer(text):
        if word.start() <= len(kept) < word.end() and _KEY.fullmatch(word[0]):
            return metrics.elidedText(text[: word.end()], Qt.TextElideMode.ElideMiddle, wide)  # type: ignore[arg-type]
        if word.start() < len(kept) < word.end() and _NUMBER.fullmatch(word[0].rstrip(",.")):
            kept = kept[: word.start()]
    return f"{kept.rstrip()}…" if seen else ""


class Elided(QLabel):
    """Elided label without a minimum width; `greedy` takes all remaining width."""

    def __init__(self, *, greedy: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        wish = QSizePolicy.Policy.Ignored if greedy else QSizePolicy.Policy.Maximum
        self.setSizePolicy(wish, QSizePolicy.Policy.Preferred)
        copy = QAction(self.tr("Copy this text"), self)
        copy.triggered.connect(lambda: copy_text(self.text()))
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def set_text(self, text: str) -> None:
        self.setText(shown(text))

    @property
    def seen(self) -> str:
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        return "\n".join(cut_text(metrics, line, room) for line in self.text().split("\n"))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self.seen != self.text():
            QToolTip.showText(event.globalPos(), tip(self.text()), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), int(self.alignment()), self.seen)
        painter.end()
