"""A hex panel, with nothing open and with a small shard."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from shardscope.session.session import IndexState, Session
from shardscope.views.hex.panel import HexPanel


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> HexPanel:
    """A panel with nothing open."""
    made = HexPanel(session)
    qtbot.addWidget(made)
    made.resize(1000, 640)
    made.show()
    # In the window it stands in the bar.
    qtbot.addWidget(made.address)
    made.address.resize(800, 40)
    made.address.show()
    return made


@pytest.fixture
def swh(qtbot: QtBot, session: Session, panel: HexPanel, data: Path) -> HexPanel:
    """A panel with a small shard, its index read and its first bytes painted."""
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "swh" / "small.shard"))
    qtbot.waitUntil(lambda: session.index_state is IndexState.LOADED, timeout=10_000)
    qtbot.waitUntil(lambda: panel.pages.bytes_at("", 0, 512) is not None)
    return panel
