"""What is painted: the colour of each cell, on whole device pixels, and how it is kept."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from shardscope.session.byte_marks import Marks
from shardscope.session.byte_pages import PAGE, PageCache
from shardscope.views.hex.layout import HexGrid, HexLayout, HexPart, ScreenRows, gather
from shardscope.views.hex.painter import HexPainter, HexScene
from shardscope.widgets import theme
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, SLOT


@pytest.fixture
def full(qtbot: QtBot, pages: PageCache) -> PageCache:
    """The page cache with the whole sample in it."""
    numbers = range((SIZE - 1) // PAGE + 1)
    pages.want("", numbers)
    qtbot.waitUntil(lambda: all((p := pages.get("", n)) is not None and p.runs is not None for n in numbers))
    return pages


def scene(rows: int, top: int = 0, **changes: Any) -> HexScene:
    """A scene with nothing but cells."""
    plain: dict[str, Any] = {"selection": None, "caret": -1, "focused": False, "hover": None, "letters": False}
    return HexScene(rows=ScreenRows(top, rows), sections=SECTIONS, part=HexPart.HEX, marks=Marks(), **plain | changes)


class Canvas:
    """A picture of rows of the sample, painted by one painter."""

    def __init__(self, pages: PageCache, layout: HexLayout, rows: int, ratio: float) -> None:
        self.grid = HexGrid(theme.fixed_font(), layout, ratio)
        self.hexes = HexPainter(self.grid, theme.palette("light"))
        self.cells = lambda top, rows: gather(layout, top, rows, pages, "", SECTIONS)
        size = round(self.grid.width * ratio), round(self.grid.row_y(rows) * ratio)
        self.image = QImage(*size, QImage.Format.Format_RGB32)
        self.image.setDevicePixelRatio(ratio)

    def paint(self, what: HexScene) -> int:
        """Paint a scene; returns how many rows were painted."""
        before, ratio = self.hexes.canvas.painted, self.image.devicePixelRatio()
        painter = QPainter(self.image)
        area = QRectF(0, 0, self.image.width() / ratio, self.image.height() / ratio)
        self.hexes.paint(painter, what, self.cells, area, 0)
        painter.end()
        return self.hexes.canvas.painted - before


def test_only_rows_that_change_are_painted(full: PageCache) -> None:
    canvas = Canvas(full, HexLayout(SIZE), 20, 1.0)
    steps: list[tuple[dict[str, Any], int]] = [
        ({}, 20),
        ({"caret": 33, "hover": (16, 48), "frames": [(32, 40)], "focused": True}, 1),
        ({"top": 1}, 2),
        ({"top": 1, "selection": (20, 60)}, 3),
        ({"top": 1, "selection": (20, 65)}, 2),
        ({"top": 0, "selection": (20, 65)}, 1),
        ({}, 4),
    ]
    assert [canvas.paint(scene(20, **changes)) for changes, _ in steps] == [count for _, count in steps]


@pytest.mark.parametrize("ratio", [1.0, 1.25, 2.0])
def test_kept_rows_look_like_new_ones(full: PageCache, ratio: float) -> None:
    """The picture equals one painted without the cache; each byte has the tint of its section."""
    layout, colours = HexLayout.aligned(SIZE, SLOT.size, INDEX), theme.palette("light")
    kept, fresh = Canvas(full, layout, 12, ratio), Canvas(full, layout, 12, ratio)
    ends = scene(12, top=26, selection=(INDEX + 1000, OBJECTS + 100), letters=True)
    for what in (scene(12, letters=True), scene(12, top=29, letters=True), scene(12, top=24, letters=True), ends):
        kept.paint(what)
    fresh.paint(ends)
    assert kept.image == fresh.image
    for part in (part for part in SECTIONS if part.role not in theme.HATCHED):
        fresh.paint(scene(12, top=layout.row_of(part.start)))
        x = fresh.grid.edge(layout.column_of(part.start), HexPart.HEX) + 2
        colour = fresh.image.pixel(round(x * ratio), round((fresh.grid.row_y(0) + 2) * ratio))
        assert colour in [colours.section(part.role, parity).rgb() for parity in (0, 1)], part.name
