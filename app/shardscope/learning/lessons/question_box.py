"""The question of a lesson step: prompt, answer, verdict and hints."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.text import plural, shown
from shardcore.teaching.lessons.answers import AnswerVerdict, Given
from shardcore.teaching.lessons.lesson import Answer, Question
from shardscope.learning.lessons.markdown_paragraph import Prose, paint_card
from shardscope.session.display_text import offset_words
from shardscope.session.selection import Selection
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.layouts import discard, lay, made


class QuestionBox(QWidget):
    given = Signal(object)
    picked = Signal(object)
    """Carries the selected choice, before *Check* is pressed."""
    spoken_role = QAccessible.Role.Grouping

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "lessonQuestion", accessibleName=self.tr("Question"))
        self._kind = Answer.NUMBER
        self._chosen: Given | None = None
        self._is_typed, self._right = True, False
        self.prompt, self.where, self.selected = Prose(bold=True), Prose(tone="muted"), Elided()
        self.hints = made(Prose(tone="muted"), "lessonHints")
        self.verdict = made(Prose(), "lessonVerdict")
        self.field = made(QLineEdit(), "lessonAnswer", accessibleName=self.tr("Your answer"))
        self.field.setFont(theme.fixed_font())
        self.field.returnPressed.connect(self._typed)
        self.check = made(QPushButton(self.tr("Check")), "lessonCheck", clicked=self._typed)
        typing, self._choices = QWidget(), QWidget()
        lay(QHBoxLayout(typing), (self.field, 1), (self.selected, 1), self.check, spacing=8)
        self._choice_column = lay(QVBoxLayout(self._choices), spacing=6)
        self._group = made(QButtonGroup(self), idClicked=lambda number: self.picked.emit(Given(str(number))))
        column = self.prompt, self.where, self._choices, typing, self.hints, self.verdict
        lay(QVBoxLayout(self), *column, margins=(14, 12, 14, 12), spacing=10)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)

    def ask(self, question: Question) -> None:
        self._kind = question.kind
        self.prompt.set_text(question.prompt)
        self.where.set_text(
            {
                Answer.NODE: self.tr("Select in the bytes, in *Structure* or in the overview; then press *Check*."),
                Answer.ITEM: self.tr("Click in the drawing; then press *Check*."),
                Answer.MENDED: self.tr("*Check* examines the open bytes, including changes in the sandbox."),
            }.get(question.kind, "")
        )
        self._is_typed = question.kind in (Answer.NUMBER, Answer.TEXT)
        self.field.setVisible(self._is_typed)
        self.selected.setVisible(question.kind in (Answer.NODE, Answer.ITEM))
        self.choose(None)
        self.field.clear()
        self._fill_choices(question)
        self.show_verdict(None)
        self.show_hints(())

    def choose(self, chosen: Selection | Given | None) -> None:
        name = ""
        if isinstance(chosen, Selection):
            name = f"{chosen.path[-1].name}, " if len(chosen.path) > 1 else ""
            chosen = Given(span=chosen.span) if chosen.span is not None else None
        self._chosen = Given() if self._kind is Answer.MENDED else chosen
        text = ""
        if self._kind not in (Answer.CHOICE, Answer.MENDED):
            if chosen is None:
                text = self.tr("No answer selected")
            elif (span := chosen.span) is not None:
                count = plural(span.size, "byte")
                text = self.tr("{0}{1} at {2}").format(name, count, offset_words(span.start))
            else:
                text = chosen.text
        self.selected.set_text(text)

    def show_verdict(self, verdict: AnswerVerdict | None) -> None:
        if verdict is None:
            self.verdict.set_text("")
        else:
            tone, mark = ("text", "→") if verdict.shown else ("ok", "✓") if verdict.right else ("warning", "✗")
            self.verdict.set_tone(tone)
            self.verdict.set_text(f"{mark} {verdict.text}")
        right = self._right = verdict is not None and verdict.right
        if verdict is not None and not right and self.field.hasFocus():
            self.field.selectAll()
        self.field.setReadOnly(right)
        self._choices.setEnabled(not right)
        self.check.setEnabled(not right and (self._is_typed or self._chosen is not None))

    def show_hints(self, hints: tuple[str, ...]) -> None:
        self.hints.set_text("\n\n".join(hints))

    def show_given(self, given: Given) -> None:
        if self._kind is Answer.CHOICE:
            if (button := self._group.button(int(given.text))) is not None:
                button.setChecked(True)
        else:
            self.field.setText(shown(given.text))

    def take_focus(self) -> None:
        if self.field.isVisible():
            self.field.setFocus()
        elif self._choices.isVisible() and self._group.buttons():
            self._group.buttons()[0].setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The field handles Return itself.
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or self._right:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat() and not self.field.hasFocus():
            self._typed()

    def _typed(self) -> None:
        if self._right:
            return
        if not self._is_typed:
            if self._chosen is not None:
                self.given.emit(self._chosen)
        elif self.field.text().strip():
            self.given.emit(Given(self.field.text()))

    def _fill_choices(self, question: Question) -> None:
        for button in self._group.buttons():
            self._group.removeButton(button)
            if (line := button.parentWidget()) is not None:
                discard(line)
        for number, choice in enumerate(question.choices):
            button, sentence, line = QRadioButton(), Prose(), QWidget()
            button.setAccessibleName(shown(choice.text))
            sentence.set_text(choice.text)
            sentence.clicked.connect(button.click)
            lay(QHBoxLayout(line), button, (sentence, 1), spacing=8)
            self._group.addButton(button, number)
            self._choice_column.addWidget(line)
        self._choices.setVisible(bool(question.choices))

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_card(self, theme.of(self).border)
