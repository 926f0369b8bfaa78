"""Drawings as SVG files and on the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, QCoreApplication, QMimeData, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QFileDialog, QWidget

from shardcore.model.drawing import Drawing
from shardcore.teaching.drawing.colours import LIGHT
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.picture import Picture
from shardcore.teaching.drawing.svg import svg
from shardscope.learning.drawings.colours import Fonts, colours_of
from shardscope.learning.drawings.paint import paint_picture

_SVG = "image/svg+xml"
_SCALE = 2


def svg_of(drawing: Drawing, width: float) -> str:
    """A drawing as SVG, dark on light as paper is."""
    return svg(placed(drawing, width), LIGHT)


def image_of(picture: Picture, palette: str, fonts: Fonts) -> QImage:
    """A picture as points, twice as fine as the screen, so that it can be printed."""
    image = QImage(round(picture.width * _SCALE), round(picture.height * _SCALE), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(_SCALE)
    colours = colours_of(palette)
    image.fill(colours.base)
    painter = QPainter(image)
    paint_picture(painter, picture, colours, fonts)
    painter.end()
    return image


def copy_drawing(drawing: Drawing, width: float, palette: str) -> None:
    """Puts a drawing on the clipboard: as SVG for what takes that, as points for everything else."""
    fonts = Fonts()
    data = QMimeData()
    data.setData(_SVG, QByteArray(svg_of(drawing, width).encode()))
    data.setImageData(image_of(placed(drawing, width, fonts.measure), palette, fonts))
    QGuiApplication.clipboard().setMimeData(data)


def ask_save(
    parent: QWidget, drawing: Drawing, width: float, name: str, told: Callable[[str, bool], object]
) -> QFileDialog:
    """Asks where a drawing goes, and writes it as SVG.

    Args:
        parent: What asks.
        drawing: What is saved.
        width: Of its page, in pixels.
        name: What the file is called by default.
        told: Takes a sentence about what became of it, and whether it failed.
    """
    text = svg_of(drawing, width)
    dialog = QFileDialog(parent, QCoreApplication.translate("Drawings", "Save drawing as SVG"))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    dialog.setNameFilter("SVG (*.svg)")
    dialog.setDefaultSuffix("svg")
    dialog.selectFile(name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def save(path: str) -> None:
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError:
            refused = QCoreApplication.translate("Drawings", "{0} cannot be written. Choose another folder.")
            told(refused.format(path), True)
        else:
            told(QCoreApplication.translate("Drawings", "Drawing saved: {0}").format(path), False)

    dialog.fileSelected.connect(save)
    dialog.open()
    return dialog
