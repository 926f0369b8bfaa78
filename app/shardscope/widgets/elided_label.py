"""Labels that elide their text where it does not fit, never inside a number; the tooltip shows the full text.

Numbers in the window have grouped digits, so a long run of digits without commas is a key.
"""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QFontMetrics, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from shardcore.model.text import shown
from shardscope.widgets.clipboard import copy_text
from shardscope.widgets.layouts import made
from shardscope.widgets.plain_text import tip

_WORD = r"[\w,.]+"
_NUMBER = r"\d[\d,.]*|0x[0-9a-f]+"
_KEY = r"\d{5,}|[0-9a-f]{16,}|[a-z]+(?:_[a-z]+)+"


def cut_text(metrics: QFontMetrics | QFontMetricsF, text: str, room: float) -> str:
    """Return a text, elided to fit into `room` pixels; keys and field names are elided in the middle."""
    wide = int(room) if isinstance(metrics, QFontMetrics) else room
    seen = metrics.elidedText(text, Qt.TextElideMode.ElideRight, wide)  # type: ignore[arg-type]
    if seen == text:
        return text
    kept = seen.removesuffix("…")
    # A key may begin with digits; a word with letters is not a number.
    for word in re.finditer(_WORD, text):
        if word.start() <= len(kept) < word.end() and re.fullmatch(_KEY, word[0]):
            return metrics.elidedText(text[: word.end()], Qt.TextElideMode.ElideMiddle, wide)  # type: ignore[arg-type]
        if word.start() < len(kept) < word.end() and re.fullmatch(_NUMBER, word[0].rstrip(",.")):
            kept = kept[: word.start()]
    return f"{kept.rstrip()}…" if seen else ""


class Elided(QLabel):
    """Label that elides text that does not fit, and shows it as tooltip. With `greedy`, it takes all free width."""

    def __init__(self, *, greedy: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._own_tip = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        policy = QSizePolicy.Policy.Ignored if greedy else QSizePolicy.Policy.Maximum
        self.setSizePolicy(policy, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(1)
        copy = made(QAction(self.tr("Copy this text"), self), triggered=lambda: copy_text(self.text()))
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def set_text(self, text: str) -> None:
        if (safe := shown(text)) != self.text():
            self.setText(safe)

    def setToolTip(self, text: str) -> None:
        self._own_tip = text
        super().setToolTip(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        text, metrics, room = self.text(), self.fontMetrics(), self.contentsRect().width()
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if metrics.horizontalAdvance(line) > room:
                lines[number] = cut_text(metrics, line, room)
        seen = "\n".join(lines)
        wanted = self._own_tip if seen == text else tip(text)
        if wanted != self.toolTip():
            super().setToolTip(wanted)
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), int(self.alignment()), seen)
