"""What is said in the smallest window, and in a large one: nothing that counts is cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import QStyle, QTabBar
from pytestqt.qtbot import QtBot

from shardcore import Span
from shardscope.learning.drawings.space import LEAST_HEIGHT, LEAST_WIDTH
from shardscope.shell.main_window import MainWindow
from shardscope.shell.screenshot import settle
from shardscope.startup.settings import Settings

KEY = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


@pytest.mark.thorough
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
    qtbot.waitUntil(lambda: status.offset.text() == "offset 0x3e8")
    for size in ((640, 420), (800, 600), (1440, 840)):
        window.resize(*size)
        settle(window, 60)
        assert window.hex.view.horizontalScrollBar().maximum() == 0
        assert window.hex.view.state.layout.width == 16
        assert status.offset.seen == status.offset.text()
        for label in (status.length, status.whole, window.line.kind):
            assert label.isHidden() or label.seen == label.text(), label.text()
        bars = [bar for bar in window.findChildren(QTabBar) if "Panels: " in bar.accessibleName() and bar.isVisible()]
        assert bars
        for bar in bars:
            wide = [bar.fontMetrics().horizontalAdvance(bar.tabText(tab)) for tab in range(bar.count())]
            assert all(bar.tabRect(tab).width() > least for tab, least in enumerate(wide))
            assert bar.tabRect(bar.count() - 1).right() < window.width(), "no arrows to reach a panel"
    _a_drawing_has_room(window, qtbot)
    window.close()


def test_the_keyboard_stays_where_it_is(window: MainWindow, qtbot: QtBot, data: Path) -> None:
    """A window that becomes small, and large again, keeps in front what has the keyboard."""
    window.resize(1440, 840)
    window.open(str(data / "swh" / "small.shard"))
    settle(window, 60)
    for part in (window.objects.table, window.objects.filter, window.tree, window.hex.view):
        part.setFocus()
        for size in ((900, 560), (1440, 840)):
            window.resize(*size)
            settle(window, 20)
            assert window.focusWidget() is part


def _a_drawing_has_room(window: MainWindow, qtbot: QtBot) -> None:
    """In the smallest window a drawing gets the room of the panels, and one line walks through the lookup."""
    window.show_part("trace", focus=True)
    window.showMinimized()
    window.showNormal()
    assert window.focusWidget() is window.trace, "a window that was put away has the keyboard where it was"
    window.resize(640, 420)
    window.show_part("trace", focus=True)
    window.session.look_up(KEY)
    window.hex.drawings.show()
    settle(window, 60)
    panel, giving, panels = window.hex.drawings.panel, window.giving_way, window.panels
    assert panel is not None
    assert panels.lowered
    assert window.focusWidget() in (giving.line.next, giving.toggle), "the keyboard of the panel stays with the step"
    assert (panel.width(), panel.height()) >= (LEAST_WIDTH, LEAST_HEIGHT)
    assert panel.height() >= LEAST_HEIGHT
    window.session.go_to_step(3)
    assert giving.line.counter.text() == "4 of 11"
    giving.line.next.click()
    assert window.session.walk.step == 4
    window.show_part("trace")
    assert panels.lowered, "the line tells the step"
    giving.toggle.click()
    settle(window, 20)
    assert not panels.lowered
    assert panels.in_front("trace")
    assert panels.by_name["trace"].height() > 100
    bars = [one for one in window.findChildren(QTabBar) if "Panels: " in one.accessibleName() and one.isVisible()]
    bar = next(one for one in bars if one.count())
    place = bar.tabRect(bar.currentIndex()).center()
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: panels.lowered)
    window.show_part("findings")
    qtbot.waitUntil(lambda: not panels.lowered)
    window.hex.drawings.hide()
    settle(window, 20)
    assert not giving.line.isVisible()
    assert not giving.toggle.isVisible()


@pytest.mark.parametrize("screen", [(1440, 900), (1366, 768), (720, 450), (683, 384)])
def test_the_first_window_is_on_the_screen_with_its_frame(
    qtbot: QtBot, settings: Settings, monkeypatch: pytest.MonkeyPatch, screen: tuple[int, int]
) -> None:
    """At the first start the title bar and the status line are visible, also where pixels are doubled."""
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: QRect(QPoint(0, 0), QSize(*screen)))
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.show()
    title = window.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    assert window.width() + 2 <= screen[0]
    assert window.height() + title <= screen[1]
    assert window.minimumHeight() <= window.height()
