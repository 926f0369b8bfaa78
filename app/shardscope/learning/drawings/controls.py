"""Controls of a drawing: sliders, switches, choices and texts, and *Reset*."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QRect, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QIntValidator
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QLineEdit,
    QPushButton,
    QSlider,
    QWidget,
)

from shardcore.model.drawing import Control, ControlKind
from shardcore.model.text import shown
from shardscope.widgets import theme
from shardscope.widgets.discard import discard
from shardscope.widgets.plain_text import tip
from shardscope.widgets.tick_box import TickBox

_BETWEEN = 4


class FlowLayout(QLayout):
    def __init__(self, parent: QWidget | None = None, *, gap: int = 14) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._laid(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._laid(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size.grownBy(self.contentsMargins())

    def _laid(self, rect: QRect, *, move: bool) -> int:
        inside = rect.marginsRemoved(self.contentsMargins())
        y = inside.y()
        for row in self._rows(inside.width()):
            high = max(item.sizeHint().height() for item in row)
            x = inside.x()
            for item in row if move else ():
                wish = item.sizeHint()
                wide = min(wish.width(), inside.width())
                item.setGeometry(QRect(x, y + (high - wish.height()) // 2, wide, wish.height()))
                x += wish.width() + self._gap
            y += high + _BETWEEN
        return y - _BETWEEN - rect.y() + self.contentsMargins().bottom()

    def _rows(self, width: int) -> list[list[QLayoutItem]]:
        rows: list[list[QLayoutItem]] = []
        taken = 0
        for item in self._items:
            wish = item.sizeHint().width()
            if not rows or taken + self._gap + wish > width:
                rows.append([])
                taken = -self._gap
            rows[-1].append(item)
            taken += self._gap + wish
        return rows


_SLIDER_WIDTH = 104
_TEXT_WIDTH = 180
_PAD = 24
_MOST = 2**31 - 1


class Controls(QWidget):
    changed = Signal(str, object)
    """Carries a control of the drawing and its new value."""
    reset_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("drawingControls")
        self._controls: tuple[Control, ...] = ()
        self._set: dict[str, Callable[[Any], None]] = {}
        self._parts: list[QWidget] = []
        self.reset = QPushButton(self.tr("Reset"))
        self.reset.setObjectName("drawingReset")
        self.reset.setToolTip(self.tr("Restore the values of the file"))
        self.reset.clicked.connect(self.reset_wanted)
        self._row = FlowLayout(self)
        self._row.setContentsMargins(12, 6, 12, 6)
        self._row.addWidget(self.reset)
        self.hide()

    def show_controls(self, controls: Sequence[Control], values: Mapping[str, Any]) -> None:
        self._controls = tuple(controls)
        if [_shape(one) for one in controls] != [part.property("shape") for part in self._parts]:
            self._rebuild()
        self.show_values(values)
        self.setVisible(bool(controls))

    def show_values(self, values: Mapping[str, Any]) -> None:
        for control in self._controls:
            self._set[control.name](values.get(control.name, control.value))
        self.reset.setEnabled(any(values.get(one.name, one.value) != one.value for one in self._controls))

    def _rebuild(self) -> None:
        for part in self._parts:
            self._row.removeWidget(part)
            discard(part)
        self._row.removeWidget(self.reset)
        self._parts, self._set = [], {}
        for control in self._controls:
            part = self._made(control)
            part.setProperty("shape", _shape(control))
            self._row.addWidget(part)
            self._parts.append(part)
            part.show()
        self._row.addWidget(self.reset)
        self.updateGeometry()

    def _made(self, control: Control) -> QWidget:
        part = QWidget(self)
        line = QHBoxLayout(part)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        make = {
            ControlKind.SLIDER: self._slider,
            ControlKind.SWITCH: self._switch,
            ControlKind.CHOICE: self._choice,
            ControlKind.TEXT: self._text,
        }[control.kind]
        widgets = make(control)
        if control.kind is not ControlKind.SWITCH:
            label = QLabel(shown(control.label))
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setBuddy(widgets[-1])
            widgets = (label, *widgets)
        for widget in widgets:
            widget.setToolTip(tip(control.doc))
            if not isinstance(widget, QLabel):
                widget.setAccessibleName(shown(control.label))
                widget.setAccessibleDescription(shown(control.doc))
            line.addWidget(widget)
        return part

    def _slider(self, control: Control) -> tuple[QWidget, ...]:
        slider, number = QSlider(Qt.Orientation.Horizontal), QLineEdit()
        low, high = max(control.low, -_MOST), min(control.high, _MOST)
        slider.setRange(low, high)
        slider.setFixedWidth(_SLIDER_WIDTH)
        slider.setObjectName(f"slider_{control.name}")
        number.setObjectName(f"number_{control.name}")
        number.setValidator(QIntValidator(low, high, number))
        number.setAlignment(Qt.AlignmentFlag.AlignRight)
        number.setFixedWidth(number.fontMetrics().horizontalAdvance(str(high)) + _PAD)

        def put(value: Any) -> None:
            with QSignalBlocker(slider):
                slider.setValue(min(max(int(value), low), high))
            if not number.hasFocus() or number.text() != str(value):
                number.setText(str(value))

        def typed(text: str) -> None:
            if number.hasAcceptableInput():
                self.changed.emit(control.name, int(text))

        slider.valueChanged.connect(lambda value: self.changed.emit(control.name, value))
        number.textEdited.connect(typed)
        self._set[control.name] = put
        return slider, number

    def _switch(self, control: Control) -> tuple[QWidget, ...]:
        box = TickBox(shown(control.label))
        box.setObjectName(f"switch_{control.name}")

        def put(value: Any) -> None:
            with QSignalBlocker(box):
                box.setChecked(bool(value))

        box.toggled.connect(lambda value: self.changed.emit(control.name, value))
        self._set[control.name] = put
        return (box,)

    def _choice(self, control: Control) -> tuple[QWidget, ...]:
        box = QComboBox()
        box.setObjectName(f"choice_{control.name}")
        for choice in control.choices:
            box.addItem(shown(choice), choice)

        def put(value: Any) -> None:
            with QSignalBlocker(box):
                box.setCurrentIndex(box.findData(value))

        box.currentIndexChanged.connect(lambda _: self.changed.emit(control.name, box.currentData()))
        self._set[control.name] = put
        return (box,)

    def _text(self, control: Control) -> tuple[QWidget, ...]:
        line = QLineEdit()
        line.setObjectName(f"text_{control.name}")
        line.setFont(theme.fixed_font())
        line.setMinimumWidth(_TEXT_WIDTH)

        def put(value: Any) -> None:
            if line.text() != value:
                with QSignalBlocker(line):
                    line.setText(str(value))

        line.textEdited.connect(lambda value: self.changed.emit(control.name, value))
        self._set[control.name] = put
        return (line,)


def _shape(control: Control) -> tuple[Any, ...]:
    return (control.name, control.label, control.kind.value, control.low, control.high, control.choices, control.doc)
