"""Layout of a drawing: figures in one or two columns, arrows between them, legend, caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any, TypeAlias

from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Link, Ribbon, Ruler, Table, Tone
from shardcore.shards.trace import COMPUTED
from shardcore.teaching.drawing.arrows import TRACK, draw_crossing, draw_routes
from shardcore.teaching.drawing.cells import place_bits, place_cells, place_table
from shardcore.teaching.drawing.picture import (
    LARGE,
    LINE,
    MARGIN,
    NORMAL,
    SMALL,
    Anchor,
    Box,
    DrawingPage,
    Face,
    Ink,
    Measure,
    Move,
    Path,
    Picture,
    Rect,
    Shape,
    lines_of,
    measured,
)
from shardcore.teaching.drawing.rulers import place_ribbon, place_ruler

LEAST_WIDTH = 320
USUAL_WIDTH = 760

MEANINGS = {
    Tone.HIT: "result of the lookup",
    Tone.MISS: "mismatch",
    Tone.DEAD: "deleted",
}
WHAT_IF = "What if"

_BETWEEN, _CLOSE = 20.0, 12.0
_LINKED, _CLOSE_LINKED = 14.0, 8.0
_ACROSS = 40.0  # cost of arrows between two columns, in pixels, added to the height of the drawing
_CAPTION_WIDE = 720.0
_SWATCH = 14.0


def placed(
    drawing: Drawing, width: float = USUAL_WIDTH, measure: Measure = measured, *, columns: int = 1, close: bool = False
) -> Picture:
    """Place a drawing on a page of at least `LEAST_WIDTH` pixels; the height depends on the content."""
    sheet, trial = (DrawingPage(max(width, LEAST_WIDTH), measure, close) for _ in range(2))
    figure_of = [n for n, figure in enumerate(drawing.figures) for _ in figure.items]
    number_of = {item.name: n for n, item in enumerate(drawing.items) if item.name}
    links = [(number_of[link.start], number_of[link.stop], link) for link in drawing.links]
    joined = links, figure_of, _gaps(links, figure_of)
    groups = _groups(drawing, trial, joined, columns)
    column_of = [column for column, numbers in enumerate(groups) for _ in numbers]
    top = bottom = _heading(sheet, drawing)
    edges = [top] * len(drawing.figures), [top] * len(drawing.figures)
    ends_in = [sorted(column_of[figure_of[end]] for end in ends[:2]) for ends in links]
    for column, numbers in enumerate(groups):
        sheet.use_column(column, len(groups))
        bottom = max(bottom, _stack(sheet, drawing.figures, numbers, top, joined, edges))
        across = [ends for ends, (first, last) in zip(links, ends_in, strict=True) if first < last == column]
        draw_crossing(sheet, across, figure_of, edges)
    sheet.use_column(0, 1)
    y = _foot(sheet, drawing, bottom - (_CLOSE if close else _BETWEEN) + 14)
    return _picture(sheet, drawing, y)


_Links: TypeAlias = "tuple[Sequence[tuple[int, int, Link]], Sequence[int], Counter[int]]"
"""Arrows (start item, end item, link), figure of each item, and number of arrows that pass below each figure."""


def _stack(
    sheet: DrawingPage,
    figures: Sequence[Figure],
    numbers: range,
    y: float,
    joined: _Links,
    edges: tuple[list[float], list[float]],
) -> float:
    (links, figure_of, gaps), (tops, bottoms) = joined, edges
    for n in numbers:
        tops[n], bottoms[n] = y, _place(sheet, figures, n, y, joined)
        below = _CLOSE_LINKED if sheet.close else _LINKED
        linked = below * (n != numbers[-1]) + TRACK * gaps[n] if gaps[n] else 0
        y = bottoms[n] + (_CLOSE if sheet.close else _BETWEEN) + linked
    here = [ends for ends in links if {figure_of[ends[0]], figure_of[ends[1]]} <= set(numbers)]
    routes = [ends for ends in here if not _is_arc(sheet, ends, figure_of, figures)]
    draw_routes(sheet, routes, figure_of, bottoms)
    return y


def _place(sheet: DrawingPage, figures: Sequence[Figure], n: int, y: float, joined: _Links) -> float:
    links, figure_of, gaps = joined
    sheet.linked = isinstance(figures[n], Cells) and gaps[n - 1] > 0
    sheet.links = [ends for ends in links if figure_of[ends[0]] == n == figure_of[ends[1]] and _in_row(figures[n])]
    return _PLACES[type(figures[n])](sheet, figures[n], sum(len(figure.items) for figure in figures[:n]), y)


def _groups(drawing: Drawing, page: DrawingPage, joined: _Links, columns: int) -> Sequence[range]:
    """Divide the figures into columns, so that the highest column is low and few arrows lead to another column."""
    count, gaps = len(drawing.figures), joined[2]
    columns = min(columns, count)
    if columns < 2:
        return (range(count),)
    page.use_column(0, columns)
    ends = [0.0]
    for n in range(count):
        linked = _LINKED + TRACK * gaps[n] if gaps[n] else 0
        ends.append(_place(page, drawing.figures, n, ends[-1], joined) + _BETWEEN + linked)

    def cost(groups: Sequence[range]) -> float:
        high = max(ends[group.stop] - ends[group.start] for group in groups)
        return high + sum(_ACROSS for group in groups[1:] if gaps[group.start - 1])

    splits = ((0, *split, count) for split in combinations(range(1, count), columns - 1))
    return min(([range(*pair) for pair in pairwise(split)] for split in splits), key=cost)


_PLACES: dict[type, Callable[[DrawingPage, Any, int, float], float]] = {
    Bits: place_bits,
    Ruler: place_ruler,
    Cells: place_cells,
    Table: place_table,
    Ribbon: place_ribbon,
}


def _in_row(figure: Figure) -> bool:
    return not isinstance(figure, Table | Ribbon)


def _is_arc(sheet: DrawingPage, ends: tuple[int, int, Link], numbers: Sequence[int], figures: Sequence[Figure]) -> bool:
    start, stop, _ = ends
    figure = figures[numbers[start]]
    if numbers[start] != numbers[stop] or not _in_row(figure) or not {start, stop} <= sheet.bounds.keys():
        return False
    return isinstance(figure, Ruler) or abs(sheet.bounds[start].y - sheet.bounds[stop].y) < 1


def _gaps(links: Sequence[tuple[int, int, Link]], figure_of: Sequence[int]) -> Counter[int]:
    """Count the arrows that cross the gap below each figure."""
    gaps = Counter[int]()
    for start, stop, _ in links:
        low, high = sorted((figure_of[start], figure_of[stop]))
        gaps.update(range(low, high))
    return gaps


def _heading(sheet: DrawingPage, drawing: Drawing) -> float:
    top, room = MARGIN - 4, sheet.room
    if drawing.what_if:
        sheet.write((sheet.right, top + 10), WHAT_IF, size=SMALL, face=Face.BOLD, ink=Ink.ACCENT, anchor=Anchor.END)
        room -= sheet.measure(WHAT_IF, SMALL, Face.BOLD) + 16
    for line in lines_of(drawing.title, room, LARGE, Face.BOLD, sheet.measure):
        sheet.write((sheet.left, top + LARGE * LINE / 2), line, size=LARGE, face=Face.BOLD)
        top += LARGE * LINE
    return top + (14 if drawing.title else 8)


def _foot(sheet: DrawingPage, drawing: Drawing, y: float) -> float:
    if drawing.more > 0:
        sheet.write((sheet.left, y + 8), f"… {drawing.more:,} more", size=NORMAL, ink=Ink.MUTED)
        y += 24
    y = _legend(sheet, drawing, y)
    for line in lines_of(drawing.caption, min(sheet.room, _CAPTION_WIDE), NORMAL, Face.SANS, sheet.measure):
        sheet.write((sheet.left, y + NORMAL * LINE / 2), line, ink=Ink.MUTED)
        y += NORMAL * 1.45
    return y + MARGIN - 6


def _legend(sheet: DrawingPage, drawing: Drawing, y: float) -> float:
    meanings = MEANINGS | dict(drawing.legend)
    tones, some = {item.tone for item in drawing.items}, [item.computed for item in drawing.items]
    entries = [(tone, False, text) for tone, text in meanings.items() if tone in tones]
    if any(some) and not all(some):
        entries.append((Tone.PLAIN, True, COMPUTED))
    if not entries:
        return y
    x = sheet.left
    for tone, dashed, text in entries:
        wide = _SWATCH + 6 + sheet.measure(text, SMALL, Face.SANS)
        if x > sheet.left and x + wide > sheet.right:
            x, y = sheet.left, y + 18
        sheet.boxes.append(Box(Rect(x, y + 2, _SWATCH, 12), tone, dashed, round=2))
        sheet.write((x + _SWATCH + 6, y + 8), text, size=SMALL, ink=Ink.MUTED)
        x += wide + 18
    return y + 26


def _picture(sheet: DrawingPage, drawing: Drawing, height: float) -> Picture:
    frame: list[Shape] = []
    if drawing.what_if:
        start, *others = Rect(4, 4, sheet.width - 8, height - 8).corners
        frame = [Path(start, tuple(Move(corner) for corner in (*others, start)), Ink.ACCENT, 1.5, dashed=True)]
    shapes: tuple[Shape, ...] = (*frame, *sheet.fills, *sheet.boxes, *sheet.lines, *sheet.texts)
    return Picture(drawing, sheet.width, height, shapes, tuple(sheet.areas), tuple(sheet.grips))
