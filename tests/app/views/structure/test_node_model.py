"""The node tree as a model: children come when they are looked at, and any node can be found."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from shardcore.shards import dataset
from shardcore.teaching.resource_paths import resources
from shardscope.session.session import Session
from shardscope.views.structure.node_model import NODE_ROLE, PAGE, NodeModel
from tests.app.conftest import open_in

Open = Callable[[Path], NodeModel]


@pytest.fixture
def opened(session: Session, qtbot: QtBot) -> Open:
    """Opens a file, and makes its tree."""

    def make(path: Path) -> NodeModel:
        open_in(session, qtbot, path)
        made = NodeModel(session)
        QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal)
        made.load()
        qtbot.waitUntil(lambda: made.rowCount() == 1)
        return made

    return make


@pytest.fixture
def model(opened: Open, data: Path) -> NodeModel:
    """The tree of 2,000 objects."""
    return opened(data / "swh" / "medium.shard")


def expand(qtbot: QtBot, model: NodeModel, index: QModelIndex) -> None:
    """Opens a node and waits for its children."""
    if model.canFetchMore(index):
        model.fetchMore(index)
    qtbot.waitUntil(lambda: model.rowCount(index) > 0)


def names(model: NodeModel, index: QModelIndex) -> list[str]:
    """The names of the children that are there."""
    return [str(model.index(row, 0, index).data()) for row in range(model.rowCount(index))]


def test_children_are_computed_when_opened(session: Session, qtbot: QtBot, model: NodeModel) -> None:
    index = model.index(3, 0, model.index(0, 0))
    assert model.rowCount(index) == 0
    assert model.hasChildren(index)
    expand(qtbot, model, index)
    assert names(model, index)[0] == "[0..999]"
    group = model.index(1, 0, index)
    expand(qtbot, model, group)
    assert model.rowCount(group) == 1000
    far = model.index(3 * PAGE, 0, group)
    assert far.data() == "…"
    qtbot.waitUntil(lambda: far.data() == f"slot {1000 + 3 * PAGE}")
    session.close()
    model.load()
    assert model.rowCount() == 0


@pytest.mark.parametrize("offset", [0, 45, 300, 600, 100_000, 200_000])
def test_any_byte_can_be_revealed(qtbot: QtBot, session: Session, model: NodeModel, offset: int) -> None:
    offset = min(offset, session.shard.source.size - 1)
    path = session.shard.explain(offset)
    with qtbot.waitSignal(model.revealed) as caught:
        model.reveal(path)
    found = caught.args[0].data(NODE_ROLE)
    assert (found.name, found.span) == (path[-1].name, path[-1].span)
    assert [node.name for node in model.path(caught.args[0])] == [node.name for node in path]


def test_files_of_a_large_data_set_are_revealed(
    qtbot: QtBot, session: Session, opened: Open, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "GROUP_SIZE", 10)
    for number in range(25):
        shutil.copy(data / "des" / "tiny.des", tmp_path / f"{number:02}.des")
    made = opened(tmp_path)
    root = made.index(0, 0)
    assert names(made, root) == ["[0..9]", "[10..19]", "[20..24]"]
    path = session.shard.whole_path(0, "17.des")
    with qtbot.waitSignal(made.revealed) as revealed:
        made.reveal(path[:3])
    assert [node.name for node in made.path(revealed.args[0])[1:]] == ["[10..19]", "17.des"]


def test_bytes_of_a_file_beside_this_one_are_not_in_its_tree(session: Session, qtbot: QtBot, opened: Open) -> None:
    model = opened(next((resources() / "samples" / "mdb" / "cache").glob("b31c*.mdb")))
    shard = session.shard
    xorb = next(str(key) for key in shard.objects.keys if str(key).startswith("xorb:"))
    with qtbot.waitSignal(model.revealed) as found:
        model.reveal(shard.whole_path(0, xorb))
    assert not found.args[0].isValid()
    expand(qtbot, model, model.index(0, 0, model.index(0, 0)))
    assert names(model, model.index(0, 0, model.index(0, 0))) == ["tag", "version", "footer_size"]
