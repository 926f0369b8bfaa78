"""The bytes of a step, as numbered links: those it looked at, or, hollow, those it computes with."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from shardcore import Span, Step
from shardcore.model.number_words import plural
from shardcore.shards.trace import COMPUTED
from shardscope.session.highlights import lights_of
from shardscope.session.words import LONGEST_NAME, cut_middle, source_words
from shardscope.widgets import theme
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.wrap_text import WrapText


class NumberSign(QWidget):
    """The number of some bytes, as it stands at them everywhere.

    Attributes:
        number: The number.
        hollow: Whether the bytes are only computed with.
    """

    def __init__(self, number: int, *, hollow: bool) -> None:
        super().__init__()
        self.number, self.hollow = number, hollow
        size = badge_size(number, badge_font(self.font())).toSize()
        self.setFixedSize(QSize(size.width() + 1, size.height() + 2))
        self.setAccessibleName(str(number))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints the number in its frame."""
        painter = QPainter(self)
        painter.setFont(badge_font(self.font()))
        paint_badge(painter, theme.of(self), QPointF(0, 1), self.number, hollow=self.hollow)
        painter.end()


class StepPlaces(QWidget):
    """`followed` carries the `Span` that was clicked.

    Attributes:
        links: The links, in the order of their numbers.
        computed: Says that no bytes are looked at; None for a step that looks at some.
    """

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
        lights = lights_of(step)
        if step.computed:
            text = f"{COMPUTED}; it uses" if lights else COMPUTED
            self.computed = WrapText(text, tone="muted")
            grid.addWidget(self.computed, 0, 0, 1, 2)
        for light in lights:
            span, row = light.span, light.number
            within = f" of {source_words(span.source)}" if span.source else ""
            short = f" of {cut_middle(source_words(span.source), LONGEST_NAME)}" if span.source else ""
            link = WrapText(f"{span.start:,} … {span.stop:,}{short} · {plural(span.size, 'byte')}", link=True)
            link.setToolTip(self.tr("Show bytes {0}").format(f"{span.start:,}..{span.stop:,}{within}"))
            link.clicked.connect(lambda span=span: self._follow(span))
            grid.addWidget(NumberSign(light.number, hollow=light.hollow), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(link, row, 1)
            self.links.append(link)
        left_out = len(step.inputs if step.computed else step.spans) - len(lights)
        if left_out:
            more = self.tr("… and {0} more").format(f"{left_out:,}")
            grid.addWidget(WrapText(more, tone="muted"), len(lights) + 1, 1)

    def _follow(self, span: Span) -> None:
        self.followed.emit(span)
