"""What is said in the smallest window, and in a large one: nothing that counts is cut."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QTabBar
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.settings import Settings
from shardscope.window.main_window import MainWindow
from shardscope.window.screenshot import settle


def test_nothing_that_counts_is_cut(qtbot: QtBot, settings: Settings, data: Path) -> None:
    """Rows of bytes, the offset and the format on the status line, and the names on tabs are seen whole at any size."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.resize(640, 420)
    window.show()
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    window.session.select_span(Span("", 1_000, 1_100))
    status = window.hex.status
    qtbot.waitUntil(lambda: status.offset.text() == "offset 1,000 · 0x3e8")
    for size in ((640, 420), (800, 600), (1440, 840)):
        window.resize(*size)
        settle(window, 60)
        assert window.hex.view.horizontalScrollBar().maximum() == 0
        assert window.hex.view.state.layout.width == 16
        assert status.offset.seen == status.offset.text()
        for label in (status.length, status.whole, window.line.kind):
            assert label.isHidden() or label.seen == label.text(), label.text()
        bars = [bar for bar in window.findChildren(QTabBar) if bar.accessibleName() == "Panels" and bar.isVisible()]
        assert bars
        for bar in bars:
            wide = [bar.fontMetrics().horizontalAdvance(bar.tabText(tab)) for tab in range(bar.count())]
            assert all(bar.tabRect(tab).width() > least for tab, least in enumerate(wide))
    window.close()
