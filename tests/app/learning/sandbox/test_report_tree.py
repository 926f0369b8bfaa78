"""The report of a sandbox: every sentence is readable in a narrow panel."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem
from pytestqt.qtbot import QtBot

from shardcore.shards.registry import all_formats, format_of
from shardcore.teaching.impact import Impact
from shardscope.learning.sandbox.report_tree import ReportTree


@pytest.mark.parametrize("name", [one.name for one in all_formats()])
def test_sentences_on_other_readers_are_not_cut(qtbot: QtBot, name: str) -> None:
    """A row is as high as its text, also where it needs more than five lines."""
    tree = ReportTree()
    qtbot.addWidget(tree)
    tree.resize(240, 600)
    tree.show()
    tree.show_impact(Impact(checks=()), format_of(name).peers())
    others = tree.topLevelItem(tree.topLevelItemCount() - 1)
    assert others is not None
    assert others.childCount()
    for number in range(others.childCount()):
        item = others.child(number)
        option = QStyleOptionViewItem()
        tree.initViewItemOption(option)
        option.rect = tree.visualItemRect(item)
        option.text, option.features = item.text(0), QStyleOptionViewItem.ViewItemFeature.HasDisplay
        place = tree.style().subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, tree)
        margin = tree.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, tree) + 1
        needed = tree.fontMetrics().boundingRect(
            0, 0, place.width() - 2 * margin, 10_000, int(Qt.TextFlag.TextWordWrap), item.text(0)
        )
        assert needed.height() <= place.height(), item.text(0)
