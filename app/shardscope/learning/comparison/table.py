"""The table below the strips: what each format costs to keep, to find in, to change, and what it cannot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from shardcore.model.number_words import plural
from shardcore.teaching.comparison import ACTIONS, FormatRow
from shardcore.teaching.comparison.words import HEADINGS, cells
from shardscope.session.words import grouped
from shardscope.widgets.plain_text import tip

Index = QModelIndex | QPersistentModelIndex

_FORMAT, _SIZE, _OVERHEAD, _STRUCTURE, _LOOKUP, _COSTS = range(6)
_LAST = len(HEADINGS) - 1
_WIDTHS = (16, 14, 13, 12, 17, 14, 14, 16)
"""Digits of the columns; the last one takes what is left."""
_LEAST_LAST = 240
_LINES = 3
_PADDING = 4
"""Pixels above and below the lines of a cell."""

_MEANINGS = (
    "The format, and what its main parameter is; the slider above turns it.",
    "Bytes of all files that the objects became.",
    "Bytes over those of the contents, and as a share of these; less than nothing where they are compressed.",
    "Bytes of sections that hold no contents: headers, indices, tables, padding.",
    "Cold cost to open it, find one key and read its object; a round trip is one wait for an answer.",
    "What it takes to add one more object.",
    "What it takes to delete an object.",
    "What it takes to verify all contents.",
    "What the format cannot, as it says itself.",
)


class CompareModel(QAbstractTableModel):
    """Rows of a comparison."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[FormatRow, ...] = ()

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        """Shows other rows."""
        if [row.format for row in rows] != [row.format for row in self.rows]:
            self.beginResetModel()
            self.rows = tuple(rows)
            self.endResetModel()
            return
        self.rows = tuple(rows)
        self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, _LAST))

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(HEADINGS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return QCoreApplication.translate("Comparing", HEADINGS[section].capitalize())
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(QCoreApplication.translate("Comparing", _MEANINGS[section]))
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Words; in several lines where they are several things."""
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _words(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(_tip(row, column))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        return None


def _words(row: FormatRow, column: int) -> str:
    if column == _FORMAT:
        return f"{row.format}\n{row.dial}\n{row.value}" if row.dial else row.format
    text = grouped(cells(row)[column - 1])
    if column == _LAST:
        return text
    # Of two numbers each has its line: columns are read from top to bottom.
    return (
        text.replace(", ", "\n")
        .replace(" in ", "\nin ")
        .replace(" beside", "\nbeside")
        .replace("rewrites ", "rewrites\n")
    )


def _tip(row: FormatRow, column: int) -> str:
    """Return what a cell says to those who want to know more."""
    if column == _FORMAT:
        return f"{row.title}: {row.purpose}"
    if row.error:
        return grouped(row.error)
    if row.lookup is not None and column == _LOOKUP:
        one = row.lookup
        return (
            f"{plural(one.opening, 'request')} to open it, {one.requests - one.opening:,} more to find and read one "
            f"{one.kind} of {plural(one.size, 'byte')}: {plural(one.bytes, 'byte')} in "
            f"{plural(one.rounds, 'round trip')}."
        )
    if _COSTS <= column < _LAST and row.costs:
        cost = row.costs[ACTIONS[column - _COSTS]]
        about = "" if cost.exact else "about "
        parts = [cost.what]
        if cost.written:
            parts.append(f"Writes {about}{plural(cost.written, 'byte')}.")
        if cost.read is not None:
            parts.append(f"Reads {about}{plural(cost.read, 'byte')}.")
        return "\n".join(parts)
    if column == _SIZE:
        return "\n".join([plural(row.size, "byte"), *row.notes])
    return {_OVERHEAD: plural(row.overhead, "byte"), _STRUCTURE: plural(row.structure, "byte")}.get(column, row.cannot)


class CompareTable(QTableView):
    """Shows the rows; `chosen` carries the name of the format whose row is current."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("compareTable")
        self.setAccessibleName(self.tr("What each format costs"))
        self.rows_ = CompareModel(self)
        self.setModel(self.rows_)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(True)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setStyleSheet(f"QTableView::item {{ padding: {_PADDING}px 4px; }}")
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(_LINES * self.fontMetrics().lineSpacing() + 2 * _PADDING)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for column, digits in enumerate(_WIDTHS):
            header.resizeSection(column, digits * self.fontMetrics().horizontalAdvance("0"))
        self.selectionModel().currentRowChanged.connect(self._row_changed)

    def show_rows(self, rows: Sequence[FormatRow]) -> None:
        """Shows other rows."""
        self.rows_.show_rows(rows)
        self.setMinimumHeight(self.whole_height())

    def choose(self, format: str) -> None:
        """Makes the row of a format the current one."""
        for number, row in enumerate(self.rows_.rows):
            if row.format == format and self.currentIndex().row() != number:
                self.setCurrentIndex(self.rows_.index(number, 0))

    def whole_height(self) -> int:
        """Pixels at which nothing scrolls."""
        rows = self.rows_.rowCount() * self.verticalHeader().defaultSectionSize()
        return rows + self.horizontalHeader().sizeHint().height() + 2 * self.frameWidth() + 14

    def _room(self) -> None:
        """Gives the last column what the others leave."""
        header = self.horizontalHeader()
        taken = sum(header.sectionSize(column) for column in range(_LAST))
        header.resizeSection(_LAST, max(self.viewport().width() - taken, _LEAST_LAST))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._room()

    def _row_changed(self, now: QModelIndex, _: QModelIndex) -> None:
        if now.isValid():
            self.chosen.emit(self.rows_.rows[now.row()].format)
