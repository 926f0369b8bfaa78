"""Column widths of a table in a dock, from its texts; a narrow table scrolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QTableView

from shardscope.session.debounce import Debounce
from shardscope.widgets.column_widths import MOST_ROUNDS, ColumnWidth, share_width

_BETWEEN = 8


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """Width rule of a column: `least` is its minimum in pixels, None for numbers, which are never cut."""

    least: int | None = None


class ColumnFitter(QObject):
    """Sets column widths to the widest text seen so far; owned by the table."""

    def __init__(
        self, table: QTableView, rules: Sequence[ColumnRule], stretched: int, *, wrapped: bool = False
    ) -> None:
        super().__init__(table)
        self._table, self._rules, self._stretched, self._wrapped = table, tuple(rules), stretched, wrapped
        self._seen, self._fitting = [0] * len(self._rules), False
        self._by_hand: dict[int, int] = {}
        table.horizontalHeader().sectionResized.connect(self._resized)
        self._soon = Debounce(self, self.fit)
        table.setWordWrap(wrapped)
        # Only rows on the screen are measured.
        table.horizontalHeader().setResizeContentsPrecision(0)
        table.viewport().installEventFilter(self)
        table.verticalScrollBar().valueChanged.connect(self._soon.again)
        model = table.model()
        for changed in (model.dataChanged, model.rowsInserted, model.layoutChanged):
            changed.connect(self._soon.again)
        model.modelReset.connect(self._forget)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.fit()
        elif event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._forget()
        return False

    def _forget(self) -> None:
        self._seen = [0] * len(self._rules)
        self._soon.start()

    def _resized(self, column: int, _: int, width: int) -> None:
        if not self._fitting and QApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            self._by_hand[column] = width

    def fit(self) -> None:
        # For a hidden table, Qt would measure every row.
        if self._fitting or not self._table.isVisible():
            return
        self._fitting = True
        # New widths may bring or remove a scroll bar, which changes the room.
        for _ in range(MOST_ROUNDS):
            room = self._table.viewport().width()
            self._share(room)
            if self._wrapped:
                self._fit_rows()
            if self._table.viewport().width() == room:
                break
        self._fitting = False

    def _share(self, room: int) -> None:
        table, header = self._table, self._table.horizontalHeader()
        columns = []
        for column, rule in enumerate(self._rules):
            texts = max(table.sizeHintForColumn(column) + _BETWEEN, header.minimumSectionSize())
            wanted = self._seen[column] = max(self._seen[column], texts, header.sectionSizeHint(column))
            columns.append(ColumnWidth(wanted, wanted if rule.least is None else rule.least))
        for column, width in enumerate(share_width(columns, self._stretched, room, self._by_hand)):
            table.setColumnWidth(column, width)

    def _fit_rows(self) -> None:
        table = self._table
        first, last = table.rowAt(0), table.rowAt(table.viewport().height() - 1)
        for row in range(max(first, 0), (last if last >= 0 else table.model().rowCount() - 1) + 1):
            height = table.sizeHintForRow(row) + _BETWEEN
            table.setRowHeight(row, max(height, table.verticalHeader().defaultSectionSize()))
