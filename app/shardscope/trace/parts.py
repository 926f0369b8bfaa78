"""The parts of the trace panel: one step of a lookup as a card, and the sign of how it ended."""

from __future__ import annotations

from enum import Enum
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from shardcore import Step
from shardcore.text import said, without_marks
from shardcore.words import plural
from shardscope.looks import theme
from shardscope.looks.shown import shown
from shardscope.looks.type import SMALL, sized
from shardscope.looks.words import grouped, source_words
from shardscope.looks.wrap_text import WrapText

MOST_VALUES = 24
"""Values of a step that are shown."""

MOST_LETTERS = 1 << 16
"""Characters of a value that are copied."""

LONGEST_VALUE = 200
"""Characters of a value that are shown."""


LONG_NAME = 14
"""Letters of a name beside which there is no room for its value."""


class Progress(Enum):
    """Where a step stands in the lesson."""

    AHEAD = "ahead"
    CURRENT = "current"
    BEHIND = "behind"


class Sign(QWidget):
    """A round sign: a number, or a tick, a circle, an exclamation mark.

    Attributes:
        mark: `tick`, `none`, `alarm`, or the text inside.
    """

    def __init__(self, mark: str, tone: str, *, size: int = 24, filled: bool = True) -> None:
        super().__init__()
        self.mark, self._tone, self._filled = mark, tone, filled
        self.setFixedSize(size, size)
        self._name()

    def set_look(self, mark: str, tone: str, *, filled: bool) -> None:
        """Shows another mark in another colour of the palette."""
        self.mark, self._tone, self._filled = mark, tone, filled
        self._name()
        self.update()

    def _name(self) -> None:
        words = {"tick": self.tr("yes"), "none": self.tr("no"), "alarm": self.tr("damaged")}
        self.setAccessibleName(words.get(self.mark, self.mark))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints circle and mark."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.of(self)
        colour: QColor = getattr(colours, self._tone)
        disc = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(QPen(colour, 1.5))
        painter.setBrush(colour if self._filled else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(disc)
        ink = colours.base if self._filled else colour
        painter.setPen(QPen(ink, 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        self._paint_mark(painter, disc)
        painter.end()

    def _paint_mark(self, painter: QPainter, disc: QRectF) -> None:
        def at(x: float, y: float) -> QPointF:
            return QPointF(disc.x() + x * disc.width(), disc.y() + y * disc.height())

        if self.mark == "tick":
            painter.drawPolyline(QPolygonF([at(0.28, 0.52), at(0.44, 0.68), at(0.73, 0.34)]))
        elif self.mark == "none":
            painter.drawLine(at(0.3, 0.5), at(0.7, 0.5))
        elif self.mark == "alarm":
            painter.drawLine(at(0.5, 0.24), at(0.5, 0.56))
            painter.drawPoint(at(0.5, 0.76))
        else:
            font = sized(self.font(), SMALL)
            font.setBold(self._filled)
            painter.setFont(font)
            painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, self.mark)


class StepCard(QWidget):
    """One step: number, title, sentence, values, bytes, cost.

    `chosen` tells that it was clicked, `followed` carries a `Span` that was clicked.
    """

    chosen = Signal()
    followed = Signal(object)

    def __init__(self, number: int, step: Step) -> None:
        super().__init__()
        self.setObjectName(f"traceStep{number}")
        self.step = step
        self.progress = Progress.AHEAD
        self._number = number
        self.sign = Sign(str(number), "faint", filled=False)
        self.title = WrapText(grouped(step.title), bold=True)
        self.cost = WrapText(cost_text(step.requests, step.bytes), tone="muted")
        self.sentence = WrapText(grouped(without_marks(step.text)))
        self.values = _values(step.values)
        self.places = self._places()
        body = QVBoxLayout()
        body.setSpacing(6)
        body.addWidget(self.title)
        for widget in (self.sentence, self.values, self.places, self.cost):
            if widget is not None:
                body.addWidget(widget)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 10, 14, 12)
        row.setSpacing(12)
        row.addWidget(self.sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(body, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setAccessibleName(shown(self.tr("Step {0}: {1}").format(number, step.title)))
        self.setAccessibleDescription(shown(step.text))
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
        for widget in (self.values, self.places, self.cost):
            if widget is not None:
                widget.setVisible(current)
        self.setCursor(Qt.CursorShape.ArrowCursor if current else Qt.CursorShape.PointingHandCursor)
        self.update()

    def _places(self) -> QWidget | None:
        """The bytes that were looked at, as links."""
        if not self.step.spans:
            return None
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        for span in self.step.spans:
            within = f" of {source_words(span.source)}" if span.source else ""
            link = WrapText(f"→ {span.start:,} … {span.stop:,}{within} · {plural(span.size, 'byte')}", link=True)
            link.setToolTip(self.tr("Show bytes {0}").format(f"{span.start:,}..{span.stop:,}{within}"))
            link.clicked.connect(lambda span=span: self.followed.emit(span))
            column.addWidget(link)
        return box

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
        painter.setPen(QPen(colours.border, 1))
        painter.setBrush(colours.raised)
        painter.drawRoundedRect(ground, 7, 7)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.accent)
        painter.drawRoundedRect(QRectF(ground.left(), ground.top() + 8, 3, ground.height() - 16), 1.5, 1.5)
        painter.end()


def cost_text(requests: int, size: int) -> str:
    """What a step cost, in words: `2 ranges, 44 bytes`, or `known already`."""
    if not requests:
        return "nothing read: known already"
    return f"read {plural(requests, 'range')}, {plural(size, 'byte')}"


def value_text(value: Any) -> str:
    """A value that a step produced, as text."""
    return said(value, MOST_LETTERS)


def _values(values: dict[str, Any]) -> QWidget | None:
    """Names and values side by side, in the font of bytes."""
    if not values:
        return None
    box = QWidget()
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 2, 0, 2)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(3)
    grid.setColumnStretch(2, 1)
    for row, (name, value) in enumerate(list(values.items())[:MOST_VALUES]):
        text = value_text(value)
        shown = WrapText(mono=True)
        shown.set_text(text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…", copied=text)
        if len(name) > LONG_NAME:
            # Beside it the value would have the room of a few letters.
            grid.addWidget(WrapText(f"{name} =", tone="muted", mono=True), 2 * row, 0, 1, 3)
            grid.addWidget(shown, 2 * row + 1, 2)
            continue
        equals = WrapText("=", tone="muted", mono=True)
        equals.setFixedWidth(equals.sizeHint().width())
        grid.addWidget(WrapText(name, tone="muted", mono=True), 2 * row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(equals, 2 * row, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(shown, 2 * row, 2)
    if len(values) > MOST_VALUES:
        more = QCoreApplication.translate("StepValues", "and {0} more").format(len(values) - MOST_VALUES)
        grid.addWidget(WrapText(more, tone="muted"), 2 * MOST_VALUES, 0, 1, 3)
    return box
