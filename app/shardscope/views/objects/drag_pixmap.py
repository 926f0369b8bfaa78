"""The picture beside the pointer while files are dragged: how many, and how large."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from shardcore.model.number_words import plural
from shardscope.session.words import size_text
from shardscope.views.objects.drag_files import Prepared
from shardscope.widgets import theme


def files_text(prepared: Prepared) -> str:
    """Number and size of files, in words."""
    return f"{plural(len(prepared.files), 'file')} ({size_text(prepared.size)})"


def drag_pixmap(prepared: Prepared, widget: QWidget) -> QPixmap:
    """The picture for a drag of these files."""
    colours = theme.of(widget)
    count = len(prepared.files)
    first = prepared.files[0].name if count == 1 else f"{count:,} files"
    font = widget.font()
    metrics = QFontMetricsF(font)
    name = metrics.elidedText(first, Qt.TextElideMode.ElideMiddle, 220)
    size = size_text(prepared.size)
    width = 44 + max(metrics.horizontalAdvance(name), metrics.horizontalAdvance(size)) + 14
    height = 2 * metrics.height() + 18
    ratio = widget.devicePixelRatioF()
    pixmap = QPixmap(round(width * ratio), round(height * ratio))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(QColor(0, 0, 0, 0))
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colours.accent, 1))
    painter.setBrush(colours.raised)
    painter.drawRoundedRect(QRectF(0.5, 0.5, width - 1, height - 1), 6, 6)
    _paint_sheet(painter, QRectF(13, (height - 24) / 2, 19, 24), colours, several=count > 1)
    painter.setFont(font)
    painter.setPen(colours.text)
    painter.drawText(QPointF(44, 8 + metrics.ascent()), name)
    painter.setPen(colours.muted)
    painter.drawText(QPointF(44, 10 + metrics.height() + metrics.ascent()), size)
    painter.end()
    return pixmap


def _paint_sheet(painter: QPainter, place: QRectF, colours: theme.Palette, *, several: bool) -> None:
    painter.setPen(QPen(colours.accent, 1.4))
    painter.setBrush(colours.base)
    if several:
        painter.drawRoundedRect(place.translated(3, -3), 2, 2)
    painter.drawRoundedRect(place, 2, 2)
    for step in (0.3, 0.5, 0.7):
        y = place.top() + step * place.height()
        painter.drawLine(QPointF(place.left() + 4, y), QPointF(place.right() - 4, y))
