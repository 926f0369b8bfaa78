"""The control that says how many bytes a row has."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox

from shardscope.views.hex.width import CHOICES, RowMode, RowWidth, parse_width


class WidthBox(QComboBox):
    """Offers the usual widths, and takes any other that is typed. `chosen` carries a new `RowWidth`."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._width = RowWidth(RowMode.AUTO)
        self.setObjectName("rowWidth")
        self.setAccessibleName(self.tr("Bytes in a row"))
        self.setToolTip(
            self.tr("Bytes in a row: 16 where they fit, a number, as many as fit, or the record under the caret")
        )
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.addItems(list(CHOICES))
        self.setFixedWidth(96)
        if (field := self.lineEdit()) is not None:
            field.setAccessibleName(self.tr("Bytes in a row"))
            field.editingFinished.connect(self._typed)
        self.activated.connect(lambda _: self._typed())

    def show_width(self, width: RowWidth) -> None:
        """Shows what was chosen; tells nobody."""
        self._width = width
        self.setEditText(width.text)

    def _typed(self) -> None:
        found = parse_width(self.currentText())
        if found is None:
            self.setEditText(self._width.text)
        elif found != self._width:
            self.chosen.emit(found)
