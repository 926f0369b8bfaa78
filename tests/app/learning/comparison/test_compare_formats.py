"""*Compare formats…*: opened by the welcome page and a lesson, chosen by mouse and keyboard, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore.teaching.comparison import HEADINGS, compared_formats
from shardcore.teaching.lessons.lesson import Show
from shardcore.teaching.lessons.lesson_step import StepTarget
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from tests.app.conftest import visible
from tests.app.shell.test_names import unnamed


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window with nothing open."""
    made = visible(qtbot, MainWindow(settings), 1440, 840)
    yield made
    made.close()


@pytest.mark.thorough
def test_by_mouse(qtbot: QtBot, window: MainWindow) -> None:
    """From the welcome page: six strips to one scale, a timeline and a table; a click chooses a format in both."""
    window.welcome.compare_button.click()
    sheet = window.comparing.sheet
    qtbot.waitUntil(lambda: not sheet.stale)
    assert window.comparing.show() is sheet
    strips, timeline = sheet.strips, sheet.timeline
    assert [row.format for row in strips.rows] == list(compared_formats())
    for row, column in product(range(len(strips.rows)), range(len(HEADINGS))):
        index = sheet.table.model().index(row, column)
        assert index.data()
        assert index.data(Qt.ItemDataRole.ToolTipRole)
    assert unnamed(sheet) == []
    for number, row in enumerate(strips.rows):
        strip, lookup, bars = strips.strip_of(number), row.lookup, timeline.bars_of(number)
        assert strip.width() == pytest.approx(row.size * strips.scale), "all strips have one scale"
        assert strip.width() <= strips.width()
        assert [trip for _, trip in bars] == list(lookup.trips)
        assert sum(bar.width() for bar, _ in bars) == pytest.approx(lookup.milliseconds * timeline.scale)
        for bar, trip in bars:
            assert f"{trip.bytes:,} byte" in timeline.tip_at(bar.center().toPoint())
        assert f"{row.format} {lookup.requests} request" in timeline.accessibleDescription()
        middle = strip.center().toPoint()
        assert " of all" in strips.tip_at(middle)
        QTest.mouseClick(strips, Qt.MouseButton.LeftButton, pos=middle)
        assert strips.current == row.format
        assert sheet.table.currentIndex().row() == number
    assert strips.tip_at(QPoint(5, strips.height() - 2)) == timeline.tip_at(QPoint(0, 0)) == ""


@pytest.mark.thorough
def test_by_keyboard(qtbot: QtBot, window: MainWindow) -> None:
    """A lesson opens it; arrows choose formats; Escape closes it, and its jobs end."""
    window.teaching.player.wanted.emit(StepTarget(Show.PANEL, "comparison"))
    sheet = window.comparing.sheet
    qtbot.waitUntil(sheet.strips.hasFocus)
    for part, key, current in (
        (sheet.strips, Qt.Key.Key_Home, "swh"),
        (sheet.strips, Qt.Key.Key_Down, "bloscpack"),
        (sheet.strips, Qt.Key.Key_Down, "des"),
        (sheet.table, Qt.Key.Key_Up, "bloscpack"),
    ):
        QTest.keyClick(part, key)
        assert sheet.strips.current == current
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert window.comparing.sheet is None
    qtbot.waitUntil(lambda: not window.jobs.open_jobs)
