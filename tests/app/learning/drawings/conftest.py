"""A hex panel with a small shard whose drawings are made up."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

import shardcore
from shardcore.model.drawing import StaticSketch
from shardcore.shards.trace import Trace
from shardscope.learning.drawings.panel import DrawingPanel
from shardscope.session.session import Session
from shardscope.views.hex.panel import HexPanel
from tests.app.conftest import open_in, visible
from tests.shardcore.teaching.drawing.gallery import ALL, tape
from tests.shardcore.teaching.drawing.played import Played


@pytest.fixture
def made_up(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shard with one sketch to play with, and, of a lookup, one of each kind of figure."""
    place = data / "swh" / "small.shard"
    with shardcore.open(str(place)) as shard:
        kind = type(shard)

    def sketches(_: shardcore.Shard, trace: Trace | None = None) -> tuple[Played | StaticSketch, ...]:
        stills = tuple(StaticSketch(make.__name__, make.__name__, make()) for make in ALL)
        return (Played(), *(stills if trace is not None else (StaticSketch("tape", "Tape", tape()),)))

    monkeypatch.setattr(kind, "sketches", sketches)
    return place


@pytest.fixture
def hexes(qtbot: QtBot, session: Session) -> HexPanel:
    """A hex panel with nothing open."""
    made = HexPanel(session)
    qtbot.addWidget(made.address)
    return visible(qtbot, made, 1000, 760)


@pytest.fixture
def bytes_(qtbot: QtBot, session: Session, made_up: Path, hexes: HexPanel) -> HexPanel:
    """A panel with that shard; nothing is drawn yet."""
    open_in(session, qtbot, made_up)
    qtbot.waitUntil(lambda: hexes.tabs._drawing)
    return hexes


@pytest.fixture
def panel(qtbot: QtBot, bytes_: HexPanel) -> DrawingPanel:
    """Its drawings, with the first one shown."""
    bytes_.drawings.show()
    qtbot.waitUntil(lambda: bytes_.drawings.panel.drawing is not None)
    return bytes_.drawings.panel
