"""Drawings as lines of text for terminals, and as JSON values with positions in the units of the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase
from textwrap import wrap
from typing import Any

from shardcore.model.drawing import Bits, Cells, Drawing, Figure, Item, Ribbon, Ruler, Table, Tone
from shardcore.model.text import visible
from shardcore.shards.trace import COMPUTED
from shardcore.teaching.drawing.layout import MEANINGS
from shardcore.teaching.drawing.rulers import lanes_of_items


def drawing_json(drawing: Drawing) -> dict[str, Any]:
    return {
        "title": drawing.title,
        "what_if": drawing.what_if,
        "figures": [_figure_json(figure) for figure in drawing.figures],
        "links": [
            {"start": link.start, "stop": link.stop, "text": link.text, "tone": link.tone.value}
            for link in drawing.links
        ],
        "caption": drawing.caption,
        "more": drawing.more,
        "legend": {tone.value: text for tone, text in drawing.legend.items()},
    }


_MEMBERS: dict[type, tuple[str, ...]] = {
    Bits: ("width", "value"),
    Ruler: ("start", "stop", "unit", "ring"),
    Cells: ("count", "columns", "first", "ring"),
}


def _figure_json(figure: Figure) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": type(figure).__name__.lower(), "title": figure.title}
    found |= {name: getattr(figure, name) for name in _MEMBERS.get(type(figure), ())}
    if isinstance(figure, Table):
        rows = [[_item_json(item) for item in row] for row in figure.rows]
        return found | {"headings": list(figure.headings), "rows": rows}
    if isinstance(figure, Ribbon):
        bands = [{**_item_json(band.item), "below": list(band.below)} for band in figure.bands]
        return found | {"above": _figure_json(figure.above), "below": _figure_json(figure.below), "bands": bands}
    if isinstance(figure, Bits):
        found["letters"] = {str(bit): letter for bit, (letter, _) in sorted(figure.letters.items())}
    return found | {"items": [_item_json(item) for item in figure.items]}


def _item_json(item: Item) -> dict[str, Any]:
    found = {name: getattr(item, name) for name in ("text", "spans", "at", "size", "tone", "doc", "name", "here")}
    return found | {"spans": [span.to_json() for span in item.spans], "tone": item.tone.value}


COLUMNS = 100

MARKS = {Tone.HIT: "*", Tone.MISS: "!", Tone.DEAD: "x"}

_LETTERS = ascii_lowercase + ascii_uppercase
_BYTE = 8
_WIDEST_CELL = 16
_WIDEST_COLUMN = 44


def as_text(drawing: Drawing, columns: int = COLUMNS) -> list[str]:
    lines = [drawing.title + ("  [what if]" if drawing.what_if else "")]
    for figure in drawing.figures:
        lines += ["", *_LINES[type(figure)](figure, columns)]
    links = list(_links(drawing))
    if links:
        lines += ["", *links]
    if drawing.more > 0:
        lines += ["", f"… {drawing.more:,} more"]
    marks = {mark for item in drawing.items for mark in _marks(item)}
    if marks and not all(item.computed for item in drawing.items):
        meanings = MEANINGS | dict(drawing.legend)
        told = {mark: meanings[tone] for tone, mark in MARKS.items()} | {"~": COMPUTED}
        lines += ["", "   ".join(f"{mark} {text}" for mark, text in told.items() if mark in marks)]
    if drawing.caption:
        lines += ["", *wrap(drawing.caption, columns)]
    return [_cut(visible(line), columns).rstrip() for line in lines]


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def _marks(item: Item) -> str:
    return MARKS.get(item.tone, "") + ("~" if item.computed else "")


def _said(item: Item) -> str:
    text = item.text + _marks(item)
    return f"[{text}]" if item.here else text


def _places(item: Item) -> str:
    return ", ".join(str(span) for span in item.spans) if item.spans else "computed"


def _links(drawing: Drawing) -> Iterator[str]:
    named = {item.name: item.text or item.name for item in drawing.items if item.name}
    for link in drawing.links:
        yield f"  {named[link.start]} ─{f' {link.text} ' if link.text else ''}─▶ {named[link.stop]}"


def _bits(figure: Bits, columns: int) -> list[str]:
    letters = dict(zip(range(len(figure.items)), _LETTERS, strict=False))
    owner = {
        bit: letters.get(n, "?")
        for n, item in enumerate(figure.items)
        for bit in range(int(item.at), int(item.at + item.size))
    }
    digits, fields = [], []
    for bit in range(figure.width - 1, -1, -1):
        value = "·" if figure.value is None else str(figure.value >> bit & 1)
        digits.append(figure.letters[bit][0][:1] if bit in figure.letters else value)
        fields.append(owner.get(bit, " "))
        if bit and bit % _BYTE == 0:
            digits.append(" ")
            fields.append(" ")
    lines = [figure.title, f"  {figure.width - 1} … 0"]
    for start in range(0, len(digits), columns - 2):
        lines += ["  " + "".join(row[start : start + columns - 2]) for row in (digits, fields)]
    for n, item in enumerate(figure.items):
        bits = f"bits {int(item.at)}–{int(item.at + item.size) - 1}" if item.size > 0 else "no bits"
        lines.append(f"  {letters.get(n, '?')}  {_said(item)}, {bits}, {_places(item)}")
    return lines


def _ruler(figure: Ruler, columns: int) -> list[str]:
    wide = columns - 4
    scale = wide / max(figure.stop - figure.start, 1e-9)
    lanes = lanes_of_items(figure.items)
    rows: dict[int, list[str]] = {}
    listed = []
    names = (letter for letter in _LETTERS)
    for item, lane in zip(figure.items, lanes, strict=True):
        row = rows.setdefault(lane if item.size else -1, [" "] * (wide + 1))
        begin = min(max(round((item.at - figure.start) * scale), 0), wide)
        end = min(max(round((item.at + item.size - figure.start) * scale), begin + 1), wide + 1)
        text = _said(item)
        if item.size == 0 or len(text) > end - begin - 2:
            letter = next(names, "?")
            listed.append(f"  {letter}  {text or '·'}, at {item.at:,.0f}, {_places(item)}")
            text = letter
        filling = "▼" if item.size == 0 else f"├{text.center(end - begin - 2, '─')}┤" if end - begin > 2 else text
        row[begin:end] = list(filling[: end - begin].ljust(end - begin))
        if item.size == 0:
            row[begin + 1 if begin < wide else begin - 1] = text[:1]
    left, right = f"{figure.start:,.0f}", f"{figure.stop:,.0f}"
    unit = f" ({figure.unit})" if figure.unit else ""
    lines = [f"{figure.title}{unit}", *("  " + "".join(rows[lane]) for lane in sorted(rows))]
    return [*lines, "  └" + "─" * (wide - 1) + "┘", f"  {left}{right.rjust(wide + 1 - len(left))}", *listed]


def _cells(figure: Cells, columns: int) -> list[str]:
    by_cell: dict[int, str] = {}
    for item in figure.items:
        cell = int(item.at) - figure.first
        by_cell[cell] = f"{by_cell[cell]}/{_said(item)}" if cell in by_cell else _said(item) or "■"
    head = max([len(name) for name in figure.row_names] + [len(str(figure.first + figure.count))])
    longest = max([len(text) for text in by_cell.values()] + [len(name) for name in figure.column_names] + [1])
    wide = min(longest, _WIDEST_CELL)
    across = figure.columns or min(max((columns - head - 4) // (wide + 1), 1), max(figure.count, 1))
    wide = min(wide, max((columns - head - 4) // max(across, 1) - 1, 1))
    lines = [figure.title + (" (ring: the last is followed by the first)" if figure.ring else "")]
    if figure.column_names:
        lines.append(f"  {' ' * head} " + " ".join(_cut(name, wide).center(wide) for name in figure.column_names))
    for row, start in enumerate(range(0, figure.count, across)):
        cells = range(start, min(start + across, figure.count))
        if not any(cell in by_cell for cell in cells) and figure.count > 2 * across:
            continue
        name = figure.row_names[row] if row < len(figure.row_names) else f"{figure.first + start:,}"
        texts = "│".join(_cut(by_cell.get(cell, "·"), wide).center(wide) for cell in cells)
        lines.append(f"  {name:>{head}} │{texts}│")
    return lines


def _table(figure: Table, columns: int) -> list[str]:
    rows = [tuple(_said(item) for item in row) for row in figure.rows]
    widths = [max([len(heading), *(len(row[n]) for row in rows)]) for n, heading in enumerate(figure.headings)]
    room = columns - 2 - 2 * len(widths)
    most = next((most for most in range(_WIDEST_COLUMN, 3, -1) if sum(min(w, most) for w in widths) <= room), 3)
    widths = [min(wide, most) for wide in widths]
    lines = [figure.title, _row(figure.headings, widths), "  " + "  ".join("─" * wide for wide in widths)]
    return [*lines, *(_row(row, widths) for row in rows)]


def _row(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "  " + "  ".join(_cut(text, wide).ljust(wide) for text, wide in zip(texts, widths, strict=True))


def _ribbon(figure: Ribbon, columns: int) -> list[str]:
    lines = [figure.title, *_ruler(figure.above, columns)]
    for band in figure.bands:
        above, (start, stop) = band.item, band.below
        reach = f"{above.at:,.0f}..{above.at + above.size:,.0f}"
        lines.append(f"    {reach} ─▶ {start:,.0f}..{stop:,.0f}  {_said(above)}".rstrip())
    return [*lines, *_ruler(figure.below, columns)]


_LINES: dict[type, Callable[[Any, int], list[str]]] = {
    Bits: _bits,
    Ruler: _ruler,
    Cells: _cells,
    Table: _table,
    Ribbon: _ribbon,
}
