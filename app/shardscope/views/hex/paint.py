"""Paints the screen of a hex view, from what is in memory: rows, which are kept, and over them what moves.

Moving the caret, hovering and scrolling paint no more rows than come into view or change their selection.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPaintEngine, QPainter, QPen, QStaticText

from shardscope.views.hex.canvas import RowCanvas
from shardscope.views.hex.cells import Cells
from shardscope.views.hex.field_column import FieldColumn
from shardscope.views.hex.grid import Block, HexGrid, HexPart
from shardscope.views.hex.layout import hex_column
from shardscope.views.hex.paint_highlights import paint_arrows, paint_lights, paint_numbers
from shardscope.views.hex.paint_rows import RowPainter
from shardscope.views.hex.scene import Range, Scene
from shardscope.widgets.theme import Palette

CellsOf = Callable[[int, int], Cells]
"""The cells of some rows: the number of the first, and how many."""

_FAINT = 0.55
"""How strong the frame of a record is, of that of a field."""


class HexPainter:
    """Paints with one palette and one grid.

    Attributes:
        rows: Paints rows.
        canvas: Keeps them.
    """

    def __init__(self, grid: HexGrid, palette: Palette, column: FieldColumn | None = None) -> None:
        self.grid = grid
        self.palette = palette
        self.rows = RowPainter(grid, palette, column)
        self.canvas = RowCanvas()
        self._column = column
        self._columns: list[QStaticText] = []

    def forget(self) -> None:
        """The bytes are others, or look otherwise."""
        self.canvas.forget()

    def paint(self, painter: QPainter, scene: Scene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        """Paints everything.

        Args:
            painter: On the viewport.
            scene: What.
            cells_of: Gives the cells of rows.
            area: The viewport.
            scroll: How many pixels the view is scrolled to the right.
        """
        grid = self.grid
        bottom = QRectF(0, grid.row_y(scene.rows), area.width(), max(area.height() - grid.row_y(scene.rows), 0))
        painter.fillRect(bottom, self.palette.base)
        painter.fillRect(QRectF(0, bottom.top(), grid.gutter, bottom.height()), self.palette.window)
        painter.fillRect(QRectF(grid.gutter, bottom.top(), grid.rounded(1), bottom.height()), self.palette.border)
        if painter.paintEngine().type() is QPaintEngine.Type.Raster:
            self._paint_kept(painter, scene, cells_of, area, scroll)
        else:
            # A drawing of lines and letters has no use for pictures of rows.
            painter.save()
            painter.setClipRect(QRectF(0, grid.header, area.width(), scene.rows * grid.row))
            self.rows.paint(painter, scene, cells_of(scene.top, scene.rows), area.width(), scroll)
            painter.restore()
        self._current_row(painter, scene)
        painter.save()
        # Frames go on below the screen, but not into the strip that has no room for a row.
        painter.setClipRect(QRectF(grid.gutter, grid.header, area.width() - grid.gutter, scene.rows * grid.row))
        painter.translate(-scroll, 0)
        paint_lights(painter, grid, self.palette, scene)
        self._over(painter, scene)
        paint_numbers(painter, grid, self.palette, scene)
        paint_arrows(painter, grid, self.palette, scene)
        self._reasons(painter, scene)
        painter.restore()
        self._header(painter, scene, area, scroll)

    def _paint_kept(self, painter: QPainter, scene: Scene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        grid = self.grid

        def paint(onto: QPainter, first: int, count: int) -> None:
            start, stop = (grid.layout.row_start(scene.top + row) for row in (first, first + count))
            hits = [hit for hit in scene.hits if hit[0] < stop and hit[1] > start]
            part = replace(scene, top=scene.top + first, rows=count, hits=hits)
            onto.translate(0, -grid.header)
            self.rows.paint(onto, part, cells_of(part.top, part.rows), area.width(), scroll)

        place = QRectF(0, grid.header, area.width(), area.height() - grid.header)
        keys = [self._key(scene, row, scroll) for row in range(scene.rows)]
        self.canvas.draw(painter, place, grid.row, grid.ratio, scene.top, keys, paint)

    def _key(self, scene: Scene, row: int, scroll: float) -> Hashable:
        """What a row looks like, besides its bytes and what `forget` is told of."""
        start = self.grid.layout.row_start(scene.top + row)
        return scroll, _inside(scene.selection, start, start + self.grid.layout.width)

    # --- over the rows ---

    def _current_row(self, painter: QPainter, scene: Scene) -> None:
        """The offset of the row with the caret is stronger than the others."""
        grid = self.grid
        row = grid.layout.row_of(scene.caret) - scene.top if scene.caret >= 0 else -1
        if not 0 <= row < scene.rows:
            return
        y = grid.row_y(row)
        offset = max(grid.layout.row_start(scene.top + row), 0)
        painter.fillRect(QRectF(0, y, grid.gutter, grid.row), self.palette.window)
        painter.setFont(grid.font)
        painter.setPen(self.palette.text)
        painter.drawStaticText(QPointF(grid.margin, y + grid.text_y), QStaticText(f"{offset:0{grid.layout.digits}x}"))

    def _over(self, painter: QPainter, scene: Scene) -> None:
        thin = self.grid.rounded(1)
        # The record faintest, then the field, then what is selected or under the pointer.
        faint = QColor(self.palette.accent)
        faint.setAlphaF(_FAINT)
        pens = [QPen(self.palette.accent, thin), QPen(faint, thin)]
        for (start, stop), pen in reversed(list(zip(scene.frames, pens, strict=False))):
            self._outline(painter, scene, start, stop, pen)
        if scene.hover is not None:
            self._outline(painter, scene, *scene.hover, QPen(self.palette.muted, thin))
        if scene.selection is not None:
            self._outline(painter, scene, *scene.selection, QPen(self.palette.accent, self.grid.rounded(1.5)))
        if scene.caret < 0:
            return
        for block in self.grid.blocks(scene.caret, scene.caret + 1, scene.top, scene.rows):
            for part in HexPart:
                strong = scene.focused and part is scene.part
                width = self.grid.rounded(2) if strong else thin
                painter.setPen(QPen(self.palette.accent if scene.focused else self.palette.muted, width))
                inset = width / 2
                painter.drawRect(self.grid.rect(block, part).adjusted(inset, inset, -inset, -inset))
            if scene.half and scene.focused and scene.part is HexPart.HEX:
                self._half(painter, block)

    def _half(self, painter: QPainter, block: Block) -> None:
        """A bar below the digit that is typed next."""
        grid, high = self.grid, self.grid.rounded(3)
        left = grid.hex_x + (hex_column(block.cell) + 1) * grid.cell
        bottom = grid.row_y(block.row) + grid.row - high
        painter.fillRect(QRectF(left, bottom, grid.cell, high), self.palette.accent)

    def _outline(self, painter: QPainter, scene: Scene, start: int, stop: int, pen: QPen) -> None:
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for part in HexPart:
            for line in self.grid.outlines(start, stop, scene.top, scene.rows, part):
                painter.drawPolyline(line)

    def _reasons(self, painter: QPainter, scene: Scene) -> None:
        """Why bytes are not there, on the first row of theirs."""
        painter.setFont(self.grid.font)
        for (start, _), reason in scene.failed:
            row = max(self.grid.layout.row_of(start) - scene.top, 0)
            text = f" not readable: {reason} "
            wide = QFontMetricsF(self.grid.font).horizontalAdvance(text)
            place = QRectF(self.grid.edge(0, HexPart.HEX), self.grid.row_y(row), wide, self.grid.row)
            painter.fillRect(place, self.palette.base)
            painter.setPen(self.palette.error)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _header(self, painter: QPainter, scene: Scene, area: QRectF, scroll: float) -> None:
        grid = self.grid
        thin = grid.rounded(1)
        painter.fillRect(QRectF(0, 0, area.width(), grid.header), self.palette.window)
        painter.fillRect(QRectF(0, grid.header - thin, area.width(), thin), self.palette.border)
        if not self._columns:
            self._columns = [QStaticText(f"{cell:02x}"[-2:]) for cell in range(grid.layout.width)]
        painter.setFont(grid.font)
        y = grid.rounded(2) + grid.text_y
        current = grid.layout.column_of(scene.caret) if scene.caret >= 0 else -1
        painter.save()
        painter.setClipRect(QRectF(grid.gutter, 0, area.width() - grid.gutter, grid.header))
        for cell, text in enumerate(self._columns):
            x = grid.hex_x + hex_column(cell) * grid.cell - scroll
            if grid.gutter - 3 * grid.cell < x < area.width():
                painter.setPen(self.palette.text if cell == current else self.palette.muted)
                painter.drawStaticText(QPointF(x, y), text)
        painter.setPen(self.palette.muted)
        painter.drawStaticText(QPointF(grid.text_x - scroll, y), QStaticText("text"))
        if self._column is not None and self._column.shown:
            painter.drawStaticText(QPointF(self._column.left(grid), y), QStaticText("fields"))
        painter.restore()
        # Whoever looks at bytes that are not in the file is told so where nothing else stands.
        proposed = scene.proposed
        words = "offset" if proposed is None else "new bytes" if proposed.shows_new else "old bytes"
        if proposed is None and scene.sandboxed is not None:
            words = "sandbox"
        painter.setPen(self.palette.muted if words == "offset" else self.palette.text)
        painter.drawStaticText(QPointF(grid.margin, y), QStaticText(words))


def _inside(span: Range | None, start: int, stop: int) -> Range | None:
    """The part of some bytes inside of others, or None."""
    if span is None or span[0] >= stop or span[1] <= start:
        return None
    return max(span[0], start), min(span[1], stop)
