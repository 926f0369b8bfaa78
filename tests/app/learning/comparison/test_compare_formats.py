"""*Compare formats…*: opened, turned and saved by mouse and keyboard, in light and dark, at every size."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

from shardcore import SectionRole
from shardcore.teaching.comparison.comparison import COLUMNS, HEADINGS, compared_formats
from shardcore.teaching.comparison.measure import ACTIONS
from shardcore.testing import FULL
from shardscope.learning.comparison import jobs as desk_module
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


def wait_measured(qtbot: QtBot, sheet: CompareWindow) -> None:
    """Waits until everything that was asked for is known."""

    def known() -> bool:
        rows = sheet.desk.rows.values()
        return bool(rows) and not sheet.desk.stale and all(row.costs or row.error for row in rows)

    qtbot.waitUntil(known, timeout=20_000)


def cell(sheet: CompareWindow, format: str, heading: str) -> str:
    """What the table says."""
    row = list(sheet.desk.rows).index(format)
    return str(sheet.table.rows_.index(row, HEADINGS.index(heading)).data())


def drop(sheet: CompareWindow, *paths: Path) -> None:
    """Drops files on the sheet."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    sheet.dropEvent(
        QDropEvent(
            QPointF(5, 5),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


@pytest.mark.thorough
def test_by_mouse(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    """From the welcome page: six strips and a table; a click chooses whose slider it is; a folder is dropped; saved."""
    window.welcome.compare_button.click()
    sheet = window.comparing.sheet
    assert sheet is not None
    assert sheet.objectName() == "compareFormats"
    assert window.comparing.show() is sheet
    wait_measured(qtbot, sheet)
    strips = sheet.strips
    assert [row.format for row in strips.rows] == list(compared_formats())
    assert (
        sheet.headline.text()
        == "Built-in contents of ten kinds · 10 objects, 42,484 bytes · uncompressed in all formats"
    )
    assert "request" in cell(sheet, "swh", "one cold lookup")
    assert cell(sheet, "xorb", "delete one") == "not possible"
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
        assert sheet.dial.slider.isEnabled() == bool(row.dial)
    assert strips.tip_at(QPoint(5, strips.height() - 2)) == ""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).write_bytes(name.encode() * 500)
    drop(sheet, folder)
    qtbot.waitUntil(lambda: len(sheet.desk.objects) == 2)
    wait_measured(qtbot, sheet)
    assert sheet.headline.text().endswith("· 2 objects, 3,000 bytes · uncompressed in all formats")
    assert sheet.counts.value == 2
    drop(sheet, tmp_path / "nothing")
    qtbot.waitUntil(lambda: "there is no file" in sheet.line.text())
    sheet.built_in.click()
    wait_measured(qtbot, sheet)
    assert len(sheet.desk.objects) == 10
    assert not sheet.built_in.isEnabled()
    check_saved(qtbot, sheet, tmp_path)


def check_timeline(sheet: CompareWindow) -> None:
    """A lane per format, a bar per round trip, as wide as it takes; the tool tip lists the ranges."""
    timeline = sheet.timeline
    for number, row in enumerate(timeline.rows):
        assert row.lookup is not None
        bars = timeline.bars_of(number)
        assert [trip for _, trip in bars] == list(row.lookup.trips)
        assert sum(bar.width() for bar, _ in bars) == pytest.approx(row.lookup.milliseconds * timeline.scale)
        assert bars[-1][0].right() < timeline.width()
        for bar, trip in bars:
            assert f"{trip.bytes:,} byte" in timeline.tip_at(bar.center().toPoint())
        assert f"{row.format} {row.lookup.requests} request" in timeline.accessibleDescription()
    assert timeline.tip_at(QPoint(0, 0)) == ""


def check_saved(qtbot: QtBot, sheet: CompareWindow, tmp_path: Path) -> None:
    """The picture and the table hold what is shown; what cannot be written is said."""
    svg, table = tmp_path / "a.svg", tmp_path / "a.csv"
    for button, path in ((sheet.buttons[2], svg), (sheet.buttons[3], table)):
        button.click()
        dialog = sheet.findChild(QFileDialog)
        assert dialog is not None
        dialog.fileSelected.emit(str(path))
        dialog.reject()
        qtbot.waitUntil(path.exists)
        qtbot.waitUntil(lambda path=path: str(path) in sheet.line.text())
        qtbot.waitUntil(lambda: sheet.findChild(QFileDialog) is None)
    shown = {row.format: str(row.size) for row in sheet.strips.rows}
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    lines = list(csv.DictReader(StringIO(table.read_text())))
    assert tuple(lines[0]) == COLUMNS
    assert {line["format"]: line["size"] for line in lines} == shown
    sheet.save(tmp_path / "nothing" / "a.svg", "x")
    qtbot.waitUntil(lambda: "no folder" in sheet.line.text())


@pytest.mark.thorough
def test_one_codec_for_all_formats(qtbot: QtBot, window: MainWindow) -> None:
    """Contents are stored uncompressed, by zstd where a format has it, or by the default codec of each."""
    window.welcome.compare_button.click()
    sheet = window.comparing.sheet
    assert sheet is not None
    # A codec that is chosen before the formats are imported counts, too.
    sheet.codecs.setCurrentIndex(1)
    wait_measured(qtbot, sheet)
    assert cell(sheet, "swh", "codec") == "not compressed by the format"
    assert cell(sheet, "xorb", "codec") == "none: the format has no zstd"
    assert cell(sheet, "des", "codec") == sheet.desk.rows["des"].value == "zstd"
    sheet.codecs.setCurrentIndex(0)
    wait_measured(qtbot, sheet)
    assert all(row.overhead > 0 for row in sheet.desk.rows.values())
    assert sheet.desk.rows["xorb"].value == "none"
    sheet.choose("xorb")
    assert sheet.dial.value == "none"
    sheet.codecs.setCurrentIndex(2)
    wait_measured(qtbot, sheet)
    assert sheet.desk.rows["xorb"].value == sheet.dial.value == "auto"
    assert sheet.desk.rows["xorb"].overhead < 0
    assert sheet.headline.text().endswith("default codec of each format")


@pytest.mark.thorough
def test_by_keyboard(qtbot: QtBot, window: MainWindow) -> None:
    """A shortcut opens it; arrows choose formats and turn sliders; Escape closes it, and its jobs end."""
    QTest.keyClick(window, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    sheet = window.comparing.sheet
    assert sheet is not None
    wait_measured(qtbot, sheet)
    qtbot.waitUntil(sheet.strips.hasFocus)
    QTest.keyClick(sheet.strips, Qt.Key.Key_Home)
    assert sheet.strips.current == "swh"
    QTest.keyClick(sheet.strips, Qt.Key.Key_Down)
    QTest.keyClick(sheet.strips, Qt.Key.Key_Down)
    assert sheet.strips.current == "des"
    before = sheet.desk.rows["des"].size
    others = {name: row for name, row in sheet.desk.rows.items() if name != "des"}
    QTest.keyClick(sheet.dial.slider, Qt.Key.Key_End)
    wait_measured(qtbot, sheet)
    assert sheet.desk.rows["des"].value == "zstd"
    assert sheet.desk.rows["des"].size < before
    assert "zstd" in cell(sheet, "des", "format")
    # Nothing else was packed again.
    assert all(sheet.desk.rows[name] is row for name, row in others.items())
    QTest.keyClick(sheet.counts.slider, Qt.Key.Key_Right)
    QTest.keyClick(sheet.sizes.slider, Qt.Key.Key_Right)
    wait_measured(qtbot, sheet)
    assert sheet.headline.text().endswith("· 20 objects, 320 bytes · uncompressed in all formats")
    assert sheet.desk.rows["des"].value == "zstd"
    QTest.keyClick(sheet.table, Qt.Key.Key_Up)
    assert sheet.strips.current == "bloscpack"
    seen = set()
    sheet.strips.setFocus()
    for _ in range(14):
        at = QApplication.focusWidget()
        assert at is not None
        seen.add(at.objectName())
        QTest.keyClick(at, Qt.Key.Key_Tab)
    assert seen >= {"compareStrips", "compareTable", "compareCount", "compareSize", "compareDial", "compareFolder"}
    QTest.keyClick(sheet, Qt.Key.Key_Escape)
    assert window.comparing.sheet is None
    qtbot.waitUntil(lambda: not window.jobs.open_jobs)


@pytest.mark.thorough
def test_the_newest_wins(qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a slider is dragged, formats are packed for where it ends, and rows of before are marked as old."""
    sheet = window.comparing.show()
    wait_measured(qtbot, sheet)
    packed: Counter[tuple[str, int]] = Counter()
    measured = desk_module.measured

    def counted(name: str, objects: Any, options: Any, codec: str) -> Any:
        packed[name, len(objects)] += 1
        return measured(name, objects, options, codec)

    monkeypatch.setattr(desk_module, "measured", counted)
    for _ in range(3):
        for at in (8, 5, 7, 6):
            sheet.counts.slider.setValue(at)
    assert sheet.desk.stale == set(compared_formats())
    wait_measured(qtbot, sheet)
    assert packed == Counter({(name, 100): 1 for name in compared_formats()})
    assert {row.objects for row in sheet.strips.rows} == {100}
    # What one format refuses is said in its row; the others are compared.
    sheet.desk.turn("des", "rar")
    wait_measured(qtbot, sheet)
    assert "not 'rar'" in cell(sheet, "des", "what it cannot")
    assert cell(sheet, "des", "size") == "—"
    assert not sheet.desk.rows["swh"].error
    assert set(sheet.desk.rows["swh"].costs) == set(ACTIONS)
    sheet.grab()
    # While formats are being packed the window closes, and nothing of it comes home.
    sheet.counts.slider.setValue(8)
    before = dict(sheet.desk.rows)
    window.close()
    qtbot.waitUntil(lambda: not window.jobs.open_jobs)
    assert sheet.desk.rows == before


@pytest.mark.thorough
def test_every_size_and_theme(qtbot: QtBot, window: MainWindow) -> None:
    """From 600 pixels on nothing is wider than the sheet; strips, letters and lines are drawn in light and dark."""
    sheet = window.comparing.show()
    wait_measured(qtbot, sheet)
    pictures = set()
    for name in theme.NAMES if FULL else ("light", "dark"):
        window.set_theme(name)
        for size in (QSize(1240, 780), QSize(600, 380)):
            sheet.resize(size)
            pictures.add(sheet.grab().toImage().cacheKey())
            inner = sheet.area.widget()
            assert inner is not None
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
