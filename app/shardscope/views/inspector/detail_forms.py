"""Parts of the inspector: form of names and values, and table of numbers at the caret."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QGridLayout,
    QHeaderView,
    QMenu,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from shardcore.model.text import shown
from shardscope.views.inspector.data_types import Reading, readings
from shardscope.views.inspector.node_details import PENDING, DetailRow
from shardscope.widgets.clipboard import copy_lines
from shardscope.widgets.fonts import SMALL, mono
from shardscope.widgets.layouts import discard
from shardscope.widgets.plain_text import tip
from shardscope.widgets.wrap_text import WrapText

_NAMES = tuple(reading.name for reading in readings(b""))

_WIDE = ("u64", "i64", "f32", "f64")
"""Number types with one row per byte order, since both values do not fit side by side."""

_BREAK = "\u200b"

_LONG = ("time", "GUID", "text")
"""Interpretations whose text may take two lines."""


class Form(QWidget):
    followed = Signal(object)

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = WrapText(title, tone="muted", bold=True)
        self.setAccessibleName(title)
        self.rows: tuple[DetailRow, ...] = ()
        self.values: list[WrapText] = []
        self._labels: list[WrapText] = []
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnMinimumWidth(0, 44)
        self._grid.setColumnStretch(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.title)
        column.addLayout(self._grid)

    def set_rows(self, rows: Sequence[DetailRow]) -> None:
        rows = tuple(rows)
        if rows == self.rows:
            return
        if [_shape(row) for row in rows] != [_shape(row) for row in self.rows]:
            self._build(rows)
        self.rows = rows
        for label, value, row in zip(self._labels, self.values, rows, strict=True):
            label.set_text(row.name)
            value.set_text(row.text, copied=row.copied)
            value.set_tone(row.tone)

    def value(self, name: str) -> WrapText | None:
        return next((w for w, row in zip(self.values, self.rows, strict=True) if row.name == name), None)

    def _build(self, rows: Sequence[DetailRow]) -> None:
        for widget in (*self._labels, *self.values):
            discard(widget)
        self._labels = [WrapText(row.name, tone="muted") for row in rows]
        self.values = [WrapText(row.text, mono=row.mono, bold=row.strong, link=row.link is not None) for row in rows]
        for number, (label, value) in enumerate(zip(self._labels, self.values, strict=True)):
            label.setMaximumWidth(130)
            value.clicked.connect(lambda number=number: self._follow(number))
            self._grid.addWidget(label, number, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(value, number, 1)
            # Otherwise the layout shows them after a blank frame.
            label.show()
            value.show()

    def _follow(self, number: int) -> None:
        link = self.rows[number].link
        if link is not None:
            self.followed.emit(link)


class Numbers(QTableWidget):
    def __init__(self) -> None:
        super().__init__(0, 3)
        self.setObjectName("inspectorNumbers")
        self.setAccessibleName(self.tr("The bytes at the caret, as numbers"))
        self.setHorizontalHeaderLabels(["", self.tr("little (le)"), self.tr("big (be)")])
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionsClickable(False)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setShowGrid(False)
        # Keep both ends of a number: sign and exponent.
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setTabKeyNavigation(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizeAdjustPolicy(QAbstractScrollArea.SizeAdjustPolicy.AdjustIgnored)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self._font = mono(SMALL)
        self.set_data(None)

    def set_data(self, data: bytes | None, own: str = "") -> None:
        """Show the bytes (None: not loaded); `own` is the type of the field, whose row is bold."""
        rows: Sequence[Reading]
        if data is None:
            rows = [Reading(name, PENDING, PENDING) for name in _NAMES]
        else:
            rows = readings(data)
        rows = [line for reading in rows for line in _lines(reading)]
        self.clearSpans()
        self.setRowCount(len(rows))
        line = QFontMetrics(self._font).height()
        for number, reading in enumerate(rows):
            self._set(number, 0, reading.name)
            self._set(number, 1, reading.little)
            self._set(number, 2, reading.big or "")
            if reading.big is None:
                self.setSpan(number, 1, 1, 2)
            self._embolden(number, reading, own)
            self.setRowHeight(number, line * (1 + (reading.name in _LONG)) + 4)
        height = self.horizontalHeader().sizeHint().height() + sum(self.rowHeight(n) for n in range(len(rows))) + 2
        self.setFixedHeight(height)

    def _embolden(self, row: int, reading: Reading, own: str) -> None:
        kind, _, order = own.partition(" ")
        big = order == "BE"
        column = 2 if big and reading.big is not None else 1
        own_names = (kind, _ordered(kind, big=big))
        for at in range(3):
            item = self.item(row, at)
            if item is not None:
                font = item.font()
                font.setBold(reading.name in own_names and at in (0, column))
                item.setFont(font)

    def value(self, name: str, column: int = 1) -> str:
        if name in _WIDE:
            name, column = _ordered(name, big=column == 2), 1
        return next((self._text(row, column) for row in range(self.rowCount()) if self._text(row, 0) == name), "")

    def copy(self) -> None:
        lines = [
            "\t".join(self._text(row, column) for column in range(area.leftColumn(), area.rightColumn() + 1))
            for area in self.selectedRanges()
            for row in range(area.topRow(), area.bottomRow() + 1)
        ]
        if lines:
            copy_lines("\n".join(line.rstrip("\t") for line in lines))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def _menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Copy"), self.copy)
        menu.popup(self.viewport().mapToGlobal(place))

    def _text(self, row: int, column: int) -> str:
        item = self.item(row, column)
        return item.text().replace(_BREAK, "") if item is not None else ""

    def _set(self, row: int, column: int, text: str) -> None:
        item = self.item(row, column)
        if item is None:
            item = QTableWidgetItem()
            if column:
                item.setFont(self._font)
            self.setItem(row, column, item)
        # Break GUIDs at hyphens; Qt does not break before a digit.
        item.setText(shown(text).replace("-", f"-{_BREAK}"))
        item.setToolTip(tip(text))


def _lines(reading: Reading) -> list[Reading]:
    if reading.name not in _WIDE or reading.big is None:
        return [reading]
    little, big = (_ordered(reading.name, big=big) for big in (False, True))
    return [Reading(little, reading.little), Reading(big, reading.big)]


def _ordered(name: str, *, big: bool) -> str:
    return f"{name} {'be' if big else 'le'}"


def _shape(row: DetailRow) -> tuple[bool, bool, bool]:
    return row.mono, row.link is not None, row.strong
