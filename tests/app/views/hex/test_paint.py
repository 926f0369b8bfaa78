"""What is painted: the colour of each cell, on whole device pixels, and how it is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QStaticText
from PySide6.QtSvg import QSvgGenerator
from pytestqt.qtbot import QtBot

import shardcore
from shardcore import FieldRole, SectionRole
from shardscope.session.jobs import Jobs
from shardscope.session.marks import Marks
from shardscope.session.pages import PAGE, PageCache
from shardscope.views.hex.cells import ByteCells, CellState, gather, run_at
from shardscope.views.hex.grid import Block, HexGrid, HexPart
from shardscope.views.hex.layout import HexLayout, ScreenRows, hex_column
from shardscope.views.hex.paint import HexPainter
from shardscope.views.hex.paint_rows import RowGlyphs
from shardscope.views.hex.scene import HexScene
from shardscope.widgets import theme
from tests.app.hex_samples import DATA, INDEX, OBJECTS, SECTIONS, SIZE, SLOT, TAIL


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


@pytest.mark.parametrize("ratio", [1.0, 1.25, 1.5, 2.0])
def test_every_cell_has_the_colour_of_its_field(full: PageCache, ratio: float) -> None:
    """At any scale of the screen each byte stands on the tint of its section and parity, edge to edge."""
    layout = HexLayout.aligned(SIZE, SLOT.size, INDEX)
    image, grid = painted(full, layout, ratio, scene(8))
    colours = theme.palette("light")
    wanted = {
        0: (SectionRole.HEADER, 0),
        9: (SectionRole.HEADER, 1),
        INDEX: (SectionRole.INDEX, 0),
        INDEX + 31: (SectionRole.INDEX, 0),
        INDEX + 32: (SectionRole.INDEX, 1),
        INDEX + 5 * SLOT.size + 39: (SectionRole.INDEX, 1),
    }
    for offset, (section, parity) in wanted.items():
        row, cell = layout.row_of(offset), layout.column_of(offset)
        place = grid.rect(Block(row, row + 1, cell, cell + 1), HexPart.HEX)
        # Beside the digits, which begin half a character inside.
        for x in (place.left() + 2 / ratio, place.right() - 2 / ratio):
            pixel = image.pixelColor(round(x * ratio), round(place.center().y() * ratio))
            assert pixel.rgb() == colours.section(section, parity).rgb(), (offset, ratio)


SAMPLES = Path(__file__).parents[4] / "resources" / "samples"
ENDINGS = (".shard", ".mdb", ".xorb", ".blp", ".des")


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SAMPLES.rglob("*") if path.suffix in ENDINGS and path.is_file()),
    ids=lambda path: str(path.relative_to(SAMPLES))[:50],
)
def test_every_byte_of_the_samples_has_a_tint_of_its_section(qtbot: QtBot, jobs: Jobs, path: Path) -> None:
    """Whatever a byte means, it is painted in one of the two tints of its section, hatched or not."""
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


@pytest.mark.parametrize("ratio", [1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 3.0])
def test_the_grid_stands_on_device_pixels(qtbot: QtBot, ratio: float) -> None:
    """Cells, rows and columns begin on whole device pixels at any scale, and characters keep to their cells."""
    for points in (9.0, 10.0, 11.5):
        grid = HexGrid(theme.fixed_font(points), HexLayout(100, 40), ratio)
        for length in (grid.cell, grid.row, grid.header, grid.hex_x, grid.text_x):
            assert length * ratio == pytest.approx(round(length * ratio))
        wide = QFontMetricsF(grid.font).horizontalAdvance("0" * 25)
        assert wide == pytest.approx(25 * grid.cell, abs=0.6)


def test_cells_agree_with_the_bytes(full: PageCache) -> None:
    """Data, states and run beginnings are those of the sample, with blank cells around them."""
    layout = HexLayout.aligned(SIZE, SLOT.size, INDEX)
    cells = gather(layout, 0, 3, full, "", SECTIONS)
    flat, state = cells.data.ravel(), cells.state.ravel()
    assert flat[layout.lead :].tobytes() == DATA[: 3 * SLOT.size - layout.lead]
    assert set(state[: layout.lead]) == {CellState.BLANK}
    assert set(state[layout.lead :]) == {CellState.LOADED}
    begins = {int(at) + cells.first: int(cells.begins.ravel()[at]) - 1 for at in np.flatnonzero(cells.begins)}
    assert begins[0] == FieldRole.MAGIC
    assert begins[INDEX + 32] == FieldRole.OFFSET
    assert all(offset in (0, 8) or (offset - INDEX) % SLOT.size in (0, 32) for offset in begins)
    end = gather(layout, layout.rows - 1, 1, full, "", SECTIONS)
    assert int((end.state == CellState.LOADED).sum()) == layout.column_of(SIZE - 1) + 1


def test_runs_are_joined_over_pages(full: PageCache) -> None:
    """A run that goes over the border of pages is one run, with its first and last byte."""
    assert run_at(full, "", OBJECTS + 5) == (OBJECTS, TAIL, FieldRole.DATA)
    assert run_at(full, "", TAIL - 1) == (OBJECTS, TAIL, FieldRole.DATA)
    assert run_at(full, "", INDEX) == (INDEX, INDEX + 32, FieldRole.KEY)
    assert run_at(full, "", SIZE + PAGE) is None


@pytest.mark.parametrize("name", theme.NAMES)
def test_a_selection_is_seen(full: PageCache, name: str) -> None:
    """In every theme the selected bytes have an outline in the accent colour, and a tint over their own."""
    layout = HexLayout(SIZE)
    grid = HexGrid(theme.fixed_font(), layout, 1.0)
    image = QImage(round(grid.width), round(grid.row_y(6)), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    colours = theme.palette(name)
    what = scene(6, selection=(20, 60))
    HexPainter(grid, colours).paint(painter, what, cells_of(full, layout), QRectF(image.rect()), 0)
    painter.end()
    left = round(grid.edge(4, HexPart.HEX))
    column = {image.pixel(left + dx, round(grid.row_y(1) + grid.row / 2)) for dx in (-1, 0, 1)}
    assert colours.accent.rgb() in column
    shade = colours.field(FieldRole.KEY)
    inside = image.pixelColor(round(grid.edge(6, HexPart.HEX)) + 2, round(grid.row_y(2) + grid.row / 2))
    tint, alpha = colours.selection, colours.selection.alphaF()
    for got, back, front in zip(inside.getRgb(), shade.getRgb(), tint.getRgb()[:3], strict=False):
        assert abs(got - (back * (1 - alpha) + front * alpha)) <= 1


def test_glyphs_are_the_characters(full: PageCache, tmp_path: Path) -> None:
    """Bytes are drawn as text of the same font would be, to the pixel; in SVG they are letters that can be found."""
    layout = HexLayout(SIZE)
    grid = HexGrid(theme.fixed_font(), layout, 1.0)
    glyphs, cells = RowGlyphs(grid), gather(layout, 80, 6, full, "", SECTIONS)
    drawn, wanted = (QImage(round(grid.width), round(grid.row_y(6)), QImage.Format.Format_RGB32) for _ in range(2))
    for image in (drawn, wanted):
        image.fill(0xFFFFFF)
    painter = QPainter(drawn)
    glyphs.bytes(painter, cells, QColor("black"), QColor("gray"))
    painter.setPen(QColor("black"))
    glyphs.offsets(painter, cells)
    painter.end()
    painter = QPainter(wanted)
    painter.setFont(grid.font)
    for row in range(6):
        y = grid.row_y(row) + grid.text_y
        for cell, byte in enumerate(cells.data[row].tolist()):
            known = 0x20 <= byte < 0x7F
            painter.setPen(QColor("black" if byte else "gray"))
            painter.drawStaticText(QPointF(grid.hex_x + hex_column(cell) * grid.cell, y), QStaticText(f"{byte:02x}"))
            painter.setPen(QColor("black" if known else "gray"))
            text = QStaticText(chr(byte) if known else ".")
            text.setTextFormat(Qt.TextFormat.PlainText)
            painter.drawStaticText(QPointF(grid.text_x + cell * grid.cell, y), text)
        painter.setPen(QColor("black"))
        offset = QStaticText(layout.offset_text(layout.row_start(80 + row)))
        painter.drawStaticText(QPointF(grid.margin, y), offset)
    painter.end()
    assert drawn == wanted
    generator = QSvgGenerator()
    generator.setFileName(str(tmp_path / "bytes.svg"))
    painter = QPainter(generator)
    glyphs.offsets(painter, cells)
    painter.end()
    assert f">{layout.row_start(80):#x}</text>" in (tmp_path / "bytes.svg").read_text().replace("\n", "")


@pytest.mark.parametrize("width", [5, 16, 40])
def test_every_field_has_a_border_around_it(full: PageCache, width: int) -> None:
    """Between a byte and the one above there is a line where they belong to two fields, wherever painting begins."""
    layout = HexLayout(SIZE, width)
    starts = np.zeros(SIZE, np.int64)
    for at in range(1, SIZE):
        begins = at < OBJECTS and (at in (8, INDEX) or (at > INDEX and (at - INDEX) % SLOT.size in (0, 32)))
        starts[at] = at if begins or at in (OBJECTS, TAIL) else starts[at - 1]
    expected = np.zeros(SIZE, np.bool_)
    expected[width:] = starts[width:] != starts[:-width]
    for top, rows in ((0, 30), (1, 1), (7, 3)):
        found = gather(layout, top, rows, full, "", SECTIONS).under_another().ravel()
        assert found.tolist() == expected[top * width : (top + rows) * width].tolist()


def test_outlines_go_around_the_bytes() -> None:
    """One polygon around touching rows, two where they do not touch, none outside the screen."""
    grid, rows = HexGrid(QFont("DejaVu Sans Mono", 10), HexLayout(1000), 1.0), ScreenRows(0, 10)
    assert len(grid.outlines(20, 90, rows, HexPart.HEX)) == 1
    one, other = grid.outlines(31, 33, rows, HexPart.HEX)
    # They are one frame: each is open where the bytes go on.
    right, left = grid.edge(16, HexPart.HEX), grid.edge(0, HexPart.HEX)
    assert [point.x() for point in (one.first(), one.last())] == [right, right]
    assert [point.x() for point in (other.first(), other.last())] == [left, left]
    assert not one.isClosed()
    assert not other.isClosed()
    assert grid.outlines(500, 600, rows, HexPart.HEX) == []
    assert len(grid.outlines(0, 2**62, rows, HexPart.TEXT)) == 1
    (polygon,) = grid.outlines(20, 90, rows, HexPart.HEX)
    assert polygon.isClosed()
    box = polygon.boundingRect()
    assert (box.top(), box.bottom()) == (grid.row_y(1), grid.row_y(6))


def test_only_rows_that_change_are_painted(full: PageCache) -> None:
    """Painting again, moving the caret and hovering paint no row; scrolling, one; a selection, the rows it touches."""
    layout = HexLayout(SIZE)
    grid = HexGrid(theme.fixed_font(), layout, 1.0)
    hexes = HexPainter(grid, theme.palette("light"))
    image = QImage(round(grid.width), round(grid.row_y(20)), QImage.Format.Format_RGB32)
    painter = QPainter(image)
    steps: list[tuple[dict[str, Any], int]] = [
        ({}, 20),
        ({"caret": 33, "hover": (16, 48), "frames": [(32, 40)], "focused": True}, 0),
        ({"top": 1}, 1),
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


def test_frames_end_with_the_rows(full: PageCache) -> None:
    """What goes on below the screen is not drawn into the strip that has no room for a row."""
    layout = HexLayout(SIZE)
    grid = HexGrid(theme.fixed_font(), layout, 1.0)
    plain, framed = (QImage(round(grid.width), round(grid.row_y(5)) + 12, QImage.Format.Format_RGB32) for _ in range(2))
    for image, frames in ((plain, []), (framed, [(20, 400)])):
        painter = QPainter(image)
        what = scene(5, frames=frames, hover=(20, 300) if frames else None, selection=(20, 300) if frames else None)
        HexPainter(grid, theme.palette("light")).paint(painter, what, cells_of(full, layout), QRectF(image.rect()), 0)
        painter.end()
    strip = QRect(0, round(grid.row_y(5)), plain.width(), 12)
    assert framed.copy(strip) == plain.copy(strip)
    assert framed != plain


@pytest.mark.parametrize("ratio", [1.0, 1.25, 2.0])
def test_kept_rows_look_like_new_ones(full: PageCache, ratio: float) -> None:
    """After scrolling about and selecting, the picture is the one that is painted from nothing, to the pixel."""
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
