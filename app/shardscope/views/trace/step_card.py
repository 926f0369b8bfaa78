"""One step of a lookup as a card: text, reason, values, bytes and cost."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from shardcore import Step
from shardcore.model.text import plural, said, shown, without_marks
from shardcore.shards.trace import COMPUTED
from shardcore.sources.cold_source import ColdCost
from shardscope.session.display_text import LONGEST_NAME, cut_end, grouped, numbers, span_words
from shardscope.session.selection import highlights_of
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.details_page import DetailRow, DetailsPage
from shardscope.widgets.fonts import SMALL, px, sized
from shardscope.widgets.layouts import grid_in, lay
from shardscope.widgets.wrap_text import WrapText

MOST_VALUES = 24

MOST_COPIED = 1 << 16

LONGEST_VALUE = 200

_KEYS = frozenset({"key", "uid", "id", "hash"})
"""Names of values that are keys, shown without digit grouping."""


def cost_text(requests: int, size: int) -> str:
    if not requests:
        return "cached, nothing read"
    return f"read {plural(requests, 'range')}, {plural(size, 'byte')}"


def cold_text(cost: ColdCost) -> str:
    if not cost.requests:
        return "already cached"
    return f"{plural(cost.requests, 'request')}, {plural(cost.bytes, 'byte')}, {plural(cost.rounds, 'round trip')}"


def value_rows(step: Step) -> Iterator[DetailRow]:
    """Yield the values of a step; a meaning that several values share is shown once."""
    explained: set[str] = set()
    for name, value in list(step.values.items())[:MOST_VALUES]:
        copied, meaning = said(value, MOST_COPIED), step.meanings.get(name)
        text = copied if name in _KEYS else with_commas(value)
        text, note = cut_end(text, LONGEST_VALUE), ""
        if meaning is not None:
            text = meaning.with_unit(text, value)
            text = numbers(text) if meaning.unit == "byte" else text
            note = "" if meaning.text in explained else grouped(meaning.text)
            explained.add(meaning.text)
        yield DetailRow(name, text, copied, mono=True, note=note)
    if len(step.values) > MOST_VALUES:
        yield DetailRow("", f"and {len(step.values) - MOST_VALUES} more", tone="muted")


def with_commas(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return f"{value:,}"
    if isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value[:LONGEST_VALUE]):
        return said([f"{one:,}" for one in value[:LONGEST_VALUE]], MOST_COPIED)
    return said(value, MOST_COPIED)


# --- signs ---


class Progress(Enum):
    AHEAD = "ahead"
    CURRENT = "current"
    BEHIND = "behind"


class Sign(QWidget):
    """Disc with a number, or with one of the marks `tick`, `none` and `alarm`."""

    def __init__(self, mark: str, tone: str, *, size: int = 24, filled: bool = True) -> None:
        super().__init__()
        self.setFixedSize(px(size), px(size))
        self.set_look(mark, tone, filled=filled)

    def set_look(self, mark: str, tone: str, *, filled: bool) -> None:
        self.mark, self._tone, self._filled = mark, tone, filled
        words = {"tick": self.tr("yes"), "none": self.tr("no"), "alarm": self.tr("damaged")}
        self.setAccessibleName(words.get(mark, mark))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
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


# --- the card ---


class StepRanges(QWidget):
    followed = Signal(object)

    def __init__(self, step: Step) -> None:
        super().__init__()
        grid = grid_in(self, 7, 3)
        grid.setColumnStretch(1, 1)
        highlights = highlights_of(step)
        if step.computed:
            text = f"{COMPUTED}; it uses" if highlights else COMPUTED
            grid.addWidget(WrapText(text, tone="muted"), 0, 0, 1, 2)
        for highlight in highlights:
            span, row = highlight.span, highlight.number
            link = WrapText(span_words(span, LONGEST_NAME), link=True)
            link.setToolTip(self.tr("Show {0}").format(span_words(span)))
            link.clicked.connect(lambda span=span: self.followed.emit(span))
            grid.addWidget(NumberSign(row, hollow=highlight.hollow), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(link, row, 1)
        left_out = len(step.inputs if step.computed else step.spans) - len(highlights)
        if left_out:
            more = self.tr("… and {0} more").format(f"{left_out:,}")
            grid.addWidget(WrapText(more, tone="muted"), len(highlights) + 1, 1)


class StepCard(QWidget):
    """Card of a step; values and ranges are created when it becomes the current one. `hidden` shows its title only."""

    chosen = Signal()
    followed = Signal(object)

    def __init__(self, number: int, step: Step, *, hidden: bool = False) -> None:
        super().__init__()
        self.setObjectName(f"traceStep{number}")
        self.step, self.progress = step, Progress.AHEAD
        self._number, self._hidden, self._keyboard = number, hidden, False
        self._cold: ColdCost | None = None
        self._parts: tuple[QWidget, ...] | None = None
        text = self.tr("shown after the answer") if hidden else grouped(without_marks(step.text))
        why = "" if hidden else grouped(step.why)
        self.sign = Sign(str(number), "muted", filled=False)
        self.title = WrapText(grouped(step.title), bold=True)
        self.sentence = WrapText(text)
        self.why = WrapText(self.tr("Why? {0}").format(why) if why else "", tone="muted")
        self.cost = WrapText(cost_text(step.requests, step.bytes), tone="muted")
        self._body = lay(QVBoxLayout(), self.title, self.sentence, self.why, self.cost, spacing=6)
        row = lay(QHBoxLayout(self), self.sign, (self._body, 1), margins=(14, 10, 14, 12), spacing=12)
        row.setAlignment(self.sign, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setAccessibleName(shown(self.tr("Step {0}: {1}").format(number, self.title.text)))
        self.setAccessibleDescription(shown(f"{text} {why}".strip()))
        self.set_progress(Progress.AHEAD)

    def _create_parts(self) -> tuple[QWidget, ...]:
        if self._hidden:
            return ()
        values, ranges = DetailsPage(f"traceValues{self._number}", self.tr("Values")), StepRanges(self.step)
        ranges.followed.connect(self.followed)
        for widget in (values, ranges):
            self._body.insertWidget(self._body.count() - 1, widget)
        values.set_rows(tuple(value_rows(self.step)))
        return (values, ranges) if self.step.values else (ranges,)

    def set_progress(self, progress: Progress) -> None:
        """Show the current step in full, earlier ones with their sentence, later ones with their title only."""
        self.progress = progress
        current, ahead = progress is Progress.CURRENT, progress is Progress.AHEAD
        mark = "tick" if progress is Progress.BEHIND else str(self._number)
        self.sign.set_look(mark, "accent" if current else "muted", filled=current)
        self.title.set_tone("muted" if ahead else "text", bold=not ahead)
        self.sentence.set_tone("text" if current else "muted")
        self.sentence.setVisible(not ahead)
        self.why.setVisible(current and bool(self.step.why))
        if current and self._parts is None:
            self._parts = self._create_parts()
        for part in self._parts or ():
            part.setVisible(current)
        # The card already says that a computing step reads nothing.
        paid = not self.step.computed or self.step.requests > 0
        self.cost.setVisible((current and paid) or self._cold is not None)
        self.setCursor(Qt.CursorShape.ArrowCursor if current else Qt.CursorShape.PointingHandCursor)
        self.update()

    def set_keyboard(self, here: bool) -> None:
        self._keyboard = here
        self.update()

    def set_cold(self, cold: ColdCost | None) -> None:
        if cold != self._cold:
            self._cold = cold
            here = cost_text(self.step.requests, self.step.bytes)
            both = self.tr("{0}\nwith cache: {1}")
            self.cost.set_text(here if cold is None else both.format(cold_text(cold), here))
            self.set_progress(self.progress)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.pos()):
            self.chosen.emit()

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
