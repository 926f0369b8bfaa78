"""Base class of flat table models."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from shardcore.model.text import shown
from shardscope.widgets.plain_text import tip

Index = QModelIndex | QPersistentModelIndex
Roles = Qt.ItemDataRole

THING_ROLE = int(Roles.UserRole)
"""Item role of the entry of `things` in a row."""


class TableModel(QAbstractTableModel):
    """Table with one item of `things` per row; `numbers` are the right-aligned columns."""

    titles: tuple[str, ...] = ()
    numbers: Collection[int] = ()
    things: Any = ()

    def text(self, row: int, column: int) -> str:
        raise NotImplementedError

    def tip(self, row: int, column: int) -> str:
        return self.text(row, column)

    def spoken(self, row: int, column: int) -> str | None:
        """Return the accessible text of a cell; None to use the displayed text."""
        return None

    def show_things(self, things: Sequence[Any]) -> None:
        self.beginResetModel()
        self.things = things
        self.endResetModel()

    def change(self, first: int = 0, last: int | None = None, column: int | None = None) -> None:
        """Emit `dataChanged` for rows `first` to `last`, both included; by default for all rows."""
        last = self.rowCount() - 1 if last is None else last
        if 0 <= first <= last:
            columns = (0, len(self.titles) - 1) if column is None else (column, column)
            self.dataChanged.emit(self.index(first, columns[0]), self.index(last, columns[1]))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.things)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.titles)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Roles.DisplayRole:
            return self.tr(self.titles[section])
        return self._side(section) if role == Roles.TextAlignmentRole else None

    def data(self, index: Index, role: int = Roles.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        match role:
            case Roles.DisplayRole:
                return shown(self.text(row, column))
            case Roles.ToolTipRole:
                return tip(self.tip(row, column)) or None
            case Roles.AccessibleTextRole:
                return self.spoken(row, column)
            case Roles.TextAlignmentRole:
                return self._side(column)
        return self.things[row] if role == THING_ROLE else None

    def _side(self, column: int) -> int | None:
        return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter) if column in self.numbers else None
