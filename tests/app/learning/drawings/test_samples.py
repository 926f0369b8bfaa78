"""The drawings of the bundled samples, in the window: of the file, and of a lookup of each key that a sample names."""

from __future__ import annotations

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from shardcore.model.drawing import Sketch
from shardcore.teaching import resources
from shardcore.teaching.resources import Sample
from shardcore.testing import sampled
from shardcore.testing.drawing_checks import check_picture
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.conftest import open_in

QUICK = 2


@pytest.mark.thorough
@pytest.mark.parametrize("sample", sampled(resources.samples(), QUICK), ids=lambda sample: sample.path.name)
def test_drawn(qtbot: QtBot, session: Session, sample: Sample) -> None:
    """Whatever there is to draw is drawn, fits the view, and every item can be pointed at."""
    panel = HexPanel(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.address)
    panel.resize(900, 760)
    panel.show()
    open_in(session, qtbot, sample.path)
    settled(qtbot, session)
    for key in ("", *(one.key for one in sample.keys)):
        if key:
            session.look_up(key)
            settled(qtbot, session)
        for sketch in panel.drawings.sketches:
            show(qtbot, session, panel, sketch)


def settled(qtbot: QtBot, session: Session) -> None:
    """Waits until no job is open."""
    qtbot.waitUntil(lambda: not session.jobs.open_jobs, timeout=20_000)


def show(qtbot: QtBot, session: Session, panel: HexPanel, sketch: Sketch) -> None:
    """Shows a sketch, and points at all of its items."""
    panel.drawings.show(sketch.name)
    settled(qtbot, session)
    drawn = panel.drawings.panel
    assert drawn.name == sketch.name
    assert not drawn.notice.isVisible(), drawn.notice.text
    picture = drawn.view.picture
    check_picture(picture)
    for item in range(len(picture.items)):
        drawn.view.go_to_item(item)


@pytest.mark.parametrize("name", ["swh/small.shard", "neuroglancer/worked"])
def test_a_drawing_without_a_control_for_objects_follows_the_selected_one(
    qtbot: QtBot, session: Session, name: str
) -> None:
    """The key of the row that is chosen is drawn, also after a lookup; the bytes of a step change nothing."""
    bytes_ = HexPanel(session)
    qtbot.addWidget(bytes_)
    qtbot.addWidget(bytes_.address)
    bytes_.resize(1000, 760)
    bytes_.show()
    open_in(session, qtbot, resources.resources() / "samples" / name)
    bytes_.drawings.show()
    qtbot.waitUntil(lambda: bytes_.drawings.panel is not None and bytes_.drawings.panel.drawing is not None)
    panel, shard = bytes_.drawings.panel, session.shard
    first, second = (
        next(sketch for sketch in shard.sketches(shard.trace(key)) if sketch.name == panel.name).draw({})
        for key in shard.objects.key_texts(np.array([1, 2]))
        if key is not None
    )
    assert first != second
    session.select_row(1)
    qtbot.waitUntil(lambda: panel.drawing == first)
    session.look_up(str(shard.objects.ref(2).key))
    qtbot.waitUntil(lambda: panel.drawing == second)
    session.select_row(1)
    qtbot.waitUntil(lambda: panel.drawing == first)
