"""Layout of a row of bits: named brackets above, cells with digits or letters, bit numbers below."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.dataclasses import dataclass
from shardcore.model.drawing import Bits, Item, Tone
from shardcore.teaching.drawing.arrows import arcs_of
from shardcore.teaching.drawing.picture import SMALL, Anchor, Box, DrawingPage, Face, Ink, Rect
from shardcore.teaching.drawing.rulers import LANE, NameRequest, in_lanes, lanes_of, write_names

_EASY = 10.5
"""Minimum width of a cell in an unbroken row, in pixels; in narrower cells, handles overlap."""
_LEAST = 7.8
"""Minimum width of a cell in pixels, so that digits are readable; otherwise the row is broken."""
_WIDEST = 20.0
_WIDEST_OF_FEW = 30.0
_FEW = 16
_HEIGHT = 26.0
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
    for row in _rows(sheet, figure):
        y = _place_row(sheet, figure, first, row, y) + _BETWEEN
    return y - _BETWEEN


def _rows(sheet: DrawingPage, figure: Bits) -> list[_BitLine]:
    """Break a wide row into halves until its cells are readable."""
    each = max(figure.width, 1)
    while sheet.room / each < (_EASY if each == figure.width else _LEAST) and each > _BYTE:
        each = -(-each // 2)
    cell = min(_WIDEST_OF_FEW if figure.width <= _FEW else _WIDEST, sheet.room / each)
    rows = []
    for high in range(figure.width, 0, -each):
        low = max(high - each, 0)
        rows.append(_BitLine(low, high, sheet.left, cell))
    return rows


def _place_row(sheet: DrawingPage, figure: Bits, first: int, row: _BitLine, top: float) -> float:
    parts = [(n, item, edges) for n, item in enumerate(figure.items, first) if (edges := row.part(item)) is not None]
    names = in_lanes(sheet, [NameRequest(*edges, item.text, n, item.here) for n, item, edges in parts])
    here = {n for n, _, _ in parts}
    arcs = arcs_of([ends for ends in sheet.links if {ends[0], ends[1]} <= here], {n: -item.at for n, item, _ in parts})
    base = top + arcs.height + lanes_of(names) * LANE
    write_names(sheet, names, base)
    y = base + (_BRACKET + 2 if parts else 0)
    sheet.boxes.append(Box(Rect(row.x(row.high), y, (row.high - row.low) * row.cell, _HEIGHT), Tone.FAINT, round=2))
    for n, item, (left, right) in parts:
        if right == left:
            _empty_field(sheet, item, n, Rect(left, base + 1, 0, y + _HEIGHT + 2 - base), row.cell)
            continue
        sheet.bounds.setdefault(n, Rect(left, top + arcs.height, right - left, y + _HEIGHT - top - arcs.height))
        sheet.box(Rect(left, y, right - left, _HEIGHT), item, n, radius=2)
        sheet.rule(
            (left + 1.5, base + _BRACKET),
            (left + 1.5, base + 2),
            (right - 1.5, base + 2),
            (right - 1.5, base + _BRACKET),
            ink=Ink.ACCENT if item.here else Ink.EDGE,
            width=1.25,
        )
        if item.handle and item.at + item.size <= row.high:
            sheet.grip(item, n, Rect(left, base + 1, 0, y + _HEIGHT + 2 - base), -row.cell)
    _cells(sheet, figure, row, y, [item for _, item, _ in parts])
    arcs.draw(sheet, {n: Rect(left, top + arcs.height, right - left, _HEIGHT) for n, _, (left, right) in parts})
    return _numbers(sheet, figure, row, y + _HEIGHT)


def _empty_field(sheet: DrawingPage, item: Item, number: int, edge: Rect, cell: float) -> None:
    x = max(edge.x - cell / 2, sheet.left)
    sheet.area(Rect(x, edge.y, max(edge.x - x, 1), edge.h), number)
    sheet.grip(item, number, Rect(x, edge.y, 0, edge.h), -cell)


def _cells(sheet: DrawingPage, figure: Bits, row: _BitLine, y: float, fields: Sequence[Item]) -> None:
    edges = {int(item.at) for item in fields}
    covered = {bit for item in fields for bit in range(int(item.at), int(item.at + item.size))}
    for bit in range(row.low, row.high):
        x, letter = row.x(bit + 1), figure.letters.get(bit)
        if bit > row.low and bit not in edges:
            strong = bit % _BYTE == 0
            height = _HEIGHT if strong else 5.0
            sheet.rule(
                (x + row.cell, y + _HEIGHT - height), (x + row.cell, y + _HEIGHT), ink=Ink.EDGE if strong else Ink.LINE
            )
        middle = (x + row.cell / 2, y + _HEIGHT / 2)
        if letter is not None:
            sheet.boxes.append(Box(Rect(x + 0.5, y + 0.5, row.cell - 1, _HEIGHT - 1), letter[1], round=0))
            sheet.write(middle, letter[0], size=SMALL, face=Face.MONO, anchor=Anchor.MIDDLE)
        elif figure.value is not None:
            digit, inside = str(figure.value >> bit & 1), bit in covered
            ink = Ink.TEXT if inside else Ink.MUTED
            sheet.write(middle, digit, size=SMALL, face=Face.MONO, ink=ink, anchor=Anchor.MIDDLE)


def _numbers(sheet: DrawingPage, figure: Bits, row: _BitLine, y: float) -> float:
    wanted = [row.high - 1, row.low, *(bit for bit in range(row.low, row.high) if bit % _BYTE == 0)]
    for bit in dict.fromkeys(wanted):
        text = str(bit)
        x = sheet.within(row.x(bit + 0.5), sheet.measure(text, SMALL, Face.SANS))
        sheet.write((x, y + 11), text, size=SMALL, ink=Ink.MUTED, anchor=Anchor.MIDDLE)
    return y + 20
