"""The tree of the structure, painted."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QModelIndex, QRect, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardcore import SectionRole
from shardscope.session.session import Session
from shardscope.views.structure.tree import BAR, StructureTree
from shardscope.widgets import theme
from tests.app.conftest import open_in


def test_every_row_has_the_bar_of_its_section(qtbot: QtBot, session: Session, data: Path) -> None:
    """Left of every name stands the colour of the section it lies in, at any depth; the name begins after it."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    open_in(session, qtbot, data / "swh" / "small.shard")
    nodes = tree.nodes
    qtbot.waitUntil(lambda: nodes.rowCount(nodes.index(0, 0)) > 4 and not session.jobs.open_jobs, timeout=10_000)
    header = nodes.index(0, 0, nodes.index(0, 0))
    nodes.fetchMore(header)
    qtbot.waitUntil(lambda: nodes.rowCount(header) > 0)
    colours = theme.of(tree)
    assert tree.section_colour(nodes.index(4, 0, nodes.index(0, 0))) == colours.section(SectionRole.LOOKUP)
    assert tree.section_colour(nodes.index(2, 0, header)) == colours.section(SectionRole.HEADER)
    assert tree.section_colour(nodes.index(0, 0)) is None
    option = QStyleOptionViewItem()
    option.rect = QRect(0, 0, 300, 18)
    tree.itemDelegate().initStyleOption(option, header)  # type: ignore[attr-defined]
    assert option.decorationSize.width() == BAR


def test_a_narrow_tree_scrolls(qtbot: QtBot, session: Session, data: Path) -> None:
    """In a narrow tree all columns are there, none cut to nothing: it scrolls."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    tree.show()
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "swh" / "small.shard"))
    qtbot.waitUntil(lambda: tree.nodes.rowCount(tree.nodes.index(0, 0)) > 4, timeout=10_000)
    tree.resize(500, 300)
    assert tree.horizontalScrollBar().maximum() == 0
    tree.resize(240, 300)
    assert all(tree.columnWidth(column) >= tree.header().sectionSizeHint(column) for column in (3, 4))
    qtbot.waitUntil(lambda: tree.horizontalScrollBar().maximum() > 0)
    index = tree.nodes.index(3, 0, tree.nodes.index(0, 0))
    assert "0x1171–0x1378 · 520 bytes" in str(index.data(Qt.ItemDataRole.ToolTipRole))


def test_the_selected_row_is_seen_whole(qtbot: QtBot, session: Session, data: Path) -> None:
    """At every height, also when the tree becomes lower, or its scroll bar takes some of it."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    tree.show()
    open_in(session, qtbot, data / "swh" / "small.shard")
    qtbot.waitUntil(lambda: not session.jobs.open_jobs)

    def seen() -> bool:
        row = tree.visualRect(tree.currentIndex())
        return row.isValid() and row.top() >= 0 and row.bottom() < tree.viewport().height()

    for height in range(120, 150, 4):
        tree.resize(500, height)
        session.select_nothing()
        session.select_row(height // 4 % 5)
        qtbot.waitUntil(lambda: session.selection.complete and not session.jobs.open_jobs)
        qtbot.waitUntil(seen)
        tree.resize(240, height)
        qtbot.waitUntil(lambda: tree.horizontalScrollBar().maximum() > 0)
        qtbot.waitUntil(seen)
        tree.resize(240, height - 7)
        qtbot.waitUntil(seen)


def test_members_are_the_first_level(qtbot: QtBot, session: Session, data: Path) -> None:
    """Of a data set the tree shows the members first, beside what describes them."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "neuroglancer" / "volume" / "4_4_40"))
    root = tree.nodes.index(0, 0)
    qtbot.waitUntil(lambda: tree.nodes.rowCount(tree.nodes.index(0, 0)) > 3, timeout=10_000)
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


def test_the_menu_of_a_node(qtbot: QtBot, session: Session, data: Path) -> None:
    """A node is copied in every form, followed to what it points to, and leads to its object and its lookup."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    open_in(session, qtbot, data / "swh" / "small.shard")
    shard, clip = session.shard, QGuiApplication.clipboard()
    assert shard is not None
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
    with qtbot.waitSignal(tree.look_up_requested) as told:
        menu["Look up object"].trigger()
    assert told.args == [shard.objects.keys[0]]
    with qtbot.waitSignal(tree.extract_requested) as asked:
        menu["Extract object…"].trigger()
    assert asked.args == [0]


def test_the_menu_offers_what_there_is(qtbot: QtBot, session: Session, data: Path) -> None:
    """A field of the header that points nowhere has no object, and nothing to follow."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    open_in(session, qtbot, data / "swh" / "small.shard")
    assert session.shard is not None
    menu = texts(tree.menu_of(session.shard.explain(33)))
    for text in ("Follow pointer", "Go to object", "Look up object", "Extract object…"):
        assert not menu[text].isEnabled()
    assert "Copy value" in menu


def test_only_where_page_and_practice_differ(qtbot: QtBot, session: Session, data: Path) -> None:
    """A switch leaves the fields on which the published page and practice differ, each once, and what they are in."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    tree.show()
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
    qtbot.waitUntil(lambda: tree.nodes.rowCount(tree.nodes.index(0, 0)) == len(session.shard.sections))  # type: ignore[union-attr]


def test_a_file_that_is_read_again_stays_expanded(qtbot: QtBot, session: Session, data: Path) -> None:
    """After an edit the tree is where one left it; of another file nothing is expanded but the root."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
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
