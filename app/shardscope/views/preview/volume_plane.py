"""Plane of a volume: the picture, with the state of each chunk, their edges and their shards laid over it."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QWidget

from shardscope.views.preview.plane import PlaneView
from shardscope.views.preview.volume_slice import ChunkState, ShownChunk, VolumeSlice
from shardscope.widgets import theme

_HATCHES = {
    ChunkState.PENDING: Qt.BrushStyle.BDiagPattern,
    ChunkState.MISSING: Qt.BrushStyle.CrossPattern,
    ChunkState.UNREADABLE: Qt.BrushStyle.DiagCrossPattern,
    ChunkState.ELSEWHERE: Qt.BrushStyle.Dense7Pattern,
}
"""One hatch per state of a chunk without pixels."""

HUES = (255, 60, 165, 315, 15, 108, 210, 285)
"""Hues of shards; they repeat."""

LEAST_EDGE = 4.0
"""Screen pixels of a chunk whose edges are drawn."""


def shard_colour(number: int, alpha: float = 1.0) -> QColor:
    return theme.colour(0.72, 0.15, HUES[number % len(HUES)], alpha)


class VolumePlane(PlaneView):
    moved = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("volumePlane")
        self.setAccessibleName(self.tr("Slice of the volume"))
        self.edges = False
        self.shards: dict[str, int] | None = None
        self._slice: VolumeSlice | None = None

    def show_slice(self, shown: VolumeSlice | None) -> None:
        self._slice = shown
        if shown is not None:
            self.show_image(shown.image())
        self.update()

    def visible(self) -> tuple[int, int, int, int]:
        frame, scale = self._frame, self._scale
        left, top = (int(max(-place / scale, 0)) for place in (frame.x(), frame.y()))
        right = min(int((self.width() - frame.x()) / scale) + 1, self._image.width())
        bottom = min(int((self.height() - frame.y()) / scale) + 1, self._image.height())
        return left, top, right, bottom

    def shift(self, columns: int, rows: int) -> None:
        self._offset += QPointF(columns, rows) * self._scale
        if self._mark is not None:
            self._mark = self._mark[0] - columns, self._mark[1] - rows
        self.update()

    def reveal(self, x: int, y: int) -> None:
        left, top, right, bottom = self.visible()
        if not (left <= x < right and top <= y < bottom):
            middle = QPointF(self._image.width() / 2, self._image.height() / 2)
            self._offset = (middle - QPointF(x + 0.5, y + 0.5)) * self._scale
            self.update()
            self.moved.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        self.moved.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self._drag is not None and self._moved:
            self.moved.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._slice is None:
            return
        colours = theme.of(self)
        painter = QPainter(self)
        painter.setClipRect(self._frame)
        visible = self.visible()
        for one in self._slice.chunks:
            if one.meets(*visible):
                self._paint_chunk(painter, one, colours)
        painter.end()

    def _paint_chunk(self, painter: QPainter, one: ShownChunk, colours: theme.Palette) -> None:
        assert self._slice is not None
        frame, scale = self._frame, self._scale
        place = QRectF(frame.x() + one.x * scale, frame.y() + one.y * scale, one.width * scale, one.height * scale)
        state = self._slice.states[one.cell.at]
        if (hatch := _HATCHES.get(state)) is not None:
            painter.fillRect(place, colours.window if state is ChunkState.PENDING else colours.base)
            ink = colours.error if state is ChunkState.UNREADABLE else colours.missing
            painter.fillRect(place, QBrush(ink, hatch))
        if self.shards is not None:
            painter.fillRect(place, shard_colour(self.shards.get(one.cell.shard, 0), 0.38))
        if self.edges and min(place.width(), place.height()) >= LEAST_EDGE:
            painter.setPen(QPen(colours.accent, 1))
            painter.drawRect(place)
