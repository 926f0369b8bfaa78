"""Type comes in four sizes, and bytes in a face that comes with the program."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtGui import QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from shardcore.teaching import resources
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from shardscope.widgets import fonts as type_
from shardscope.widgets import theme

APP = Path(__file__).parents[3] / "app" / "shardscope"

SIZED = {Path("views/hex/state.py"), Path("widgets/fonts.py"), Path("widgets/stylesheet.py"), Path("widgets/theme.py")}
"""The letters of the bytes grow by the user's hand."""


def test_the_monospaced_face_comes_along(qtbot: QtBot) -> None:
    """The face is a file of the program, with its licence, and it is the one that bytes are written in."""
    number = QFontDatabase.addApplicationFont(str(resources.path("fonts/DejaVuSansMono.ttf")))
    assert QFontDatabase.applicationFontFamilies(number) == [type_.MONO]
    assert "Bitstream" in resources.path("fonts/LICENSE-DejaVu.txt").read_text("utf-8")
    font = theme.fixed_font()
    assert QFontInfo(font).family() == type_.MONO
    metrics = QFontMetricsF(font)
    assert metrics.horizontalAdvance("iiii") == metrics.horizontalAdvance("W0W0")


@pytest.mark.parametrize("pixels", type_.SIZES)
def test_sizes_are_pixels(qtbot: QtBot, pixels: int) -> None:
    """A size is that many pixels high at 100 %, in both faces; the size in points is one that Qt takes."""
    for font in (type_.mono(pixels), type_.sized(QApplication.font(), pixels)):
        assert QFontInfo(font).pixelSize() == pixels
        assert font.pointSizeF() > 0


def test_there_are_four_sizes() -> None:
    """Small, normal, large, title."""
    assert type_.SIZES == (11, 13, 16, 20)


def test_the_window_is_written_in_the_normal_size(qtbot: QtBot) -> None:
    """Whatever the desktop says, a theme sets the normal size for everything that asks for no other."""
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    before = application.font()
    try:
        theme.apply(application, "light")
        assert QFontInfo(application.font()).pixelSize() == type_.NORMAL
    finally:
        application.setFont(before)


@pytest.mark.thorough
def test_nobody_makes_a_fifth_size(qtbot: QtBot, settings: Settings, qapp: QApplication) -> None:
    """Every widget of the window is written in one of the sizes, and no other module sets one of its own."""
    before = qapp.font()
    # As on a desktop of another taste, before any theme is applied.
    qapp.setStyleSheet("")
    qapp.setFont(type_.sized(before, 12))
    try:
        window = MainWindow(settings)
        qtbot.addWidget(window)
        window.show()
        sizes = Counter(QFontInfo(part.font()).pixelSize() for part in window.findChildren(QWidget))
        assert set(sizes) <= set(type_.SIZES)
        assert sizes[type_.NORMAL] > sizes.total() / 2
        window.close()
    finally:
        qapp.setFont(before)
    own = re.compile(r"setPointSize|setPixelSize|font-size(?!.*\{(SMALL|NORMAL|LARGE|TITLE)\}px)|fixed_font\(\d")
    places = [
        f"{path.relative_to(APP)}:{number}"
        for path in sorted(APP.rglob("*.py"))
        if path.relative_to(APP) not in SIZED
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if own.search(line) and "pointSizeF()" not in line
    ]
    assert places == []
