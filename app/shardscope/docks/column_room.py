"""The columns of a table in a narrow dock: those that say least go first, and nothing has to be scrolled sideways."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QHeaderView, QTableView


class ColumnRoom(QObject):
    """Hides columns where there is no room for them; tooltips have what they say.

    Args:
        table: The table; it keeps this alive.
        widths: Pixels of each column; of the stretched one the least that is worth reading.
        stretched: The column that takes the rest.
        leaving: The columns that may go, the first to go first.
    """

    def __init__(self, table: QTableView, widths: Sequence[int], stretched: int, leaving: Sequence[int]) -> None:
        super().__init__(table)
        self._table = table
        self._widths = tuple(widths)
        self._leaving = tuple(leaving)
        for column, width in enumerate(widths):
            table.setColumnWidth(column, width)
        table.horizontalHeader().setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)
        table.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follows the width."""
        if event.type() == QEvent.Type.Resize:
            self._fit(self._table.viewport().width())
        return False

    def _fit(self, room: int) -> None:
        needed = sum(self._widths)
        for column in self._leaving:
            self._table.setColumnHidden(column, needed > room)
            if needed > room:
                needed -= self._widths[column]
