"""Pictures of the window as files."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from shardscope.shell.screenshot import ScreenshotError, _save, png_of


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 3), (64, 7)])
def test_a_png_holds_every_pixel(qtbot: QtBot, width: int, height: int) -> None:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    for x in range(width):
        for y in range(height):
            image.setPixelColor(x, y, QColor((x * 37) % 256, (y * 91) % 256, (x * y) % 256))
    again = QImage.fromData(png_of(image), "PNG")
    assert again.convertToFormat(QImage.Format.Format_RGB32) == image


def test_what_cannot_be_written_is_named(qtbot: QtBot, tmp_path: Path) -> None:
    image = QImage(2, 2, QImage.Format.Format_RGB32)
    image.fill(0)
    for name in ("a.png", "a.jpg"):
        with pytest.raises(ScreenshotError, match=name):
            _save(image, tmp_path / "missing" / name)
