"""The hits of a search as a Qt table model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QCoreApplication, QModelIndex, QPersistentModelIndex, Qt

from shardscope.session.hit_list import HitList
from shardscope.widgets.plain_text import shown, tip

Index = QModelIndex | QPersistentModelIndex

_PATH = 2

_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class HitModel(QAbstractTableModel):
    """Where a search found something, as what, and in which field; the fields come later.

    Attributes:
        hits: What was found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.hits = HitList()
        self._paths: dict[int, str] = {}

    def set_hits(self, hits: HitList) -> None:
        """Shows other hits."""
        self.beginResetModel()
        self.hits = hits
        self._paths = {}
        self.endResetModel()

    def unnamed(self, first: int, last: int) -> list[int]:
        """Those of the rows `first` to `last`, both included, whose fields are not known."""
        return [row for row in range(max(first, 0), min(last + 1, len(self.hits))) if row not in self._paths]

    def set_paths(self, paths: Mapping[int, str]) -> None:
        """Takes the fields of some rows."""
        self._paths.update(paths)
        if paths:
            self.dataChanged.emit(self.index(min(paths), _PATH), self.index(max(paths), _PATH))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """One row for each hit."""
        return 0 if parent.isValid() else len(self.hits)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Offset, what, field."""
        return 0 if parent.isValid() else 3

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """The names of the columns."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            translate = QCoreApplication.translate
            names = (
                translate("HitModel", "Offset"),
                translate("HitModel", "Found as"),
                translate("HitModel", "Where"),
            )
            return names[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == 0:
            return _RIGHT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Texts."""
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole and column == 0:
            return _RIGHT
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            text = self._text(row, column)
            return shown(text) if role == Qt.ItemDataRole.DisplayRole else tip(text) or None
        return None

    def _text(self, row: int, column: int) -> str:
        if column == _PATH:
            return self._paths.get(row, "")
        pattern = self.hits.pattern(row)
        return f"{int(self.hits.offsets[row]):,}" if column == 0 else pattern.name or self.hits.what
