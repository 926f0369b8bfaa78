"""Layout of a drawing: figures in one or two columns, arrows between them, legend, caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Link, Ribbon, Ruler, Table, Tone
from shardcore.teaching.drawing.arrows import TRACK, FigureExtent, draw_routes
from shardcore.teaching.drawing.figures.bits import place_bits
from shardcore.teaching.drawing.figures.cells import place_cells
from shardcore.teaching.drawing.figures.ribbon import place_ribbon
from shardcore.teaching.drawing.figures.ruler import place_ruler
from shardcore.teaching.drawing.figures.table import place_table
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

LEAST_WIDTH = 320
USUAL_WIDTH = 760

MEANINGS = {
    Tone.HIT: "result of the lookup",
    Tone.MISS: "mismatch",
    Tone.DEAD: "deleted",
}
COMPUTED = "computed (not stored)"
WHAT_IF = "What if"

_BETWEEN = 20.0
_LINKED = 14.0
_CAPTION_WIDE = 720.0
_SWATCH = 14.0


def placed(drawing: Drawing, width: float = USUAL_WIDTH, measure: Measure = measured, *, columns: int = 1) -> Picture:
    """Place a drawing on a page of at least `LEAST_WIDTH` pixels; the height depends on the content."""
    sheet = DrawingPage(max(width, LEAST_WIDTH), measure)
    figure_of = [n for n, figure in enumerate(drawing.figures) for _ in figure.items]
    number_of = {item.name: n for n, item in enumerate(drawing.items) if item.name}
    links = [(number_of[link.start], number_of[link.stop], link) for link in drawing.links]
    gaps = _gaps(links, figure_of)
    split = _split(drawing, width, measure, gaps) if columns > 1 else len(drawing.figures)
    top = bottom = _heading(sheet, drawing)
    for column, numbers in enumerate((range(split), range(split, len(drawing.figures)))):
        if numbers:
            sheet.use_column(column, 1 if split == len(drawing.figures) else 2)
            bottom = max(bottom, _stack(sheet, drawing.figures, numbers, top, (links, figure_of, gaps)))
    sheet.use_column(0, 1)
    y = _foot(sheet, drawing, bottom - _BETWEEN + 14)
    return _picture(sheet, drawing, y)


_Links: TypeAlias = "tuple[Sequence[tuple[int, int, Link]], Sequence[int], Counter[int]]"
"""Arrows by item numbers, the figure of each item, and the number of arrows that pass below each figure."""


def _stack(sheet: DrawingPage, figures: Sequence[Figure], numbers: range, y: float, joined: _Links) -> float:
    links, figure_of, gaps = joined
    parts = [FigureExtent(y, y)] * len(figures)
    for n in numbers:
        sheet.links = [ends for ends in links if figure_of[ends[0]] == n == figure_of[ends[1]] and _in_row(figures[n])]
        bottom = _place(sheet, figures[n], sum(len(figure.items) for figure in figures[:n]), y)
        parts[n] = FigureExtent(y, bottom)
        y = bottom + _BETWEEN + (_LINKED + TRACK * gaps[n] if gaps[n] else 0)
    drawn = {id(line) for line in _arcs_drawn(sheet, links, figure_of, figures)}
    here = [ends for ends in links if id(ends[2]) not in drawn and figure_of[ends[0]] in numbers]
    draw_routes(sheet, here, figure_of, parts)
    return y


def _split(drawing: Drawing, width: float, measure: Measure, gaps: Counter[int]) -> int:
    """Return the number of figures in the left column for the most equal heights; no arrow may cross the split."""
    half = DrawingPage(max((width - MARGIN) / 2 + MARGIN, LEAST_WIDTH), measure)
    ends = [0.0]
    for n, figure in enumerate(drawing.figures):
        first = sum(len(one.items) for one in drawing.figures[:n])
        ends.append(_place(half, figure, first, ends[-1]) + _BETWEEN)
    free = [n for n in range(1, len(drawing.figures)) if not gaps[n - 1]]
    return min(free, key=lambda n: max(ends[n], ends[-1] - ends[n]), default=len(drawing.figures))


def _place(sheet: DrawingPage, figure: Figure, first: int, y: float) -> float:
    if isinstance(figure, Bits):
        return place_bits(sheet, figure, first, y)
    if isinstance(figure, Ruler):
        return place_ruler(sheet, figure, first, y)
    if isinstance(figure, Cells):
        return place_cells(sheet, figure, first, y)
    if isinstance(figure, Table):
        return place_table(sheet, figure, first, y)
    return place_ribbon(sheet, figure, first, y)


def _in_row(figure: Figure) -> bool:
    return not isinstance(figure, Table | Ribbon)


def _arcs_drawn(
    sheet: DrawingPage, links: Sequence[tuple[int, int, Link]], figure_of: Sequence[int], figures: Sequence[Figure]
) -> list[Link]:
    drawn = []
    for start, stop, link in links:
        figure = figures[figure_of[start]]
        if figure_of[start] != figure_of[stop] or not _in_row(figure):
            continue
        if start in sheet.bounds and stop in sheet.bounds:
            same = abs(sheet.bounds[start].y - sheet.bounds[stop].y) < 1
            if same or isinstance(figure, Ruler):
                drawn.append(link)
    return drawn


def _gaps(links: Sequence[tuple[int, int, Link]], figure_of: Sequence[int]) -> Counter[int]:
    """Count the arrows that cross the gap below each figure."""
    gaps = Counter[int]()
    for start, stop, _ in links:
        low, high = sorted((figure_of[start], figure_of[stop]))
        gaps.update(range(low, high))
    return gaps


def _heading(sheet: DrawingPage, drawing: Drawing) -> float:
    top = MARGIN - 4
    if drawing.what_if:
        wide = sheet.measure(WHAT_IF, SMALL, Face.BOLD)
        sheet.write((sheet.right, top + 10), WHAT_IF, size=SMALL, face=Face.BOLD, ink=Ink.ACCENT, anchor=Anchor.END)
        room = sheet.room - wide - 16
    else:
        room = sheet.room
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
    tones = [tone for tone in meanings if any(item.tone is tone for item in drawing.items)]
    entries = [(tone, False, meanings[tone]) for tone in tones]
    some = [item.computed for item in drawing.items]
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
