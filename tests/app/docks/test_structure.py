"""The tree of the structure, painted."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardcore import SectionRole
from shardscope.docks.structure import BAR, StructureTree
from shardscope.looks import theme
from shardscope.session import Session


def test_every_row_has_the_bar_of_its_section(qtbot: QtBot, session: Session, data: Path) -> None:
    """Left of every name stands the colour of the section it lies in, at any depth; the name begins after it."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "swh" / "small.shard"))
    nodes = tree.nodes
    qtbot.waitUntil(lambda: nodes.rowCount(nodes.index(0, 0)) > 4, timeout=10_000)
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


def test_a_narrow_tree_keeps_names_and_values(qtbot: QtBot, session: Session, data: Path) -> None:
    """Below 420 pixels offset and size have no column; the tooltip tells them."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    tree.show()
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "swh" / "small.shard"))
    qtbot.waitUntil(lambda: tree.nodes.rowCount(tree.nodes.index(0, 0)) > 4, timeout=10_000)
    tree.resize(500, 300)
    assert not tree.isColumnHidden(2)
    tree.resize(400, 300)
    assert tree.isColumnHidden(2)
    assert tree.isColumnHidden(3)
    index = tree.nodes.index(3, 0, tree.nodes.index(0, 0))
    assert "520 bytes from byte 4,465" in str(index.data(Qt.ItemDataRole.ToolTipRole))


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
