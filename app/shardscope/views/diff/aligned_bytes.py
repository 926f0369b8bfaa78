"""Aligned bytes of two files: rows side by side with one scroll bar, and strips of the differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from shardcore import Section
from shardcore.model.text import size_text
from shardcore.operations.byte_diff import AlignedRows, ByteDiff, DiffRun
from shardscope.session.byte_marks import sections_in
from shardscope.session.display_text import offset_words, range_words
from shardscope.views.diff.diff_jobs import BytesSideBySide, DiffJobs
from shardscope.views.hex.layout import NO_RUN, Block, ByteCells, CellState, HexGrid, HexLayout, HexPart
from shardscope.views.hex.painter import RowGlyphs
from shardscope.views.hex.state import RowScroller
from shardscope.widgets import theme
from shardscope.widgets.fonts import mono
from shardscope.widgets.strip_paint import SectionStrip, StripScale, paint_strip

ROWS_AROUND = 64
PARTS = 2000
WIDTHS = (32, 24, 16, 12, 8, 4)


_TICK = 7.0


class AlignedState(QObject):
    """State shared by both sides. Signal `chosen` carries the difference found by `step`, or None."""

    changed = Signal()
    chosen = Signal(object)
    counted = Signal()
    failed = Signal(object)

    def __init__(self, jobs: DiffJobs, bar: QScrollBar, parent: QObject) -> None:
        super().__init__(parent)
        self.sides: BytesSideBySide | None = None
        self.bytes: ByteDiff | None = None
        self.shown: AlignedRows | None = None
        self.run: DiffRun | None = None
        self.row = 0
        self.error = ""
        self.counts: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        # Number of differences; 0 before they are counted.
        self.runs = 0
        self.visible = 1
        self._jobs = jobs
        self._width = 16
        self.scroller = RowScroller(bar, self._moved)

    def show_bytes(self, sides: BytesSideBySide | None) -> None:
        self.sides, self.shown, self.run, self.counts = sides, None, None, None
        self.row, self.runs, self.error = 0, 0, ""
        self._lay_out()
        self.scroller.go(0)

    def count(self) -> None:
        aligned, sides = self.bytes, self.sides
        if aligned is None:
            return

        def take(found: tuple[NDArray[np.int64], NDArray[np.int64], int]) -> None:
            if sides is self.sides:
                self.counts, self.runs = found[:2], found[2]
                self.changed.emit()
                self.counted.emit()

        self._jobs.ask(lambda _, job: aligned.overview(PARTS, job.progress), take, key="overview", failed=self._fail)

    def set_width(self, width: int, visible: int) -> None:
        """Set the number of bytes per row and of visible rows; the first byte of the current row stays in that row."""
        self.visible = max(visible, 1)
        if width != self._width:
            self._width = width
            offsets = self.offsets_at(self.row)
            self._lay_out()
            side = 0 if offsets[0] >= 0 else 1
            if offsets[side] >= 0:
                self.go_to(side, offsets[side])
        self.scroller.resize(max(self.bytes.rows if self.bytes is not None else 0, 1), self.visible)
        self._ask()

    def _lay_out(self) -> None:
        self.bytes = None
        if self.sides is not None:
            self.bytes = ByteDiff(self.sides.bytes.sources, self.sides.bytes.segments, self._width)
        self.shown = self.run = None
        self.scroller.resize(max(self.bytes.rows if self.bytes is not None else 0, 1), self.visible)
        self._ask()
        self.changed.emit()

    def offsets_at(self, row: int) -> tuple[int, int]:
        """Return the offsets of a row on both sides; -1 where the row has no bytes or is not loaded."""
        shown = self.shown
        if shown is None or not shown.top <= row < shown.top + shown.offsets.shape[1]:
            return -1, -1
        return int(shown.offsets[0, row - shown.top]), int(shown.offsets[1, row - shown.top])

    def go_to(self, side: int, offset: int) -> None:
        if self.bytes is not None:
            self.choose_row(self.bytes.row_of(side, offset), centre=True)

    def choose_row(self, row: int, *, centre: bool = False) -> None:
        if self.bytes is None or not self.bytes.rows:
            return
        self.row = min(max(row, 0), self.bytes.rows - 1)
        self.run = None
        self.scroller.show(self.row, centre=centre)
        self._ask()
        self.changed.emit()

    def step(self, *, back: bool) -> None:
        aligned = self.bytes
        if aligned is None:
            return
        cell = self.row * self._width if self.run is None else self.run.cells[not back]

        def take(run: DiffRun | None) -> None:
            if aligned is not self.bytes:
                return
            if run is not None:
                self.choose_row(run.cells[0] // self._width, centre=True)
                self.run = run
                self.changed.emit()
            self.chosen.emit(run)

        self._jobs.ask(
            lambda _, job: aligned.next_run(cell, back=back, progress=job.progress),
            take,
            key="run",
            failed=self._fail,
        )

    def _moved(self) -> None:
        self._ask()
        self.changed.emit()

    def _fail(self, words: str) -> None:
        self.error = words
        self.failed.emit(words)
        self.changed.emit()

    def _ask(self) -> None:
        """Load the rows on the screen in a job, for local files also `ROWS_AROUND` rows above and below."""
        aligned = self.bytes
        if aligned is None or not aligned.rows:
            return
        top, shown = self.scroller.top, self.shown
        bottom = min(top + self.visible + 1, aligned.rows)
        if shown is not None and shown.top <= top and bottom <= shown.top + shown.offsets.shape[1]:
            return
        around = 0 if self._jobs.remote else ROWS_AROUND
        first = max(top - around, 0)
        count = bottom + around - first

        def take(rows: AlignedRows) -> None:
            if aligned is self.bytes:
                self.shown = rows
                self.changed.emit()
                self._ask()

        self._jobs.ask(lambda _, __: aligned.window(first, count), take, key="rows", failed=self._fail)


class AlignedHexView(QWidget):
    """Hex view of one of the two files; side 0 is on the left, side 1 on the right."""

    def __init__(self, state: AlignedState, side: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state, self.side = state, side
        self.setObjectName(("diffBytesLeft", "diffBytesRight")[side])
        self.setAccessibleName((self.tr("Bytes on the left"), self.tr("Bytes on the right"))[side])
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFont(mono())
        self._grid = self._make_grid(16)
        self._glyphs = RowGlyphs(self._grid)
        state.changed.connect(self._changed)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, round(5 * self._grid.row))

    @property
    def rows_that_fit(self) -> int:
        return int(self.height() // self._grid.row)

    def _make_grid(self, width: int) -> HexGrid:
        sides = self.state.sides
        size = max(sides.sizes) if sides is not None else 0
        return HexGrid(self.font(), HexLayout(size, width), self.devicePixelRatioF(), tight=True)

    def _changed(self) -> None:
        grid = self._make_grid(self.state.bytes.width if self.state.bytes is not None else 16)
        if (grid.layout, grid.gutter) != (self._grid.layout, self._grid.gutter):
            self._grid = grid
            self._glyphs = RowGlyphs(self._grid)
        self.setAccessibleDescription(self.spoken)
        self.update()

    @property
    def spoken(self) -> str:
        run = self.state.run
        if run is not None:
            return self.tr("difference: {0}").format(range_words(*(run.first, run.second)[self.side]))
        offset = self.state.offsets_at(self.state.row)[self.side]
        return self.tr("byte {0}").format(offset_words(offset)) if offset >= 0 else self.tr("no byte at this offset")

    # --- painting ---

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = theme.of(self)
        painter.fillRect(self.rect(), palette.base)
        painter.translate(0, -self._grid.header)
        shown, top = self.state.shown, self.state.scroller.top
        if shown is not None and self.state.bytes is not None:
            first = max(top - shown.top, 0)
            count = min(self.rows_that_fit + 1, shown.offsets.shape[1] - first)
            if count > 0 and shown.top <= top:
                self._paint_rows(painter, palette, shown, first, count)
        painter.resetTransform()
        if self.state.error:
            painter.setPen(palette.error)
            painter.drawText(self.rect().adjusted(10, 10, -10, -10), Qt.TextFlag.TextWordWrap, self.state.error)
        if self.hasFocus():
            painter.setPen(QPen(palette.accent, 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _paint_rows(
        self, painter: QPainter, palette: theme.Palette, shown: AlignedRows, first: int, count: int
    ) -> None:
        part = slice(first, first + count)
        self._paint_grounds(painter, palette, shown, part)
        self._paint_bytes(painter, palette, shown.data[self.side, part], shown.there[self.side, part])
        # Draw differences twice, half a pixel apart: bold without changing the width.
        painter.translate(0.6, 0)
        self._paint_bytes(painter, palette, shown.data[self.side, part], shown.differing[self.side, part])
        painter.translate(-0.6, 0)
        self._paint_gutter(painter, palette, shown.offsets[self.side, part])
        self._paint_current(painter, palette, count)

    def _paint_bytes(
        self, painter: QPainter, palette: theme.Palette, data: NDArray[np.uint8], wanted: NDArray[np.bool_]
    ) -> None:
        state = np.where(wanted, CellState.LOADED, CellState.BLANK).astype(np.uint8)
        blank, parity = np.zeros(data.shape, np.uint16), np.zeros(data.shape, np.uint8)
        cells = ByteCells(0, data, state, blank, parity, NO_RUN, ())
        self._glyphs.bytes(painter, cells, palette.text, palette.zero)

    def _paint_grounds(self, painter: QPainter, palette: theme.Palette, shown: AlignedRows, part: slice) -> None:
        grid, thin = self._grid, self._grid.rounded(2)
        there, differing = shown.there[self.side, part], shown.differing[self.side, part]
        hatch = QBrush(palette.missing, Qt.BrushStyle.BDiagPattern)
        for row, offset in enumerate(shown.offsets[self.side, part].tolist()):
            y = grid.row_y(row)
            filled = int(there[row].sum())
            self._paint_ground(painter, palette, row, offset, (0, filled), 0)
            for which in HexPart:
                if filled < grid.layout.width:
                    end = grid.edge(filled, which)
                    painter.fillRect(QRectF(end, y, grid.edge(grid.layout.width, which) - end, grid.row), hatch)
            for start, stop in _stretches(differing[row]):
                self._paint_ground(painter, palette, row, offset, (start, stop), 1)
                for which in HexPart:
                    left, end = grid.edge(start, which), grid.edge(stop, which)
                    painter.fillRect(QRectF(left, y + grid.row - thin, end - left, thin), palette.warning)

    def _paint_ground(
        self, painter: QPainter, palette: theme.Palette, row: int, offset: int, cells: tuple[int, int], parity: int
    ) -> None:
        start, stop = cells
        sections = self.state.sides.sections[self.side] if self.state.sides is not None else ()
        for section in sections_in(sections, offset + start, offset + stop):
            block = Block(row, row + 1, max(section.start - offset, start), min(section.stop - offset, stop))
            for which in HexPart:
                painter.fillRect(self._grid.rect(block, which), palette.section(section.role, parity))

    def _paint_gutter(self, painter: QPainter, palette: theme.Palette, offsets: NDArray[np.int64]) -> None:
        grid = self._grid
        height = len(offsets) * grid.row
        painter.fillRect(QRectF(0, grid.header, grid.gutter, height), palette.window)
        painter.fillRect(QRectF(grid.gutter, grid.header, grid.rounded(1), height), palette.border)
        painter.setFont(grid.font)
        painter.setPen(palette.muted)
        rise = grid.text_y + grid.rounded(QFontMetricsF(grid.font).ascent())
        for row, offset in enumerate(offsets.tolist()):
            if offset >= 0:
                painter.drawText(QPointF(grid.margin, grid.row_y(row) + rise), grid.layout.offset_text(offset))

    def _paint_current(self, painter: QPainter, palette: theme.Palette, count: int) -> None:
        grid, run = self._grid, self.state.run
        row = self.state.row - self.state.scroller.top
        start, stop = run.cells if run is not None else (0, 1)
        rows = (stop - 1) // grid.layout.width - start // grid.layout.width + 1
        if row + rows <= 0 or row >= count:
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.fillRect(QRectF(0, grid.row_y(max(row, 0)), 3, min(rows, count) * grid.row), palette.accent)
        if run is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(palette.accent, grid.rounded(1)))
            painter.drawRect(QRectF(0.5, grid.row_y(row) + 0.5, self.width() - 1, rows * grid.row - 1))

    # --- events ---

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        fitting = (width for width in WIDTHS if self._make_grid(width).width <= self.width())
        self.state.set_width(next(fitting, WIDTHS[-1]), self.rows_that_fit)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.state.scroller.roll(-event.angleDelta().y() / 120 * 3)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.state.choose_row(self.state.scroller.top + int(event.position().y() // self._grid.row))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        state, last = self.state, self.state.bytes.rows if self.state.bytes is not None else 0
        targets = {
            Qt.Key.Key_Up: state.row - 1,
            Qt.Key.Key_Down: state.row + 1,
            Qt.Key.Key_PageUp: state.row - state.visible,
            Qt.Key.Key_PageDown: state.row + state.visible,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last - 1,
        }
        key = Qt.Key(event.key())
        if key in targets and not event.modifiers() & Qt.KeyboardModifier.AltModifier:
            state.choose_row(targets[key])
        else:
            super().keyPressEvent(event)


def _stretches(differing: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the half-open ranges of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], differing, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


class DiffStrip(SectionStrip):
    natural, beside, below = 200, 8.0, _TICK + 6

    def __init__(self, state: AlignedState, side: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state, self.side = state, side
        self.setObjectName(("diffStripLeft", "diffStripRight")[side])
        self.setAccessibleName((self.tr("Overview on the left"), self.tr("Overview on the right"))[side])
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        state.changed.connect(self._rescale)

    def _rescale(self) -> None:
        sides, width = self.state.sides, self.width() - 2 * self.beside
        size = sides.sizes[self.side] if sides is not None else 0
        sections: tuple[Section, ...] = sides.sections[self.side] if sides is not None else ()
        if (size, width, sections) != (self._scale.size, self._scale.width, tuple(self._scale.sections)):
            self._scale = StripScale(size, sections, width)
        self.update()

    def ticks(self) -> list[float]:
        sides, counts = self.state.sides, self.state.counts
        if sides is None or counts is None:
            return []
        size = sides.sizes[self.side]
        parts = np.flatnonzero(counts[self.side])
        offsets = ((parts + 0.5) / len(counts[self.side]) * size).astype(np.int64)
        return sorted({round(self.beside + self._scale.x_of(int(offset))) for offset in offsets.tolist()})

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette, strip = theme.of(self), self._strip()
        painter.fillRect(self.rect(), palette.window)
        if self._scale.size:
            paint_strip(painter, palette, self._scale, strip, lambda one: f"{one.name} · {size_text(one.size)}")
            for x in self.ticks():
                painter.fillRect(QRectF(x - 1, strip.bottom() + 1, 2, _TICK), palette.warning)
            self._paint_view(painter, palette, strip)

    def _paint_view(self, painter: QPainter, palette: theme.Palette, strip: QRectF) -> None:
        shown, top = self.state.shown, self.state.scroller.top
        if shown is None or shown.top > top:
            return
        part = shown.offsets[self.side, top - shown.top : top - shown.top + self.state.visible]
        part = part[part >= 0]
        if not len(part):
            return
        left, right = (self.beside + self._scale.x_of(int(offset)) for offset in (part.min(), part.max()))
        frame = QRectF(left - 2, strip.top() - 2, max(right - left, 2) + 4, strip.height() + 4)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for width, shade in ((3.0, palette.base), (1.5, palette.text)):
            painter.setPen(QPen(shade, width))
            painter.drawRoundedRect(frame, 2, 2)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._scale.size:
            self.state.go_to(self.side, self._scale.offset_at(event.position().x() - self.beside))
