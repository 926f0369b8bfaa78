"""Table for findings and search results: rows of text, one of them selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from shardscope.widgets.dock_table_columns import ColumnFitter, ColumnRule
from shardscope.widgets.keyboard import select_current

Choose = Callable[[QModelIndex, QModelIndex], None]
"""Function called with the current and the previous row; both are equal if the current row was clicked."""


class _FirstKey(QObject):
    def __init__(self, table: QTableView, choose: Choose) -> None:
        super().__init__(table)
        self._table, self._choose = table, choose
        table.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self._table or not select_current(self._table, event):
            return False
        self._choose(self._table.currentIndex(), self._table.currentIndex())
        return True


def row_table(
    parent: QWidget,
    model: QAbstractItemModel,
    rules: Sequence[ColumnRule],
    stretched: int,
    choose: Choose,
    menu: Callable[[QPoint], None],
    table: QTableView | None = None,
    *,
    wrapped: bool = False,
) -> QTableView:
    """Set up a table without a grid; `choose` is called on selection, and when the current row is clicked again."""
    table = table if table is not None else QTableView(parent)
    table.setModel(model)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setShowGrid(False)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    table.customContextMenuRequested.connect(menu)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(parent.fontMetrics().height() + 10)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    ColumnFitter(table, rules, stretched, wrapped=wrapped)
    chosen = table.selectionModel()
    # Focus also makes a row current, but does not select it.
    chosen.currentRowChanged.connect(lambda now, old: choose(now, old) if chosen.isSelected(now) else None)
    _FirstKey(table, choose)
    table.clicked.connect(lambda index: choose(index, index))
    return table
