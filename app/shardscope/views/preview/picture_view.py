"""Picture with zoom and real pixels."""

from __future__ import annotations

from PySide6.QtGui import QImage, QImageReader
from PySide6.QtWidgets import QVBoxLayout, QWidget

from shardcore import Content, FormatError, ObjectRef, PictureContent, Shard
from shardscope.session.session import Session
from shardscope.views.preview.content_view import ContentView, Preview
from shardscope.views.preview.plane import PlaneView

MOST_PIXELS = 1 << 26
"""Pixels of a picture that is decoded."""


class PictureView(ContentView):
    """Decoded picture."""

    label = "Picture"

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self.plane = PlaneView()
        self.setFocusProxy(self.plane)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.plane)

    @classmethod
    def shows(cls, content: Content) -> bool:
        return isinstance(content, PictureContent) and content.width * content.height <= MOST_PIXELS

    @classmethod
    def prepare(cls, shard: Shard, ref: ObjectRef, content: Content) -> QImage:
        QImageReader.setAllocationLimit(4 * MOST_PIXELS >> 20)
        image = QImage.fromData(content.data)
        if image.isNull():
            raise FormatError(f"the {content.title} cannot be decoded")
        return image

    def show_preview(self, preview: Preview) -> None:
        self.plane.show_image(preview.prepared)
