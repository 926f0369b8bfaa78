"""The requests as a table: a letter in the colour of what each was for, and below each row how long it took."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QTableView

from shardcore.sources.remote.tape import Request
from shardscope.docks.tape.colours import SECTIONS
from shardscope.looks import theme
from shardscope.looks.theme import SECTION_LETTERS
from shardscope.models.tape.tape_model import ANSWER, BAR_ROLE, PURPOSE, RECORD_ROLE

Index = QModelIndex | QPersistentModelIndex

BAR = 6
"""Pixels of a bar: it has the whole width of the row, below the words."""

_SWATCH = 16
_SIDE = 6
_FOOT = 3
_LEAST = 2.0
_LIGHT = 0.38


class RequestRows(QStyledItemDelegate):
    """Paints one request: words above, its bar below; each cell paints its part of the bar."""

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Colours what went wrong."""
        super().initStyleOption(option, index)
        record = index.data(RECORD_ROLE)
        if isinstance(record, Request) and index.column() == ANSWER:
            colours = theme.of(self._table)
            strong = colours.error if record.error else colours.warning if record.retry else colours.muted
            option.palette.setColor(option.palette.ColorRole.Text, strong)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paints a cell."""
        record = index.data(RECORD_ROLE)
        if not isinstance(record, Request):
            super().paint(painter, option, index)
            return
        words = QStyleOptionViewItem(option)
        words.rect = option.rect.adjusted(0, 0, 0, -BAR - _FOOT + 1)
        if index.column() == PURPOSE:
            words.rect = words.rect.adjusted(_SWATCH + _SIDE, 0, 0, 0)
        if option.state & words.state.State_Selected:
            painter.fillRect(option.rect, option.palette.highlight())
        super().paint(painter, words, index)
        colours = theme.of(self._table)
        strong = colours.section(SECTIONS[record.purpose])
        if index.column() == PURPOSE:
            self._paint_letter(painter, words, SECTION_LETTERS[SECTIONS[record.purpose]], strong)
        self._paint_bar(painter, option, index, strong)

    def _paint_letter(self, painter: QPainter, option: QStyleOptionViewItem, letter: str, strong: QColor) -> None:
        top = option.rect.top() + (option.rect.height() - _SWATCH) // 2
        box = QRectF(option.rect.left() - _SWATCH, top, _SWATCH, _SWATCH)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(strong)
        painter.drawRoundedRect(box, 3, 3)
        painter.setPen(theme.of(self._table).base)
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), letter)
        painter.restore()

    def _paint_bar(self, painter: QPainter, option: QStyleOptionViewItem, index: Index, strong: QColor) -> None:
        record = index.data(RECORD_ROLE)
        colours = theme.of(self._table)
        left, width = float(_SIDE), float(self._table.viewport().width() - 2 * _SIDE)
        begin, answer, end = (left + share * width for share in index.data(BAR_ROLE))
        top = option.rect.bottom() + 1 - BAR - _FOOT
        painter.save()
        painter.setClipRect(option.rect)
        selected = bool(option.state & option.state.State_Selected)
        strong = colours.base if selected else strong
        if record.cached:
            tick = QRectF(min(begin, left + width - 2), top - 2, 2, BAR + 3)
            painter.fillRect(tick, colours.base if selected else colours.muted)
        else:
            end = max(end, begin + _LEAST)
            over = max(end - left - width, 0.0)
            begin, answer, end = begin - over, answer - over, end - over
            light = QColor(strong)
            light.setAlphaF(_LIGHT)
            painter.fillRect(QRectF(begin, top, end - begin, BAR), light)
            # A transfer too short to be seen is seen nevertheless: its bytes came.
            first = max(min(answer, end - _LEAST), begin) if record.bytes else end
            painter.fillRect(QRectF(first, top, end - first, BAR), strong)
            if record.error:
                painter.fillRect(QRectF(end - 3, top - 2, 3, BAR + 3), colours.error)
        painter.restore()
