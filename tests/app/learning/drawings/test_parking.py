"""Parking in the window: without a lookup it is that of the first object, with its slider."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QSlider
from pytestqt.qtbot import QtBot

from shardscope.learning.drawings.panel import DrawingPanel
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets.tick_box import TickBox
from tests.app.conftest import open_in
from tests.app.learning.drawings.test_samples import settled


@pytest.fixture
def panel(qtbot: QtBot, session: Session, data: Path) -> DrawingPanel:
    """The drawings of a small shard, with parking in front."""
    shown = HexPanel(session)
    qtbot.addWidget(shown)
    qtbot.addWidget(shown.address)
    shown.resize(1000, 760)
    shown.show()
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: shown.tabs._drawing)
    shown.drawings.show("parking")
    settled(qtbot, session)
    return shown.drawings.panel


def slider_of(panel: DrawingPanel) -> QSlider:
    """The slider of the displacement."""
    slider = panel.controls.findChild(QSlider, "slider_displacement")
    return slider


def test_the_slider_comes_with_the_first_drawing(qtbot: QtBot, session: Session, panel: DrawingPanel) -> None:
    """What the displacement is has to be read: the slider is there once it is, and moves the keys."""
    slider = slider_of(panel)
    stored = slider.value()
    slider.setValue(stored + 1)
    settled(qtbot, session)
    assert panel.drawing.what_if
    panel.controls.reset.click()
    settled(qtbot, session)
    assert not panel.drawing.what_if
    assert slider_of(panel).value() == stored


def test_a_ticked_box_has_a_tick(qtbot: QtBot, session: Session, panel: DrawingPanel) -> None:
    """Not only another colour."""
    box = panel.controls.findChild(TickBox, "switch_mixing")
    assert box.height() >= box.sizeHint().height()
    box.click()
    settled(qtbot, session)
    picture = box.grab().toImage()
    left = [picture.pixelColor(x, y).name() for x in range(4, 12) for y in range(4, picture.height() - 4)]
    assert len(set(left)) > 1


def test_another_lookup_begins_with_what_it_says(qtbot: QtBot, session: Session, panel: DrawingPanel) -> None:
    """A displacement tried for one bucket is not tried for the next one, whose range it may leave."""
    session.look_up("a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda")
    settled(qtbot, session)
    assert slider_of(panel).value() == 55
    slider_of(panel).setValue(100)
    settled(qtbot, session)
    session.look_up("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    settled(qtbot, session)
    assert slider_of(panel).value() == 5
    assert not panel.notice.isVisible()
    assert not panel.drawing.what_if
