"""Tabs of sources leave room for the path beside them."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.tabs import OpenSource, SourceTabs


def test_the_name_of_a_shard_is_in_the_path_alone(qtbot: QtBot) -> None:
    tabs = SourceTabs()
    qtbot.addWidget(tabs)
    tabs.show_source(OpenSource("20260105_2A_0000.des", 10, ()))
    assert tabs.tabText(0) == "Bytes"


def test_titles_are_never_cut(qtbot: QtBot, swh: HexPanel) -> None:
    """In the room that a window of 1440 pixels leaves all tabs are there; where there are more, the bar scrolls."""
    tabs = swh.tabs
    swh.resize(646, 700)
    tabs.set_drawing(True)
    tabs.show_source(OpenSource("@8-403", 10, ()))
    qtbot.waitUntil(lambda: tabs.width() == tabs.sizeHint().width())
    for start in (100_008, 200_008, 300_008):
        tabs.show_source(OpenSource(f"@{start}-{start + 400}", 10, ()))
    qtbot.waitUntil(lambda: tabs.width() < tabs.sizeHint().width())
    assert sum(tabs.tabRect(number).width() for number in range(tabs.count())) == tabs.sizeHint().width()
