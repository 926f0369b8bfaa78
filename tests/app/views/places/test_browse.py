"""Places in a store: folders are walked through a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from shardcore import RemoteOptions
from shardcore.sources.base import Entry
from shardcore.sources.remote.source import RemoteFolder
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.places.places import UP, Group, PlacesPanel
from tests.remote.s3 import Place


@pytest.fixture
def places(qtbot: QtBot, session: Session, settings: Settings) -> PlacesPanel:
    """Places of a session with nothing open."""
    made = PlacesPanel(session, settings)
    qtbot.addWidget(made)
    made.resize(360, 300)
    made.show()
    return made


def titles(places: PlacesPanel) -> list[str]:
    """What is listed."""
    return [places.model.index(row).data() for row in range(places.model.rowCount())]


def test_folders_of_a_bucket(
    qtbot: QtBot, session: Session, settings: Settings, places: PlacesPanel, s3: Place, data: Path
) -> None:
    """Beside an object stand its neighbours and the folders; a click goes down, up, and opens; it all stays lazy."""
    s3.put({"walk/a/small.shard": (data / "swh" / "small.shard").read_bytes(), "walk/b.shard": b"x", "top": b"y"})
    way = RemoteOptions(endpoint_url=s3.endpoint, addressing="path", access_key=s3.key, secret_key=s3.secret)
    with qtbot.waitSignal(session.opened):
        session.open(OpenRequest("s3://shards/walk/a/small.shard", remote=way))
    session.reach = lambda _: way
    qtbot.waitUntil(lambda: titles(places) == [UP, "small.shard"])
    assert places.model.here == "s3://shards/walk/a/small.shard"
    places._go(places.model.index(0))
    qtbot.waitUntil(lambda: titles(places) == [UP, "b.shard", "a/"])
    assert "s3://shards/walk/: 2 names" in places.note.text()
    with qtbot.waitSignal(places.chosen) as caught:
        places._go(places.model.index(1))
    assert caught.args == ["s3://shards/walk/b.shard"]
    places._go(places.model.index(0))
    qtbot.waitUntil(lambda: "top" in titles(places))
    assert UP not in titles(places)
    settings.connections = {"s3://shards/": '{"who": "profile", "profile": "lab"}', "s3://none/": "{}"}
    places.groups.setCurrentIndex(list(Group).index(Group.REMOTE))
    assert titles(places) == ["s3://shards/", "s3://none/"]
    places._go(places.model.index(1))
    assert places.group is Group.NEAR
    qtbot.waitUntil(lambda: "bucket none not found" in places.note.text())
    session.close()
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)


def test_a_million_names(
    qtbot: QtBot, session: Session, places: PlacesPanel, monkeypatch: pytest.MonkeyPatch, s3: Place
) -> None:
    """Only the pages that are scrolled to are asked for."""
    pages: list[int] = []

    def many(self: RemoteFolder, prefix: str = "", *, most: int = 1000) -> Iterator[list[Entry]]:
        for number in range(1000):
            pages.append(number)
            yield [Entry(f"{number:04}-{one:03}", 10, False) for one in range(1000)]

    monkeypatch.setattr(RemoteFolder, "pages", many)
    session.reach = lambda _: RemoteOptions(anonymous=True)
    places.browsing.go("s3://shards/many/")
    qtbot.waitUntil(lambda: places.model.rowCount() == 1001)
    assert pages == [0]
    places.list.scrollToBottom()
    qtbot.waitUntil(lambda: places.model.rowCount() == 2001)
    assert pages == [0, 1]
    assert places.note.text().endswith("2,000 names so far; more when you scroll")
    places.browsing.stop()
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
