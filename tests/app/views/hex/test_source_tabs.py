"""Tabs of sources leave room for the path beside them."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from shardscope.views.hex.panel import HexPanel
from shardscope.views.hex.tabs import OpenSource, SourceTabs


def test_a_long_name_is_cut_in_its_middle_and_told_whole(qtbot: QtBot) -> None:
    """A member of a data set may be called by a hash: its tab is short, its tooltip is not."""
    tabs = SourceTabs()
    qtbot.addWidget(tabs)
    name = "b31c58f4afe1d61b870f2aea365c952c79fd311d1fe55c9f3bbebf30df872205.mdb"
    tabs.show_source(OpenSource(name, 10, ()))
    assert len(tabs.tabText(0)) < 32
    assert tabs.tabText(0).endswith(".mdb")
    assert tabs.tabToolTip(0) == name


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
