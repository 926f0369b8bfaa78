"""Forms with a field per setting of an operation or option of a format, created from their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from shardcore import FormatError, UsageError
from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import replace
from shardcore.model.options import Option, OptionType
from shardcore.model.text import iso_text
from shardcore.operations.description import Setting, settings_of
from shardscope.widgets import theme
from shardscope.widgets.elided_label import Elided
from shardscope.widgets.file_dialogs import ask_file, ask_folder, path_of
from shardscope.widgets.fonts import SMALL, sized
from shardscope.widgets.layouts import keep_room, lay, made
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.tick_box import TickBox

YES_NO = {True: "yes", False: "no"}

_NEVER_WRONG = (OptionType.TEXT, OptionType.FOLDER, OptionType.FLAG, OptionType.CHOICE)
"""Option types without invalid values: their fields reserve no room for an error."""


class OptionField(QWidget):
    """Field of one option with room for an error below; `on` is the value of the setting when a switch is on."""

    changed = Signal()

    def __init__(self, option: Option, title: str = "") -> None:
        super().__init__()
        self.option = option
        self.on: Any = True
        self.title = title or option.name.replace("_", " ").capitalize()
        made(self, f"option_{option.name}", toolTip=option.help, changed=self.check)
        self.wrong = made(Elided(greedy=True), f"wrong_{option.name}")
        self.wrong.setFont(sized(self.wrong.font(), SMALL))
        self._about: QLabel | None = None
        self._rejected: tuple[str, Any] = ("", None)

    def value(self) -> Any:
        """Return the value entered; None for the default."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        raise NotImplementedError

    def problem(self) -> str:
        """Return the error of the entered value; empty if it is valid."""
        try:
            self.option.value_of(self.value())
        except UsageError as error:
            return str(error)
        return ""

    def reject(self, why: str) -> None:
        """Show an error until the value changes."""
        self._rejected = why, self.value()
        self.check()

    def check(self) -> None:
        why, value = self._rejected
        wrong = self.problem() or (why if why and value == self.value() else "")
        self.wrong.set_text(f"✖ {wrong}" if wrong else "")
        if self._about is not None:
            self._about.setHidden(bool(wrong))
        self.wrong.setVisible(bool(wrong) or (self.option.type not in _NEVER_WRONG and self._about is None))
        theme.write_in(self.wrong, "error")
        self.setAccessibleDescription(wrong or self.option.help)

    def explain(self) -> None:
        # The help is below the field; an error replaces it.
        about = self._about = small_label(self.option.help, f"about_{self.option.name}")
        theme.write_in(about, "muted")
        keep_room(about)
        self._below.addWidget(about, 0, 0)
        self.check()

    def _hold(self, *widgets: QWidget, upright: bool = False, spacing: int = 8, fills: bool = True) -> None:
        first, *others = widgets
        rest = () if fills else (1,)
        row = lay(QVBoxLayout() if upright else QHBoxLayout(), (first, int(fills)), *others, *rest, spacing=spacing)
        self._below = QGridLayout()
        self._below.addWidget(self.wrong, 0, 0, Qt.AlignmentFlag.AlignTop)
        lay(QVBoxLayout(self), row, self._below, spacing=2)
        widgets[0].setAccessibleName(widgets[0].accessibleName() or self.title or self.option.help)
        self.setFocusProxy(widgets[0])
        self.check()


class TextField(OptionField):
    def __init__(self, option: Option, given: Any = None, title: str = "", *, helped: bool = False) -> None:
        super().__init__(option, title)
        self.line = QLineEdit("" if given is None else str(given))
        opens = option.opens(given) or (helped and option.content)
        self._is_json = option.type is OptionType.JSON
        placeholder = option.help
        if option.type is OptionType.FOLDER:
            placeholder = self.tr("Optional. Default: the xorbs folder beside the shard")
        elif opens:
            placeholder = self.tr("JSON, or a JSON file") if self._is_json else self.tr("a file")
        elif option.type is OptionType.TIME:
            placeholder = self.tr("ISO 8601, such as {0}").format("2026-11-30T12:00:00Z")
        elif helped:
            # The help is below the field.
            placeholder = "" if option.default is None else str(option.default)
        self.line.setPlaceholderText(placeholder)
        self.line.textChanged.connect(self.changed)
        buttons = []
        if opens:
            buttons = [path_button(self.tr("Choose…"), self.line, folder=option.type is OptionType.FOLDER)]
            buttons[0].setAccessibleName(self.tr("Choose a file for {0}").format(option.name))
        self._hold(self.line, *buttons)

    def value(self) -> str | None:
        return self.line.text().strip() or None

    def set_value(self, value: Any) -> None:
        self.line.setText(str(value))

    def problem(self) -> str:
        text = self.line.text().strip()
        return json_problem(text) if self._is_json and text.startswith("{") else super().problem()


class FlagField(OptionField):
    def __init__(self, option: Option, given: Any = None, title: str = "", *, helped: bool = False) -> None:
        super().__init__(option, title)
        words, spoken = ("", option.name) if helped else (title or option.help.rstrip("."), "")
        value = bool(option.default if given is None else given)
        self.box = made(TickBox(words), accessibleName=spoken, toolTip=option.help, checked=value, toggled=self.changed)
        self.title = self.title if helped else ""
        self._hold(self.box)

    def value(self) -> bool | None:
        chosen = self.box.isChecked()
        return None if chosen == bool(self.option.default) else chosen

    def set_value(self, value: Any) -> None:
        self.box.setChecked(value)


class TwoWayField(OptionField):
    def __init__(self, option: Option, title: str, on: str, off: str) -> None:
        super().__init__(option, title)
        self.yes, self.no = QRadioButton(on), QRadioButton(off)
        self.no.setChecked(True)
        self._hold(self.yes, self.no, spacing=18, fills=False)
        self.set_value(bool(option.default))
        self.yes.toggled.connect(self.changed)

    def value(self) -> bool | None:
        return None if self.yes.isChecked() == bool(self.option.default) else self.yes.isChecked()

    def set_value(self, value: Any) -> None:
        (self.yes if value else self.no).setChecked(True)


class _StillBox(QComboBox):
    """Combo box that ignores the mouse wheel without focus, so that the wheel scrolls the form."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class ChoiceField(OptionField):
    def __init__(
        self, option: Option, given: Any = None, title: str = "", titles: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(option, title)
        self.box = made(_StillBox(), focusPolicy=Qt.FocusPolicy.StrongFocus)
        self.offer(option.choices, titles)
        self.set_value(option.default if given is None else given)
        self.box.currentIndexChanged.connect(self.changed)
        self._hold(self.box)

    def offer(self, choices: Sequence[str], titles: Mapping[str, str] | None = None) -> None:
        """Replace the choices and choose the default, without emitting `changed`."""
        self.option = replace(self.option, choices=tuple(choices))
        with QSignalBlocker(self.box):
            self.box.clear()
            if self.option.default not in choices:
                self.box.addItem(self.tr("Default"), self.option.default)
            for choice in choices:
                self.box.addItem((titles or {}).get(choice, choice), choice)

    def value(self) -> str | None:
        chosen: str | None = self.box.currentData()
        return chosen

    def problem(self) -> str:
        return ""

    def set_value(self, value: Any) -> None:
        self.box.setCurrentIndex(max(self.box.findData(value), 0))


class JsonField(OptionField):
    """Editor for JSON. While it still has the text `shown`, with which the file was read, `value` returns `given`."""

    def __init__(self, option: Option, given: Any, shown: str = "", evidence: str = "") -> None:
        super().__init__(option)
        self._given = given
        self._shown = given if isinstance(given, str) and given else shown
        rich, selected = Qt.TextFormat.RichText, Qt.TextInteractionFlag.TextSelectableByMouse
        self.evidence = made(QLabel(evidence), textFormat=rich, wordWrap=True, textInteractionFlags=selected)
        self.evidence.setVisible(bool(evidence))
        hint = self.tr("Optional. By default read from the file or its info")
        self.editor = made(QPlainTextEdit(self._shown), accessibleName=self.title, placeholderText=hint)
        made(self.editor, font=theme.fixed_font(), tabChangesFocus=True, textChanged=self.changed)
        self.editor.setMinimumHeight(self.editor.fontMetrics().lineSpacing() * 5 + 16)
        self._hold(self.evidence, self.editor, upright=True)
        self.setFocusProxy(self.editor)

    def value(self) -> str | None:
        text = self.editor.toPlainText().strip()
        return self._given if text == self._shown.strip() else text or None

    def problem(self) -> str:
        return json_problem(self.editor.toPlainText())

    def check(self) -> None:
        super().check()
        border = f"QPlainTextEdit {{ border: 1px solid {theme.of(self).error.name()}; }}"
        self.editor.setStyleSheet(border if self.wrong.text() else "")


def field_for(
    option: Option, given: Any = None, shown: str = "", evidence: str = "", *, title: str = "", helped: bool = False
) -> OptionField:
    match option.type:
        case OptionType.JSON if not helped:
            return JsonField(option, given, shown, evidence)
        case OptionType.FLAG:
            return FlagField(option, given, title, helped=helped)
        case OptionType.CHOICE:
            return ChoiceField(option, given, title)
        case _:
            return TextField(option, given, title, helped=helped)


class FieldForm(QFormLayout):
    """Rows of labelled fields. A label without `&` gets a free shortcut letter, not one in `reserved` (for buttons).

    With `helped`, the help of each option is shown below its field.
    """

    changed = Signal()

    def __init__(
        self, parent: QWidget | None = None, *, spacing: int = 10, reserved: str = "", helped: bool = False
    ) -> None:
        super().__init__(parent)
        self.fields: dict[str, OptionField] = {}
        self._reserved, self._helped = reserved, helped
        self.setContentsMargins(0, 0, 0, 0)
        made(self, horizontalSpacing=12, verticalSpacing=spacing, labelAlignment=Qt.AlignmentFlag.AlignRight)
        self.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)

    def add(self, words: str, field: QWidget, *beside: QWidget) -> None:
        row: QWidget | QHBoxLayout = lay(QHBoxLayout(), (field, 1), *beside, spacing=8) if beside else field
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

    def add_settings(
        self,
        operation: type,
        *,
        own: Mapping[str, OptionField] | None = None,
        without: Iterable[str] = (),
    ) -> None:
        """Add a field per setting, if given that of `own`; none for arguments, lists of keys and names in `without`."""
        left_out, hand_made = frozenset(without), own or {}
        for name, one, default in settings_of(operation):
            if name in hand_made:
                self.add_field(hand_made[name], _label(name, one))
            elif not (one.positional or one.listed or name in left_out):
                option, label = option_of(name, one, default), _label(name, one)
                field = field_for(option, title=label, helped=self._helped)
                field.on = one.on
                self.add_field(field, label)

    def add_options(self, options: Iterable[Option]) -> None:
        for option in options:
            given = iso_text(datetime.now(UTC), "seconds") if option.proposed == "now" else option.proposed
            field = field_for(option, given, title=option.name if self._helped else "", helped=self._helped)
            self.add_field(field, field.title)

    def add_field(self, field: OptionField, label: str) -> None:
        if self._helped:
            field.explain()
        elif isinstance(field, FlagField):
            field.box.setText(self._with_letter(field.box.text()))
            label = ""
        self.fields[field.option.name] = field
        self.add(label if self._helped else self._with_letter(label), field)
        words = self.labelForField(field)
        first, line = field.focusProxy(), field.fontMetrics().height()
        if isinstance(words, QLabel) and first is not None and first.sizeHint().height() < 3 * line:
            # Centre the label beside the line of the field, above its help or error.
            words.setAlignment(Qt.AlignmentFlag.AlignTop)
            words.setContentsMargins(0, max(first.sizeHint().height() - line, 0) // 2, 1, 0)
        field.changed.connect(self.changed)

    @property
    def values(self) -> dict[str, Any]:
        """Values that differ from the default, in the form that `read_options` takes."""
        found = {name: field.value() for name, field in self.fields.items()}
        return {n: value for n, value in found.items() if value is not None and value != self.fields[n].option.default}

    @property
    def settings(self) -> dict[str, Any]:
        """Values that differ from the default, in the form that the operation takes."""
        found = {}
        for name, value in self.values.items():
            field = self.fields[name]
            is_flag = field.option.type is OptionType.FLAG
            found[name] = (field.on if value else False) if is_flag else field.option.value_of(value)
        return found

    @property
    def problem(self) -> str:
        return next((text for field in self.fields.values() if (text := field.wrong.text())), "")

    def reject(self, name: str, why: str) -> bool:
        """Show an error below a field until its value changes; return False if there is no such field."""
        if name in self.fields:
            self.fields[name].reject(why)
        return name in self.fields

    def kept(self) -> dict[str, str]:
        found = {}
        for name, field in self.fields.items():
            value = field.option.default if field.value() is None else field.value()
            found[name] = YES_NO[value] if isinstance(value, bool) else str(value or "")
        return found

    def restore(self, kept: Mapping[str, str]) -> None:
        """Set the fields to values returned by `kept`; values that are no longer valid are ignored."""
        for name, text in kept.items():
            if text and (field := self.fields.get(name)) is not None:
                with suppress(UsageError):
                    field.set_value(field.option.value_of(text))

    def _with_letter(self, words: str) -> str:
        """Return a label with `&` before its first letter that is neither in `reserved` nor a shortcut in the form."""
        if "&" in words or not words:
            return words
        labels = [self.itemAt(row, role) for row in range(self.rowCount()) for role in _ROLES]
        texts = [getattr(getattr(one.widget(), "box", one.widget()), "text", str)() for one in labels if one]
        taken = {text[text.index("&") + 1].lower() for text in texts if "&" in text[:-1]} | set(self._reserved)
        at = next((at for at, letter in enumerate(words) if letter.isalpha() and letter.lower() not in taken), -1)
        return f"{words[:at]}&{words[at:]}" if at >= 0 else words


_ROLES = (QFormLayout.ItemRole.LabelRole, QFormLayout.ItemRole.FieldRole)


def option_of(name: str, one: Setting, default: Any) -> Option:
    if not one.placeholder:
        return Option(name, OptionType.FLAG, one.help, default=default is True)
    kind = OptionType.SIZE if one.unit == "bytes" else OptionType.CHOICE if one.values else OptionType.TEXT
    path = one.file or "FILE" in one.placeholder
    return Option(name, kind, one.help, default=default, choices=one.values, path=path)


def switch(operation: type, name: str, letter: str) -> FlagField:
    """Return a field for a switch outside of a form; its shortcut is Alt and `letter`."""
    one, default = setting_of(operation, name)
    field = FlagField(option_of(name, one, default), title=_label(name, one).replace(letter, f"&{letter}", 1))
    field.on = one.on
    return field


def setting_of(operation: type, name: str) -> tuple[Setting, Any]:
    return next((one, default) for field, one, default in settings_of(operation) if field == name)


def _label(name: str, one: Setting) -> str:
    switches = one.help.rstrip(".") if not one.placeholder else ""
    return one.label or switches or name.replace("_", " ").capitalize()


def small_label(text: str, name: str = "") -> QLabel:
    label = plain_label(text, name, size=SMALL, wrap=True)
    policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
    policy.setHeightForWidth(True)
    label.setSizePolicy(policy)
    # Otherwise a layout reserves room for as many lines as a narrow label has.
    label.setMinimumHeight(label.fontMetrics().height())
    return label


def side_button(words: str, slot: Callable[[], object], name: str = "", doc: str = "") -> QPushButton:
    """Return a button to put beside a field; the Return key does not press it."""
    return made(QPushButton(words), name, autoDefault=False, toolTip=doc, clicked=lambda _: slot())


def path_button(words: str, field: QLineEdit, *, folder: bool = False) -> QPushButton:
    def ask() -> None:
        (ask_folder if folder else ask_file)(field.window(), words.rstrip("…"), field.setText)

    return side_button(words, ask)


class FolderBox(QComboBox):
    """Editable list of folders, at least `characters` wide; `browse` is the button beside it."""

    def __init__(self, folders: Sequence[str], title: str, *, characters: int) -> None:
        super().__init__()
        self.line = QLineEdit()
        self.setLineEdit(self.line)
        # Completion would consume the first Return while the path is selected.
        self.setCompleter(None)  # type: ignore[arg-type]
        self.addItems(folders)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumContentsLength(characters)
        # A long path does not widen the dialog.
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.browse = side_button(self.tr("&Browse…"), partial(self._ask, title))

    @property
    def text(self) -> str:
        return self.currentText().strip()

    def _ask(self, title: str) -> None:
        ask_folder(self.window(), title, self.setEditText, start=str(path_of(self.text)))


def json_problem(text: str) -> str:
    """Return why a text is not a JSON object, and where; an empty string if it is one, or if the text is empty."""
    if not text.strip():
        return ""
    try:
        value = parse_json(text, "The specification")
    except FormatError as error:
        return error.message
    return "" if isinstance(value, dict) else "A specification must be a JSON object: { … }"
