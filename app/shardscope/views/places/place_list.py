"""List of things to open: two lines each, and a bar at the current one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from shardscope.widgets import theme
from shardscope.widgets.elided_label import cut_text
from shardscope.widgets.location_model import DETAIL_ROLE, HERE_ROLE, LEVEL_ROLE, PROBLEM_ROLE, PlaceModel

SET_IN = 16
"""Pixels per indentation level."""

Index = QModelIndex | QPersistentModelIndex


class PlaceDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, 2 * option.fontMetrics.height() + 12)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        view = option.widget
        state = option.state
        rect = option.rect
        metrics = option.fontMetrics
        colours = theme.of(view)
        strong = bool(state & QStyle.StateFlag.State_Selected) and view.hasFocus()
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, theme.selected(view)[0])
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, colours.hover)
        if index.data(HERE_ROLE):
            painter.fillRect(rect.adjusted(0, 3, 3 - rect.width(), -3), colours.base if strong else colours.accent)
        inside = rect.adjusted(12 + SET_IN * index.data(LEVEL_ROLE), 5, -10, -5)
        half = inside.height() // 2
        problem = index.data(PROBLEM_ROLE)
        title = cut_text(metrics, index.data(), inside.width())
        below = f"✖ {problem}" if problem else index.data(DETAIL_ROLE)
        painter.setFont(option.font)
        painter.setPen(colours.base if strong else colours.text)
        flags = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(QRect(inside.x(), inside.y(), inside.width(), half), flags, title)
        painter.setPen(colours.base if strong else colours.error if problem else colours.muted)
        line = cut_text(metrics, below, inside.width())
        painter.drawText(QRect(inside.x(), inside.y() + half, inside.width(), half), flags, line)
        painter.restore()


class PlaceList(QListView):
    gone = Signal(object)

    def __init__(self, model: PlaceModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("placeList")
        self.setAccessibleName(self.tr("Places"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegate(PlaceDelegate(self))
        self.setModel(model)
        self.clicked.connect(self._clicked)

    def _clicked(self, index: QModelIndex) -> None:
        self.gone.emit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.gone.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)
