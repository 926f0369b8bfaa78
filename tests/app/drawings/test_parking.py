"""Parking in the window: without a lookup it is that of the first object, with its slider."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QSlider
from pytestqt.qtbot import QtBot

from shardscope.hex.panel import HexPanel
from shardscope.session import Session
from tests.app.conftest import open_in


def test_the_slider_comes_with_the_first_drawing(qtbot: QtBot, session: Session, data: Path) -> None:
    """What the displacement is has to be read: the slider is there once it is, and moves the keys."""
    shown = HexPanel(session)
    qtbot.addWidget(shown)
    qtbot.addWidget(shown.address)
    shown.resize(1000, 760)
    shown.show()
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: shown.tabs.has_drawing)
    shown.drawings.show("parking")
    panel = shown.drawings.panel
    assert panel is not None
    qtbot.waitUntil(lambda: panel.controls.findChild(QSlider, "slider_displacement") is not None)
    slider = panel.controls.findChild(QSlider, "slider_displacement")
    assert slider is not None
    stored = slider.value()
    slider.setValue(stored + 1)
    qtbot.waitUntil(lambda: panel.drawing is not None and panel.drawing.what_if)
    panel.controls.reset.click()
    qtbot.waitUntil(lambda: panel.drawing is not None and not panel.drawing.what_if)
    assert slider.value() == stored
