"""The tables of findings and of hits: rows of text, of which one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView, QWidget

from shardscope.widgets.keyboard import select_current
from shardscope.widgets.table_columns import ColumnRoom, ColumnRule

Choose = Callable[[QModelIndex, QModelIndex], None]
"""Takes the row that is current now, and the one before; a click gives the same row twice."""


class _FirstKey(QObject):
    """Filter for the keys of a table."""

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
    """Return a table without grid, whose long texts are cut at the end or wrapped.

    Args:
        parent: The panel.
        model: What it shows.
        rules: How the columns get their widths.
        stretched: The column that takes the rest.
        choose: Called when a row is chosen, by the keyboard or by a click on the one that is current already.
        menu: Opens the menu at a place.
        table: What becomes such a table; None for a new one.
        wrapped: Whether texts of the stretched column are broken into lines.
    """
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
    ColumnRoom(table, rules, stretched, wrapped=wrapped)
    chosen = table.selectionModel()
    # Focus makes a row current, too: it selects nothing.
    chosen.currentRowChanged.connect(lambda now, old: choose(now, old) if chosen.isSelected(now) else None)
    _FirstKey(table, choose)
    table.clicked.connect(lambda index: choose(index, index))
    return table
