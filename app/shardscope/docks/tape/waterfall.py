"""Paints the requests: a letter in the colour of what they were for, and a bar for how long they took."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QTableView

from shardcore.sources.remote.tape import Request
from shardscope.docks.tape.colours import SECTIONS
from shardscope.looks import theme
from shardscope.looks.theme import SECTION_LETTERS
from shardscope.models.tape.tape_model import ANSWER, BAR_ROLE, PURPOSE, RECORD_ROLE, TIME

Index = QModelIndex | QPersistentModelIndex

_SWATCH = 16
_LEAST = 2.0
_LIGHT = 0.38


class Waterfall(QStyledItemDelegate):
    """Paints purposes, answers and bars; everything else as usual."""

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Colours what went wrong and makes room for the letter."""
        super().initStyleOption(option, index)
        record = index.data(RECORD_ROLE)
        if isinstance(record, Request) and index.column() == ANSWER:
            colours = theme.of(self._table)
            strong = colours.error if record.error else colours.warning if record.retry else colours.muted
            option.palette.setColor(option.palette.ColorRole.Text, strong)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paints a cell."""
        record = index.data(RECORD_ROLE)
        if not isinstance(record, Request) or index.column() not in (PURPOSE, TIME):
            super().paint(painter, option, index)
            return
        colours = theme.of(self._table)
        strong = colours.section(SECTIONS[record.purpose])
        if index.column() == TIME:
            super().paint(painter, option, index)
            self._paint_bar(painter, QRectF(option.rect).adjusted(6, 5, -8, -5), index, strong)
            return
        moved = QStyleOptionViewItem(option)
        moved.rect = option.rect.adjusted(_SWATCH + 6, 0, 0, 0)
        super().paint(painter, moved, index)
        self._paint_letter(painter, option, SECTION_LETTERS[SECTIONS[record.purpose]], strong)

    def _paint_letter(self, painter: QPainter, option: QStyleOptionViewItem, letter: str, strong: QColor) -> None:
        top = option.rect.top() + (option.rect.height() - _SWATCH) // 2
        box = QRectF(option.rect.left() + 6, top, _SWATCH, _SWATCH)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(strong)
        painter.drawRoundedRect(box, 3, 3)
        painter.setPen(theme.of(self._table).base)
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), letter)
        painter.restore()

    def _paint_bar(self, painter: QPainter, room: QRectF, index: Index, strong: QColor) -> None:
        record = index.data(RECORD_ROLE)
        begin, answer, end = (room.left() + share * room.width() for share in index.data(BAR_ROLE))
        colours = theme.of(self._table)
        if record.cached:
            painter.fillRect(QRectF(min(begin, room.right() - 2), room.top() - 2, 2, room.height() + 4), colours.muted)
            return
        end = max(end, begin + _LEAST)
        overflow = max(end - room.right(), 0.0)
        begin, answer, end = begin - overflow, answer - overflow, end - overflow
        light = QColor(strong)
        light.setAlphaF(_LIGHT)
        painter.fillRect(QRectF(begin, room.top(), end - begin, room.height()), light)
        # A transfer too short to be seen is seen nevertheless: its bytes came.
        first = min(answer, end - _LEAST) if record.bytes else end
        painter.fillRect(QRectF(max(first, begin), room.top(), end - max(first, begin), room.height()), strong)
        if record.error:
            painter.fillRect(QRectF(end - 3, room.top() - 2, 3, room.height() + 4), colours.error)
