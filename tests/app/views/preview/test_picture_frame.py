"""Controls of a picture: above and below it, or beside it."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from shardscope.views.preview.picture_frame import PictureFrame


def test_controls_of_a_low_panel_stand_beside_the_picture(qtbot: QtBot) -> None:
    """In a low and wide panel controls and lines stand beside the picture and can be scrolled to; and back again."""
    above, picture, below = QLabel("above"), QWidget(), QLabel("below")
    below.setMinimumHeight(300)
    frame = PictureFrame(above, picture, below)
    panel = QWidget()
    qtbot.addWidget(panel)
    panel.resize(1000, 600)
    frame.setParent(panel)
    frame.resize(1000, 600)
    panel.show()
    qtbot.waitUntil(lambda: picture.height() > 200)
    assert above.mapTo(frame, above.rect().bottomLeft()).y() < picture.y()
    frame.resize(1000, 150)
    qtbot.waitUntil(lambda: frame.beside and above.isVisible() and below.isVisible())
    qtbot.waitUntil(lambda: picture.height() == 150)
    qtbot.waitUntil(lambda: frame.side.verticalScrollBar().maximum() > 0)
    frame.reveal(below)
    assert frame.side.verticalScrollBar().value() > 0
    frame.resize(400, 150)
    qtbot.waitUntil(lambda: not frame.beside and above.isVisible() and below.isVisible())
    qtbot.waitUntil(lambda: picture.width() == 400)
