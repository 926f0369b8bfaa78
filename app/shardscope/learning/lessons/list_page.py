"""List of lessons, those of the open format first, with duration and progress."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QAccessible, QEnterEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QToolButton, QVBoxLayout, QWidget

from shardcore.model.text import plural, shown
from shardcore.shards.registry import format_of
from shardcore.teaching.lessons.lesson import Lesson
from shardcore.teaching.lessons.placeholders import escaped
from shardscope.learning.lessons.markdown_paragraph import Prose
from shardscope.startup.settings import Settings
from shardscope.widgets import theme


class LessonList(QScrollArea):
    chosen = Signal(object)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lessonList")
        self.setAccessibleName(self.tr("All lessons"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._settings = settings
        self.cards: list[LessonCard] = []
        self._made: dict[str, LessonCard] = {}
        self._headings: list[QWidget] = []
        inside = QWidget()
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(12, 12, 12, 12)
        self._column.setSpacing(8)
        self._column.addStretch(1)
        self.setWidget(inside)

    def fill(self, lessons: Sequence[Lesson], format: str, missions: Sequence[Lesson] = ()) -> None:
        self._clear()
        titles = {one.name: one.title for one in lessons}
        first = [lesson for lesson in lessons if lesson.format == format and format]
        others = [lesson for lesson in lessons if lesson not in first]
        broken = self.tr("Missions: find the damage in a file and repair it in the sandbox")
        about = self.tr("About this file's format")
        if first:
            about = f"{about}: {format_of(format).title}"
        for title, group in ((about, first), (self.tr("All lessons"), others), (broken, missions)):
            if not group:
                continue
            heading = Prose(tone="muted")
            heading.set_text(title)
            self._column.addWidget(heading)
            self._headings.append(heading)
            for lesson in group:
                card = self._card(lesson)
                card.after = tuple(titles.get(need, need) for need in lesson.needs)
                card.set_title(own_group=lesson in first)
                self._column.addWidget(card)
                self.cards.append(card)
        self._column.addStretch(1)
        for name in self._made.keys() - {card.lesson.name for card in self.cards}:
            self._made.pop(name).deleteLater()

    def _clear(self) -> None:
        while self._column.takeAt(0) is not None:
            pass
        for heading in self._headings:
            heading.deleteLater()
        self._headings, self.cards = [], []

    def _card(self, lesson: Lesson) -> LessonCard:
        card = self._made.get(lesson.name)
        if card is None or card.lesson != lesson:
            if card is not None:
                card.deleteLater()
            card = self._made[lesson.name] = LessonCard(lesson, self._settings)
            card.chosen.connect(lambda: self.chosen.emit(lesson))
        return card

    def show_missions(self) -> None:
        card = next((card for card in self.cards if card.lesson.name.startswith("mission-")), None)
        if card is not None:
            card.start.setFocus(Qt.FocusReason.OtherFocusReason)
            bar = self.verticalScrollBar()
            bar.setValue(min(max(card.y() - 40, 0), bar.maximum()))


class LessonCard(QWidget):
    chosen = Signal()
    spoken_role = QAccessible.Role.Grouping

    def __init__(self, lesson: Lesson, settings: Settings) -> None:
        super().__init__()
        self.setObjectName(f"lesson-{lesson.name}")
        self.setAccessibleName(shown(lesson.title))
        self.setAccessibleDescription(shown(lesson.about))
        self.lesson = lesson
        self.after: tuple[str, ...] = ()
        self._settings, self._hover = settings, False
        self.title = Prose(bold=True)
        self.about = Prose()
        self.about.set_text(lesson.about)
        self.state = Prose(tone="muted")
        self.start = QPushButton()
        self.start.setObjectName(f"start-{lesson.name}")
        self.start.clicked.connect(self.chosen)
        self.again = QToolButton()
        self.again.setText(self.tr("↺"))
        self.again.setObjectName(f"again-{lesson.name}")
        self.again.setAutoRaise(True)
        self.again.setAccessibleName(self.tr("Reset progress: {0}").format(lesson.title))
        self.again.setToolTip(self.tr("Start again at the first step"))
        self.again.clicked.connect(self._forget)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(self.again)
        row.addWidget(self.start)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 12, 10)
        column.setSpacing(6)
        column.addWidget(self.title)
        column.addWidget(self.about)
        column.addWidget(self.state)
        column.addLayout(row)

    def set_title(self, *, own_group: bool) -> None:
        """Set the title, prefixed with the format unless the heading of the group names it."""
        # In its own group, the heading names the format.
        about = f"{format_of(self.lesson.format).title}: " if self.lesson.format and not own_group else ""
        self.title.set_text(f"{about}{self.lesson.title}")
        self.refresh()

    def refresh(self) -> None:
        step = self._settings.lesson_step(self.lesson.name)
        self.state.set_text(self._state(step))
        self.start.setText(self.tr("Continue") if step > 0 else self.tr("Start"))
        self.start.setAccessibleName(f"{self.start.text()}: {self.lesson.title}")
        self.again.setVisible(step > 0 or self._settings.is_lesson_done(self.lesson.name))

    def _state(self, step: int) -> str:
        steps = plural(len(self.lesson.steps), "step")
        said = []
        if self._settings.is_lesson_done(self.lesson.name):
            said.append(self.tr("✓ done"))
        if step > 0:
            said.append(self.tr("at step {0} of {1}").format(step + 1, len(self.lesson.steps)))
        if not said:
            after = self.tr(" · requires: {0}").format(", ".join(map(escaped, self.after))) if self.after else ""
            return self.tr("{0} · {1} min").format(steps, self.lesson.minutes) + after
        return " · ".join(said if step > 0 else [*said, steps])

    def _forget(self) -> None:
        had = self.again.hasFocus()
        self._settings.forget_lesson(self.lesson.name)
        self.refresh()
        if had:
            self.start.setFocus()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._hover = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = False
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.of(self)
        painter.setPen(colours.accent if self._hover else colours.border)
        painter.setBrush(colours.raised)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 7, 7)
        painter.end()
