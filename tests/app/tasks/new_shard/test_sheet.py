"""The sheet for new shards: at every size, for every eye, and for every number of objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import Section, SectionRole
from shardcore.model.objects import NoObjects
from shardcore.shards.registry import all_formats
from shardcore.writing.plan import Plan, PlannedFile
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from shardscope.tasks.new_shard.plan_view import PlanView
from shardscope.tasks.new_shard.request import Planned
from shardscope.tasks.new_shard.target import suggested
from tests.app.conftest import visible
from tests.app.tasks.new_shard.conftest import sheet_of, wait_gone, wait_planned


class _Untouched(NoObjects):
    """Many objects, none of which may be asked for."""

    def __len__(self) -> int:
        return 5_000_000

    def columns(self, rows: Any, *, sizes: bool = True) -> Any:
        """Fails."""
        raise AssertionError("rows were asked for")


def planned(files: int, *, exact: bool = True) -> Planned:
    """A plan of some files."""
    sections = (
        Section("header", SectionRole.HEADER, 0, 100),
        Section("nothing", SectionRole.PADDING, 100, 100),
        Section("data", SectionRole.DATA, 100, 1_000_000),
    )
    made = tuple(PlannedFile(f"{number}.x", 1_000_000, sections, _Untouched()) for number in range(files))
    return Planned(Plan(made, exact, 900_000 * files), "0.x", 5_000_000 * files, {}, ())


def test_a_plan_of_millions(qtbot: QtBot) -> None:
    """The tree counts objects and reads none of them."""
    view = PlanView()
    qtbot.addWidget(view)
    view.resize(500, 400)
    view.show_plan(planned(20_000), "new.x")
    model = view.model
    assert model.rowCount() == 20_000
    assert [model.index(0, column).data() for column in range(3)] == ["new.x", "5,000,000", "1,000,000"]
    assert model.index(7, 0).data() == "7.x"
    view.tree.setCurrentIndex(model.index(7, 0))
    assert [one.name for one in view.strip.sections] == ["header", "data"]
    view.strip.chosen.emit(1)
    assert view.tree.currentIndex().data() == "data"
    assert view.tree.currentIndex().parent().data() == "7.x"
    assert view.strip.current == 1
    view.grab()


def test_names_to_begin_with() -> None:
    """The proposed file is beside the input, has the extension of the format, and never equals the input."""
    swh, des = (next(one for one in all_formats() if one.name == name) for name in ("swh", "des"))
    cases = (
        (("/a/papers",), "", swh, False, "/a/papers.shard"),
        (("/a/papers", "/a/b.txt"), "", swh, False, "/a/a.shard"),
        (("/a/b.shard",), "", swh, False, "/a/b-swh.shard"),
        ((), "/a/b.shard", des, False, "/a/b.des"),
        ((), "/a/b.shard", des, True, "/a/b"),
        ((), "/a/b.des", des, False, "/a/b-des.des"),
        ((), "s3://bucket/c.shard", des, False, "/home/c.des"),
        ((), "", swh, False, "/home/new.shard"),
    )
    for inputs, source, format, folder, told in cases:
        assert str(suggested(inputs, source, format, folder=folder, home="/home")) == told


@pytest.mark.thorough
def test_from_the_window(qtbot: QtBot, settings: Settings, numbered: Path, data: Path) -> None:
    window = visible(qtbot, MainWindow(settings))
    shards = window.new_shards
    assert shards.new.shortcut().toString() == "Ctrl+N"
    assert shards.convert.shortcut().toString() == "Ctrl+Shift+N"
    assert shards.new.isEnabled()
    assert not shards.convert.isEnabled()
    window.welcome.new_button.click()
    QTest.keyClick(sheet_of(qtbot, shards), Qt.Key.Key_Escape)
    wait_gone(qtbot, shards)
    window.open(str(numbered))
    qtbot.waitUntil(lambda: [one.text() for one in window.notices.buttons] == ["Pack it…"])
    window.notices.button.click()
    sheet = sheet_of(qtbot, shards)
    assert sheet.inputs == (str(numbered),)
    wait_planned(qtbot, sheet)
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    wait_gone(qtbot, shards)
    with qtbot.waitSignal(window.session.opened):
        window.open(str(data / "swh" / "small.shard"))
    assert shards.convert.isEnabled()
    window.session.close()
    assert not shards.convert.isEnabled()
    # A window that is closed takes its sheet and the jobs of that along.
    shards.ask_new((str(numbered),))
    sheet_of(qtbot, shards)
    window.close()
