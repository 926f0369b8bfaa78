"""Picture, and the zoomable plane of pixels of pictures, slices of arrays and volumes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from shardcore import ObjectRef, PictureContent, Shard
from shardcore.operations.content.arrays import picture_pixels
from shardscope.session.session import Session
from shardscope.views.preview import ContentView, Preview, button, row, value_line
from shardscope.widgets import theme
from shardscope.widgets.fonts import px
from shardscope.widgets.keyboard import ARROWS
from shardscope.widgets.layouts import lay, made
from shardscope.widgets.plain_text import plain_label
from shardscope.widgets.scroll_area import scrolled

MOST_ZOOM = 64.0
"""Maximum zoom, in screen pixels per image pixel."""

_STEP = 1.25
_NOTCH = 120
"""Wheel angle of one notch in eighths of a degree; touchpads send fractions of it."""

_CHECK = 8

LOW = 330
"""Height in pixels below which the controls are beside the picture."""

SIDE = 380
"""Width of the controls beside the picture in pixels."""

_LEAST = 120


class PlaneView(QWidget):
    """Zoomable image. Signals `pointed` and `chosen` carry x and y of a pixel; `pointed` carries -1, -1 outside."""

    pointed = Signal(int, int)
    chosen = Signal(int, int)
    zoomed = Signal()
    spoken_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        made(self, "previewPlane", accessibleName=self.tr("Picture"), mouseTracking=True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.image = QImage()
        self._zoom = 0.0  # 0: the image fits into the widget.
        self._offset = QPointF()
        self._drag: tuple[QPoint, QPointF] | None = None
        self._moved = False
        self.mark: tuple[int, int] | None = None
        self._marked = (1, 1)

    def sizeHint(self) -> QSize:
        return QSize(320, 280)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 80)

    def show_image(self, image: QImage) -> None:
        if image.size() != self.image.size():
            self._zoom, self._offset, self.mark = 0.0, QPointF(), None
        self.image = image
        self.update()
        self.zoomed.emit()

    def set_mark(self, pixel: tuple[int, int] | None, size: tuple[int, int] = (1, 1)) -> None:
        if (pixel, size) != (self.mark, self._marked):
            self.mark, self._marked = pixel, size
            self.update()

    def zoom(self, factor: float | None) -> None:
        """Multiply the zoom; None fits the image into the widget, 0 sets one screen pixel per image pixel."""
        if factor is None:
            self._zoom, self._offset = 0.0, QPointF()
        else:
            real = 1 / self.devicePixelRatioF()
            self._zoom = min(max(self.scale * factor, 1 / MOST_ZOOM), MOST_ZOOM) if factor else real
        self.update()
        self.zoomed.emit()

    @property
    def fits(self) -> bool:
        return not self._zoom

    @property
    def scale(self) -> float:
        if self._zoom:
            return self._zoom
        if self.image.isNull():
            return 1.0
        room = min(self.width() / self.image.width(), self.height() / self.image.height())
        # Enlarge pixels by whole numbers only.
        ratio = self.devicePixelRatioF()
        return max(float(int(room * ratio)), 1.0) / ratio if room * ratio >= 1 else room

    @property
    def _frame(self) -> QRectF:
        width, height = self.image.width() * self.scale, self.image.height() * self.scale
        corner = QPointF((self.width() - width) / 2, (self.height() - height) / 2) + self._offset
        return QRectF(corner.x(), corner.y(), width, height)

    def pixel_at(self, place: QPointF) -> tuple[int, int] | None:
        frame = self._frame
        x = int((place.x() - frame.x()) // self.scale)
        y = int((place.y() - frame.y()) // self.scale)
        return (x, y) if 0 <= x < self.image.width() and 0 <= y < self.image.height() else None

    def place_of(self, x: int, y: int) -> QPoint:
        frame = self._frame
        return QPointF(frame.x() + (x + 0.5) * self.scale, frame.y() + (y + 0.5) * self.scale).toPoint()

    # --- Qt ---

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.image.isNull():
            return
        colours = theme.of(self)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self.scale < 1)
        if self.image.hasAlphaChannel():
            painter.drawTiledPixmap(self._frame.intersected(QRectF(self.rect())), self._checks())
        painter.drawImage(self._frame, self.image)
        if self.mark is not None:
            frame, (x, y) = self._frame, self.mark
            wide, high = (max(count * self.scale, 5.0) for count in self._marked)
            middle_x = frame.x() + (x + self._marked[0] / 2) * self.scale
            middle_y = frame.y() + (y + self._marked[1] / 2) * self.scale
            box = QRectF(middle_x - wide / 2, middle_y - high / 2, wide, high)
            for colour, width in ((colours.base, 3.0), (colours.accent, 1.5)):
                painter.setPen(QPen(colour, width))
                painter.drawRect(box)
            painter.setPen(QPen(colours.border, 1))
            painter.drawRect(frame)
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 1))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    def _checks(self) -> QPixmap:
        colours = theme.of(self)
        tile = QPixmap(2 * _CHECK, 2 * _CHECK)
        tile.fill(colours.base)
        painter = QPainter(tile)
        for x in range(2):
            painter.fillRect(x * _CHECK, x * _CHECK, _CHECK, _CHECK, colours.border)
        painter.end()
        return tile

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.zoomed.emit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag is not None:
            start, offset = self._drag
            moved = event.position().toPoint() - start
            self._moved = self._moved or moved.manhattanLength() > 3
            if self._moved and self._zoom:
                self._offset = offset + QPointF(moved)
                self.update()
            return
        self.pointed.emit(*(self.pixel_at(event.position()) or (-1, -1)))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._drag, self._moved = (event.position().toPoint(), self._offset), False

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._drag = self._drag is not None, None
        pixel = self.pixel_at(event.position())
        if pressed and not self._moved and pixel is not None:
            self._choose(pixel)

    def leaveEvent(self, event: object) -> None:
        self.pointed.emit(-1, -1)

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta().y()
        if not turned:
            # Horizontal scrolling on a touchpad.
            event.accept()
            return
        before, place = self.scale, event.position()
        frame = self._frame
        self.zoom(_STEP ** (turned / _NOTCH))
        factor = self.scale / before
        middle = QPointF(self.width() / 2, self.height() / 2)
        # Zoom around the pointer.
        self._offset = place + (frame.center() - place) * factor - middle
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(_STEP)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / _STEP)
        elif key == Qt.Key.Key_0:
            self.zoom(None)
        elif key == Qt.Key.Key_1:
            self.zoom(0)
        elif key in ARROWS and not self.image.isNull():
            step = ARROWS[Qt.Key(key)]
            x, y = self.mark or (0, 0)
            if self.mark is not None:
                x, y = x + step[0], y + step[1]
            self._choose((min(max(x, 0), self.image.width() - 1), min(max(y, 0), self.image.height() - 1)))
        else:
            super().keyPressEvent(event)

    def _choose(self, pixel: tuple[int, int]) -> None:
        self.set_mark(pixel)
        self.chosen.emit(*pixel)


class ZoomBar(QWidget):
    def __init__(self, plane: PlaneView) -> None:
        super().__init__()
        self.setObjectName("previewZoomBar")
        self._plane = plane
        self.text = value_line("previewValue")
        self.percent = plain_label("", "previewZoom")
        fit, real = self.tr("Fit into the view (0)"), self.tr("Actual size (1)")
        self.fit = button("previewFit", self.tr("Fit"), lambda: plane.zoom(None), tip=fit, checkable=True)
        self.real = button("previewReal", self.tr("1:1"), lambda: plane.zoom(0), tip=real, checkable=True)
        self.setLayout(row(self.text, self.percent, self.fit, self.real, edges=(8, 3, 8, 4)))
        plane.zoomed.connect(self._follow)

    def set_text(self, text: str) -> None:
        self.text.set_text(text)

    def show_zoom(self, shown: bool) -> None:
        for part in (self.percent, self.fit, self.real):
            part.setVisible(shown)

    def _follow(self) -> None:
        share = self._plane.scale * self.devicePixelRatioF()
        self.percent.setText(f"{100 * share:,.0f} %")
        self.fit.setChecked(self._plane.fits)
        self.real.setChecked(not self._plane.fits and share == 1)


class PictureFrame(QWidget):
    """Layout of a picture and its controls: above and below it, or beside it in a low panel."""

    def __init__(self, above: QWidget, picture: QWidget, below: QWidget | None = None) -> None:
        super().__init__()
        self.setObjectName("previewFrame")
        self.beside = False
        self._parts = above, below
        inner, middle = QWidget(), QWidget()
        self._inner = lay(QVBoxLayout(inner), 1)
        self.side = made(scrolled(inner, "previewSide", self.tr("Controls"), self), focusPolicy=Qt.FocusPolicy.NoFocus)
        self.side.setFixedWidth(px(SIDE))
        self.side.hide()
        # In this order, which is also that of the Tab key.
        self._column = lay(QVBoxLayout(middle), above, (picture, 1), *([below] if below is not None else []))
        lay(QHBoxLayout(self), self.side, (middle, 1))

    def _arrange(self) -> None:
        above, below = self._parts
        target = self._inner if self.beside else self._column
        target.insertWidget(0, above)
        if below is not None:
            # The last item of the controls beside the picture is a stretch; of the column, the picture.
            target.insertWidget(1 if self.beside else 2, below)
        self.side.setVisible(self.beside)

    def reveal(self, part: QWidget) -> None:
        if self.beside:
            self.side.ensureWidgetVisible(part, 0, 0)

    def minimumSizeHint(self) -> QSize:
        least = super().minimumSizeHint()
        # A wide panel may be lower, since the controls are beside the picture.
        return QSize(least.width(), min(least.height(), _LEAST)) if self.width() >= 2 * px(SIDE) else least

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (event.oldSize().width() >= 2 * px(SIDE)) != (self.width() >= 2 * px(SIDE)):
            self.updateGeometry()
        beside = self.height() < px(LOW) and self.width() >= 2 * px(SIDE)
        if beside != self.beside:
            self.beside = beside
            self._arrange()


class PictureView(ContentView):
    """View of a decoded picture. Pixels are not stored separately, so each is linked to all bytes of the object."""

    label = "Picture"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.keys = self.plane = PlaneView()
        self.bar = ZoomBar(self.plane)
        self._pixels: NDArray[np.uint8] = np.zeros((0, 0, 4), np.uint8)
        self._about = ""
        self._size = 0
        lay(QVBoxLayout(self), (self.plane, 1), self.bar)
        self.plane.pointed.connect(self._point)
        self.plane.chosen.connect(self._choose)

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: PictureContent) -> NDArray[np.uint8] | None:
        return picture_pixels(shard, content) if content.complete and not content.note else None

    def show_preview(self, preview: Preview) -> None:
        one = preview.content
        assert isinstance(one, PictureContent)
        # Keep a reference: QImage does not copy the pixels.
        self._pixels = preview.prepared
        rows, columns, _ = self._pixels.shape
        frames = self.tr("{0} frames").format(f"{one.frames:,}") if one.frames > 1 else ""
        self._about = " · ".join(filter(None, (f"{columns:,} × {rows:,}", one.mode, frames)))
        self._size = len(one.data)
        self.plane.set_mark(None)
        self.plane.show_image(QImage(self._pixels.data, columns, rows, 4 * columns, QImage.Format.Format_RGBA8888))
        self.bar.set_text(self._about)

    def picture(self) -> QImage:
        return self.plane.image.copy()

    def value_at(self, x: int, y: int) -> str:
        red, green, blue, alpha = (int(value) for value in self._pixels[y, x])
        faint = self.tr(", alpha {0}").format(alpha) if alpha < 255 else ""
        return f"({x}, {y}) = #{red:02x}{green:02x}{blue:02x}{faint}"

    def _point(self, x: int, y: int) -> None:
        self.bar.set_text(self.value_at(x, y) if x >= 0 else self._about)
        self.pointed.emit(0, self._size if x >= 0 else 0)

    def _choose(self, x: int, y: int) -> None:
        self.bar.set_text(self.value_at(x, y))
        self.chosen.emit(0, self._size)
