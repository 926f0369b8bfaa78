"""What is painted: the colour of each cell, on whole device pixels, and how it is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

import shardcore
from shardscope.session.jobs import Jobs
from shardscope.session.marks import Marks
from shardscope.session.pages import PAGE, PageCache
from shardscope.views.hex.cells import ByteCells, gather
from shardscope.views.hex.grid import HexGrid, HexPart
from shardscope.views.hex.layout import HexLayout, ScreenRows
from shardscope.views.hex.paint import HexPainter
from shardscope.views.hex.scene import HexScene
from shardscope.widgets import theme
from tests.app.hex_samples import INDEX, OBJECTS, SECTIONS, SIZE, SLOT


@pytest.fixture
def full(qtbot: QtBot, pages: PageCache) -> PageCache:
    """The page cache with the whole sample in it."""
    load(qtbot, pages, SIZE)
    return pages


def load(qtbot: QtBot, pages: PageCache, size: int) -> None:
    """Wait for all bytes and their runs."""
    last = (size - 1) // PAGE
    pages.want("", range(last + 1))
    qtbot.waitUntil(lambda: all((p := pages.get("", n)) is not None and p.runs is not None for n in range(last + 1)))


def scene(rows: int, top: int = 0, **changes: object) -> HexScene:
    """A scene with nothing but cells."""
    plain = HexScene(
        rows=ScreenRows(top, rows),
        sections=SECTIONS,
        selection=None,
        caret=-1,
        focused=False,
        part=HexPart.HEX,
        hover=None,
        marks=Marks(),
        letters=False,
    )
    for name, value in changes.items():
        setattr(plain, name, value)
    return plain


def cells_of(pages: PageCache, layout: HexLayout) -> Callable[[int, int], ByteCells]:
    """The cells of rows."""
    return lambda top, rows: gather(layout, top, rows, pages, "", SECTIONS)


def painted(pages: PageCache, layout: HexLayout, ratio: float, what: HexScene) -> tuple[QImage, HexGrid]:
    """A picture of the rows of a scene."""
    grid = HexGrid(theme.fixed_font(), layout, ratio)
    image = QImage(round(grid.width * ratio), round((grid.row_y(what.rows.lines)) * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    area = QRectF(0, 0, image.width() / ratio, image.height() / ratio)
    HexPainter(grid, theme.palette("light")).paint(painter, what, cells_of(pages, layout), area, 0)
    painter.end()
    return image, grid


SAMPLES = Path(__file__).parents[4] / "resources" / "samples"
ENDINGS = (".shard", ".mdb", ".xorb", ".blp", ".des")


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SAMPLES.rglob("*") if path.suffix in ENDINGS and path.is_file()),
    ids=lambda path: str(path.relative_to(SAMPLES))[:50],
)
def test_every_byte_of_the_samples_has_a_tint_of_its_section(qtbot: QtBot, jobs: Jobs, path: Path) -> None:
    """Hatched or not, each byte has one of the two tints of its section."""
    colours, pages, size = theme.palette("light"), PageCache(jobs), path.stat().st_size
    with shardcore.open(str(path), partial=True) as shard:
        sections = shard.sections
        pages.use(shard)
        load(qtbot, pages, size)
    grid = HexGrid(theme.fixed_font(), HexLayout(size), 1.0)
    x = [round(grid.edge(cell, HexPart.HEX)) + 2 for cell in range(grid.layout.width)]
    found = []
    for top in range(0, grid.layout.rows, 1000):
        rows = min(grid.layout.rows - top, 1000)
        image = QImage(round(grid.width), round(grid.row_y(rows)), QImage.Format.Format_RGB32)
        painter = QPainter(image)
        cells = lambda top, rows: gather(grid.layout, top, rows, pages, "", sections)  # noqa: E731
        what = scene(rows, top=top, sections=sections)
        HexPainter(grid, colours).paint(painter, what, cells, QRectF(image.rect()), 0)
        painter.end()
        y = [round(grid.row_y(row) + grid.row / 2) for row in range(rows)]
        found.append(np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)[y][:, x].reshape(-1, 4))
    painted = np.concatenate(found)[:size, 2::-1].astype(int)
    for section in sections:
        tints = np.array([colours.section(section.role, parity).getRgb()[:3] for parity in (0, 1)])
        lines = colours.hatch(section.role).color()
        if section.role in theme.HATCHED:
            mixed = lines.alphaF() * np.array(lines.getRgb()[:3]) + (1 - lines.alphaF()) * tints
            tints = np.concatenate([tints, mixed])
        apart = abs(painted[section.start : section.stop, None] - tints).max(axis=2).min(axis=1)
        assert apart.max(initial=0) <= 2, (section.name, section.start + int(apart.argmax()))


def test_only_rows_that_change_are_painted(full: PageCache) -> None:
    layout = HexLayout(SIZE)
    grid = HexGrid(theme.fixed_font(), layout, 1.0)
    hexes = HexPainter(grid, theme.palette("light"))
    image = QImage(round(grid.width), round(grid.row_y(20)), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    steps: list[tuple[dict[str, Any], int]] = [
        ({}, 20),
        ({"caret": 33, "hover": (16, 48), "frames": [(32, 40)], "focused": True}, 1),
        ({"top": 1}, 2),
        ({"top": 1, "selection": (20, 60)}, 3),
        ({"top": 1, "selection": (20, 65)}, 2),
        ({"top": 0, "selection": (20, 65)}, 1),
        ({}, 4),
    ]
    for changes, count in steps:
        before = hexes.canvas.painted
        hexes.paint(painter, scene(20, **changes), cells_of(full, layout), QRectF(image.rect()), 0)
        assert hexes.canvas.painted - before == count, changes
    painter.end()


@pytest.mark.parametrize("ratio", [1.0, 1.25, 2.0])
def test_kept_rows_look_like_new_ones(full: PageCache, ratio: float) -> None:
    """The picture equals one painted without the cache."""
    layout = HexLayout.aligned(SIZE, SLOT.size, INDEX)
    grid = HexGrid(theme.fixed_font(), layout, ratio)
    hexes = HexPainter(grid, theme.palette("light"))
    image = QImage(round(grid.width * ratio), round(grid.row_y(12) * ratio), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    area = QRectF(0, 0, image.width() / ratio, image.height() / ratio)
    ends = scene(12, top=26, selection=(INDEX + 1000, OBJECTS + 100), letters=True)
    for what in (scene(12, letters=True), scene(12, top=29, letters=True), scene(12, top=24, letters=True), ends):
        painter = QPainter(image)
        hexes.paint(painter, what, cells_of(full, layout), area, 0)
        painter.end()
    fresh, _ = painted(full, layout, ratio, ends)
    assert image == fresh
