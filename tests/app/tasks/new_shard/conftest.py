"""A sheet for new shards over a window of its own, and files to pack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.startup.settings import Settings
from shardscope.tasks import task_dialog
from shardscope.tasks.new_shard.new_shards import NewShardDialog, NewShards
from tests.app.conftest import visible

OpenSheet = Callable[..., NewShardDialog]


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    """A folder of twelve files whose names are numbers, the tenth of them empty."""
    folder = tmp_path / "numbered"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.txt").write_bytes(b"" if number == 9 else f"object {number}, ".encode() * (number + 40))
    return folder


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are made soon."""
    monkeypatch.setattr(task_dialog, "TYPING_MILLISECONDS", 10)


@pytest.fixture
def shards(qtbot: QtBot, session: Session, settings: Settings) -> Iterator[NewShards]:
    """New shards in a window that has nothing else."""
    window = visible(qtbot, QWidget(), 1280, 840)
    yield NewShards(session, settings, window)
    window.close()


@pytest.fixture
def open_sheet(qtbot: QtBot, shards: NewShards) -> OpenSheet:
    """Opens the sheet with some paths and a format."""

    def ask(*paths: Path, format: str = "") -> NewShardDialog:
        shards.ask_new(tuple(map(str, paths)))
        sheet = sheet_of(qtbot, shards)
        if format:
            sheet.formats.choose(format)
        return sheet

    return ask


def sheet_of(qtbot: QtBot, shards: NewShards) -> NewShardDialog:
    """The sheet that is open."""
    window = shards.parent()
    qtbot.waitUntil(lambda: window.findChild(NewShardDialog) is not None)
    return window.findChild(NewShardDialog)


def wait_gone(qtbot: QtBot, shards: NewShards) -> None:
    """Waits until no sheet is left."""
    window = shards.parent()
    qtbot.waitUntil(lambda: window.findChild(NewShardDialog) is None)


def wait_planned(qtbot: QtBot, sheet: NewShardDialog, *, exact: bool = True) -> None:
    """Waits until the plan of what the sheet says is drawn."""

    def is_drawn() -> bool:
        planned, work = sheet.plan.planned, sheet.work
        drawn = planned and work and planned.name == work.target.path.name and planned.plan.exact is exact
        return bool(drawn) and sheet.plan.summary.text()[:4] != "Plan"

    qtbot.waitUntil(is_drawn)


def tree_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
