"""The type of the window: four sizes, and one monospaced face with a slashed zero that comes with the program."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication

from shardscope.startup import assets

SMALL = 11
"""Pixels: what is beside something, such as units, letters, captions."""

NORMAL = 13
"""Pixels: everything else, the bytes included."""

LARGE = 16
"""Pixels: the value in question, the title of a panel."""

TITLE = 20
"""Pixels: the title of a page."""

SIZES = (SMALL, NORMAL, LARGE, TITLE)
"""The sizes of all texts, in pixels at 100 %."""

MONO = "DejaVu Sans Mono"
"""The family of bytes, keys and offsets."""

_FILE = "fonts/DejaVuSansMono.ttf"
_PROPERTY = "shardscopeFonts"
_POINTS_PER_INCH = 72


def points(pixels: float) -> float:
    """Return a size in points, as `QFont` wants it, from pixels at 100 %."""
    return pixels * _POINTS_PER_INCH / QGuiApplication.primaryScreen().logicalDotsPerInch()


def sized(font: QFont, pixels: float) -> QFont:
    """Return a copy of the font in one of `SIZES`."""
    other = QFont(font)
    other.setPointSizeF(points(pixels))
    return other


def mono(pixels: float = NORMAL) -> QFont:
    """Return the monospaced font, of any machine the same one."""
    register()
    font = QFont(MONO)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    font.setKerning(False)
    font.setPointSizeF(points(pixels))
    return font


def register() -> None:
    """Make the bundled face known to Qt; the application remembers that it was done."""
    application = QGuiApplication.instance()
    if application is not None and not application.property(_PROPERTY):
        application.setProperty(_PROPERTY, True)
        QFontDatabase.addApplicationFont(str(assets.path(_FILE)))
