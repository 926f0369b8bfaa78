"""Tree model of a plan: files with their sections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QCoreApplication, QModelIndex, QObject, QPersistentModelIndex, Qt

from shardcore import Section
from shardcore.model.text import grouped_digits, plural, shown, without_marks
from shardcore.writing.plan import PlannedFile
from shardscope.session.display_text import offset_words
from shardscope.tasks.new_shard.request import Planned
from shardscope.widgets.plain_text import tip

Index = QModelIndex | QPersistentModelIndex

SECTION_ROLE = int(Qt.ItemDataRole.UserRole)
"""Item role of the `SectionRole` of a section; None for files."""

NAME, OBJECTS, SIZE, OFFSET = range(4)
COLUMNS = ("Name", "Objects", "Size", "Offset")

ABOUT = "≈ "
"""Prefix of estimated numbers."""


class PlanModel(QAbstractItemModel):
    """Files of a plan with their sections; the internal id is 0 for a file, and 1 + file index for its sections."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._planned: Planned | None = None
        self._name = ""

    def set_planned(self, planned: Planned | None, name: str = "") -> None:
        self.beginResetModel()
        self._planned, self._name = planned, name
        self.endResetModel()

    @property
    def files(self) -> tuple[PlannedFile, ...]:
        return self._planned.plan.files if self._planned is not None else ()

    def name_of(self, file: PlannedFile) -> str:
        if self._planned is not None and file.name == self._planned.name:
            return self._name or file.name
        return file.name

    def file_number(self, index: Index) -> int:
        """Return the file index of a row that is a file or section; -1 for an invalid index."""
        if not index.isValid():
            return -1
        return index.internalId() - 1 if index.internalId() else index.row()

    def section(self, index: Index) -> Section | None:
        if not index.isValid() or not index.internalId():
            return None
        return self.files[index.internalId() - 1].sections[index.row()]

    def index_of(self, file: int, section: int | None = None) -> QModelIndex:
        above = self.index(file, 0)
        return above if section is None else self.index(section, 0, above)

    # --- what Qt asks ---

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        if not self.hasIndex(row, column, parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, index: Index = QModelIndex()) -> Any:  # noqa: B008
        if not index.isValid() or not index.internalId():
            return QModelIndex()
        return self.createIndex(index.internalId() - 1, 0, 0)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        if not parent.isValid():
            return len(self.files)
        if parent.internalId() or parent.column():
            return 0
        return len(self.files[parent.row()].sections)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return QCoreApplication.translate("PlanModel", COLUMNS[section])
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self._planned is None:
            return None
        section = self.section(index)
        if role == SECTION_ROLE:
            return section.role if section is not None else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._section_text(section, index) if section is not None else self._file_text(index)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(section, index)
        return None

    def _file_text(self, index: Index) -> str:
        file = self.files[index.row()]
        match index.column():
            case 0:
                return shown(self.name_of(file))
            case 1:
                return self._objects_text(index.row(), file)
            case 2:
                return self._number(file.size)
            case _:
                return ""

    def _section_text(self, section: Section, index: Index) -> str:
        match index.column():
            case 0:
                return shown(section.name)
            case 2:
                return self._number(section.size)
            case 3:
                return self._about(section.start, offset_words)
            case _:
                return ""

    def _objects_text(self, number: int, file: PlannedFile) -> str:
        kinds = self._planned.kinds.get(number) if self._planned is not None else None
        if not len(file.objects) and len(self.files) > 1:
            return "—"
        return kinds or grouped_digits(len(file.objects))

    def _number(self, number: int) -> str:
        return self._about(number, grouped_digits)

    def _about(self, number: int, words: Callable[[int], str]) -> str:
        exact = self._planned is None or self._planned.plan.exact or not number
        return f"{'' if exact else ABOUT}{words(number)}"

    def _tip(self, section: Section | None, index: Index) -> str:
        if section is not None:
            return tip(without_marks(section.doc))
        file = self.files[index.row()]
        about = self._objects_text(index.row(), file) if self._planned and index.row() in self._planned.kinds else ""
        return tip(f"{self.name_of(file)}: {about or plural(len(file.objects), 'object')}")


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in (SIZE, OFFSET) else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
