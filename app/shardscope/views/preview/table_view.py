"""Content as rows, such as a table, tensors or members of an archive; each row or cell is linked to its bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView, QVBoxLayout, QWidget

from shardcore import Content, ObjectRef, Shard, TableContent
from shardcore.codecs.json_text import cell_spans, cell_text, row_spans
from shardcore.model.text import shown
from shardcore.operations.content.base import Rows
from shardscope.session.display_text import offset_words
from shardscope.session.session import Session
from shardscope.views.preview import ContentView, ItemLinks, Preview, selected_cells, single_bytes
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.table import LEFT, RIGHT, Column, TableModel

MOST_WIDTH = 280
"""Initial maximum width of a column in pixels."""

_MEASURED = 100
_COPIED = 100_000


class ContentRows:
    by_cell = False
    """True if each cell has its own byte range; the table then shows row numbers."""

    def __init__(self, rows: Rows) -> None:
        self.titles = tuple(rows.titles)
        self._rows = [tuple(offset_words(one) if isinstance(one, int) else one for one in row) for row in rows.cells]
        self._spans = rows.spans

    def __len__(self) -> int:
        return len(self._rows)

    def cells(self, row: int) -> tuple[str, ...]:
        return self._rows[row]

    def column(self, column: int) -> list[str]:
        rows = (self.cells(row) for row in range(len(self)))
        return [cells[column] if column < len(cells) else "" for cells in rows]

    def bytes_of(self, row: int, column: int) -> tuple[int, int]:
        """Return the half-open byte range of a cell; if it has none, the range of its row, or an empty range."""
        return self._spans[row]

    def cell_at(self, offset: int) -> tuple[int, int] | None:
        found = next((n for n, (start, stop) in enumerate(self._spans) if start <= offset < stop), None)
        return None if found is None else (found, 0)


class DelimitedRows(ContentRows):
    """Rows of CSV or TSV, parsed when they are shown."""

    by_cell = True

    def __init__(self, content: TableContent) -> None:
        self._data, self._encoding = single_bytes(content)
        self._exact, self._delimiter = self._data is content.data, content.delimiter
        self._starts = self._row_starts(content)
        self._kept: dict[int, list[tuple[int, int]]] = {}
        self.titles = self.cells(0) if len(self._starts) else ()
        self._starts = self._starts[1:]
        listed = [row for row in content.rows if row][1:]
        self._listed = listed if len(listed) == len(self._starts) else None
        self._kept = {}

    def _row_starts(self, content: TableContent) -> NDArray[np.int64]:
        found = row_spans(self._data)
        listed = sum(1 for row in content.rows if row)
        if len(found) < listed:
            # Unbalanced quotes inside cells: treat each line as a row.
            plain = row_spans(self._data.replace(b'"', b"_"))
            return plain if len(plain) == listed else found
        return found

    def __len__(self) -> int:
        return len(self._starts)

    def _spans_of(self, row: int) -> list[tuple[int, int]]:
        if row not in self._kept:
            if len(self._kept) > 4 * _MEASURED:
                self._kept.clear()
            start, stop = (int(edge) for edge in self._starts[row])
            self._kept[row] = cell_spans(self._data, start, stop, self._delimiter)
        return self._kept[row]

    def cells(self, row: int) -> tuple[str, ...]:
        return tuple(cell_text(self._data[start:stop], self._encoding) for start, stop in self._spans_of(row))

    def column(self, column: int) -> list[str]:
        if self._listed is None:
            return super().column(column)
        return [cells[column] if column < len(cells) else "" for cells in self._listed]

    def bytes_of(self, row: int, column: int) -> tuple[int, int]:
        spans = self._spans_of(row)
        return spans[column] if self._exact and 0 <= column < len(spans) else (0, 0)

    def cell_at(self, offset: int) -> tuple[int, int] | None:
        row = int(np.searchsorted(self._starts[:, 0], offset, "right")) - 1
        if not self._exact or row < 0 or offset >= int(self._starts[row, 1]) + 2:
            return None
        column = sum(1 for start, _ in self._spans_of(row) if start <= offset) - 1
        return row, max(column, 0)


def number_of(text: str) -> float | None:
    try:
        return float(text.replace(",", "").strip())
    except ValueError:
        return None


class RowsModel(TableModel):
    """Model of the rows of a content; its entries are row numbers in the content."""

    sortable = True

    def __init__(self) -> None:
        super().__init__()
        self.source = ContentRows(Rows((), (), ()))
        self._kept: tuple[int, tuple[str, ...]] = (-1, ())

    def show_rows(self, source: ContentRows) -> None:
        self.source = source
        self._order = -1, Qt.SortOrder.AscendingOrder
        sample = [source.cells(row) for row in range(min(len(source), _MEASURED))]
        self.columns = [
            Column(title, partial(self._cell, at), number=_all_numbers(sample, at))
            for at, title in enumerate(source.titles)
        ]
        self.show_things(list(range(len(source))))

    def _cell(self, column: int, number: int) -> str:
        if self._kept[0] != number:
            self._kept = number, self.source.cells(number)
        cells = self._kept[1]
        return cells[column] if column < len(cells) else ""

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            if orientation is Qt.Orientation.Horizontal:
                # Room for the sort indicator in right-aligned titles.
                room = "\u2002 " if section == self._order[0] and self.columns[section].number else ""
                return shown(self.columns[section].title) + room
            return f"{self.things[section] + 1}"
        return super().headerData(section, orientation, role)

    def _sorted(self) -> Any:
        """Return the rows sorted by a column: numbers by value, others by text, empty cells last."""
        self._kept = (-1, ())
        if self._order[0] < 0:
            return self._unsorted
        texts = self.source.column(self._order[0])
        filled = [row for row in self._unsorted if texts[row].strip()]
        values = {row: number_of(texts[row]) for row in filled}
        key: Callable[[int], Any] = values.__getitem__
        if None in values.values():
            key = lambda row: texts[row].casefold()  # noqa: E731
        filled.sort(key=key, reverse=self._order[1] is Qt.SortOrder.DescendingOrder)
        return filled + [row for row in self._unsorted if row not in values]


def _all_numbers(sample: list[tuple[str, ...]], column: int) -> bool:
    texts = [cells[column] for cells in sample if column < len(cells) and cells[column].strip()]
    return bool(texts) and all(number_of(text) is not None for text in texts)


class _RowTable(QTableView):
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.activated.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)


class TableView(ContentView):
    label = "Table"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.rows = RowsModel()
        self.keys = self.table = table = _RowTable()
        made(table, "previewTable", accessibleName=self.tr("Rows of the object"))
        table.setModel(self.rows)
        made(table, showGrid=False, wordWrap=False, tabKeyNavigation=False)
        made(table.verticalHeader(), defaultSectionSize=self.fontMetrics().height() + 8, defaultAlignment=RIGHT)
        header = made(table.horizontalHeader(), highlightSections=False, defaultAlignment=LEFT)
        made(header, sortIndicatorClearable=True, stretchLastSection=True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setResizeContentsPrecision(_MEASURED)
        table.setSortingEnabled(True)
        lay(QVBoxLayout(self), table)
        self._links = ItemLinks(self, table, self.bytes_of)
        table.activated.connect(self._open)

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> ContentRows | None:
        if isinstance(content, TableContent):
            return DelimitedRows(content)
        rows = content.listing()
        return ContentRows(rows) if rows.cells else None

    def show_preview(self, preview: Preview) -> None:
        table, source = self.table, preview.prepared
        behaviour = QAbstractItemView.SelectionBehavior
        table.setSelectionBehavior(behaviour.SelectItems if source.by_cell else behaviour.SelectRows)
        table.verticalHeader().setVisible(source.by_cell)
        table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.rows.show_rows(source)
        sample = [source.cells(row) for row in range(0, len(source), max(len(source) // _MEASURED, 1))]
        bold = table.horizontalHeader().fontMetrics()
        for number in range(min(len(source.titles), 64)):
            texts = (shown(cells[number]) for cells in sample if number < len(cells))
            wide = max((table.fontMetrics().horizontalAdvance(text) for text in texts), default=0) + 12
            # Room for the sort indicator.
            room = 30 if self.rows.columns[number].number else 20
            wide = max(wide, bold.horizontalAdvance(shown(source.titles[number])) + room)
            table.setColumnWidth(number, min(max(wide, 48), MOST_WIDTH))

    def bytes_of(self, index: QModelIndex) -> tuple[int, int]:
        if not index.isValid():
            return 0, 0
        return self.rows.source.bytes_of(self.rows.things[index.row()], index.column())

    def mark(self, start: int, stop: int) -> None:
        if (found := self.rows.source.cell_at(start)) is not None:
            self._links.mark(self.rows.index(self.rows.things.index(found[0]), found[1]))

    def copy(self) -> None:
        rows = selected_cells(self.table, self.rows.text)
        if not rows or (not self.rows.source.by_cell and len(rows) == len(rows[0]) == 1):
            columns, count = range(self.rows.columnCount()), min(self.rows.rowCount(), _COPIED)
            rows = [list(self.rows.source.titles)]
            rows += [[self.rows.text(row, cell) for cell in columns] for row in range(count)]
        copy_lines("\n".join("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row) for row in rows))

    def _open(self, index: QModelIndex) -> None:
        if index.isValid():
            self.part_wanted.emit(self.rows.things[index.row()])
