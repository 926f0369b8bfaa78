"""Places: members of a data set, shards in the same folder, recent files, samples."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import DataSet, Member, Node, Span
from shardcore.teaching import resources
from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.views.places.places import Group, PlacesPanel
from shardscope.widgets.place_model import (
    DETAIL_ROLE,
    HERE_ROLE,
    LEVEL_ROLE,
    PROBLEM_ROLE,
    MemberPlaces,
    PlaceEntry,
    PlaceModel,
)
from shardscope.widgets.sample_words import sample_title
from tests.app.conftest import open_in


@pytest.fixture
def places(qtbot: QtBot, session: Session, settings: Settings) -> PlacesPanel:
    """Places of a session with nothing open."""
    made = PlacesPanel(session, settings)
    qtbot.addWidget(made)
    made.resize(360, 500)
    made.show()
    return made


def titles(places: PlacesPanel) -> list[str]:
    """What is listed."""
    return [places.model.index(row).data() for row in range(places.model.rowCount())]


def click(places: PlacesPanel, row: int) -> None:
    """Clicks a row."""
    where = places.list.visualRect(places.model.index(row)).center()
    QTest.mouseClick(places.list.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_members_are_listed_with_what_is_known(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """Name and size at once, objects when the index is read; the first member is where one is."""
    open_in(session, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip")
    assert places.groups.itemText(0) == "Members"
    assert titles(places) == ["0.shard", "1.shard"]
    assert places.model.index(0).data(DETAIL_ROLE) == "3,702 bytes  ·  74 objects"
    assert places.note.text() == "2 members"


def test_a_click_shows_the_bytes_of_a_member(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """A click selects the first byte of the member for everybody; Return does the same."""
    open_in(session, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip")
    click(places, 1)
    assert session.selection.span == Span("1.shard", 0, 1)
    assert places.model.index(1).data(HERE_ROLE)
    qtbot.waitUntil(lambda: session.selection.complete)
    assert isinstance(session.selection.path[-1], Node)
    assert session.selection.path[1].name == "1.shard"
    places.list.setCurrentIndex(places.model.index(0))
    QTest.keyClick(places.list, Qt.Key.Key_Return)
    assert session.selection.span == Span("0.shard", 0, 1)
    assert places.model.index(0).data(HERE_ROLE)


def test_the_selection_moves_the_mark(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """A byte of another member selected anywhere marks that member here."""
    open_in(session, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip")
    session.select_span(Span("1.shard", 100, 101))
    assert places.model.index(1).data(HERE_ROLE)
    assert not places.model.index(0).data(HERE_ROLE)
    assert places.list.currentIndex().row() == 1


def test_key_spaces_are_listed(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path, tmp_path: Path) -> None:
    """A root with several key spaces lists them all with what they hold; a click asks for one to be opened."""
    root = tmp_path / "volume"
    shutil.copytree(data / "neuroglancer" / "volume", root)
    open_in(session, qtbot, root)
    assert isinstance(session.shard, DataSet)
    spaces = session.shard.key_spaces
    assert len(spaces) > 1
    assert places.groups.itemText(0) == "Key spaces"
    assert titles(places) == list(spaces)
    assert [places.model.index(n).data(DETAIL_ROLE) for n in range(len(spaces))] == list(spaces.values())
    assert places.note.text() == f"{len(spaces)} key spaces"
    with qtbot.waitSignal(places.chosen) as caught:
        click(places, 1)
    assert caught.args == [str(root / list(spaces)[1])]


def test_an_unreadable_member_says_why(
    qtbot: QtBot, session: Session, places: PlacesPanel, data: Path, tmp_path: Path
) -> None:
    """A damaged member is listed with the reason; a click tells it, and the others work."""
    folder = tmp_path / "set"
    shutil.copytree(data / "neuroglancer" / "skeletons_murmur_gzip", folder)
    (folder / "1.shard").write_bytes(b"cut")
    open_in(session, qtbot, folder)
    reason = places.model.index(1).data(PROBLEM_ROLE)
    assert reason
    assert places.model.index(0).data(PROBLEM_ROLE) == ""
    with qtbot.waitSignal(session.troubled) as caught:
        click(places, 1)
    assert reason in caught.args[0]
    click(places, 0)
    assert session.selection.span == Span("0.shard", 0, 1)


def test_shards_in_the_same_folder(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """Beside a single file the other shards of its folder are listed, and nothing else; a click asks for one."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: places.model.rowCount() > 0)
    assert titles(places) == [path.name for path in sorted((data / "swh").glob("*.shard"))]
    assert places.groups.itemText(0) == "Folder"
    here = titles(places).index("small.shard")
    assert places.model.index(here).data(HERE_ROLE)
    with qtbot.assertNotEmitted(places.chosen):
        click(places, here)
    with qtbot.waitSignal(places.chosen) as caught:
        click(places, titles(places).index("one.shard"))
    assert caught.args == [str(data / "swh" / "one.shard")]


def test_recent_files_and_samples(qtbot: QtBot, places: PlacesPanel, settings: Settings) -> None:
    """What was opened, and what comes with the program, can be opened from here."""
    settings.add_recent("/somewhere/else/a.shard")
    places.groups.setCurrentIndex(list(Group).index(Group.RECENT))
    assert titles(places) == ["a.shard"]
    with qtbot.waitSignal(places.chosen) as caught:
        click(places, 0)
    assert caught.args == ["/somewhere/else/a.shard"]
    settings.clear_recent()
    places.refresh_recent()
    assert places.note.text() == "No recent files."
    places.groups.setCurrentIndex(list(Group).index(Group.SAMPLES))
    assert titles(places) == [sample_title(sample) for sample in resources.samples()]
    levels = [places.model.index(row).data(LEVEL_ROLE) for row in range(places.model.rowCount())]
    assert [level == 0 for level in levels] == [sample.role is resources.Role.MAIN for sample in resources.samples()]


def test_the_filter_keeps_what_has_the_text(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """The filter looks anywhere in the names, in any case, and tells how many remain."""
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: places.model.rowCount() > 0)
    total = places.model.rowCount()
    places.filter.setText("MED")
    assert titles(places) == ["medium.shard"]
    assert places.note.text() == f"1 of {total} files"
    places.filter.clear()
    assert places.model.rowCount() == total


def test_closing_empties_the_list(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """Nothing of a closed shard stays."""
    open_in(session, qtbot, data / "neuroglancer" / "skeletons_murmur_gzip")
    session.close()
    assert titles(places) == []


@pytest.mark.thorough
def test_many_members_stay_fluid(qtbot: QtBot, places: PlacesPanel) -> None:
    """Of 100,000 members only those on the screen are asked for their counts, whatever is scrolled or filtered."""
    asked: list[str] = []

    def count(where: str) -> int:
        asked.append(where)
        return 1

    places.model.count_of = count
    places.model.fill([PlaceEntry(f"{n:x}.shard", f"{n:x}.shard", size=n) for n in range(100_000)])
    places.grab()
    places.list.scrollTo(places.model.index(99_999))
    places.grab()
    places.filter.setText("ffff")
    places.grab()
    assert len(asked) < 500
    assert titles(places) == ["ffff.shard"]


def test_the_model_knows_rows(qtbot: QtBot) -> None:
    """Places are found by where they are, as far as they are shown."""
    model = PlaceModel()
    model.fill([PlaceEntry("a", "Alpha"), PlaceEntry("b", "Beta")])
    assert model.row_of("b") == 1
    model.set_filter("beta")
    assert model.row_of("b") == 0
    assert model.row_of("a") is None
    assert model.data(model.index(5)) is None


def test_members_become_places_when_they_are_looked_at(qtbot: QtBot) -> None:
    """Members are found by name without creating the others, and not where the filter hides them."""
    model = PlaceModel()
    model.fill(MemberPlaces([Member(f"{number:05}.des", number) for number in range(50_000)]))
    assert model.place(model.index(49_999)) == PlaceEntry("49999.des", "49999.des", size=49_999)
    assert (model.row_of("01234.des"), model.row_of("other.des"), model.row_of("zz.des")) == (1234, None, None)
    model.set_filter("999.des")
    assert (model.row_of("01999.des"), model.row_of("01234.des"), model.row_of("49999.des")) == (1, None, 49)


def test_the_menu_of_a_place(qtbot: QtBot, session: Session, places: PlacesPanel, data: Path) -> None:
    """A member is gone to, opened alone, and copied by name, address and command."""
    open_in(session, qtbot, data / "neuroglancer" / "volume" / "4_4_40")
    menu = places.menu_of(places.model.index(0))
    actions = {action.text().replace("&", ""): action for action in menu.actions() if action.text()}
    clip = QGuiApplication.clipboard()
    actions["Copy name"].trigger()
    assert clip.text() == "0.shard"
    actions["Copy address"].trigger()
    assert clip.text().endswith("4_4_40/0.shard")
    with qtbot.waitSignal(places.chosen) as told:
        actions["Open alone"].trigger()
    assert told.args == [clip.text()]
    actions["Copy as shardcore command"].trigger()
    assert clip.text().startswith("shardcore info ")


def test_texts_of_places_are_no_markup(qtbot: QtBot, places: PlacesPanel, session: Session) -> None:
    """An error, a name or a path that looks like markup is shown as it is written."""
    places._status = "The folder cannot be listed: <b>no</b>"
    places._tell()
    assert places.note.textFormat() is Qt.TextFormat.PlainText
    assert "<b>" in places.note.text()
    model = PlaceModel()
    model.fill([PlaceEntry("<i>x</i>", "<i>x</i>", "<u>detail</u>")])
    assert "&lt;i&gt;" in model.index(0).data(Qt.ItemDataRole.ToolTipRole)
