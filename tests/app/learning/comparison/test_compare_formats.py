"""*Compare formats…*: opened by the welcome page and a lesson, chosen by mouse and keyboard, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, QSize, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from shardcore import SectionRole
from shardcore.teaching.comparison.measure import HEADINGS, compared_formats
from shardcore.teaching.lessons.lesson import Show
from shardcore.teaching.lessons.stage import StepTarget
from shardcore.testing import FULL
from shardscope.learning.comparison.window import CompareWindow
from shardscope.shell.main_window import MainWindow
from shardscope.startup.settings import Settings
from shardscope.widgets import theme
from tests.app.shell.test_names import unnamed


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> Iterator[MainWindow]:
    """A window with nothing open."""
    made = MainWindow(settings)
    qtbot.addWidget(made)
    made.resize(1440, 840)
    made.show()
    yield made
    made.close()


def opened(qtbot: QtBot, window: MainWindow) -> CompareWindow:
    """The comparison, once all is measured."""
    window.welcome.compare_button.click()
    sheet = window.comparing.sheet
    qtbot.waitUntil(lambda: not sheet.stale, timeout=20_000)
    return sheet


@pytest.mark.thorough
def test_by_mouse(qtbot: QtBot, window: MainWindow) -> None:
    """From the welcome page: six strips to one scale, a timeline and a table; a click chooses a format in both."""
    sheet = opened(qtbot, window)
    assert window.comparing.show() is sheet
    strips = sheet.strips
    assert [row.format for row in strips.rows] == list(compared_formats())
    assert sheet.headline.text() == "10 objects of ten kinds, 42,484 bytes, uncompressed in all formats"
    assert sheet.line.text() == "Packed in memory and read back cold"
    for row in range(len(strips.rows)):
        for column in range(len(HEADINGS)):
            index = sheet.table.rows_.index(row, column)
            assert index.data()
            assert index.data(Qt.ItemDataRole.ToolTipRole)
    assert unnamed(sheet) == []
    check_timeline(sheet)
    # All strips have one scale: the largest ends at the edge.
    widths = {row.format: strips.strip_of(number).width() for number, row in enumerate(strips.rows)}
    assert max(widths.values()) <= strips.width()
    for number, row in enumerate(strips.rows):
        assert widths[row.format] == pytest.approx(row.size * strips.scale)
        middle = strips.strip_of(number).center().toPoint()
        assert " of all" in strips.tip_at(middle)
        QTest.mouseClick(strips, Qt.MouseButton.LeftButton, pos=middle)
        assert strips.current == row.format
        assert sheet.table.currentIndex().row() == number
    assert strips.tip_at(QPoint(5, strips.height() - 2)) == ""


def check_timeline(sheet: CompareWindow) -> None:
    """A lane per format, a bar per round trip, as wide as it takes; the tool tip lists the ranges."""
    timeline = sheet.timeline
    for number, row in enumerate(timeline.rows):
        bars = timeline.bars_of(number)
        assert [trip for _, trip in bars] == list(row.lookup.trips)
        assert sum(bar.width() for bar, _ in bars) == pytest.approx(row.lookup.milliseconds * timeline.scale)
        assert bars[-1][0].right() < timeline.width()
        for bar, trip in bars:
            assert f"{trip.bytes:,} byte" in timeline.tip_at(bar.center().toPoint())
        assert f"{row.format} {row.lookup.requests} request" in timeline.accessibleDescription()
    assert timeline.tip_at(QPoint(0, 0)) == ""


@pytest.mark.thorough
def test_by_keyboard(qtbot: QtBot, window: MainWindow) -> None:
    """A lesson opens it; arrows choose formats; Escape closes it, and its jobs end."""
    window.help.teaching.player.wanted.emit(StepTarget(Show.PANEL, "comparison"))
    sheet = window.comparing.sheet
    qtbot.waitUntil(sheet.strips.hasFocus)
    QTest.keyClick(sheet.strips, Qt.Key.Key_Home)
    assert sheet.strips.current == "swh"
    QTest.keyClick(sheet.strips, Qt.Key.Key_Down)
    QTest.keyClick(sheet.strips, Qt.Key.Key_Down)
    assert sheet.strips.current == "des"
    QTest.keyClick(sheet.table, Qt.Key.Key_Up)
    assert sheet.strips.current == "bloscpack"
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert window.comparing.sheet is None
    qtbot.waitUntil(lambda: not window.jobs.open_jobs)


@pytest.mark.thorough
def test_every_size_and_theme(qtbot: QtBot, window: MainWindow) -> None:
    """From 600 pixels on nothing is wider than the sheet; strips, letters and lines are drawn in light and dark."""
    sheet = opened(qtbot, window)
    for name in theme.NAMES if FULL else ("light", "dark"):
        window.set_theme(name)
        for size in (QSize(1240, 780), QSize(600, 380)):
            sheet.resize(size)
            sheet.grab()
            inner = sheet.area.widget()
            assert inner.minimumSizeHint().width() <= sheet.area.viewport().width()
        painted = sheet.strips.grab().toImage()
        ratio = painted.devicePixelRatio()
        for number, row in enumerate(sheet.strips.rows):
            data = next(piece for piece in row.pieces if piece.role is SectionRole.DATA)
            before = sum(piece.size for piece in row.pieces[: row.pieces.index(data)])
            strip = sheet.strips.strip_of(number)
            x = strip.left() + (before + data.size * 0.25) * sheet.strips.scale
            at = QPointF(x * ratio, (strip.top() + 3) * ratio).toPoint()
            assert painted.pixelColor(at).name() == theme.palette(name).section(SectionRole.DATA).name(), (
                name,
                row.format,
            )
    assert sheet.size() == QSize(600, 380)
