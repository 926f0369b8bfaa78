"""Painting of the hex view from loaded pages: rows are cached as pictures, overlays are painted over them.

Moving the caret, hovering and scrolling only repaint rows that appear or whose selection changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QImage,
    QPaintEngine,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QStaticText,
)

from shardcore import Span
from shardscope.session.highlights import Highlight
from shardscope.views.hex.cells import ByteCells
from shardscope.views.hex.field_column import FieldColumn
from shardscope.views.hex.grid import Block, HexGrid, HexPart
from shardscope.views.hex.overlays import HexScene, Range
from shardscope.views.hex.row_painter import HexRowPainter
from shardscope.widgets.badges import badge_font, badge_size, paint_badge
from shardscope.widgets.note_flag import paint_flag
from shardscope.widgets.theme import Palette

_FILL = 0.2
"""Opacity of highlights."""
_AWAY = 60.0
"""Length in pixels that an arrow continues beyond the screen."""
_HEAD = 7.0


def paint_highlights(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    fill = QColor(palette.accent)
    fill.setAlphaF(_FILL)
    for highlight in scene.highlights:
        start, stop = _reach(highlight.span)
        if not highlight.hollow:
            grid.fill(painter, start, stop, scene.rows, QBrush(fill))
        style = Qt.PenStyle.DashLine if highlight.hollow else Qt.PenStyle.SolidLine
        painter.setPen(QPen(palette.accent, grid.rounded(1), style))
        grid.frame(painter, start, stop, scene.rows)


def paint_numbers(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    if not scene.highlights:
        return
    painter.setFont(badge_font(grid.font))
    taken: list[QRectF] = []
    for highlight in scene.highlights:
        place = _corner(grid, scene, highlight)
        if place is None:
            continue
        size = badge_size(highlight.number, painter.font())
        area = QRectF(QPointF(place.x() - size.width() + 1, place.y() - size.height() / 2), size)
        while any(area.intersects(other) for other in taken):
            area.translate(0, size.height())
        area.moveTop(max(area.top(), grid.header + 1))
        area.moveLeft(max(area.left(), grid.gutter + 2))
        taken.append(paint_badge(painter, palette, area.topLeft(), highlight.number, hollow=highlight.hollow))


def _reach(span: Span) -> tuple[int, int]:
    """Return the half-open byte range of a span; an empty span counts as the byte at its offset."""
    return span.start, max(span.stop, span.start + 1)


def _corner(grid: HexGrid, scene: HexScene, highlight: Highlight) -> QPointF | None:
    start, stop = _reach(highlight.span)
    block = next(grid.blocks(start, stop, scene.rows), None)
    return grid.rect(block, HexPart.HEX).topLeft() if block is not None else None


# --- notes ---


def paint_notes(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    painter.setPen(QPen(palette.text, grid.rounded(1), Qt.PenStyle.DashLine))
    for note in scene.notes:
        grid.frame(painter, *_reach(note.span), scene.rows)


def paint_flags(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    for note in scene.notes:
        start = note.span.start
        for block in grid.blocks(start, start + 1, scene.rows):
            corner = grid.rect(block, HexPart.HEX).topLeft()
            area = QRectF(corner, QSizeF(grid.cell * 0.62, grid.row * 0.7))
            paint_flag(painter, area, palette.text, palette.base)


# --- arrows ---


def paint_arrows(painter: QPainter, grid: HexGrid, palette: Palette, scene: HexScene) -> None:
    if not scene.arrows:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for arrow in scene.arrows:
        one, other = _middle(grid, scene, arrow.start.start), _middle(grid, scene, arrow.stop.start)
        seen = (grid.header < point.y() < grid.row_y(scene.rows.lines) for point in (one, other))
        if not any(seen):
            continue  # both ends are off the screen
        path, end = arrow_path(one, other)
        for width, colour in ((grid.rounded(3.5), palette.base), (grid.rounded(1.5), palette.accent)):
            painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.accent)
        painter.drawEllipse(one, 2.5, 2.5)
        painter.drawPolygon(arrow_head(other, end))
    painter.restore()


def _middle(grid: HexGrid, scene: HexScene, offset: int) -> QPointF:
    layout = grid.layout
    row = scene.rows.line_of(layout.row_of(offset))
    cell = layout.column_of(offset)
    x = grid.rect(Block(0, 1, cell, cell + 1), HexPart.HEX).center().x()
    if row < 0:
        return QPointF(x, grid.header - _AWAY)
    if row >= scene.rows.lines:
        return QPointF(x, grid.row_y(scene.rows.lines) + _AWAY)
    return QPointF(x, grid.row_y(row) + grid.row / 2)


def arrow_path(one: QPointF, other: QPointF) -> tuple[QPainterPath, float]:
    """Return a curve and its final direction in radians; it bends so that arrows in both directions do not coincide."""
    across, down = other.x() - one.x(), other.y() - one.y()
    length = math.hypot(across, down) or 1.0
    bow = min(length * 0.22, 70.0)
    # Bend to the right, so that arrows in both directions do not coincide.
    bend = QPointF((one.x() + other.x()) / 2 - down / length * bow, (one.y() + other.y()) / 2 + across / length * bow)
    path = QPainterPath(one)
    path.quadTo(bend, other)
    return path, math.atan2(other.y() - bend.y(), other.x() - bend.x())


def arrow_head(tip: QPointF, angle: float) -> QPolygonF:
    sides = [
        QPointF(tip.x() - _HEAD * math.cos(angle + turn), tip.y() - _HEAD * math.sin(angle + turn))
        for turn in (0.45, -0.45)
    ]
    return QPolygonF([tip, *sides])


Paint = Callable[[QPainter, int, int], None]
"""Function that paints `count` rows, from row `first` of the screen, at the top of the device."""


class RowCanvas:
    """Cache of row pictures in a ring buffer; scrolling keeps the rows that stay on the screen."""

    def __init__(self) -> None:
        self._image = QImage()
        self._keys: list[Hashable] = []
        self._shape = (0.0, 0.0, 0, 0.0)
        self.painted = 0

    def forget(self) -> None:
        self._keys = [None] * len(self._keys)

    def draw(
        self,
        painter: QPainter,
        place: QRectF,
        row: float,
        ratio: float,
        keys: Sequence[Hashable],
        paint: Paint,
    ) -> None:
        """Draw rows at `place`. Images are cached by `keys`, one per row; `paint` is called only for other rows."""
        self._fit(place.width(), row, len(keys), ratio)
        places = len(self._keys)
        kept = {key: slot for slot, key in enumerate(self._keys) if key is not None}
        top = next((kept[key] - number for number, key in enumerate(keys) if key in kept), 0)
        for first, count in self._missing(top, keys):
            self._paint(first, count, (top + first) % places * row, paint)
            for number in range(first, first + count):
                self._keys[(top + number) % places] = keys[number]
        # Draw in device pixels, so that the picture is not scaled.
        painter.save()
        painter.scale(1 / ratio, 1 / ratio)
        height, left, above = round(row * ratio), round(place.left() * ratio), round(place.top() * ratio)
        at = 0
        while at < len(keys):
            slot = (top + at) % places
            count = min(places - slot, len(keys) - at)
            source = QRect(0, slot * height, self._image.width(), count * height)
            painter.drawImage(QPoint(left, above + at * height), self._image, source)
            at += count
        painter.restore()

    def _fit(self, width: float, row: float, rows: int, ratio: float) -> None:
        shape = (width, row, max(rows, 1), ratio)
        if shape == self._shape:
            return
        self._shape = shape
        self._keys = [None] * shape[2]
        self._image = QImage(round(width * ratio), round(shape[2] * row * ratio), QImage.Format.Format_RGB32)

    def _missing(self, top: int, keys: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
        places, first = len(self._keys), -1
        for number in range(len(keys) + 1):
            slot = (top + number) % places
            wanted = number < len(keys) and self._keys[slot] != keys[number]
            if first >= 0 and (not wanted or slot == 0):
                yield first, number - first
                first = -1
            if wanted and first < 0:
                first = number

    def _paint(self, first: int, count: int, y: float, paint: Paint) -> None:
        row, ratio = self._shape[1], self._shape[3]
        painter = QPainter(self._image)
        painter.scale(ratio, ratio)
        painter.setClipRect(QRectF(0, y, self._shape[0], count * row))
        painter.translate(0, y)
        paint(painter, first, count)
        painter.end()
        self.painted += count


CellsOf = Callable[[int, int], ByteCells]
"""Function that returns the cells of a number of rows from a first row."""

_FAINT = 0.55


class HexPainter:
    def __init__(self, grid: HexGrid, palette: Palette, column: FieldColumn | None = None) -> None:
        self.grid = grid
        self.palette = palette
        self.rows = HexRowPainter(grid, palette, column)
        self.canvas = RowCanvas()
        self._column = column
        self._columns: list[QStaticText] = []

    def forget(self) -> None:
        self.canvas.forget()

    def paint(self, painter: QPainter, scene: HexScene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        grid = self.grid
        below = grid.row_y(scene.rows.lines)
        bottom = QRectF(0, below, area.width(), max(area.height() - below, 0))
        painter.fillRect(bottom, self.palette.base)
        painter.fillRect(QRectF(0, bottom.top(), grid.gutter, bottom.height()), self.palette.window)
        painter.fillRect(QRectF(grid.gutter, bottom.top(), grid.rounded(1), bottom.height()), self.palette.border)
        if painter.paintEngine().type() is QPaintEngine.Type.Raster:
            self._paint_kept(painter, scene, cells_of, area, scroll)
        else:
            # Vector output does not use cached pictures.
            painter.save()
            painter.setClipRect(QRectF(0, grid.header, area.width(), scene.rows.lines * grid.row))
            self._paint_rows(painter, scene, cells_of, area, scroll)
            painter.restore()
        self._current_row(painter, scene)
        painter.save()
        # Clip frames below the last complete row.
        painter.setClipRect(QRectF(grid.gutter, grid.header, area.width() - grid.gutter, scene.rows.lines * grid.row))
        painter.translate(-scroll, 0)
        paint_notes(painter, grid, self.palette, scene)
        paint_highlights(painter, grid, self.palette, scene)
        self._over(painter, scene)
        paint_flags(painter, grid, self.palette, scene)
        paint_numbers(painter, grid, self.palette, scene)
        paint_arrows(painter, grid, self.palette, scene)
        self._reasons(painter, scene)
        painter.restore()
        self._header(painter, scene, area, scroll)

    def _paint_kept(self, painter: QPainter, scene: HexScene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        grid = self.grid

        def paint(onto: QPainter, first: int, count: int) -> None:
            onto.translate(0, -grid.header)
            self._paint_rows(onto, replace(scene, rows=scene.rows.part(first, count)), cells_of, area, scroll)

        place = QRectF(0, grid.header, area.width(), area.height() - grid.header)
        keys = [self._key(scene, line, scroll) for line in range(scene.rows.lines)]
        self.canvas.draw(painter, place, grid.row, grid.ratio, keys, paint)

    def _paint_rows(self, painter: QPainter, scene: HexScene, cells_of: CellsOf, area: QRectF, scroll: float) -> None:
        for line, rows in scene.rows.parts():
            start, stop = self.grid.layout.row_start(rows.top), self.grid.layout.row_start(rows.row_at(rows.lines))
            hits = [hit for hit in scene.hits if hit[0] < stop and hit[1] > start]
            painter.translate(0, line * self.grid.row)
            part = replace(scene, rows=rows, hits=hits)
            self.rows.paint(painter, part, cells_of(rows.top, rows.lines), area.width(), scroll)
            painter.translate(0, -line * self.grid.row)

    def _key(self, scene: HexScene, line: int, scroll: float) -> Hashable:
        """Return the cache key of a line; it ignores the bytes, since their changes call `forget`."""
        start, stop = (self.grid.layout.row_start(scene.rows.row_at(at)) for at in (line, line + 1))
        records = {_inside(one, start, stop) for one in scene.records}
        return scroll, start, stop, _inside(scene.selection, start, stop), frozenset(records - {None})

    # --- over the rows ---

    def _current_row(self, painter: QPainter, scene: HexScene) -> None:
        grid = self.grid
        row = scene.rows.line_of(grid.layout.row_of(scene.caret)) if scene.caret >= 0 else -1
        if not 0 <= row < scene.rows.lines:
            return
        y = grid.row_y(row)
        offset = max(grid.layout.row_start(scene.rows.row_at(row)), 0)
        painter.fillRect(QRectF(0, y, grid.gutter, grid.row), self.palette.window)
        painter.setFont(grid.font)
        painter.setPen(self.palette.text)
        painter.drawStaticText(QPointF(grid.margin, y + grid.text_y), QStaticText(grid.layout.offset_text(offset)))

    def _over(self, painter: QPainter, scene: HexScene) -> None:
        thin = self.grid.rounded(1)
        # In order: record, field, bytes under the pointer, selection.
        faint = QColor(self.palette.accent)
        faint.setAlphaF(_FAINT)
        pens = [QPen(self.palette.accent, thin), QPen(faint, thin)]
        for (start, stop), pen in reversed(list(zip(scene.frames, pens, strict=False))):
            self._outline(painter, scene, start, stop, pen)
        if scene.hover is not None:
            self._outline(painter, scene, *scene.hover, QPen(self.palette.muted, thin))
        if scene.selection is not None:
            wide = self.grid.rounded(2 if scene.focused else 1)
            self._outline(painter, scene, *scene.selection, QPen(self.palette.accent, wide))
        if scene.caret < 0:
            return
        for block in self.grid.blocks(scene.caret, scene.caret + 1, scene.rows):
            for part in HexPart:
                strong = scene.focused and part is scene.part
                width = self.grid.rounded(2) if strong else thin
                painter.setPen(QPen(self.palette.accent if scene.focused else self.palette.muted, width))
                inset = width / 2
                painter.drawRect(self.grid.rect(block, part).adjusted(inset, inset, -inset, -inset))
            if scene.half and scene.focused and scene.part is HexPart.HEX:
                self._half(painter, block)

    def _half(self, painter: QPainter, block: Block) -> None:
        grid, high = self.grid, self.grid.rounded(3)
        left = grid.byte_x(block.cell) + grid.cell
        bottom = grid.row_y(block.row) + grid.row - high
        painter.fillRect(QRectF(left, bottom, grid.cell, high), self.palette.accent)

    def _outline(self, painter: QPainter, scene: HexScene, start: int, stop: int, pen: QPen) -> None:
        painter.setPen(pen)
        self.grid.frame(painter, start, stop, scene.rows)

    def _reasons(self, painter: QPainter, scene: HexScene) -> None:
        painter.setFont(self.grid.font)
        for (start, _), reason in scene.failed:
            row = max(scene.rows.line_of(self.grid.layout.row_of(start)), 0)
            text = f" not readable: {reason} "
            wide = QFontMetricsF(self.grid.font).horizontalAdvance(text)
            place = QRectF(self.grid.edge(0, HexPart.HEX), self.grid.row_y(row), wide, self.grid.row)
            painter.fillRect(place, self.palette.base)
            painter.setPen(self.palette.error)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)

    def _header(self, painter: QPainter, scene: HexScene, area: QRectF, scroll: float) -> None:
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
            x = grid.byte_x(cell) - scroll
            if grid.gutter - 3 * grid.cell < x < area.width():
                painter.setPen(self.palette.text if cell == current else self.palette.muted)
                painter.drawStaticText(QPointF(x, y), text)
        painter.setPen(self.palette.muted)
        painter.drawStaticText(QPointF(grid.text_x - scroll, y), QStaticText("text"))
        if self._column is not None and self._column.shown:
            painter.drawStaticText(QPointF(self._column.left(grid), y), QStaticText("fields"))
        painter.restore()
        # The header shows if the bytes are not those of the file.
        proposed = scene.proposed
        words = "offset" if proposed is None else "new bytes" if proposed.shows_new else "old bytes"
        if proposed is None and scene.sandboxed is not None:
            words = "sandbox"
        painter.setPen(self.palette.muted if words == "offset" else self.palette.text)
        painter.drawStaticText(QPointF(grid.margin, y), QStaticText(words))


def _inside(span: Range | None, start: int, stop: int) -> Range | None:
    if span is None or span[0] >= stop or span[1] <= start:
        return None
    return max(span[0], start), min(span[1], stop)
