"""What stands in the scene: the picture, and over it what is lit, pointed at, and where the keyboard is."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from shardcore.teaching.drawing.colours import Colours
from shardcore.teaching.drawing.picture import NO_ITEM, Ink, Picture
from shardscope.learning.drawings.colours import Fonts
from shardscope.learning.drawings.paint import paint_grip, paint_picture, polygon_of, rect_of
from shardscope.learning.drawings.stops import Stop

_LIT = 0.20
_HOVER = 0.12
_MOST_PIXELS = 24_000_000
"""Of a picture that is kept; one that is larger is painted each time."""


class _Page(QGraphicsItem):
    """What both have: the page of a picture."""

    def __init__(self, parent: QGraphicsItem | None = None) -> None:
        super().__init__(parent)
        self._picture: Picture | None = None
        self._colours: Colours | None = None

    def boundingRect(self) -> QRectF:
        """The page."""
        return QRectF(0, 0, self._picture.width, self._picture.height) if self._picture is not None else QRectF()


class Paper(_Page):
    """The picture itself: painted once, and kept until another one is shown."""

    def __init__(self) -> None:
        super().__init__()
        self._fonts = Fonts()
        self._kept: QPixmap | None = None

    def show_picture(self, picture: Picture | None, colours: Colours, fonts: Fonts) -> None:
        """Shows another picture."""
        self.prepareGeometryChange()
        self._picture, self._colours, self._fonts = picture, colours, fonts
        self._kept = None
        self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paints the picture; the pointer, which has its frame painted over it, does not have it made again."""
        if self._picture is None or self._colours is None:
            return
        scale = painter.device().devicePixelRatioF() * painter.worldTransform().m11()
        size = QSize(ceil(self._picture.width * scale), ceil(self._picture.height * scale))
        if size.width() * size.height() > _MOST_PIXELS:
            paint_picture(painter, self._picture, self._colours, self._fonts)
            return
        if self._kept is None or self._kept.size() != size:
            self._kept = QPixmap(size)
            self._kept.fill(QColor(self._colours.base))
            kept = QPainter(self._kept)
            kept.scale(scale, scale)
            paint_picture(kept, self._picture, self._colours, self._fonts)
            kept.end()
        painter.drawPixmap(
            QRectF(0, 0, size.width() / scale, size.height() / scale), self._kept, QRectF(self._kept.rect())
        )


class Sheet(_Page):
    """Frames some of the items of the picture below it."""

    def __init__(self) -> None:
        super().__init__()
        self.paper = Paper()
        self.setZValue(1)
        self._lit: frozenset[int] = frozenset()
        self._hover = NO_ITEM
        self._stop: Stop | None = None

    def show_picture(self, picture: Picture | None, colours: Colours, fonts: Fonts) -> None:
        """Shows another picture."""
        self.prepareGeometryChange()
        self._picture, self._colours = picture, colours
        self.paper.show_picture(picture, colours, fonts)
        self.update()

    def light(self, items: frozenset[int]) -> None:
        """Frames items whose bytes are selected or pointed at."""
        if items != self._lit:
            self._lit = items
            self.update()

    def hover(self, item: int) -> None:
        """The pointer is on an item."""
        self._hover = item
        self.update()

    def mark(self, stop: Stop | None) -> None:
        """The keyboard is here."""
        self._stop = stop
        self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paints the frames."""
        picture, colours = self._picture, self._colours
        if picture is None or colours is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = QColor(colours.inks[Ink.ACCENT])
        for area in picture.areas:
            if area.item not in self._lit and area.item != self._hover:
                continue
            inside = QColor(accent)
            inside.setAlphaF(_LIT if area.item in self._lit else _HOVER)
            painter.setBrush(inside)
            painter.setPen(QPen(accent, 1.5) if area.item in self._lit else Qt.PenStyle.NoPen)
            painter.drawPolygon(polygon_of(area.points))
        if self._stop is not None:
            self._paint_stop(painter, accent, QColor(colours.base))

    def _paint_stop(self, painter: QPainter, accent: QColor, base: QColor) -> None:
        stop = self._stop
        if stop is None:
            return
        if stop.grip is not None:
            paint_grip(painter, stop.grip, accent, wide=4.0)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # A line in the colour of the page beside it: the frame is seen on any tint.
        for grown, colour, width in ((2.0, base, 1.5), (3.5, accent, 2.0)):
            painter.setPen(QPen(colour, width))
            painter.drawRoundedRect(rect_of(stop.rect.grown(grown)), 4, 4)
