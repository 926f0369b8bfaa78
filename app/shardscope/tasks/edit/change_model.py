"""The changes of an edit as a table: what, where, old and new bytes."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from shardscope.session.words import cut_end
from shardscope.tasks.edit.proposal import Row
from shardscope.widgets import theme
from shardscope.widgets.plain_text import shown, tip

Index = QModelIndex | QPersistentModelIndex
Roles = Qt.ItemDataRole

SHORT, NARROW = 6, 3
"""Bytes of old and new that stand in a row, with much room and with little."""
LONG = 64
"""Bytes of them in the tooltip."""


class ChangeModel(QAbstractTableModel):
    """The rows of a proposal.

    Attributes:
        rows: The changes.
        short: Bytes of old and new that stand in a row.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[Row, ...] = ()
        self.short = SHORT

    def show_rows(self, rows: tuple[Row, ...]) -> None:
        """Shows other changes."""
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        """One for each change."""
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        """What, start, stop, old, new."""
        return 5

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole) -> Any:
        """Titles."""
        if orientation is Qt.Orientation.Horizontal and role == Roles.DisplayRole:
            return (self.tr("What"), self.tr("Start"), self.tr("Stop"), self.tr("Old"), self.tr("New"))[section]
        if role == Roles.TextAlignmentRole:
            return _side(section)
        return None

    def data(self, index: Index, role: int = Roles.DisplayRole) -> Any:
        """Texts, their side, and the bytes at length in the tooltip."""
        row, column = self.rows[index.row()], index.column()
        match role:
            case Roles.DisplayRole:
                return self._text(row, column, self.short)
            case Roles.ToolTipRole:
                return tip(self._text(row, column, LONG))
            case Roles.AccessibleTextRole:
                title = self.headerData(column, Qt.Orientation.Horizontal)
                return f"{title}: {self._text(row, column, self.short)}"
            case Roles.TextAlignmentRole:
                return _side(column)
            case Roles.FontRole if column > 2:
                return theme.fixed_font()
            case _:
                return None

    def _text(self, row: Row, column: int, most: int) -> str:
        match column:
            case 0:
                return shown(row.what)
            case 1:
                return f"{row.start:,}"
            case 2:
                return f"{row.stop:,}"
            case 3:
                return _bytes(row, row.old, row.old_size, most) or ("—" if row.is_text else self.tr("after the end"))
            case _:
                return _bytes(row, row.new, row.new_size, most) or ("—" if row.is_text else self.tr("cut off"))


def _bytes(row: Row, data: bytes, size: int, most: int) -> str:
    if row.is_text:
        # As long as the same bytes in hex.
        text = " ".join(data.decode("utf-8", "replace").split())
        return shown(cut_end(text, 3 * most))
    more = " …" if size > min(len(data), most) else ""
    return f"{data[:most].hex(' ')}{more}"


def _side(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in (1, 2) else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
