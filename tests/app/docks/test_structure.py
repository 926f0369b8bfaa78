"""The tree of the structure, painted."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardscope.docks.structure import SWATCH, NodeDelegate, StructureTree
from shardscope.session import Session


def test_names_end_before_the_swatch(qtbot: QtBot, session: Session, data: Path) -> None:
    """In a narrow column the name of a section is cut where its colour begins, and not painted under it."""
    tree = StructureTree(session)
    qtbot.addWidget(tree)
    with qtbot.waitSignal(session.opened, timeout=10_000):
        session.open(str(data / "swh" / "small.shard"))
    nodes = tree.nodes
    qtbot.waitUntil(lambda: nodes.rowCount(nodes.index(0, 0)) > 4, timeout=10_000)
    section = nodes.index(4, 0, nodes.index(0, 0))
    assert tree.section_colour(section) is not None
    delegate = tree.itemDelegate()
    assert isinstance(delegate, NodeDelegate)
    for width, whole in ((80, False), (400, True)):
        option = QStyleOptionViewItem()
        option.rect = QRect(0, 0, width, 18)
        delegate.initStyleOption(option, section)
        assert (option.text == "hash function") is whole
        assert option.fontMetrics.horizontalAdvance(option.text) <= width - SWATCH - 8
