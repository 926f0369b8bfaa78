"""Layout of tables with aligned columns, of numbered cells in rows, and of rows of bits with named brackets above."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from shardcore.dataclasses import dataclass
from shardcore.model.drawing import Bits, Cells, Item, Table, Tone
from shardcore.teaching.drawing.arrows import arcs_of
from shardcore.teaching.drawing.picture import (
    NO_ITEM,
    NORMAL,
    SMALL,
    TITLE_GAP,
    Anchor,
    Box,
    DrawingPage,
    Face,
    Ink,
    Move,
    Path,
    Rect,
    common_face,
    face_of,
    is_number,
)
from shardcore.teaching.drawing.rulers import LANE, NameRequest, in_lanes, lanes_of, write_names

_ROW, _CLOSE_ROW = 25.0, 19.0
_MOST_TURNED, _HIGH = 2, 15  # maximum rows of a transposed table; maximum lines of a table that is not split
_BESIDE, _HALF_WIDEST = 40.0, 190.0
_HEAD = 22.0
_PADDING = 10.0
_LEAST = 28.0
_WIDEST_COLUMN = 420.0


def place_table(sheet: DrawingPage, figure: Table, first: int, top: float) -> float:
    """Place a table. A wide one with few rows is transposed; a high one is split into two halves, side by side."""
    y = sheet.title(top, figure.title)
    if not figure.headings:
        return y
    numbered = enumerate(figure.items, first)
    names = [(NO_ITEM, Item(heading)) for heading in figure.headings]
    lines = [names, *([next(numbered) for _ in row] for row in figure.rows)]
    widths, numeric = _widths(sheet, lines), [_numeric(figure, column) for column in range(len(names))]
    if sum(widths) > sheet.room and len(figure.rows) <= _MOST_TURNED:
        turned = [list(line) for line in zip(*lines, strict=True)]
        return _place_lines(sheet, turned, sheet.left, y, _narrowed(_widths(sheet, turned), sheet.room), [])
    parts, half = [lines], len(lines) // 2 + 1
    if len(lines) > _HIGH and 2 * sum(min(wide, _HALF_WIDEST) for wide in widths) + _BESIDE <= sheet.room:
        parts = [lines[:half], [names, *lines[half:]]]
    widths = _narrowed(widths, (sheet.room - _BESIDE * (len(parts) - 1)) / len(parts))
    beside = sum(widths) + _BESIDE
    return max(_place_lines(sheet, part, sheet.left + n * beside, y, widths, numeric) for n, part in enumerate(parts))


def _place_lines(
    sheet: DrawingPage,
    lines: Sequence[_Line],
    left: float,
    y: float,
    widths: Sequence[float],
    numeric: Sequence[bool],
) -> float:
    # `numeric` tells which columns are aligned at the right; it is empty for a transposed table.
    lefts = [left + sum(widths[:column]) for column in range(len(widths))]
    right, first_row = left + sum(widths), 1 if numeric else 0
    for count, line in enumerate(lines):
        head = count < first_row
        high = _HEAD - 4 if head else _CLOSE_ROW if sheet.close else _ROW
        for column, (x, wide, (n, item)) in enumerate(zip(lefts, widths, line, strict=True)):
            rect = Rect(x, y, wide, high)
            if n != NO_ITEM:
                if item.tone is not Tone.PLAIN or item.here or item.computed:
                    sheet.box(Rect(x + 1, y + 2, wide - 2, high - 4), item, n)
                else:
                    sheet.area(rect, n)
                sheet.rows[n] = Rect(left, y, right - left, high)
                if count == first_row:
                    sheet.heads[n] = y - _HEAD * first_row - TITLE_GAP / 2
                if count + 1 == len(lines):
                    sheet.feet.add(n)
            number = bool(numeric) and numeric[column]
            _write(sheet, rect, item.text, number, heading=n == NO_ITEM, item=n)
        y += _HEAD if head else high
        if head:
            sheet.rule((left, y - 2), (right, y - 2), ink=Ink.EDGE)
        elif count + 1 < len(lines):
            sheet.rule((left, y), (right, y), ink=Ink.LINE, width=0.75)
    return y + 2


_Line = Sequence[tuple[int, Item]]


def _widths(sheet: DrawingPage, lines: Sequence[_Line]) -> list[float]:
    def wide(n: int, text: str) -> float:
        size, face = (SMALL, Face.SANS) if n == NO_ITEM else (NORMAL, face_of(text))
        return min(max(sheet.measure(text, size, face) + 2 * _PADDING + 2, _LEAST), _WIDEST_COLUMN)

    return [max(wide(n, item.text) for n, item in column) for column in zip(*lines, strict=True)]


def _narrowed(widths: list[float], room: float) -> list[float]:
    """Return column widths that fit into `room` pixels; the widest columns are narrowed first."""
    low, high = 0.0, max(widths)
    if sum(widths) <= room:
        return widths
    for _ in range(40):
        most = (low + high) / 2
        low, high = (most, high) if sum(min(wide, most) for wide in widths) <= room else (low, most)
    return [min(wide, low) for wide in widths]


def _numeric(figure: Table, column: int) -> bool:
    texts = [row[column].text for row in figure.rows if row[column].text]
    return bool(texts) and all(is_number(text) for text in texts)


def _write(sheet: DrawingPage, rect: Rect, text: str, number: bool, *, heading: bool = False, item: int = -1) -> None:
    x = rect.right - _PADDING if number else rect.x + _PADDING
    anchor = Anchor.END if number else Anchor.START
    face = Face.SANS if heading else face_of(text)
    size, ink = (SMALL, Ink.MUTED) if heading else (NORMAL, Ink.TEXT)
    room = rect.w - 2 * _PADDING + 1
    if sheet.measure(text, size, face) > room:
        size = SMALL
    sheet.write((x, rect.middle[1]), text, size=size, face=face, ink=ink, anchor=anchor, room=room, item=item)


_HEIGHT = 28.0
_BOARD_HEIGHT, _CLOSE_BOARD = 20.0, 17.0
_GAP = 2.0
_WIDEST = 120.0
_NARROW = 12.0
_USUAL = 30.0
_MOST_ROWS = 8
_NUMBERS = 18.0
_ROW_GAP = 10.0
_RING = 14.0
_MANY = 5
"""Number of rows from which cells are drawn lower and closer, with numbers per row instead of per cell."""


@dataclass(frozen=True, slots=True)
class _Grid:
    left: float
    columns: int
    rows: int
    wide: float
    board: bool
    height: float

    def x(self, cell: int) -> float:
        return self.left + cell % self.columns * self.wide


def place_cells(sheet: DrawingPage, figure: Cells, first: int, top: float) -> float:
    y = sheet.title(top, figure.title)
    if figure.count <= 0:
        return y
    by_cell = defaultdict[int, list[tuple[int, Item]]](list)
    for n, item in enumerate(figure.items, first):
        by_cell[int(item.at) - figure.first].append((n, item))
    grid = _grid(sheet, figure)
    if figure.column_names:
        for column, name in enumerate(figure.column_names[: grid.columns]):
            middle = (grid.x(column) + (grid.wide - _GAP) / 2, y + 7)
            sheet.write(middle, name, size=SMALL, ink=Ink.MUTED, anchor=Anchor.MIDDLE, room=grid.wide - 2)
        y += _NUMBERS
    begin = y
    tops = list[float]()
    for row in range(grid.rows):
        y = _place_row(sheet, figure, grid, row, by_cell, y, tops)
    if figure.ring and figure.count > 1:
        _ring(sheet, figure, grid, tops)
        y += _RING - 2 if not grid.board else _RING
    return max(y, begin)


def _grid(sheet: DrawingPage, figure: Cells) -> _Grid:
    face = common_face(item.text for item in figure.items)
    longest = max((sheet.measure(item.text, NORMAL, face) for item in figure.items), default=0.0)
    wanted = min(max(longest + 10, _USUAL), _WIDEST)
    count = figure.count
    names = max((sheet.measure(name, SMALL, Face.SANS) + 10 for name in figure.row_names), default=0.0)
    gutter = min(names, sheet.room / 4) + (_RING if figure.ring else 0.0)
    columns = figure.columns
    if columns <= 0:
        room = sheet.room - gutter
        columns = min(max(int(room // wanted), 1), count)
        if -(-count // columns) > _MOST_ROWS:
            wanted = max(room / -(-count // _MOST_ROWS), _NARROW)
            columns = _round(min(max(int(room // wanted), 1), count), count)
    rows = -(-count // columns)
    board = rows >= _MANY
    if board and figure.numbered and not figure.row_names:
        gutter += sheet.measure(f"{figure.first + count:,}", SMALL, Face.SANS) + 8
    widest = max(wanted, _USUAL) if board or figure.columns else max(wanted, min(64.0, sheet.room / count))
    wide = min((sheet.room - gutter) / columns, widest)
    height = min(max(wide, _NARROW), _CLOSE_BOARD if sheet.close else _BOARD_HEIGHT) if board else _HEIGHT
    return _Grid(sheet.left + gutter, columns, rows, wide, board, height)


def _round(columns: int, count: int) -> int:
    """Round the number of columns down to a power of two or a multiple of ten, so that rows begin at round numbers."""
    if count & (count - 1) == 0:
        return 1 << (columns.bit_length() - 1)
    return columns // 10 * 10 or columns


def _place_row(
    sheet: DrawingPage,
    figure: Cells,
    grid: _Grid,
    row: int,
    by_cell: dict[int, list[tuple[int, Item]]],
    y: float,
    tops: list[float],
) -> float:
    cells = range(row * grid.columns, min((row + 1) * grid.columns, figure.count))
    here = {n: float(cell) for cell in cells for n, _ in by_cell.get(cell, ())}
    within = [ends for ends in sheet.links if ends[0] in here and ends[1] in here]
    arcs = arcs_of(within, here, ring=figure.ring and grid.rows == 1)
    y += arcs.height
    tops.append(y)
    bounds: dict[int, Rect] = {}
    face = common_face(item.text for item in figure.items)
    large = all(sheet.measure(item.text, NORMAL, face) <= grid.wide - 8 for item in figure.items)
    joined = _runs(cells, by_cell)
    for run in joined:
        (_, item) = by_cell[run.start][0]
        wide = len(run) * grid.wide - _GAP
        sheet.boxes.append(Box(Rect(grid.x(run.start), y, wide, grid.height), item.tone, item.computed, round=4))
    alike = {cell for run in joined for cell in run}
    for cell in cells:
        rect = Rect(grid.x(cell), y, grid.wide - _GAP, grid.height)
        inside = by_cell.get(cell, [])
        if not inside:
            sheet.boxes.append(Box(rect, Tone.FAINT, round=2))
        for k, (n, item) in enumerate(inside):
            share = rect.w / len(inside)
            bounds[n] = Rect(rect.x + k * share, rect.y, share - (1 if k + 1 < len(inside) else 0), rect.h)
            if cell in alike:
                sheet.area(bounds[n], n)
            else:
                sheet.box(bounds[n], item, n, radius=2)
            sheet.write_in(bounds[n], item, n, face=face, large=large)
    arcs.draw(sheet, bounds)
    _row_name(sheet, figure, grid, row, y)
    if grid.board:
        return y + grid.height + _GAP
    return _numbers(sheet, figure, grid, cells, y + grid.height) + (_ROW_GAP if row + 1 < grid.rows else 0)


def _runs(cells: range, by_cell: Mapping[int, Sequence[tuple[int, Item]]]) -> list[range]:
    """Return runs of neighbouring cells with the same item, which share one frame."""
    found, start = list[range](), cells.start
    for cell in range(cells.start + 1, cells.stop + 1):
        if cell < cells.stop and _alike(by_cell.get(start, ()), by_cell.get(cell, ())):
            continue
        if cell - start > 1:
            found.append(range(start, cell))
        start = cell
    return found


def _alike(ours: Sequence[tuple[int, Item]], theirs: Sequence[tuple[int, Item]]) -> bool:
    if len(ours) != 1 or len(theirs) != 1:
        return False
    (_, a), (_, b) = ours[0], theirs[0]
    same = a.text == b.text and a.computed is b.computed
    return same and a.tone is b.tone is Tone.HIT and not (a.here or b.here)


def _row_name(sheet: DrawingPage, figure: Cells, grid: _Grid, row: int, y: float) -> None:
    name = figure.row_names[row] if row < len(figure.row_names) else ""
    if not name and grid.board and figure.numbered:
        name = f"{figure.first + row * grid.columns:,}"
    if name:
        room = grid.left - sheet.left - 6 - (_RING if figure.ring else 0)
        place = (grid.left - 8, y + grid.height / 2)
        sheet.write(place, name, size=SMALL, ink=Ink.MUTED, anchor=Anchor.END, room=room)


def _numbers(sheet: DrawingPage, figure: Cells, grid: _Grid, cells: range, y: float) -> float:
    if not figure.numbered or figure.column_names:
        return y + 2
    widest = sheet.measure(f"{figure.first + figure.count - 1:,}", SMALL, Face.SANS)
    each = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1 << 62) if step * grid.wide >= widest + 8)
    for cell in cells:
        number = figure.first + cell
        if number % each == 0 or cell == cells[0]:
            middle = (grid.x(cell) + (grid.wide - _GAP) / 2, y + 10)
            sheet.write(middle, f"{number:,}", size=SMALL, ink=Ink.MUTED, anchor=Anchor.MIDDLE)
    return y + _NUMBERS


def _ring(sheet: DrawingPage, figure: Cells, grid: _Grid, tops: list[float]) -> None:
    last = figure.count - 1
    x0 = grid.x(last) + grid.wide - _GAP + 1
    y0, y1 = tops[-1] + grid.height / 2, tops[0] + grid.height / 2
    low = tops[-1] + grid.height + (_NUMBERS if not grid.board else 0) + 5
    x1, bend = sheet.left + 2, 6.0
    right = min(x0 + 8, sheet.width - 4)
    moves = (
        Move((right, y0 + bend), ((right, y0), (right, y0))),
        Move((right, low - bend)),
        Move((right - bend, low), ((right, low), (right, low))),
        Move((x1 + bend, low)),
        Move((x1, low - bend), ((x1, low), (x1, low))),
        Move((x1, y1 + bend)),
        Move((x1 + bend, y1), ((x1, y1), (x1, y1))),
        Move((grid.left - 2, y1)),
    )
    sheet.lines.append(Path((x0, y0), moves, Ink.FAINT, 1.25, arrow=True))


# --- bits ---

_EASY = 10.5
"""Minimum width of a cell in an unbroken row, in pixels; in narrower cells, handles overlap."""
_LEAST_BIT = 7.8
"""Minimum width of a cell in pixels, so that digits are readable; otherwise the row is broken."""
_WIDEST_BIT = 20.0
_WIDEST_OF_FEW = 30.0
_FEW = 16
_BIT_HEIGHT = 26.0
_BRACKET = 7.0
_BYTE = 8
_BETWEEN = 6.0


@dataclass(frozen=True, slots=True)
class _BitLine:
    low: int
    high: int
    left: float
    cell: float

    def x(self, edge: float) -> float:
        return self.left + (self.high - edge) * self.cell

    def part(self, item: Item) -> tuple[float, float] | None:
        low, high = max(item.at, self.low), min(item.at + item.size, self.high)
        # A field without bits is visible only by its handle.
        empty = item.size == 0 and item.handle != "" and self.low <= item.at < self.high
        return (self.x(high), self.x(low)) if high > low or empty else None


def place_bits(sheet: DrawingPage, figure: Bits, first: int, top: float) -> float:
    y = sheet.title(top, figure.title)
    for row in _bit_lines(sheet, figure):
        y = _place_line(sheet, figure, first, row, y) + _BETWEEN
    return y - _BETWEEN


def _bit_lines(sheet: DrawingPage, figure: Bits) -> list[_BitLine]:
    """Break a wide row into halves until its cells are readable."""
    each = max(figure.width, 1)
    while sheet.room / each < (_EASY if each == figure.width else _LEAST_BIT) and each > _BYTE:
        each = -(-each // 2)
    cell = min(_WIDEST_OF_FEW if figure.width <= _FEW else _WIDEST_BIT, sheet.room / each)
    rows = []
    for high in range(figure.width, 0, -each):
        low = max(high - each, 0)
        rows.append(_BitLine(low, high, sheet.left, cell))
    return rows


def _place_line(sheet: DrawingPage, figure: Bits, first: int, row: _BitLine, top: float) -> float:
    parts = [(n, item, edges) for n, item in enumerate(figure.items, first) if (edges := row.part(item)) is not None]
    names = in_lanes(sheet, [NameRequest(*edges, item.text, n, item.here) for n, item, edges in parts])
    here = {n for n, _, _ in parts}
    arcs = arcs_of([ends for ends in sheet.links if {ends[0], ends[1]} <= here], {n: -item.at for n, item, _ in parts})
    base = top + arcs.height + lanes_of(names) * LANE
    write_names(sheet, names, base)
    y = base + (_BRACKET + 2 if parts else 0)
    sheet.boxes.append(Box(Rect(row.x(row.high), y, (row.high - row.low) * row.cell, _BIT_HEIGHT), Tone.FAINT, round=2))
    for n, item, (left, right) in parts:
        if right == left:
            _empty_field(sheet, item, n, Rect(left, base + 1, 0, y + _BIT_HEIGHT + 2 - base), row.cell)
            continue
        sheet.bounds.setdefault(n, Rect(left, top + arcs.height, right - left, y + _BIT_HEIGHT - top - arcs.height))
        sheet.box(Rect(left, y, right - left, _BIT_HEIGHT), item, n, radius=2)
        sheet.rule(
            (left + 1.5, base + _BRACKET),
            (left + 1.5, base + 2),
            (right - 1.5, base + 2),
            (right - 1.5, base + _BRACKET),
            ink=Ink.ACCENT if item.here else Ink.EDGE,
            width=1.25,
        )
        if item.handle and item.at + item.size <= row.high:
            sheet.grip(item, n, Rect(left, base + 1, 0, y + _BIT_HEIGHT + 2 - base), -row.cell)
    _place_digits(sheet, figure, row, y, [item for _, item, _ in parts])
    arcs.draw(sheet, {n: Rect(left, top + arcs.height, right - left, _BIT_HEIGHT) for n, _, (left, right) in parts})
    return _bit_numbers(sheet, figure, row, y + _BIT_HEIGHT)


def _empty_field(sheet: DrawingPage, item: Item, number: int, edge: Rect, cell: float) -> None:
    x = max(edge.x - cell / 2, sheet.left)
    sheet.area(Rect(x, edge.y, max(edge.x - x, 1), edge.h), number)
    sheet.grip(item, number, Rect(x, edge.y, 0, edge.h), -cell)


def _place_digits(sheet: DrawingPage, figure: Bits, row: _BitLine, y: float, fields: Sequence[Item]) -> None:
    edges = {int(item.at) for item in fields}
    covered = {bit for item in fields for bit in range(int(item.at), int(item.at + item.size))}
    for bit in range(row.low, row.high):
        x, letter = row.x(bit + 1), figure.letters.get(bit)
        if bit > row.low and bit not in edges:
            strong = bit % _BYTE == 0
            height = _BIT_HEIGHT if strong else 5.0
            sheet.rule(
                (x + row.cell, y + _BIT_HEIGHT - height),
                (x + row.cell, y + _BIT_HEIGHT),
                ink=Ink.EDGE if strong else Ink.LINE,
            )
        middle = (x + row.cell / 2, y + _BIT_HEIGHT / 2)
        if letter is not None:
            sheet.boxes.append(Box(Rect(x + 0.5, y + 0.5, row.cell - 1, _BIT_HEIGHT - 1), letter[1], round=0))
            sheet.write(middle, letter[0], size=SMALL, face=Face.MONO, anchor=Anchor.MIDDLE)
        elif figure.value is not None:
            digit, inside = str(figure.value >> bit & 1), bit in covered
            ink = Ink.TEXT if inside else Ink.MUTED
            sheet.write(middle, digit, size=SMALL, face=Face.MONO, ink=ink, anchor=Anchor.MIDDLE)


def _bit_numbers(sheet: DrawingPage, figure: Bits, row: _BitLine, y: float) -> float:
    wanted = [row.high - 1, row.low, *(bit for bit in range(row.low, row.high) if bit % _BYTE == 0)]
    for bit in dict.fromkeys(wanted):
        text = str(bit)
        x = sheet.within(row.x(bit + 0.5), sheet.measure(text, SMALL, Face.SANS))
        sheet.write((x, y + 11), text, size=SMALL, ink=Ink.MUTED, anchor=Anchor.MIDDLE)
    return y + 20
