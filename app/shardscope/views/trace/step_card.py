"""One step of a lookup as a card: text, reason, values, bytes and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication, QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from shardcore import Span, Step
from shardcore.model.text import said, shown, without_marks
from shardcore.shards.trace import COMPUTED, Meaning
from shardcore.sources.cold_source import ColdCost
from shardscope.session.display_text import LONGEST_NAME, grouped, numbers, span_words
from shardscope.session.highlights import highlights_of
from shardscope.views.trace.cost_switch import cold_text, cost_text
from shardscope.views.trace.step_progress import Progress, Sign
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.plain_text import tip
from shardscope.widgets.wrap_text import WrapText

MOST_VALUES = 24
"""Maximum number of values shown per step."""

MOST_LETTERS = 1 << 16
"""Maximum number of characters copied."""

LONGEST_VALUE = 200
"""Maximum number of characters shown."""

LONG_NAME = 14
"""Length of a name above which its value is placed below it."""

BESIDE = 12
"""Length of name and value up to which the meaning is placed beside them."""

_KEYS = frozenset({"key", "uid", "id", "hash"})
"""Names of values that are keys, shown without digit grouping."""

_LINES = 3
"""Grid rows per value: name, value below the name, meaning."""


def value_text(value: Any) -> str:
    return said(value, MOST_LETTERS)


def with_commas(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return f"{value:,}"
    if isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value[:LONGEST_VALUE]):
        return said([f"{one:,}" for one in value[:LONGEST_VALUE]], MOST_LETTERS)
    return value_text(value)


def values_of(step: Step) -> QWidget | None:
    if not step.values:
        return None
    box = QWidget()
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 2, 0, 2)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(2)
    some = list(step.values.items())[:MOST_VALUES]
    rows = [_ValueRow.of(name, value, step.meanings.get(name)) for name, value in some]
    beside = max(len(row.name) for row in rows) + max(len(row.text) for row in rows) <= BESIDE
    grid.setColumnStretch(3 if beside else 2, 1)
    explained: set[str] = set()
    for number, row in enumerate(rows):
        _add(grid, number * _LINES, row, beside=beside, known=row.meaning in explained)
        explained.add(row.meaning)
    if len(step.values) > MOST_VALUES:
        more = QCoreApplication.translate("StepValues", "and {0} more").format(len(step.values) - MOST_VALUES)
        grid.addWidget(WrapText(more, tone="muted"), _LINES * MOST_VALUES, 0, 1, 4)
    return box


@dataclass(frozen=True, slots=True)
class _ValueRow:
    name: str
    text: str
    copied: str
    meaning: str
    unit: str

    @staticmethod
    def of(name: str, value: Any, meaning: Meaning | None) -> _ValueRow:
        copied = value_text(value)
        seen = copied if name in _KEYS else with_commas(value)
        cut = seen if len(seen) <= LONGEST_VALUE else seen[:LONGEST_VALUE] + "…"
        if meaning is None:
            return _ValueRow(name, cut, copied, "", "")
        text = meaning.with_unit(cut, value)
        text = numbers(text) if meaning.unit == "byte" else text
        return _ValueRow(name, text, copied, grouped(meaning.text), meaning.unit)

    @property
    def sentence(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.name}: {self.meaning}{unit}"


def _add(grid: QGridLayout, line: int, row: _ValueRow, *, beside: bool, known: bool) -> None:
    top = Qt.AlignmentFlag.AlignTop
    value = WrapText(mono=True)
    value.set_text(row.text, copied=row.copied)
    widgets = [value]
    if len(row.name) > LONG_NAME or (len(row.name) > LONG_NAME / 2 and len(row.text) > LONG_NAME):
        # Beside the name, only a few characters of the value would fit.
        label = WrapText(f"{row.name} =", tone="muted", mono=True)
        grid.addWidget(label, line, 0, 1, 4)
        grid.addWidget(value, line + 1, 2, 1, 2)
    else:
        label = WrapText(row.name, tone="muted", mono=True)
        equals = WrapText("=", tone="muted", mono=True)
        equals.setFixedWidth(equals.sizeHint().width())
        grid.addWidget(label, line, 0, top)
        grid.addWidget(equals, line, 1, top)
        grid.addWidget(value, line, 2, 1, 1 if beside else 2, top)
        if beside:
            value.setFixedWidth(value.sizeHint().width())
            label.setFixedWidth(label.sizeHint().width())
    widgets.append(label)
    if not row.meaning:
        return
    if beside or not known:
        meaning = WrapText(row.meaning, tone="muted")
        meaning.setFont(sized(meaning.font(), SMALL))
        grid.addWidget(meaning, *((line, 3) if beside else (line + 2, 0, 1, 4)))
        widgets.append(meaning)
    for widget in widgets:
        widget.setToolTip(tip(row.sentence))


class NumberSign(QWidget):
    def __init__(self, number: int, *, hollow: bool) -> None:
        super().__init__()
        self.number, self.hollow = number, hollow
        size = badge_size(number, badge_font(self.font())).toSize()
        self.setFixedSize(QSize(size.width() + 1, size.height() + 2))
        self.setAccessibleName(str(number))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(badge_font(self.font()))
        paint_badge(painter, theme.of(self), QPointF(0, 1), self.number, hollow=self.hollow)
        painter.end()


class StepRanges(QWidget):
    followed = Signal(object)

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.links: list[WrapText] = []
        self.computed: WrapText | None = None
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(7)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(1, 1)
        highlights = highlights_of(step)
        if step.computed:
            text = f"{COMPUTED}; it uses" if highlights else COMPUTED
            self.computed = WrapText(text, tone="muted")
            grid.addWidget(self.computed, 0, 0, 1, 2)
        for highlight in highlights:
            span, row = highlight.span, highlight.number
            link = WrapText(span_words(span, LONGEST_NAME), link=True)
            link.setToolTip(self.tr("Show {0}").format(span_words(span, None)))
            link.clicked.connect(lambda span=span: self._follow(span))
            grid.addWidget(NumberSign(highlight.number, hollow=highlight.hollow), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(link, row, 1)
            self.links.append(link)
        left_out = len(step.inputs if step.computed else step.spans) - len(highlights)
        if left_out:
            more = self.tr("… and {0} more").format(f"{left_out:,}")
            grid.addWidget(WrapText(more, tone="muted"), len(highlights) + 1, 1)

    def _follow(self, span: Span) -> None:
        self.followed.emit(span)


class StepCard(QWidget):
    chosen = Signal()
    followed = Signal(object)

    def __init__(self, number: int, step: Step, *, hidden: bool = False) -> None:
        super().__init__()
        self.setObjectName(f"traceStep{number}")
        self.step = step
        self.progress = Progress.AHEAD
        self._number = number
        self._cold: ColdCost | None = None
        self._keyboard = False
        self.sign = Sign(str(number), "muted", filled=False)
        said = self.tr("shown after the answer") if hidden else grouped(without_marks(step.text))
        why = "" if hidden else grouped(step.why)
        self.title = WrapText(grouped(step.title), bold=True)
        self.sentence = WrapText(said)
        self.why = WrapText(self.tr("Why? {0}").format(why) if why else "", tone="muted")
        self.values = None if hidden else values_of(step)
        self.places = None if hidden else StepRanges(step)
        if self.places is not None:
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
        self.setAccessibleName(shown(self.tr("Step {0}: {1}").format(number, self.title.text)))
        self.setAccessibleDescription(shown(f"{said} {why}".strip()))
        self.set_progress(Progress.AHEAD)

    def set_progress(self, progress: Progress) -> None:
        """Show the current step in full, earlier ones with their sentence, later ones with their title only."""
        self.progress = progress
        current, ahead = progress is Progress.CURRENT, progress is Progress.AHEAD
        self.sign.set_look(
            "tick" if progress is Progress.BEHIND else str(self._number),
            "accent" if current else "muted",
            filled=current,
        )
        self.title.set_tone("muted" if ahead else "text", bold=not ahead)
        self.sentence.set_tone("text" if current else "muted")
        self.sentence.setVisible(not ahead)
        self.why.setVisible(current and bool(self.step.why))
        for widget in (self.values, self.places):
            if widget is not None:
                widget.setVisible(current)
        # The card already says that a computing step reads nothing.
        paid = not self.step.computed or self.step.requests > 0
        self.cost.setVisible((current and paid) or self._cold is not None)
        self.setCursor(Qt.CursorShape.ArrowCursor if current else Qt.CursorShape.PointingHandCursor)
        self.update()

    def set_keyboard(self, here: bool) -> None:
        self._keyboard = here
        self.update()

    def set_cold(self, cold: ColdCost | None) -> None:
        self._cold = cold
        here = cost_text(self.step.requests, self.step.bytes)
        self.cost.set_text(here if cold is None else self.tr("{0}\nwith cache: {1}").format(cold_text(cold), here))
        self.set_progress(self.progress)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.pos()):
            self.chosen.emit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
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
