"""Picture with zoom, real pixels, and the value of the pixel under the pointer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QVBoxLayout, QWidget

from shardcore import Content, ObjectRef, PictureContent, Shard
from shardcore.operations.content.pictures import picture_pixels
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.plane import PlaneView, ZoomBar


class PictureView(ContentView):
    label = "Picture"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.plane = PlaneView()
        self.bar = ZoomBar(self.plane)
        self.keys = self.plane
        self._pixels: NDArray[np.uint8] = np.zeros((0, 0, 4), np.uint8)
        self._about = ""
        self._size = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.plane, 1)
        column.addWidget(self.bar)
        self.plane.pointed.connect(self._point)
        self.plane.chosen.connect(self._choose)

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, PictureContent) and content.complete and not content.note

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> NDArray[np.uint8]:
        assert isinstance(content, PictureContent)
        return picture_pixels(shard, content)

    def show_preview(self, preview: Preview) -> None:
        one = preview.content
        assert isinstance(one, PictureContent)
        # The image has no bytes of its own.
        self._pixels = preview.prepared
        rows, columns, _ = self._pixels.shape
        image = QImage(self._pixels.data, columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)
        words = [f"{columns:,} × {rows:,}", one.mode]
        if one.frames > 1:
            words.append(self.tr("{0} frames").format(f"{one.frames:,}"))
        self._about, self._size = " · ".join(filter(None, words)), len(one.data)
        self.plane.set_mark(None)
        self.plane.show_image(image)
        self.bar.tell(self._about)

    def copy(self) -> bool:
        QGuiApplication.clipboard().setImage(self.picture())
        return True

    def picture(self) -> QImage:
        return self.plane.image.copy()

    def value_at(self, x: int, y: int) -> str:
        red, green, blue, alpha = (int(value) for value in self._pixels[y, x])
        faint = self.tr(", alpha {0}").format(alpha) if alpha < 255 else ""
        return f"({x}, {y}) = #{red:02x}{green:02x}{blue:02x}{faint}"

    def _point(self, x: int, y: int) -> None:
        self.bar.tell(self.value_at(x, y) if x >= 0 else self._about)
        self.pointed.emit(0, self._size if x >= 0 else 0)

    def _choose(self, x: int, y: int) -> None:
        self.bar.tell(self.value_at(x, y))
        self.chosen.emit(0, self._size)
