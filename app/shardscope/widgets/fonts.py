"""Fonts of the window: four sizes, their zoom, and a bundled monospaced font with a slashed zero."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication

from shardcore.teaching import resource_paths

SMALL = 11
"""Font size in pixels of units, letters of field roles, and captions."""

NORMAL = 13
"""Font size in pixels of all other texts, including the bytes."""

LARGE = 16
"""Font size in pixels of main values and panel titles."""

TITLE = 20
"""Font size in pixels of page titles."""

SIZES = (SMALL, NORMAL, LARGE, TITLE)

MONO = "DejaVu Sans Mono"

ZOOMS = (0.5, 0.67, 0.75, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
"""Zoom factors of the window, and of bytes, drawings and pictures."""

_FILE = "fonts/DejaVuSansMono.ttf"
_PROPERTY = "shardscopeFonts"
_POINTS_PER_INCH = 72


class _Zoom:
    factor = 1.0


def points(pixels: float, *, zoomed: bool = True) -> float:
    """Convert a size from pixels at 100 % to points; `zoomed=False` for drawings that are scaled as a whole."""
    own = pixels * _POINTS_PER_INCH / QGuiApplication.primaryScreen().logicalDotsPerInch()
    return own * _Zoom.factor if zoomed else own


def zoom() -> float:
    return _Zoom.factor


def set_zoom(factor: float) -> None:
    """Set the zoom factor for new fonts, limited to the range of `ZOOMS`; `theme.zoom` updates existing fonts."""
    _Zoom.factor = min(max(factor, ZOOMS[0]), ZOOMS[-1])


def px(pixels: float) -> int:
    """Convert a length in pixels at 100 % to pixels at the current zoom, but at least 100 %."""
    return round(pixels * max(_Zoom.factor, 1.0))


def zoomed(factor: float, *, larger: bool) -> float:
    if larger:
        return next((one for one in ZOOMS if one > factor * 1.001), ZOOMS[-1])
    return next((one for one in reversed(ZOOMS) if one < factor * 0.999), ZOOMS[0])


def sized(font: QFont, pixels: float, *, zoomed: bool = True) -> QFont:
    other = QFont(font)
    other.setPointSizeF(points(pixels, zoomed=zoomed))
    return other


def weighted(font: QFont, weight: QFont.Weight = QFont.Weight.Bold) -> QFont:
    other = QFont(font)
    other.setWeight(weight)
    return other


def mono(pixels: float = NORMAL, *, zoomed: bool = True) -> QFont:
    register()
    font = QFont(MONO)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    font.setKerning(False)
    font.setPointSizeF(points(pixels, zoomed=zoomed))
    return font


def register() -> None:
    application = QGuiApplication.instance()
    if application is not None and not application.property(_PROPERTY):
        application.setProperty(_PROPERTY, True)
        QFontDatabase.addApplicationFont(str(resource_paths.path(_FILE)))
