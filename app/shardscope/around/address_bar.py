"""The address field: type a place, see where it lands, go there."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QWidget

from shardscope.goto import GotoError, Places, evaluate
from shardscope.looks import theme
from shardscope.models.sections import section_at


class AddressBar(QWidget):
    """`chosen` carries the offset to go to; `left` tells that the keyboard should go back to the bytes."""

    chosen = Signal(object)
    left = Signal()

    def __init__(self, places: Callable[[], Places], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._places = places
        self.field = QLineEdit()
        self.field.setObjectName("addressField")
        self.field.setPlaceholderText("Go to: 0x10, -72, index+40")
        self.field.setAccessibleName("Go to an offset, an expression or a name")
        self.field.setToolTip(
            "Offsets: 4096, 0x1000, 4Ki · from the end: -72 · from the caret: +0x10<br>"
            "Names: index+12*40, objects.stop, header.index_position (the value of a field), "
            "$header.index_position (where it lies)"
        )
        self.field.setMinimumWidth(250)
        self.field.setClearButtonEnabled(True)
        self.preview = QLabel()
        self.preview.setObjectName("addressPreview")
        # A long message is cut: it must not push the docks aside while somebody types.
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setRetainSizeWhenHidden(True)
        self.preview.setSizePolicy(policy)
        self.preview.hide()
        self._names = QStringListModel(self)
        completer = QCompleter(self._names, self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.field.setCompleter(completer)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.field)
        row.addWidget(self.preview, 1)
        self.field.textChanged.connect(self._preview)
        self.field.returnPressed.connect(self._go)
        self.field.installEventFilter(self)

    def start(self) -> None:
        """Takes the keyboard, with the old text selected."""
        self._names.setStringList(list(self._places().names))
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()
        self._preview()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape goes back to the bytes."""
        if watched is self.field:
            if (
                isinstance(event, QKeyEvent)
                and event.type() == QEvent.Type.KeyPress
                and event.key() == Qt.Key.Key_Escape
            ):
                self.preview.hide()
                self.left.emit()
                return True
            if event.type() == QEvent.Type.FocusOut:
                self.preview.hide()
        return super().eventFilter(watched, event)

    def _preview(self) -> None:
        text = self.field.text().strip()
        self.preview.setVisible(bool(text))
        if not text:
            return
        places = self._places()
        try:
            offset = evaluate(text, places)
        except GotoError as error:
            self._say(error.message, wrong=True)
            return
        section = section_at(places.sections, offset)
        self._say(f"→ {offset:,} · {offset:#x}" + (f" · {section.name}" if section is not None else ""), wrong=False)

    def _say(self, text: str, *, wrong: bool) -> None:
        colours = theme.of(self)
        self.preview.setText(text)
        self.preview.setToolTip(text)
        self.preview.setStyleSheet(f"color: {(colours.error if wrong else colours.muted).name()}")

    def _go(self) -> None:
        text = self.field.text().strip()
        if not text:
            return
        try:
            offset = evaluate(text, self._places())
        except GotoError as error:
            self.preview.show()
            self._say(error.message, wrong=True)
            self.field.setSelection(error.position, len(self.field.text()))
            return
        self.preview.hide()
        self.chosen.emit(offset)
        self.left.emit()
