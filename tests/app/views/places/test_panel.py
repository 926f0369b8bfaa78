"""Places: members, shards in the same folder, recent files, samples, and folders of a store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import RemoteOptions, Span
from shardcore.sources.base import Entry
from shardcore.sources.remote.source import RemoteFolder
from shardcore.teaching import resource_paths
from shardscope.session.open_request import OpenRequest
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.places import UP, Group, PlaceEntry, PlaceModel, PlacesPanel
from shardscope.widgets.sample_names import sample_title
from tests.app.conftest import open_in, visible
from tests.remote.s3 import Place


@pytest.fixture
def places(qtbot: QtBot, session: Session, settings: Settings) -> PlacesPanel:
    """Places of a session with nothing open."""
    return visible(qtbot, PlacesPanel(session, settings), 360, 500)


def titles(places: PlacesPanel) -> list[str]:
    """What is listed."""
    return [places.model.index(row).data() for row in range(places.model.rowCount())]


def detail(places: PlacesPanel, row: int) -> str:
    """The second line of a row."""
    return places.model.detail(places.model.place(places.model.index(row)))


def problem(places: PlacesPanel, row: int) -> str:
    """Why a row cannot be read."""
    return places.model.problem_of(places.model.place(places.model.index(row)).where)


def is_here(places: PlacesPanel, row: int) -> bool:
    """Whether a row is marked as the one that is shown."""
    return places.model.place(places.model.index(row)).where == places.model.here


def click(places: PlacesPanel, row: int) -> None:
    """Clicks a row."""
    where = places.list.visualRect(places.model.index(row)).center()
    QTest.mouseClick(places.list.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_a_click_shows_the_bytes_of_a_member(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    open_in(session, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip")
    assert titles(places) == ["0.shard", "1.shard"]
    assert detail(places, 0) == "3,702 bytes  ·  74 objects"
    click(places, 1)
    assert session.selection.span == Span("1.shard", 0, 1)
    assert is_here(places, 1)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert session.selection.path[1].name == "1.shard"
    places.list.setCurrentIndex(places.model.index(0))
    QTest.keyClick(places.list, Qt.Key.Key_Return)
    assert session.selection.span == Span("0.shard", 0, 1)
    assert is_here(places, 0)
    session.close()
    assert titles(places) == []


def test_key_spaces_are_listed(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path, tmp_path: Path) -> None:
    root = tmp_path / "volume"
    shutil.copytree(data / "neuroglancer" / "volume", root)
    open_in(session, qtbot, root)
    spaces = session.shard.key_spaces
    assert len(spaces) > 1
    assert titles(places) == list(spaces)
    assert [detail(places, n) for n in range(len(spaces))] == list(spaces.values())
    with qtbot.waitSignal(places.chosen) as caught:
        click(places, 1)
    assert caught.args == [str(root / list(spaces)[1])]


def test_an_unreadable_member(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shutil.copytree(data / "neuroglancer" / "skeletons_murmur_gzip", folder)
    (folder / "1.shard").write_bytes(b"cut")
    open_in(session, qtbot, folder)
    reason = problem(places, 1)
    assert reason
    assert problem(places, 0) == ""
    with qtbot.waitSignal(session.troubled) as caught:
        click(places, 1)
    assert reason in caught.args[0]
    click(places, 0)
    assert session.selection.span == Span("0.shard", 0, 1)


def test_shards_in_the_same_folder(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: places.model.rowCount() > 0)
    names = [path.name for path in sorted((data / "swh").glob("*.shard"))]
    for text, shown in (("MED", ["medium.shard"]), ("", names)):
        places.filter.setText(text)
        assert titles(places) == shown
    here = titles(places).index("small.shard")
    assert is_here(places, here)
    with qtbot.assertNotEmitted(places.chosen):
        click(places, here)
    with qtbot.waitSignal(places.chosen) as caught:
        click(places, titles(places).index("one.shard"))
    assert caught.args == [str(data / "swh" / "one.shard")]


def test_recent_files_and_samples(qtbot: QtBot, places: PlacesPanel, settings: Settings) -> None:
    settings.add_recent("/somewhere/else/a.shard")
    places.groups.setCurrentIndex(list(Group).index(Group.RECENT))
    assert titles(places) == ["a.shard"]
    with qtbot.waitSignal(places.chosen) as caught:
        click(places, 0)
    assert caught.args == ["/somewhere/else/a.shard"]
    settings.clear_recent()
    places.refresh_recent()
    assert places.note.text()
    places.groups.setCurrentIndex(list(Group).index(Group.SAMPLES))
    assert titles(places) == [sample_title(sample) for sample in resource_paths.samples()]


def test_texts_of_places_are_no_markup(qtbot: QtBot, places: PlacesPanel, session: Session) -> None:
    places._status = "The folder cannot be listed: <b>no</b>"
    places._show_status()
    assert places.note.textFormat() is Qt.TextFormat.PlainText
    assert "<b>" in places.note.text()
    model = PlaceModel()
    model.fill([PlaceEntry("<i>x</i>", "<i>x</i>", "<u>detail</u>")])
    assert "&lt;i&gt;" in model.index(0).data(Qt.ItemDataRole.ToolTipRole)


def test_folders_of_a_bucket(
    qtbot: QtBot, session: Session, settings: Settings, places: PlacesPanel, s3: Place, data: Path
) -> None:
    s3.put({"walk/a/small.shard": (data / "swh" / "small.shard").read_bytes(), "walk/b.shard": b"x", "top": b"y"})
    way = RemoteOptions(endpoint_url=s3.endpoint, addressing="path", access_key=s3.key, secret_key=s3.secret)
    with qtbot.waitSignal(session.opened):
        session.open(OpenRequest("s3://shards/walk/a/small.shard", remote=way))
    session.documents.reach = lambda _: way
    qtbot.waitUntil(lambda: titles(places) == [UP, "small.shard"])
    assert places.model.here == "s3://shards/walk/a/small.shard"
    places._go(places.model.index(0))
    qtbot.waitUntil(lambda: titles(places) == [UP, "b.shard", "a/"])
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
    pages: list[int] = []

    def many(self: RemoteFolder, prefix: str = "", *, most: int = 1000) -> Iterator[list[Entry]]:
        for number in range(1000):
            pages.append(number)
            yield [Entry(f"{number:04}-{one:03}", 10, False) for one in range(1000)]

    monkeypatch.setattr(RemoteFolder, "pages", many)
    session.documents.reach = lambda _: RemoteOptions(anonymous=True)
    places.browsing.go("s3://shards/many/")
    qtbot.waitUntil(lambda: places.model.rowCount() == 1001)
    assert pages == [0]
    places.list.scrollToBottom()
    qtbot.waitUntil(lambda: places.model.rowCount() == 2001)
    assert pages == [0, 1]
    places.browsing.stop()
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)
