"""Outcome of a lookup: a sign, a word and a sentence, on a background of the same colour."""

from __future__ import annotations

from types import MappingProxyType

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from shardcore import State, Trace
from shardcore.model.number_words import plural
from shardcore.model.text import shown
from shardcore.shards.trace import ABSENT, DAMAGED, ELSEWHERE, FOUND
from shardscope.session.words import grouped, sentence
from shardscope.views.trace.costs import cost_text
from shardscope.views.trace.parts import Sign
from shardscope.widgets import theme
from shardscope.widgets.wrap_text import WrapText

FAILED = "failed"
"""The lookup could not be made: no key of the format, or bytes that cannot be read."""

_LOOKS = MappingProxyType(
    {
        FOUND: ("Found", "tick", "ok"),
        ELSEWHERE: ("", "alarm", "note"),
        State.TOMBSTONED: ("Found, tombstoned", "alarm", "warning"),
        State.DELETED: ("Found, deleted", "alarm", "warning"),
        State.DAMAGED: ("Found, damaged", "alarm", "error"),
        ABSENT: ("Absent", "none", "note"),
        DAMAGED: ("Damaged", "alarm", "error"),
        FAILED: ("Not looked up", "alarm", "warning"),
    }
)


class OutcomeBand(QWidget):
    spoken_role = QAccessible.Role.Grouping

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("traceOutcome")
        self.sign = Sign("tick", "ok", size=26)
        self.outcome = WrapText(bold=True)
        self.verdict = WrapText()
        self.show_object = QPushButton(self.tr("Show object"))
        self.show_object.setObjectName("traceShowObject")
        self._tone = "note"
        self._current, self._word, self._mark = True, "", "none"
        first = QHBoxLayout()
        first.addWidget(self.outcome, 1, Qt.AlignmentFlag.AlignVCenter)
        first.addWidget(self.show_object)
        words = QVBoxLayout()
        words.setSpacing(4)
        words.addLayout(first)
        words.addWidget(self.verdict)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 10, 12, 10)
        row.setSpacing(12)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        self.hide()

    def tell(self, kind: str | State | None, sentence: str = "", *, word: str = "") -> None:
        self.setVisible(kind is not None)
        if kind is None:
            return
        usual, mark, self._tone = _LOOKS[kind]
        word = word or usual
        self._current, self._word, self._mark = True, word, mark
        self.outcome.set_text(word)
        self.outcome.set_tone(self._tone)
        self.verdict.set_text(sentence)
        self.sign.set_look(mark, self._tone, filled=True)
        self.show_object.setVisible(kind in (FOUND, ELSEWHERE) or isinstance(kind, State))
        self.show_object.setEnabled(True)
        self.verdict.set_tone("text")
        self.setAccessibleName(shown(f"{word}: {sentence}"))
        self.update()

    def set_current(self, current: bool) -> None:
        if current == self._current:
            return
        self._current = current
        tone = self._tone if current else "muted"
        self.outcome.set_text(self._word if current else self.tr("{0} (previous key)").format(self._word))
        self.outcome.set_tone(tone)
        self.verdict.set_tone("text" if current else "muted")
        self.sign.set_look(self._mark, tone, filled=current)
        self.show_object.setEnabled(current)
        self.setAccessibleName(shown(f"{self.outcome.text}: {self.verdict.text}"))
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        colour: QColor = getattr(theme.of(self), self._tone if self._current else "muted")
        ground = QColor(colour)
        ground.setAlphaF(0.13)
        area = QRectF(self.rect())
        painter.fillRect(area, ground)
        painter.fillRect(QRectF(0, 0, area.width(), 1), colour)
        painter.fillRect(QRectF(0, area.height() - 1, area.width(), 1), colour)
        painter.end()


_STATES = MappingProxyType(
    {
        State.TOMBSTONED: " is tombstoned in the sidecar; its bytes are still in the file",
        State.DELETED: " was deleted: its content was overwritten",
        State.DAMAGED: " has an invalid reference to its content",
    }
)


def outcome_of(trace: Trace) -> str | State:
    if trace.described:
        return ELSEWHERE
    state = trace.ref.state if trace.outcome == FOUND and trace.ref is not None else None
    return state if state is not None and state in _STATES else trace.outcome


def verdict(trace: Trace) -> str:
    requests = sum(step.requests for step in trace.steps)
    cost = cost_text(requests, sum(step.bytes for step in trace.steps))
    steps = f"{plural(len(trace.steps), 'step')}, {cost}"
    if trace.outcome == FOUND:
        told = _STATES.get(trace.ref.state, "") if trace.ref is not None else ""
        told = ": its bytes are in files that were not found" if trace.described else told
        return f"{trace.key}{told} · {steps}."
    if trace.outcome == ABSENT:
        return f"{trace.key} is not in this shard, as the last step shows · {steps}."
    return f"{sentence(grouped(str(trace.error)))} {steps[0].upper()}{steps[1:]}."
