"""Targets shown over the window for dragged files: open, search in the open shard, or pack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from shardscope.widgets import theme
from shardscope.widgets.fonts import TITLE, sized, weighted
from shardscope.widgets.layouts import made

GAP = 16


class DropTarget(Enum):
    OPEN = ("Open", "One tab per file")
    SEEK = ("Find in shard", "Search the objects for this file")
    PACK = ("Pack", "Pack these files and folders into a new shard")


class DropTargets(QWidget):
    """Overlay shown while files are dragged over the window; after a drop, the function in `acts` gets their paths."""

    spoken_role = QAccessible.Role.Grouping

    def __init__(
        self,
        window: QWidget,
        has_shard: Callable[[], bool],
        acts: Mapping[DropTarget, Callable[[tuple[str, ...]], object]],
    ) -> None:
        super().__init__(window)
        self._has_shard = has_shard
        self._acts = acts
        self._several = False
        self._current: DropTarget | None = None
        made(self, "dropPlaces", accessibleName=self.tr("Drop targets"), acceptDrops=True)
        self.hide()

    @property
    def places(self) -> tuple[DropTarget, ...]:
        if self._several:
            return (DropTarget.OPEN, DropTarget.PACK)
        return (DropTarget.OPEN, DropTarget.SEEK) if self._has_shard() else (DropTarget.OPEN,)

    def rect_of(self, place: DropTarget) -> QRectF:
        count = len(self.places)
        whole = QRectF(self.rect()).adjusted(GAP, GAP, -GAP, -GAP)
        width = (whole.width() - GAP * (count - 1)) / count
        left = whole.left() + self.places.index(place) * (width + GAP)
        return QRectF(left, whole.top(), width, whole.height())

    def place_at(self, point: QPointF) -> DropTarget:
        return self.places[min(int(point.x() * len(self.places) / max(self.width(), 1)), len(self.places) - 1)]

    def drop(self, event: QDropEvent) -> None:
        paths = dragged_files(event.mimeData())
        self._several = len(paths) > 1
        place = self.place_at(event.position())
        self.hide()
        if not paths:
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        QTimer.singleShot(0, self, lambda: self._acts[place](paths))

    # --- events ---

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.source() is None and (paths := dragged_files(event.mimeData())):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            self._several = len(paths) > 1
            self.setGeometry(self.window().rect())
            self._current = self.place_at(event.position())
            self.show()
            self.raise_()
            self.update()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        place = self.place_at(event.position())
        if place is not self._current:
            self._current = place
            self.update()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.drop(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        colours = theme.of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(colours.window)
        veil.setAlphaF(0.95)
        painter.fillRect(self.rect(), veil)
        for place in self.places:
            here = place is self._current
            rect = self.rect_of(place)
            fill = QColor(colours.accent if here else colours.raised)
            fill.setAlphaF(0.22 if here else 0.75)
            painter.setBrush(fill)
            line = Qt.PenStyle.SolidLine if here else Qt.PenStyle.DashLine
            painter.setPen(QPen(colours.accent if here else colours.border, 3 if here else 2, line))
            painter.drawRoundedRect(rect, 12, 12)
            self._paint_words(painter, rect, place, colours)
        painter.end()

    def _paint_words(self, painter: QPainter, rect: QRectF, place: DropTarget, colours: theme.Palette) -> None:
        title, doc = place.value
        painter.setFont(weighted(sized(self.font(), TITLE)))
        painter.setPen(colours.text)
        upper = rect.adjusted(0, 0, 0, -rect.height() / 2)
        painter.drawText(upper, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom, title)
        painter.setFont(self.font())
        painter.setPen(colours.muted)
        lower = rect.adjusted(8, rect.height() / 2 + 6, -8, 0)
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap
        painter.drawText(lower, flags, doc)


def dragged_files(mime: QMimeData) -> tuple[str, ...]:
    """Return the dragged local paths; empty if anything else is dragged with them."""
    urls = mime.urls()
    return tuple(url.toLocalFile() for url in urls) if all(url.isLocalFile() for url in urls) else ()
