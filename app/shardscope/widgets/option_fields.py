"""Input fields for the options of formats, one class per type of value."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from shardcore import FormatError, UsageError
from shardcore.codecs.json_text import parse_json
from shardcore.model.options import Option, OptionType
from shardscope.widgets import theme
from shardscope.widgets.file_dialogs import ask_file, ask_folder
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox


class OptionField(QWidget):
    changed = Signal()

    def __init__(self, option: Option) -> None:
        super().__init__()
        self.option = option
        self.setObjectName(f"option_{option.name}")
        self.setToolTip(option.help)

    @property
    def title(self) -> str:
        return self.option.name.capitalize()

    def value(self) -> Any:
        """Return the value entered; None for the default."""
        raise NotImplementedError

    def problem(self) -> str:
        """Return the error of the entered value; empty if it is valid."""
        try:
            self.option.value_of(self.value())
        except UsageError as error:
            return str(error)
        return ""

    def _hold(self, *widgets: QWidget) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for widget in widgets:
            row.addWidget(widget)
        row.setStretch(0, 1)
        widgets[0].setAccessibleName(self.title or self.option.help)
        self.setFocusProxy(widgets[0])


class TextField(OptionField):
    def __init__(self, option: Option, given: Any) -> None:
        super().__init__(option)
        self.line = QLineEdit("" if given is None else str(given))
        self.line.setPlaceholderText(option.help)
        self.line.textChanged.connect(self.changed)
        self._hold(self.line)

    def value(self) -> str | None:
        return self.line.text().strip() or None


class FolderField(OptionField):
    def __init__(self, option: Option, given: Any) -> None:
        super().__init__(option)
        self.line = QLineEdit(str(given or ""))
        self.line.setPlaceholderText(self.tr("Optional. Default: the xorbs folder beside the shard"))
        self.line.textChanged.connect(self.changed)
        self._hold(self.line, path_button("Choose…", self.line, folder=True))

    def value(self) -> str | None:
        return self.line.text().strip() or None


class FlagField(OptionField):
    def __init__(self, option: Option, given: Any) -> None:
        super().__init__(option)
        self.box = TickBox(option.help.rstrip("."))
        self.box.setChecked(bool(given))
        self.box.toggled.connect(self.changed)
        self._hold(self.box)

    @property
    def title(self) -> str:
        return ""

    def value(self) -> bool | None:
        return self.box.isChecked() or None


class ChoiceField(OptionField):
    def __init__(self, option: Option, given: Any) -> None:
        super().__init__(option)
        self.box = QComboBox()
        usual = option.default in option.choices
        if not usual:
            self.box.addItem(self.tr("Default"), None)
        for choice in option.choices:
            self.box.addItem(choice, choice)
        self.box.setCurrentIndex(max(self.box.findData(option.default if usual and given is None else given), 0))
        self.box.currentIndexChanged.connect(self.changed)
        self._hold(self.box)

    def value(self) -> str | None:
        chosen: str | None = self.box.currentData()
        return chosen


class JsonField(OptionField):
    """Editor for JSON; `value` returns `given` while the text is `shown`, the value with which the file was read."""

    def __init__(self, option: Option, given: Any, shown: str = "", evidence: str = "") -> None:
        super().__init__(option)
        self._given = given
        self._shown = given if isinstance(given, str) and given else shown
        self.evidence = QLabel(evidence)
        self.evidence.setTextFormat(Qt.TextFormat.RichText)
        self.evidence.setWordWrap(True)
        self.evidence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.evidence.setVisible(bool(evidence))
        self.editor = QPlainTextEdit(self._shown)
        self.editor.setFont(theme.fixed_font())
        self.editor.setTabChangesFocus(True)
        self.editor.setAccessibleName(self.title)
        self.editor.setPlaceholderText(self.tr("Optional. By default read from the file or its info"))
        self.editor.setMinimumHeight(self.editor.fontMetrics().lineSpacing() * 5 + 16)
        self.editor.textChanged.connect(self._changed)
        self.state = plain_label(wrap=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        for widget in (self.evidence, self.editor, self.state):
            column.addWidget(widget)
        self.setFocusProxy(self.editor)
        self._changed()

    def value(self) -> str | None:
        text = self.editor.toPlainText().strip()
        return self._given if text == self._shown.strip() else text or None

    def problem(self) -> str:
        return json_problem(self.editor.toPlainText())

    def _changed(self) -> None:
        wrong, colour = self.problem(), theme.of(self).error.name()
        self.state.setText(f"✖ {wrong}" if wrong else "")
        self.state.setVisible(bool(wrong))
        self.state.setStyleSheet(f"color: {colour};")
        self.editor.setStyleSheet(f"QPlainTextEdit {{ border: 1px solid {colour}; }}" if wrong else "")
        self.changed.emit()


def field_for(option: Option, given: Any, shown: str = "", evidence: str = "") -> OptionField:
    match option.type:
        case OptionType.JSON:
            return JsonField(option, given, shown, evidence)
        case OptionType.FOLDER:
            return FolderField(option, given)
        case OptionType.FLAG:
            return FlagField(option, given)
        case OptionType.CHOICE:
            return ChoiceField(option, given)
        case _:
            return TextField(option, given)


class FieldForm(QFormLayout):
    def __init__(self, parent: QWidget | None = None, *, spacing: int = 10) -> None:
        super().__init__(parent)
        self.setContentsMargins(0, 0, 0, 0)
        self.setHorizontalSpacing(12)
        self.setVerticalSpacing(spacing)
        self.setLabelAlignment(Qt.AlignmentFlag.AlignRight)
        self.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)

    def add(self, words: str, field: QWidget, *beside: QWidget) -> None:
        row: QWidget | QHBoxLayout = field
        if beside:
            row = QHBoxLayout()
            row.setSpacing(8)
            row.addWidget(field, 1)
            for widget in beside:
                row.addWidget(widget)
        self.addRow(words, row)
        label = self.labelForField(row)
        if isinstance(label, QLabel):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setBuddy(field)
            label.setContentsMargins(0, 0, 1, 0)
            # Centre the label beside a single line, align it to the top of a larger field.
            text = isinstance(field, QLabel) or field.sizeHint().height() > 2 * label.sizeHint().height()
            label.setAlignment(Qt.AlignmentFlag.AlignTop if text else Qt.AlignmentFlag.AlignVCenter)
            field.setAccessibleName(field.accessibleName() or words.replace("&", ""))


def path_button(words: str, field: QLineEdit, *, folder: bool = False) -> QPushButton:
    button = QPushButton(words)
    button.setAutoDefault(False)

    def ask() -> None:
        (ask_folder if folder else ask_file)(button.window(), words.rstrip("…"), field.setText)

    button.clicked.connect(ask)
    return button


def json_problem(text: str) -> str:
    """Return why a text is not a JSON object, with the location; empty if it is one, or if there is no text."""
    if not text.strip():
        return ""
    try:
        value = parse_json(text, "The specification")
    except FormatError as error:
        return error.message
    return "" if isinstance(value, dict) else "A specification must be a JSON object: { … }"
