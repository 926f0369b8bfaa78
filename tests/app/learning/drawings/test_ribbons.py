"""Ribbons in the window: a chunk that files share lights wherever it is used."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from shardcore.teaching import resources
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.conftest import open_in
from tests.app.learning.drawings.test_samples import settled


def test_a_shared_chunk_lights_every_use(qtbot: QtBot, session: Session) -> None:
    """Pointing at it lights its record and the segments of both files; the slider takes another file."""
    sample = next(one for one in resources.samples() if one.format == "mdb" and one.path.suffix == ".mdb")
    panel = HexPanel(session)
    qtbot.addWidget(panel)
    qtbot.addWidget(panel.address)
    panel.resize(900, 760)
    panel.show()
    open_in(session, qtbot, sample.path)
    panel.drawings.show("ribbons")
    settled(qtbot, session)
    drawn = panel.drawings.panel
    number = next(n for n, item in enumerate(drawn.drawing.items) if item.text == "0 ×2")
    drawn.view.go_to_item(number)
    assert [light.span for light in session.lights] == list(drawn.drawing.items[number].spans)
    assert len(session.lights) == 3
    drawn.set_value("file", 3)
    settled(qtbot, session)
    assert next(item.text for item in drawn.drawing.items if item.here) == "ced5…"
