"""The eight bits of the byte with the caret, each a key that flips it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

BITS = range(7, -1, -1)


class BitRow(QWidget):
    """Shows a byte, the bit worth most first; `flipped` carries the number of a bit, 0 to 7."""

    flipped = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bitRow")
        self.setAccessibleName(self.tr("Bits of the selected byte"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._value: int | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        self.keys: dict[int, QToolButton] = {}
        for bit in BITS:
            key = QToolButton(self)
            key.setObjectName(f"bit{bit}")
            key.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            key.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            key.setMinimumWidth(18)
            key.clicked.connect(lambda _=False, bit=bit: self._flip(bit))
            self.keys[bit] = key
            row.addWidget(key)
            if bit == 4:
                row.addSpacing(5)
        self.setFocusProxy(self.keys[7])
        self.set_byte(None)

    def set_byte(self, value: int | None) -> None:
        """Shows another byte; None where none is selected."""
        self._value = value
        for bit, key in self.keys.items():
            set_ = value is not None and bool(value >> bit & 1)
            key.setText("·" if value is None else "1" if set_ else "0")
            # While the changed file is opened there is no byte: a disabled key would lose the keyboard.
            key.setEnabled(value is not None or key.hasFocus())
            name = self.tr("Flip bit {0}, worth {1}").format(bit, 1 << bit)
            key.setToolTip(name)
            key.setAccessibleName(f"{name}: {key.text()}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A digit flips that bit; left and right go from bit to bit."""
        text = event.text()
        if text and text in "01234567":
            self._flip(int(text))
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.focusNextPrevChild(event.key() == Qt.Key.Key_Right)
        else:
            super().keyPressEvent(event)

    def _flip(self, bit: int) -> None:
        if self._value is not None:
            self.flipped.emit(bit)

    def minimumSizeHint(self) -> QSize:
        """Narrow docks show narrow keys."""
        return QSize(8 * 20 + 5, super().minimumSizeHint().height())
