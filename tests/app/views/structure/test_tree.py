"""The tree of the structure, painted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from shardscope.session.session import Session
from shardscope.views.structure.tree import StructureTree
from tests.app.conftest import open_in, visible


@pytest.fixture
def tree(qtbot: QtBot, session: Session) -> StructureTree:
    """The tree of nothing."""
    return visible(qtbot, StructureTree(session))


def test_members_are_the_first_level(qtbot: QtBot, session: Session, tree: StructureTree, data: Path) -> None:
    open_in(session, qtbot, data / "neuroglancer" / "volume" / "4_4_40")
    qtbot.waitUntil(lambda: tree.nodes.rowCount(tree.nodes.index(0, 0)) > 3)
    root = tree.nodes.index(0, 0)
    names = [tree.nodes.index(row, 0, root).data() for row in range(tree.nodes.rowCount(root))]
    assert {"0.shard", "1.shard", "sharding specification"} <= set(names)
    assert tree.isExpanded(root)
    assert [root.data(), root.siblingAtColumn(2).data()] == ["4_4_40", ""]


def texts(menu: QMenu) -> dict[str, QAction]:
    """The actions of a menu, those of menus in it as well, by their texts."""
    found = {}
    for action in menu.actions():
        inner = action.menu()
        found |= texts(inner) if isinstance(inner, QMenu) else {action.text().replace("&", ""): action}
    return found


def test_the_menu_of_a_node(qtbot: QtBot, session: Session, tree: StructureTree, data: Path) -> None:
    open_in(session, qtbot, data / "swh" / "small.shard")
    shard, clip = session.shard, QGuiApplication.clipboard()
    path = shard.explain(4465 + 35)
    menu = texts(tree.menu_of(path))
    assert [node.name for node in path[1:]] == ["index", "slot 0", "offset"]
    for form, copied in (
        ("Copy value", str(path[-1].value)),
        ("Copy name", "offset"),
        ("Copy path", "small.shard › index › slot 0 › offset"),
        ("Copy offset", "0x1191"),
        ("shardcore command", f"shardcore explain {session.request.uri} 0x1191"),
        ("Python line", f"shardcore.open({session.request.uri!r}).explain(0x1191)"),
    ):
        menu[form].trigger()
        assert clip.text() == copied
    menu["JSON"].trigger()
    assert json.loads(clip.text())["span"] == {"start": 4497, "stop": 4505}
    menu["Follow pointer"].trigger()
    assert session.selection.span == path[-1].target
    for signal, entry, value in (
        (tree.look_up_requested, "Look up object", shard.objects.keys[0]),
        (tree.extract_requested, "Extract object…", 0),
    ):
        with qtbot.waitSignal(signal) as told:
            menu[entry].trigger()
        assert told.args == [value]


def test_only_where_page_and_practice_differ(qtbot: QtBot, session: Session, tree: StructureTree, data: Path) -> None:
    """The filter leaves the fields on which specification and practice differ, each once."""
    open_in(session, qtbot, data / "mdb/derived/keyed_full.mdb")
    qtbot.waitUntil(lambda: tree.nodes.rowCount() == 1)
    tree.differs.setChecked(True)
    names: list[str] = []

    def walk(index: QModelIndex) -> None:
        node = tree.nodes.node(index)
        if node is not None and node.differs is not None:
            names.append(node.name)
        for row in range(tree.nodes.rowCount(index)):
            walk(tree.nodes.index(row, 0, index))

    qtbot.waitUntil(lambda: tree.nodes.rowCount() == 1)
    walk(tree.nodes.index(0, 0))
    assert {"footer_size", "sha256", "chunk_hash", "flags", "stored_bytes"} <= set(names)
    assert len(names) == len(set(names)) == 14
    tree.differs.setChecked(False)
    qtbot.waitUntil(lambda: tree.nodes.rowCount(tree.nodes.index(0, 0)) == len(session.shard.sections))


def test_a_reloaded_file_stays_expanded(qtbot: QtBot, session: Session, tree: StructureTree, data: Path) -> None:
    small, nodes = data / "swh" / "small.shard", tree.nodes

    def header() -> QModelIndex:
        return nodes.index(0, 0, nodes.index(0, 0))

    def ready() -> bool:
        return nodes.rowCount(nodes.index(0, 0)) > 4 and not session.jobs.open_jobs

    open_in(session, qtbot, small)
    qtbot.waitUntil(ready)
    tree.expand(header())
    qtbot.waitUntil(lambda: nodes.rowCount(header()) > 0)
    with qtbot.waitSignal(session.opened):
        session.reload()
    qtbot.waitUntil(lambda: ready() and tree.isExpanded(header()) and nodes.rowCount(header()) > 0)
    open_in(session, qtbot, small.with_name("one.shard"))
    qtbot.waitUntil(ready)
    assert not tree.isExpanded(header())
