"""List of lessons, those of the open format first, with duration and progress."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QVBoxLayout, QWidget

from shardcore.model.text import plural, shown
from shardcore.shards.registry import format_of
from shardcore.teaching.lessons.lesson import Lesson
from shardcore.teaching.lessons.placeholders import escaped
from shardscope.learning.lessons.markdown_paragraph import Prose, paint_card
from shardscope.startup.settings import Settings
from shardscope.widgets import theme
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.scroll_area import ScrollArea


class LessonList(ScrollArea):
    chosen = Signal(object)

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "lessonList", accessibleName=self.tr("All lessons"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._settings = settings
        self.cards: list[LessonCard] = []
        self._made: dict[str, LessonCard] = {}
        self._headings: list[QWidget] = []
        inside = QWidget()
        self._column = lay(QVBoxLayout(inside), 1, margins=(12, 12, 12, 12), spacing=8)
        self.setWidget(inside)

    def fill(self, lessons: Sequence[Lesson], format: str, missions: Sequence[Lesson] = ()) -> None:
        while self._column.takeAt(0) is not None:
            pass
        for heading in self._headings:
            heading.deleteLater()
        self._headings, self.cards, before, self._made = [], [], self._made, {}
        titles = {one.name: one.title for one in lessons}
        first = [lesson for lesson in lessons if lesson.format == format and format]
        about = self.tr("About this file's format")
        groups = (
            (f"{about}: {format_of(format).title}" if first else about, first),
            (self.tr("All lessons"), [lesson for lesson in lessons if lesson not in first]),
            (self.tr("Missions: find the damage in a file and repair it in the sandbox"), missions),
        )
        for title, group in groups:
            if group:
                heading = Prose(tone="muted")
                heading.set_text(title)
                self._column.addWidget(heading)
                self._headings.append(heading)
            for lesson in group:
                card = before.pop(lesson.name, None)
                if card is None or card.lesson != lesson:
                    if card is not None:
                        card.deleteLater()
                    card = made(LessonCard(lesson, self._settings), chosen=partial(self.chosen.emit, lesson))
                card.after = tuple(titles.get(need, need) for need in lesson.needs)
                card.set_title(own_group=lesson in first)
                self._column.addWidget(card)
                self._made[lesson.name] = card
                self.cards.append(card)
        self._column.addStretch(1)
        for card in before.values():
            card.deleteLater()

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
        title, about = shown(lesson.title), shown(lesson.about)
        made(self, f"lesson-{lesson.name}", accessibleName=title, accessibleDescription=about)
        self.lesson = lesson
        self.after: tuple[str, ...] = ()
        self._settings = settings
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.title, self.about, self.state = Prose(bold=True), Prose(), Prose(tone="muted")
        self.about.set_text(lesson.about)
        self.start = made(QPushButton(), f"start-{lesson.name}", clicked=self.chosen)
        self.again = made(
            QToolButton(),
            f"again-{lesson.name}",
            text="↺",
            autoRaise=True,
            accessibleName=self.tr("Reset progress: {0}").format(lesson.title),
            toolTip=self.tr("Start again at the first step"),
        )
        self.again.clicked.connect(self._forget)
        column = self.title, self.about, self.state, lay(QHBoxLayout(), 1, self.again, self.start, spacing=-1)
        lay(QVBoxLayout(self), *column, margins=(14, 10, 12, 10), spacing=6)

    def set_title(self, *, own_group: bool) -> None:
        """Set the title, prefixed with the format unless the heading of the group names it."""
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

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = theme.of(self)
        paint_card(self, colours.accent if self.underMouse() else colours.border)
