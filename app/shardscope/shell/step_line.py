"""One step of a lookup or of a lesson on one line, where there is no room for its card."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QToolButton, QWidget

from shardscope.learning.lessons.answers import Verdict
from shardscope.learning.lessons.prose import Prose
from shardscope.widgets.elided import Elided

_LINES = 2
_ROOM = 6


class StepLine(QWidget):
    """Previous, next, which step it is, and its title. Hidden until there is too little room for more."""

    back_wanted = Signal()
    on_wanted = Signal()
    answer_wanted = Signal()
    spoken_role = QAccessible.Role.Grouping

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("stepLine")
        self.setAccessibleName(self.tr("Step"))
        self.back = quiet_button("◀", self.tr("Previous step"), "stepLineBack")
        self.next = quiet_button("▶", self.tr("Next step"), "stepLineNext")
        self.answer = quiet_button(self.tr("Show me"), self.tr("Show the answer"), "stepLineAnswer")
        self.back.clicked.connect(self.back_wanted)
        self.next.clicked.connect(self.on_wanted)
        self.answer.clicked.connect(self.answer_wanted)
        self.counter = Elided()
        self.title = Elided(greedy=True)
        self.title.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.back)
        row.addWidget(self.counter)
        row.addWidget(self.next)
        row.addSpacing(6)
        row.addWidget(self.title, 1)
        row.addWidget(self.answer)
        self.hide()

    def tell(self, title: str, number: int, count: int, *, on: bool) -> None:
        """Tells a step.

        Args:
            title: A few words; empty where nothing is walked through.
            number: Its number, from 0.
            count: How many there are.
            on: Whether one can go on.
        """
        self.title.tell(title)
        self.counter.tell(self.tr("{0} of {1}").format(number + 1, count) if count else "")
        for part in (self.back, self.next, self.counter):
            part.setVisible(count > 0)
        self.back.setEnabled(number > 0)
        self.next.setEnabled(on)


class StepWords(QScrollArea):
    """What a lesson asks, or what was said to the answer: two lines, and what is longer is scrolled."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("stepWords")
        self.setAccessibleName(self.tr("What the lesson asks"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.text = Prose()
        self.text.setContentsMargins(12, _ROOM // 2, 12, _ROOM // 2)
        self.text.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setWidget(self.text)
        self.hide()

    def tell(self, asked: str, verdict: Verdict | None) -> None:
        """Tells what is asked, or the verdict on the answer."""
        if verdict is None:
            self.text.set_tone("text")
            self.text.tell(asked)
        else:
            self.text.set_tone("ok" if verdict.right else "warning")
            self.text.tell(("✓ " if verdict.right else "✗ ") + verdict.text)
        self.verticalScrollBar().setValue(0)
        self.setVisible(bool(self.text.text()))

    def showEvent(self, event: QShowEvent) -> None:
        """Two lines of the letters that there are now."""
        super().showEvent(event)
        self.setFixedHeight(_LINES * self.fontMetrics().lineSpacing() + _ROOM)


def quiet_button(text: str, meaning: str, name: str) -> QToolButton:
    """A button that is only a sign or a word until the mouse is over it.

    Args:
        text: What stands on it.
        meaning: What it does.
        name: Its object name.
    """
    button = QToolButton()
    button.setObjectName(name)
    button.setText(text)
    button.setToolTip(meaning)
    button.setAccessibleName(meaning)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
