"""The drawings of the bundled samples, in the window: of the file, and of a lookup of each key that a sample names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QSlider
from pytestqt.qtbot import QtBot

from shardcore.model.drawing import Drawing
from shardcore.teaching import resource_paths
from shardcore.teaching.drawing.layout import placed
from shardcore.teaching.drawing.svg import DARK, LIGHT
from shardcore.teaching.resource_paths import Sample
from shardcore.testing import sampled
from shardcore.testing.drawing_contract import WIDTHS, check_picture
from shardscope.learning.drawings.paint import Fonts, colours_of
from shardscope.learning.drawings.panel import DrawingPanel, image_of
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from shardscope.widgets import theme
from tests.app.conftest import open_in
from tests.shardcore.teaching.drawing.gallery import ALL

QUICK = 2


@pytest.mark.thorough
@pytest.mark.parametrize("sample", sampled(resource_paths.samples(), QUICK), ids=lambda sample: sample.path.name)
def test_drawn(qtbot: QtBot, session: Session, hexes: HexPanel, sample: Sample) -> None:
    """Whatever there is to draw is drawn, fits the view, and every item can be pointed at."""
    open_in(session, qtbot, sample.path)
    settled(qtbot, session)
    for key in ("", *(one.key for one in sample.keys)):
        if key:
            session.lookup.start(key)
            settled(qtbot, session)
        for sketch in hexes.drawings.sketches:
            drawn = show(qtbot, session, hexes, sketch.name)
            check_picture(drawn.view.picture)
            for item in range(len(drawn.view.picture.items)):
                drawn.view.go_to_item(item)


def settled(qtbot: QtBot, session: Session) -> None:
    """Waits until no job is open."""
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)


def show(qtbot: QtBot, session: Session, hexes: HexPanel, name: str) -> DrawingPanel:
    """Shows a sketch."""
    hexes.drawings.show(name)
    settled(qtbot, session)
    drawn = hexes.drawings.panel
    assert drawn.name == name
    assert not drawn.notice.isVisible(), drawn.notice.text
    return drawn


@pytest.mark.parametrize("name", ["swh/small.shard", "neuroglancer/worked"])
def test_a_drawing_without_a_control_for_objects_follows_the_selected_one(
    qtbot: QtBot, session: Session, hexes: HexPanel, name: str
) -> None:
    """The key of the row that is chosen is drawn, also after a lookup; the bytes of a step change nothing."""
    open_in(session, qtbot, resource_paths.resources() / "samples" / name)
    hexes.drawings.show()
    qtbot.waitUntil(lambda: hexes.drawings.panel is not None and hexes.drawings.panel.drawing is not None)
    panel, shard = hexes.drawings.panel, session.shard
    first, second = (
        next(sketch for sketch in shard.sketches(shard.trace(key)) if sketch.name == panel.name).draw({})
        for key in shard.objects.key_texts(np.array([1, 2]))
    )
    assert first != second
    session.select_row(1)
    qtbot.waitUntil(lambda: panel.drawing == first)
    session.lookup.start(str(shard.objects.ref(2).key))
    qtbot.waitUntil(lambda: panel.drawing == second)
    session.select_row(1)
    qtbot.waitUntil(lambda: panel.drawing == first)


def test_another_lookup_begins_with_what_it_says(qtbot: QtBot, session: Session, hexes: HexPanel, data: Path) -> None:
    """Without a lookup the first object is drawn, with its slider.

    A displacement tried for one bucket is not tried for the next one, whose range it may leave.
    """
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: hexes.tabs._drawing)
    panel = show(qtbot, session, hexes, "parking")

    def move(value: int) -> None:
        slider().setValue(value)
        settled(qtbot, session)
        assert panel.drawing.what_if

    def slider() -> QSlider:
        return panel.controls.findChild(QSlider, "slider_displacement")

    stored = slider().value()
    move(stored + 1)
    panel.controls.reset.click()
    settled(qtbot, session)
    assert (panel.drawing.what_if, slider().value()) == (False, stored)
    for key, displacement in (
        ("a1d4f7a74d5e156d6a3be2432c2767fc6cdc91ab95b833e0f015cf38715b7cda", 55),
        ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 5),
    ):
        session.lookup.start(key)
        settled(qtbot, session)
        assert (panel.drawing.what_if, slider().value()) == (False, displacement)
        assert not panel.notice.isVisible()
        move(100 if displacement == 55 else 6)


def test_a_shared_chunk_lights_every_use(qtbot: QtBot, session: Session, hexes: HexPanel) -> None:
    """Pointing at it lights its record and the segments of both files; the slider takes another file."""
    sample = next(one for one in resource_paths.samples() if one.format == "mdb" and one.path.suffix == ".mdb")
    open_in(session, qtbot, sample.path)
    drawn = show(qtbot, session, hexes, "ribbons")
    number = next(n for n, item in enumerate(drawn.drawing.items) if item.text == "0 ×2")
    drawn.view.go_to_item(number)
    assert [light.span for light in session.lookup.highlights] == list(drawn.drawing.items[number].spans)
    assert len(session.lookup.highlights) == 3
    drawn.set_value("file", 3)
    settled(qtbot, session)
    assert next(item.text for item in drawn.drawing.items if item.here) == "ced5…"


@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_painted(qtbot: QtBot, make: Callable[[], Drawing]) -> None:
    """In the fonts of the window nothing overlaps either, and everything is painted in every palette."""
    fonts = Fonts()
    for width in WIDTHS:
        check_picture(picture := placed(make(), width, fonts.measure))
    assert image_of(picture, "light", fonts) != image_of(picture, "dark", fonts)
    for fixed in (LIGHT, DARK):
        worn = colours_of(fixed.name)
        assert (worn.base, dict(worn.inks), dict(worn.tints)) == (fixed.base, dict(fixed.inks), dict(fixed.tints))
    assert all(set(colours_of(name).tints) == set(LIGHT.tints) for name in theme.NAMES)
