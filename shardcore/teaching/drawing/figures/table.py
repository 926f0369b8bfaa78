"""Layout of a table: aligned columns, numbers at the right, long texts cut."""

from __future__ import annotations

from shardcore.model.drawing import Table, Tone
from shardcore.teaching.drawing.picture import (
    NORMAL,
    SMALL,
    TITLE_GAP,
    Anchor,
    DrawingPage,
    Face,
    Ink,
    Rect,
    face_of,
    is_number,
)

_ROW = 25.0
_HEAD = 22.0
_PAD = 10.0
_LEAST = 28.0
_WIDEST = 420.0


def place_table(sheet: DrawingPage, figure: Table, first: int, top: float) -> float:
    y = sheet.title(top, figure.title)
    if not figure.headings:
        return y
    widths = _widths(sheet, figure)
    lefts = [sheet.left + sum(widths[:column]) for column in range(len(widths))]
    right = sheet.left + sum(widths)
    numeric = [_numeric(figure, column) for column in range(len(widths))]
    for left, wide, heading, number in zip(lefts, widths, figure.headings, numeric, strict=True):
        _write(sheet, Rect(left, y, wide, _HEAD - 4), heading, number, heading=True)
    y += _HEAD
    sheet.rule((sheet.left, y - 2), (right, y - 2), ink=Ink.EDGE)
    n = first
    for count, row in enumerate(figure.rows):
        for left, wide, item, number in zip(lefts, widths, row, numeric, strict=True):
            rect = Rect(left, y, wide, _ROW)
            if item.tone is not Tone.PLAIN or item.here or item.computed:
                sheet.box(Rect(left + 1, y + 2, wide - 2, _ROW - 4), item, n)
            else:
                sheet.area(rect, n)
            sheet.rows[n] = Rect(sheet.left, y, right - sheet.left, _ROW)
            if count == 0:
                sheet.heads[n] = y - _HEAD - TITLE_GAP / 2
            if count + 1 == len(figure.rows):
                sheet.feet.add(n)
            _write(sheet, rect, item.text, number, item=n)
            n += 1
        y += _ROW
        if count + 1 < len(figure.rows):
            sheet.rule((sheet.left, y), (right, y), ink=Ink.LINE, width=0.75)
    return y + 2


def _widths(sheet: DrawingPage, figure: Table) -> list[float]:
    """Return the widths of the columns in pixels; if they do not fit, the widest are narrowed first."""
    widths = []
    for column, heading in enumerate(figure.headings):
        texts = [sheet.measure(row[column].text, NORMAL, face_of(row[column].text)) for row in figure.rows]
        widest = max([sheet.measure(heading, SMALL, Face.SANS), *texts])
        widths.append(min(max(widest + 2 * _PAD + 2, _LEAST), _WIDEST))
    low, high = 0.0, max(widths)
    if sum(widths) <= sheet.room:
        return widths
    for _ in range(40):
        most = (low + high) / 2
        low, high = (most, high) if sum(min(wide, most) for wide in widths) <= sheet.room else (low, most)
    return [min(wide, low) for wide in widths]


def _numeric(figure: Table, column: int) -> bool:
    texts = [row[column].text for row in figure.rows if row[column].text]
    return bool(texts) and all(is_number(text) for text in texts)


def _write(sheet: DrawingPage, rect: Rect, text: str, number: bool, *, heading: bool = False, item: int = -1) -> None:
    x = rect.right - _PAD if number else rect.x + _PAD
    anchor = Anchor.END if number else Anchor.START
    face = Face.SANS if heading else face_of(text)
    size, ink = (SMALL, Ink.MUTED) if heading else (NORMAL, Ink.TEXT)
    room = rect.w - 2 * _PAD + 1
    if sheet.measure(text, size, face) > room:
        size = SMALL
    sheet.write((x, rect.middle[1]), text, size=size, face=face, ink=ink, anchor=anchor, room=room, item=item)
