"""The requests as a table: a letter in the colour of what each was for, and below each row how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from shardcore import SectionRole
from shardcore.sources.read_purpose import ReadPurpose
from shardscope.widgets import theme
from shardscope.widgets.request_log.model import ANSWER, PURPOSE, RequestLogModel, called_off
from shardscope.widgets.strip_paint import paint_swatch

SECTIONS: Mapping[ReadPurpose, SectionRole] = MappingProxyType(
    {
        ReadPurpose.HEAD: SectionRole.HEADER,
        ReadPurpose.FOOTER: SectionRole.FOOTER,
        ReadPurpose.INDEX: SectionRole.INDEX,
        ReadPurpose.LOOKUP: SectionRole.LOOKUP,
        ReadPurpose.PAYLOAD: SectionRole.DATA,
        ReadPurpose.LISTING: SectionRole.METADATA,
        ReadPurpose.PROBE: SectionRole.UNKNOWN,
    }
)
"""The section whose colour a purpose has; listings and probes read none, and have those that are left."""


Index = QModelIndex | QPersistentModelIndex

BAR = 6
"""Pixels of a bar: it has the whole width of the row, below the words."""

_SWATCH = 16
_SIDE = 6
_FOOT = 3
_LEAST = 2.0
_LIGHT = 0.38


class RequestTable(QTableView):
    def __init__(self, requests: RequestLogModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.requests = requests
        self.setItemDelegate(RequestWords(self))

    @property
    def row_height(self) -> int:
        return self.fontMetrics().height() + 8 + BAR

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        first, last = self.rowAt(event.rect().top()), self.rowAt(event.rect().bottom())
        if first < 0:
            return
        last = last if last >= 0 else self.requests.rowCount() - 1
        current = self.selectionModel().currentIndex().row() if self.selectionModel().hasSelection() else -1
        painter = QPainter(self.viewport())
        for row in range(first, last + 1):
            self._paint_bar(painter, row, row == current)
        painter.end()

    def _paint_bar(self, painter: QPainter, row: int, selected: bool) -> None:
        record = self.requests.record(row)
        colours = theme.of(self)
        left, width = float(_SIDE), float(self.viewport().width() - 2 * _SIDE)
        begin, answer, end = (left + share * width for share in self.requests.bar(row))
        top = self.rowViewportPosition(row) + self.rowHeight(row) - BAR - _FOOT
        strong = colours.base if selected else colours.edge(SECTIONS[record.purpose])
        if record.cached:
            tick = QRectF(min(begin, left + width - 2), top - 2, 2, BAR + 3)
            painter.fillRect(tick, colours.base if selected else colours.muted)
            return
        end = max(end, begin + _LEAST)
        over = max(end - left - width, 0.0)
        begin, answer, end = begin - over, answer - over, end - over
        light = QColor(strong)
        light.setAlphaF(_LIGHT)
        painter.fillRect(QRectF(begin, top, end - begin, BAR), light)
        # A transfer too short to be seen is seen nevertheless: its bytes came.
        first = max(min(answer, end - _LEAST), begin) if record.bytes else end
        painter.fillRect(QRectF(first, top, end - first, BAR), strong)
        if record.error and not called_off(record):
            painter.fillRect(QRectF(end - 3, top - 2, 3, BAR + 3), colours.error)


class RequestWords(QStyledItemDelegate):
    def __init__(self, table: RequestTable) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if index.column() == ANSWER:
            record, colours = self._table.requests.record(index.row()), theme.of(self._table)
            failed = record.error and not called_off(record)
            strong = colours.error if failed else colours.warning if record.retry else colours.muted
            option.palette.setColor(option.palette.ColorRole.Text, strong)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        size = super().sizeHint(option, index)
        return size + QSize(_SWATCH + _SIDE, 0) if index.column() == PURPOSE else size

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, theme.selected(self._table)[0])
        purpose = index.column() == PURPOSE
        option.rect = option.rect.adjusted(_SWATCH + _SIDE if purpose else 0, 0, 0, -BAR - _FOOT + 1)
        super().paint(painter, option, index)
        if purpose:
            section = SECTIONS[self._table.requests.record(index.row()).purpose]
            top = option.rect.top() + (option.rect.height() - _SWATCH) // 2
            box = QRectF(option.rect.left() - _SWATCH, top, _SWATCH, _SWATCH)
            paint_swatch(painter, theme.of(self._table), section, box)
