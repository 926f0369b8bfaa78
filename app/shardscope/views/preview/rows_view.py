"""Rows of a content: cells of a table, tensors, members of an archive, strings in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QTableView, QVBoxLayout, QWidget

from shardcore import ArchiveContent, BytesContent, Content, ObjectRef, Shard, TableContent, TensorsContent
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.widgets.row_table import row_table
from shardscope.widgets.table_columns import ColumnRule
from shardscope.widgets.table_model import TableModel


@dataclass(frozen=True, slots=True)
class ContentRow:
    """Row of a table: its cells, and its bytes in the content; none where it has no bytes of its own."""

    cells: tuple[str, ...]
    start: int = 0
    stop: int = 0


Rows = tuple[tuple[str, ...], tuple[ContentRow, ...]]


def rows_of(found: Content) -> Rows:
    """Return titles and rows of a content that is shown as a table."""
    if isinstance(found, TensorsContent):
        return ("Name", "Type", "Shape", "Offset", "Bytes"), tuple(
            ContentRow(
                (one.name, one.dtype, " × ".join(map(str, one.shape)), f"{one.start:,}", f"{one.stop - one.start:,}"),
                one.start,
                max(one.stop, one.start),
            )
            for one in found.tensors
        )
    if isinstance(found, ArchiveContent) and found.members:
        return ("Name", "Bytes", "Offset"), tuple(
            ContentRow((one.name, f"{one.size:,}", f"{one.start:,}"), one.start, one.stop) for one in found.members
        )
    if isinstance(found, TableContent):
        lined = len(found.rows) <= len(found.line_starts)
        return found.rows[0], tuple(
            ContentRow(row, *(found.line_bytes(number) if lined else (0, 0)))
            for number, row in enumerate(found.rows[1:], 1)
        )
    if isinstance(found, BytesContent) and found.strings:
        return ("Offset", "String"), tuple(
            ContentRow((f"{offset:,}", text), offset, offset + len(text)) for offset, text in found.strings
        )
    return (), ()


class ContentRows(TableModel):
    """Rows of a content: cells, and bytes."""

    def text(self, row: int, column: int) -> str:
        cells = self.things[row].cells
        return cells[column] if column < len(cells) else ""

    def show_rows(self, titles: tuple[str, ...], rows: tuple[ContentRow, ...]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.titles, self.things = titles, rows
        self.numbers = tuple(n for n, title in enumerate(titles) if title in ("Offset", "Bytes"))
        self.endResetModel()

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return self.titles[section]
        return super().headerData(section, orientation, role)


class RowsView(ContentView):
    """Table of the rows of a content."""

    label = "Table"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.rows = ContentRows()
        rules = (ColumnRule(120), ColumnRule(), ColumnRule(), ColumnRule(leaves=2), ColumnRule(leaves=2))
        self.table: QTableView = row_table(self, self.rows, rules, 0, self._choose_row, lambda _: None)
        self.table.setObjectName("previewTable")
        self.table.setAccessibleName(self.tr("Rows of the object"))
        self.setFocusProxy(self.table)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.table)

    @classmethod
    def shows(cls, content: Content) -> bool:
        if isinstance(content, ArchiveContent):
            return bool(content.members)
        if isinstance(content, BytesContent):
            return bool(content.strings)
        return isinstance(content, TensorsContent | TableContent)

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> Rows:
        return rows_of(content)

    def show_preview(self, preview: Preview) -> None:
        self.rows.show_rows(*preview.prepared)

    def mark(self, start: int, stop: int) -> None:
        row = next((n for n, one in enumerate(self.rows.things) if one.start <= start < one.stop), None)
        if row is not None:
            self.table.scrollTo(self.rows.index(row, 0))

    def _choose_row(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            row = self.rows.things[current.row()]
            self.chosen.emit(row.start, row.stop)
