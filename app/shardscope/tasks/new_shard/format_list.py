"""List of the formats that can be written, with purpose and limits of each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from shardcore.shards.format import Format
from shardscope.widgets import theme
from shardscope.widgets.fonts import SMALL, sized

Index = QModelIndex | QPersistentModelIndex

FORMAT_ROLE = int(Qt.ItemDataRole.UserRole)

_PAD = 8
_GAP = 1
_SIGN = 26
"""Indentation of the text in pixels, for the radio button."""
_WRAP = int(Qt.TextFlag.TextWordWrap)


class _FormatRows(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        view = self.parent()
        width = view.viewport().width() if isinstance(view, QListView) else 300
        return QSize(width, 2 * _PAD + sum(height + _GAP for _, height, *_ in self._lines(index, option.font, width)))

    def _lines(self, index: Index, font: QFont, width: int) -> list[tuple[str, int, QFont]]:
        found = index.data(FORMAT_ROLE)
        bold, small = QFont(font), sized(font, SMALL)
        bold.setWeight(QFont.Weight.DemiBold)
        texts = ((found.title, bold), (found.writes.purpose, small), (found.writes.cannot, small))
        room = width - _SIGN - _PAD
        return [
            (text, QFontMetrics(one).boundingRect(QRect(0, 0, room, 1000), _WRAP, text).height(), one)
            for text, one in texts
        ]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view = self.parent()
        colours = theme.of(view) if isinstance(view, QWidget) else theme.of(option.widget)
        chosen = isinstance(view, QListView) and view.currentIndex() == index
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen:
            painter.setPen(QPen(colours.accent, 1))
            painter.setBrush(colours.raised)
            painter.drawRoundedRect(option.rect.adjusted(1, 1, -2, -2), 5, 5)
        middle = option.rect.top() + _PAD + painter.fontMetrics().height() // 2
        circle = QRect(option.rect.left() + 8, middle - 5, 11, 11)
        painter.setPen(QPen(colours.accent if chosen else colours.muted, 1))
        painter.setBrush(colours.base)
        painter.drawEllipse(circle)
        if chosen:
            painter.setBrush(colours.accent)
            painter.drawEllipse(circle.adjusted(3, 3, -3, -3))
        top = option.rect.top() + _PAD
        left, room = option.rect.left() + _SIGN, option.rect.width() - _SIGN - _PAD
        tones = (colours.text, colours.text, colours.muted)
        for (text, height, font), tone in zip(self._lines(index, option.font, option.rect.width()), tones, strict=True):
            painter.setFont(font)
            painter.setPen(tone)
            painter.drawText(QRect(left, top, room, height), _WRAP, text)
            if top == option.rect.top() + _PAD:
                # The name used in messages and on the command line.
                after = left + painter.fontMetrics().horizontalAdvance(text) + 10
                painter.setFont(option.font)
                painter.setPen(colours.muted)
                painter.drawText(
                    QRect(after, top, max(left + room - after, 0), height), 0, index.data(FORMAT_ROLE).name
                )
            top += height + _GAP
        painter.restore()


class FormatList(QListView):
    chosen = Signal()

    def __init__(self, formats: Sequence[Format], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("formatList")
        self.setAccessibleName(self.tr("Format"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self._model = QStandardItemModel(self)
        for found in formats:
            if found.writes is None:
                continue
            item = QStandardItem(found.title)
            item.setData(found, FORMAT_ROLE)
            words = f"{found.writes.purpose} {found.writes.cannot}"
            item.setData(words, Qt.ItemDataRole.AccessibleDescriptionRole)
            item.setToolTip(self.tr("{0}: written as {1}").format(found.name, " ".join(found.suffixes)))
            self._model.appendRow(item)
        self.setModel(self._model)
        self.setItemDelegate(_FormatRows(self))
        self.selectionModel().currentChanged.connect(lambda *_: self._moved())

    @property
    def format(self) -> Format:
        found: Format = self.currentIndex().data(FORMAT_ROLE)
        return found

    @property
    def names(self) -> list[str]:
        return [self._model.item(row).data(FORMAT_ROLE).name for row in range(self._model.rowCount())]

    def choose(self, name: str) -> None:
        """Select a format by name; unknown names select the first."""
        names = self.names
        self.setCurrentIndex(self._model.index(names.index(name) if name in names else 0, 0))

    def _moved(self) -> None:
        self.viewport().update()
        self.chosen.emit()

    def _fit(self) -> None:
        self.doItemsLayout()
        rows = sum(self.sizeHintForRow(row) for row in range(self._model.rowCount()))
        self.setFixedHeight(rows + 2 * self.frameWidth() + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()
