"""Choice of the bytes per row: its menu, and the value that follows from the path."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QInputDialog, QMenu

from shardcore import Node
from shardscope.session.words import cut_middle
from shardscope.views.hex.layout import MAX_WIDTH
from shardscope.views.hex.row_fit import AUTOMATIC
from shardscope.views.hex.state import HexState
from shardscope.views.hex.width import CHOICES, DEFAULT, RowMode, RowWidth, record_of, table_record_of

_LONGEST = 16


class RowChoice(QObject):
    def __init__(self, state: HexState) -> None:
        super().__init__(state)
        self._state = state
        self._path: Sequence[Node] = ()
        self.width = RowWidth(RowMode.AUTO)

    def choose(self, width: RowWidth) -> None:
        self.width = width
        if width.mode is RowMode.FIXED:
            self._state.set_row_width(width.width)
        elif width.mode is RowMode.AUTO:
            self._state.set_row_rule(AUTOMATIC)
        else:
            self._apply()

    def fill(self, menu: QMenu) -> None:
        rows = menu.addMenu(self.tr("Bytes per &row: {0}").format(self.width.text))
        for width in dict.fromkeys((*CHOICES, RowWidth(RowMode.RECORD), self.width)):
            text = self._record if width.mode is RowMode.RECORD else width.text
            action = rows.addAction(text, partial(self.choose, width))
            action.setCheckable(True)
            action.setChecked(width == self.width)
        rows.addAction(self.tr("&Other…"), self.ask)

    def ask(self) -> QInputDialog:
        dialog = QInputDialog(self._state.area)
        dialog.setObjectName("rowWidth")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setInputMode(QInputDialog.InputMode.IntInput)
        dialog.setIntRange(1, MAX_WIDTH)
        dialog.setIntValue(self._state.layout.width)
        dialog.setWindowTitle(self.tr("Bytes per row"))
        dialog.setLabelText(self.tr("Bytes per row:"))
        dialog.intValueSelected.connect(lambda width: self.choose(RowWidth(RowMode.FIXED, width)))
        dialog.open()
        return dialog

    def set_path(self, path: Sequence[Node]) -> None:
        self._path = tuple(path)
        if path and self.width.mode is RowMode.RECORD:
            self._apply()

    def _apply(self) -> None:
        size, start = record_of(self._path, self._state.name) or (DEFAULT, 0)
        rows = self._state.layout
        if rows.width != size or rows.column_of(start) != 0:
            self._state.set_row_width(size, start)

    @property
    def _record(self) -> str:
        record = table_record_of(self._path, self._state.name)
        if record is None:
            return RowWidth(RowMode.RECORD).text
        return self.tr("One {0} ({1} bytes)").format(cut_middle(record[1], _LONGEST), record[0])
