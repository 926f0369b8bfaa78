"""A hex panel, with nothing open and with a small shard."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.conftest import open_in, visible


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> HexPanel:
    """A panel with nothing open."""
    made = visible(qtbot, HexPanel(session), 1000, 640)
    # In the window it stands in the bar.
    visible(qtbot, made.address, 800, 40)
    return made


@pytest.fixture
def swh(qtbot: QtBot, session: Session, panel: HexPanel, data: Path) -> HexPanel:
    """A panel with a small shard, its index read and its first bytes painted."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: panel.pages.bytes_at("", 0, 512) is not None)
    return panel
