"""A comparison as a picture: six strips to one scale, a legend and a table, as SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from types import MappingProxyType

from shardcore.model.number_words import plural
from shardcore.model.section import SECTION_LETTERS, SectionRole
from shardcore.model.text import visible
from shardcore.teaching.comparison.comparison import Comparison
from shardcore.teaching.comparison.row import FormatRow, SectionShare
from shardcore.teaching.comparison.words import ABOUT, HEADINGS, cells, overhead_text, short_size
from shardcore.teaching.markup import escaped, quoted

COLOURS: Mapping[SectionRole, str] = MappingProxyType(
    {
        SectionRole.HEADER: "#5a8ed1",
        SectionRole.INDEX: "#bf7a3d",
        SectionRole.LOOKUP: "#a676bc",
        SectionRole.DATA: "#509e7e",
        SectionRole.METADATA: "#939133",
        SectionRole.FOOTER: "#c86d75",
        SectionRole.PADDING: "#878d95",
        SectionRole.TRAILING: "#a3847c",
        SectionRole.UNKNOWN: "#8c8c8c",
    }
)
"""The colours of sections: those of the light theme of the window."""

WIDTH = 1200
_SIDE = 24
_STRIPS = WIDTH - 2 * _SIDE
_STRIP_STEP, _STRIP_HEIGHT = 46, 20
_LETTER_ROOM = 13
_COLUMNS = (0, 104, 206, 300, 382, 508, 636, 764, 870)
_LINE = 15
_LAST_COLUMN = 46
"""Letters of a line in the last column."""


def to_svg(comparison: Comparison) -> str:
    """The picture. Widths are to scale: the widest strip is the largest format."""
    parts: list[str] = []
    y = 40
    parts.append(_text(_SIDE, y, comparison.about, size=18, weight="bold"))
    y += 22
    scale = _STRIPS / max(comparison.largest, comparison.content, 1)
    top = y
    for row in comparison.rows:
        parts += _strip(row, y, scale)
        y += _STRIP_STEP
    x = _SIDE + comparison.content * scale
    parts.append(
        f'<line class="contents" x1="{x:.2f}" x2="{x:.2f}" y1="{top}" y2="{y}" stroke="#222" stroke-dasharray="4 3"/>'
    )
    anchor = "end" if x > WIDTH / 2 else "start"
    parts.append(
        _text(
            x + (-5 if anchor == "end" else 5),
            y + 4,
            f"the contents alone: {short_size(comparison.content)}",
            anchor=anchor,
        )
    )
    y += 28
    parts += _legend(comparison, y)
    y += 34
    table, y = _table(comparison, y)
    parts += table
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 10}" viewBox="0 0 {WIDTH} {y + 10}" '
        'font-family="sans-serif" font-size="12" fill="#222">'
    )
    title = f"<title>{escaped(visible(comparison.about))}</title>"
    return "\n".join([head, title, f'<rect width="{WIDTH}" height="{y + 10}" fill="#fff"/>', *parts, "</svg>", ""])


def _strip(row: FormatRow, y: int, scale: float) -> list[str]:
    """The name of a format and its strip."""
    about = "" if row.exact else ABOUT
    dial = f" · {row.dial} {row.value}" if row.dial else ""
    told = row.error or f"{about}{plural(row.size, 'byte')} · {about}{overhead_text(row)}{dial}"
    parts = [
        f'<g class="format" data-format={quoted(row.format)} data-size="{row.size}">',
        _text(_SIDE, y + 14, row.format, weight="bold"),
        _text(_SIDE + 104, y + 14, told, fill="#555"),
    ]
    x = float(_SIDE)
    for piece in row.pieces if not row.error else ():
        width = piece.size * scale
        parts.append(_piece(piece, x, y + _STRIP_HEIGHT, width))
        x += width
    return [*parts, "</g>"]


def _piece(piece: SectionShare, x: float, y: float, width: float) -> str:
    told = f"{piece.name}: {plural(piece.size, 'byte')}"
    if piece.count > 1:
        told += f" in {plural(piece.count, 'file')}"
    rect = (
        f'<rect class="section" data-role="{piece.role.value}" data-size="{piece.size}" x="{x:.3f}" y="{y}" '
        f'width="{width:.3f}" height="{_STRIP_HEIGHT}" fill="{COLOURS[piece.role]}" stroke="#fff" stroke-width="0.5">'
        f"<title>{escaped(visible(told))}</title></rect>"
    )
    if width < _LETTER_ROOM:
        return rect
    return rect + _text(x + width / 2, y + 14.5, SECTION_LETTERS[piece.role], anchor="middle", fill="#000")


def _legend(comparison: Comparison, y: int) -> list[str]:
    """The roles that are there, with colour, letter and name."""
    there = {piece.role for row in comparison.rows for piece in row.pieces}
    parts, x = [], _SIDE
    for role in (role for role in SectionRole if role in there):
        parts.append(f'<rect x="{x}" y="{y - 11}" width="14" height="14" fill="{COLOURS[role]}"/>')
        parts.append(_text(x + 7, y, SECTION_LETTERS[role], anchor="middle", fill="#000", size=10))
        parts.append(_text(x + 20, y, role.value))
        x += 36 + 7 * len(role.value)
    return parts


def _table(comparison: Comparison, y: int) -> tuple[list[str], int]:
    """What the window shows below the strips; and where it ends."""
    parts = [_text(_SIDE + x, y, heading, weight="bold") for x, heading in zip(_COLUMNS, HEADINGS, strict=True)]
    y += 8
    for row in comparison.rows:
        texts = (row.format, *cells(row))
        lines = textwrap.wrap(texts[-1], _LAST_COLUMN) or [""]
        parts.append(f'<line x1="{_SIDE}" x2="{WIDTH - _SIDE}" y1="{y}" y2="{y}" stroke="#ccc"/>')
        columns = [_broken(text) for text in texts[:-1]]
        for x, column in zip(_COLUMNS, [*columns, lines], strict=True):
            parts += [_text(_SIDE + x, y + 15 + at * _LINE, line, size=11) for at, line in enumerate(column)]
        y += 8 + _LINE * max(len(lines), *map(len, columns))
    notes = [*comparison.notes, *(f"{row.format}: {note}" for row in comparison.rows for note in row.notes)]
    for note in notes:
        y += _LINE
        parts.append(_text(_SIDE, y + 8, note, fill="#555", size=11))
    return parts, y + 16


def _broken(text: str) -> list[str]:
    """A cell in lines: its parts are set apart by commas, and a number keeps its own."""
    return text.replace(", ", "\n").replace(" in ", "\nin ").split("\n")


def _text(x: float, y: float, text: str, *, size: int = 0, weight: str = "", anchor: str = "", fill: str = "") -> str:
    given = {"font-size": size or "", "font-weight": weight, "text-anchor": anchor, "fill": fill}
    styled = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    return f'<text x="{x:.2f}" y="{y:.1f}"{styled}>{escaped(visible(text))}</text>'
