"""The dialogs of a course: which exercise begins, and in whose name answers are handed in."""

from __future__ import annotations

from random import SystemRandom

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.number_words import plural
from shardcore.shards.registry import format_of
from shardcore.teaching.exercises.exercise import KEYS, MOST_KEYS, MOST_SEED, ExerciseName, exercise_formats
from shardcore.teaching.hand_in import Work
from shardscope.widgets.tick_box import TickBox

MOST_MINUTES = 600
EXAM_MINUTES = 45


class ExerciseDialog(QDialog):
    """Asks which exercise begins. `wanted` carries the `ExerciseName`, whether it is an exam, and its minutes.

    Args:
        format: The format that is chosen first.
        parent: The window.
    """

    wanted = Signal(object, bool, int)

    def __init__(self, format: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("exerciseDialog")
        self.setWindowTitle(self.tr("Exercises"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        about = QLabel(self.tr("Place keys of a fresh file by hand. One or two of them are absent."), self)
        about.setWordWrap(True)
        self.format = QComboBox(self)
        for name in exercise_formats():
            self.format.addItem(format_of(name).title, name)
        self.format.setCurrentIndex(max(self.format.findData(format), 0))
        self.seed = self._number(0, MOST_SEED - 1, SystemRandom().randrange(MOST_SEED))
        self.seed.setToolTip(self.tr("The same number is the same exercise on every machine"))
        self.keys = self._number(2, MOST_KEYS, KEYS)
        self.exam = TickBox(self.tr("&No verdicts, hints or lookups"), self)
        self.minutes = self._number(0, MOST_MINUTES, EXAM_MINUTES)
        self.minutes.setSpecialValueText(self.tr("no limit"))
        self.minutes.setEnabled(False)
        self.exam.toggled.connect(self.minutes.setEnabled)
        form = QFormLayout()
        form.setVerticalSpacing(8)
        rows = (
            (self.tr("&Format"), self.format, "exerciseFormat"),
            (self.tr("N&umber"), self.seed, "exerciseSeed"),
            (self.tr("&Keys"), self.keys, "exerciseKeys"),
            (self.tr("&Exam"), self.exam, "exerciseExam"),
            (self.tr("&Minutes"), self.minutes, "exerciseMinutes"),
        )
        for text, field, name in rows:
            field.setObjectName(name)
            field.setAccessibleName(text.replace("&", ""))
            form.addRow(text, field)
        self.buttons = QDialogButtonBox(self)
        self.start = self.buttons.addButton(self.tr("&Start"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.accepted.connect(self._want)
        _stack(self, about, form, self.buttons)
        self.format.setFocus(Qt.FocusReason.OtherFocusReason)

    def _number(self, least: int, most: int, value: int) -> QSpinBox:
        field = QSpinBox(self)
        field.setRange(least, most)
        field.setValue(value)
        field.lineEdit().setTextMargins(5, 0, 0, 0)  # in line with the text of the other fields
        return field

    def _want(self) -> None:
        name = ExerciseName(self.format.currentData(), self.seed.value(), self.keys.value())
        exam = self.exam.isChecked()
        self.wanted.emit(name, exam, self.minutes.value() if exam else 0)


class HandInDialog(QDialog):
    """Asks in whose name answers are handed in. `wanted` carries the name.

    Args:
        done: The answers given so far.
        name: The name that was given last.
        parent: The window.
    """

    wanted = Signal(str)

    def __init__(self, done: Work, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("handInDialog")
        self.setWindowTitle(self.tr("Hand in"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.about = QLabel(self._about(done), self)
        self.about.setTextFormat(Qt.TextFormat.PlainText)
        self.about.setWordWrap(True)
        self.about.setObjectName("handInAbout")
        self.name = QLineEdit(name, self)
        self.name.setObjectName("handInName")
        self.name.setAccessibleName(self.tr("Your name"))
        self.name.setMaxLength(100)
        form = QFormLayout()
        form.addRow(self.tr("Your &name"), self.name)
        note = QLabel(self.tr("The checksum tells careless editing. It is no proof against forgery."), self)
        note.setTextFormat(Qt.TextFormat.PlainText)
        note.setWordWrap(True)
        self.buttons = QDialogButtonBox(self)
        self.save = self.buttons.addButton(self.tr("&Save…"), QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.name.textChanged.connect(self._tell)
        self.accepted.connect(lambda: self.wanted.emit(self.name.text().strip()))
        _stack(self, self.about, form, note, self.buttons)
        self._tell()
        self.name.setFocus(Qt.FocusReason.OtherFocusReason)

    def _about(self, done: Work) -> str:
        handed = done.hand_in("")
        right = sum(answer.right and not answer.shown for answer in handed.answers)
        shown = sum(answer.shown for answer in handed.answers)
        text = self.tr("{0}\n{1} of {2} right, {3} shown; {4}")
        minutes = plural(max(round(handed.seconds / 60), 1), "minute")
        return text.format(handed.title, right, plural(handed.questions, "question"), shown, minutes)

    def _tell(self) -> None:
        self.save.setEnabled(bool(self.name.text().strip()))


def _stack(dialog: QDialog, *parts: QWidget | QFormLayout) -> None:
    column = QVBoxLayout(dialog)
    column.setContentsMargins(16, 14, 16, 14)
    column.setSpacing(12)
    for part in parts:
        if isinstance(part, QWidget):
            column.addWidget(part)
        else:
            column.addLayout(part)
    dialog.resize(QSize(420, dialog.sizeHint().height()))


__all__ = ["ExerciseDialog", "HandInDialog"]
