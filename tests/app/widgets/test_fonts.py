"""Type comes in four sizes, and bytes in a face that comes with the program."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QFontDatabase, QFontInfo, QFontMetricsF
from pytestqt.qtbot import QtBot

from shardcore.teaching import resources
from shardscope.widgets import fonts as type_
from shardscope.widgets import theme

APP = Path(__file__).parents[3] / "app" / "shardscope"

"""The letters of the bytes grow by the user's hand."""


def test_the_monospaced_face_comes_along(qtbot: QtBot) -> None:
    number = QFontDatabase.addApplicationFont(str(resources.path("fonts/DejaVuSansMono.ttf")))
    assert QFontDatabase.applicationFontFamilies(number) == [type_.MONO]
    assert "Bitstream" in resources.path("fonts/LICENSE-DejaVu.txt").read_text("utf-8")
    font = theme.fixed_font()
    assert QFontInfo(font).family() == type_.MONO
    metrics = QFontMetricsF(font)
    assert metrics.horizontalAdvance("iiii") == metrics.horizontalAdvance("W0W0")
