"""One step of a lookup as a card: what is done and why, what came out, which bytes were looked at, what it cost."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from shardcore import Step
from shardcore.model.text import without_marks
from shardcore.sources.cold import Cost
from shardscope.session.words import grouped
from shardscope.views.trace.costs import cold_text, cost_text
from shardscope.views.trace.parts import Progress, Sign
from shardscope.views.trace.step_spans import StepPlaces
from shardscope.views.trace.values import values_of
from shardscope.widgets import theme
from shardscope.widgets.plain_text import shown
from shardscope.widgets.wrap_text import WrapText


class StepCard(QWidget):
    """One step: number, title, sentence, why, values, bytes, cost.

    `chosen` tells that it was clicked, `followed` carries a `Span` that was clicked.

    Attributes:
        step: The step.
        progress: Where it stands in the walk.
    """

    chosen = Signal()
    followed = Signal(object)

    def __init__(self, number: int, step: Step) -> None:
        super().__init__()
        self.setObjectName(f"traceStep{number}")
        self.step = step
        self.progress = Progress.AHEAD
        self._number = number
        self._cold: Cost | None = None
        self._keyboard = False
        self.sign = Sign(str(number), "faint", filled=False)
        self.title = WrapText(grouped(step.title), bold=True)
        self.sentence = WrapText(grouped(without_marks(step.text)))
        self.why = WrapText(self.tr("Why? {0}").format(grouped(step.why)) if step.why else "", tone="muted")
        self.values = values_of(step)
        self.places = StepPlaces(step)
        self.places.followed.connect(self.followed)
        self.cost = WrapText(cost_text(step.requests, step.bytes), tone="muted")
        body = QVBoxLayout()
        body.setSpacing(6)
        body.addWidget(self.title)
        for widget in (self.sentence, self.why, self.values, self.places, self.cost):
            if widget is not None:
                body.addWidget(widget)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 10, 14, 12)
        row.setSpacing(12)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(body, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setAccessibleName(shown(self.tr("Step {0}: {1}").format(number, step.title)))
        self.setAccessibleDescription(shown(f"{step.text} {step.why}".strip()))
        self.set_progress(Progress.AHEAD)

    def set_progress(self, progress: Progress) -> None:
        """The current step tells everything, those behind their sentence, those ahead only their title."""
        self.progress = progress
        current, ahead = progress is Progress.CURRENT, progress is Progress.AHEAD
        self.sign.set_look(
            "tick" if progress is Progress.BEHIND else str(self._number),
            {Progress.AHEAD: "faint", Progress.CURRENT: "accent", Progress.BEHIND: "muted"}[progress],
            filled=current,
        )
        self.title.set_tone("muted" if ahead else "text", bold=not ahead)
        self.sentence.set_tone("text" if current else "muted")
        self.sentence.setVisible(not ahead)
        self.why.setVisible(current and bool(self.step.why))
        for widget in (self.values, self.places):
            if widget is not None:
                widget.setVisible(current)
        # Of a step that only computes it is said already that it looks at nothing.
        paid = not self.step.computed or self.step.requests > 0
        self.cost.setVisible((current and paid) or self._cold is not None)
        self.setCursor(Qt.CursorShape.ArrowCursor if current else Qt.CursorShape.PointingHandCursor)
        self.update()

    def set_keyboard(self, here: bool) -> None:
        """Whether the list of the steps has the keyboard: its arrows walk on from the current step.

        Args:
            here: Whether it has.
        """
        self._keyboard = here
        self.update()

    def set_cold(self, cold: Cost | None) -> None:
        """Shows what a first reader pays for the step, whether or not it is the current one; None shows what was paid.

        Args:
            cold: What is paid.
        """
        self._cold = cold
        here = cost_text(self.step.requests, self.step.bytes)
        self.cost.set_text(here if cold is None else self.tr("{0}\nhere: {1}").format(cold_text(cold), here))
        self.set_progress(self.progress)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click goes to this step."""
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.pos()):
            self.chosen.emit()

    def changeEvent(self, event: QEvent) -> None:
        """Another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The current step stands out: another ground and an edge in the accent colour."""
        if self.progress is not Progress.CURRENT:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.of(self)
        ground = QRectF(self.rect()).adjusted(4.5, 0.5, -4.5, -0.5)
        painter.setPen(QPen(colours.accent, 2) if self._keyboard else colours.border)
        painter.setBrush(colours.raised)
        painter.drawRoundedRect(ground, 7, 7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.accent)
        painter.drawRoundedRect(QRectF(ground.left(), ground.top() + 8, 3, ground.height() - 16), 1.5, 1.5)
        painter.end()
