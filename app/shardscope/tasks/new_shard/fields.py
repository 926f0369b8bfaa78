"""Fields for the options of a writer, with help and errors below each."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from shardcore.model.options import Option, OptionType
from shardcore.model.text import shown
from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL
from shardscope.widgets.option_fields import OptionField, TextField, field_for, json_problem, path_button
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox

UNDER = 2


class YesField(OptionField):
    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self.box = TickBox("", self)
        self.box.setToolTip(option.help)
        self.box.setChecked(bool(option.default))
        self.box.setAccessibleName(option.name)
        self.box.toggled.connect(self.changed)
        self._hold(self.box)

    def value(self) -> bool | None:
        chosen = self.box.isChecked()
        return None if chosen == bool(self.option.default) else chosen


class PathField(OptionField):
    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self.line = QLineEdit(self)
        self._is_json = option.type is OptionType.JSON
        self.line.setPlaceholderText(self.tr("JSON, or a JSON file") if self._is_json else self.tr("a file"))
        self.line.textChanged.connect(self.changed)
        button = path_button(self.tr("Choose…"), self.line)
        button.setAccessibleName(self.tr("Choose a file for {0}").format(option.name))
        button.setToolTip(self.tr("Choose the file"))
        self._hold(self.line, button)

    def value(self) -> str | None:
        return self.line.text().strip() or None

    def problem(self) -> str:
        text = self.line.text().strip()
        return json_problem(text) if self._is_json and text.startswith("{") else ""


def writing_field(option: Option) -> OptionField:
    if option.type is OptionType.FLAG:
        return YesField(option)
    if option.type is OptionType.JSON or option.content:
        return PathField(option)
    field = field_for(option, None)
    if isinstance(field, TextField):
        # The help is below the field, so the placeholder is the default value.
        field.line.setPlaceholderText("" if option.default is None else str(option.default))
    return field


class OptionForm(QWidget):
    def __init__(self, options: tuple[Option, ...], changed: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("optionForm")
        self.fields: dict[str, OptionField] = {}
        self._wrong: dict[str, QLabel] = {}
        self._rejected: tuple[str, str, Any] = ("", "", None)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(9)
        grid.setColumnStretch(1, 1)
        for row, option in enumerate(options):
            field = writing_field(option)
            field.changed.connect(self._check)
            field.changed.connect(changed)
            self.fields[option.name] = field
            for box in field.findChildren(QComboBox):
                box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
                box.installEventFilter(self)
            label = plain_label(option.name)
            label.setBuddy(field)
            label.setMinimumHeight(field.sizeHint().height())
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
            grid.addLayout(self._under(option, field), row, 1)
        self._check()

    def _under(self, option: Option, field: OptionField) -> QVBoxLayout:
        about = _small(option.help, self)
        about.setObjectName(f"about_{option.name}")
        wrong = _small("", self)
        wrong.setObjectName(f"wrong_{option.name}")
        wrong.hide()
        self._wrong[option.name] = wrong
        column = QVBoxLayout()
        column.setSpacing(UNDER)
        for widget in (field, wrong, about):
            column.addWidget(widget)
        return column

    @property
    def values(self) -> dict[str, Any]:
        """Values that differ from the default."""
        found = {name: field.value() for name, field in self.fields.items()}
        return {name: value for name, value in found.items() if value is not None and value != _default(self, name)}

    @property
    def problem(self) -> str:
        return next((label.text() for label in self._wrong.values() if label.text()), "")

    def reject(self, name: str, why: str) -> bool:
        """Show an error below a field until its value changes; return False if there is no such field."""
        if name not in self.fields:
            return False
        self._rejected = (name, why, self.fields[name].value())
        self._check()
        return True

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QComboBox) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def _check(self) -> None:
        rejected_name, rejection, rejected_value = self._rejected
        for name, field in self.fields.items():
            wrong = field.problem()
            if not wrong and name == rejected_name and field.value() == rejected_value:
                wrong = rejection
            label = self._wrong[name]
            label.setText(f"✖ {shown(wrong)}" if wrong else "")
            label.setVisible(bool(wrong))
            label.setStyleSheet(f"color: {theme.of(self).error.name()};")
            field.setAccessibleDescription(wrong or field.option.help)


def _default(form: OptionForm, name: str) -> Any:
    return form.fields[name].option.default


def _small(text: str, parent: QWidget) -> QLabel:
    label = plain_label(text, size=SMALL, wrap=True)
    label.setProperty("tone", "muted")
    label.setStyleSheet(f"color: {theme.of(parent).muted.name()};")
    policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
    policy.setHeightForWidth(True)
    label.setSizePolicy(policy)
    return label
