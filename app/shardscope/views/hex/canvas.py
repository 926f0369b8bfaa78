"""Painted rows, kept: a picture with a place for each row of the screen; only rows that changed are painted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from PySide6.QtCore import QPoint, QRect, QRectF
from PySide6.QtGui import QImage, QPainter

Paint = Callable[[QPainter, int, int], None]
"""Paints `count` rows from `first` on, counted from the top of the screen, at the top of what it is given."""


class RowCanvas:
    """The rows of one screen; row `n` has the place `n` modulo the number of places, so that scrolling moves none.

    Attributes:
        painted: How many rows were painted so far.
    """

    def __init__(self) -> None:
        self._image = QImage()
        self._keys: list[Hashable] = []
        self._shape = (0.0, 0.0, 0, 0.0)
        self.painted = 0

    def forget(self) -> None:
        """All rows look otherwise."""
        self._keys = [None] * len(self._keys)

    def draw(
        self,
        painter: QPainter,
        place: QRectF,
        row: float,
        ratio: float,
        top: int,
        keys: Sequence[Hashable],
        paint: Paint,
    ) -> None:
        """Shows rows, painting those that are not kept.

        Args:
            painter: Where.
            place: Where the rows stand there; cut at its bottom.
            row: Height of a row.
            ratio: Device pixels per pixel.
            top: The number of the first row.
            keys: What each row looks like: equal keys are equal pictures.
            paint: Paints rows.
        """
        self._fit(place.width(), row, len(keys), ratio)
        places = len(self._keys)
        for first, count in self._missing(top, keys):
            self._paint(first, count, (top + first) % places * row, paint)
            for number in range(first, first + count):
                self._keys[(top + number) % places] = (top + number, keys[number])
        # In device pixels, so that the picture is copied and not scaled.
        painter.save()
        painter.scale(1 / ratio, 1 / ratio)
        height, left, above = round(row * ratio), round(place.left() * ratio), round(place.top() * ratio)
        at = 0
        while at < len(keys):
            slot = (top + at) % places
            count = min(places - slot, len(keys) - at)
            source = QRect(0, slot * height, self._image.width(), count * height)
            painter.drawImage(QPoint(left, above + at * height), self._image, source)
            at += count
        painter.restore()

    def _fit(self, width: float, row: float, rows: int, ratio: float) -> None:
        shape = (width, row, max(rows, 1), ratio)
        if shape == self._shape:
            return
        self._shape = shape
        self._keys = [None] * shape[2]
        self._image = QImage(round(width * ratio), round(shape[2] * row * ratio), QImage.Format.Format_RGB32)

    def _missing(self, top: int, keys: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
        """Rows to be painted: first and count; each stretch in one piece of the picture."""
        places, first = len(self._keys), -1
        for number in range(len(keys) + 1):
            slot = (top + number) % places
            wanted = number < len(keys) and self._keys[slot] != (top + number, keys[number])
            if first >= 0 and (not wanted or slot == 0):
                yield first, number - first
                first = -1
            if wanted and first < 0:
                first = number

    def _paint(self, first: int, count: int, y: float, paint: Paint) -> None:
        row, ratio = self._shape[1], self._shape[3]
        painter = QPainter(self._image)
        painter.scale(ratio, ratio)
        painter.setClipRect(QRectF(0, y, self._shape[0], count * row))
        painter.translate(0, y)
        paint(painter, first, count)
        painter.end()
        self.painted += count
