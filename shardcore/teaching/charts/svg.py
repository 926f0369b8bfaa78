"""Charts as pictures that can be put on a page: SVG, with axes, units and letters; nothing is told by colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log2, log10
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shardcore.model.byte_shares import Share, Use
from shardcore.model.number_words import plural
from shardcore.model.text import visible
from shardcore.teaching.charts.charts import AxisScale, Chart
from shardcore.teaching.markup import escaped

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def positions(scale: AxisScale, values: ArrayLike) -> NDArray[np.float64]:
    """Where values stand: sizes by their logarithm, with 0 one step before 1; all others where they are."""
    numbers = np.asarray(values, np.float64)
    if scale is not AxisScale.SIZES:
        return numbers
    return np.where(numbers < 1, -1.0, np.log2(np.maximum(numbers, 1.0)))


def size_words(size: float) -> str:
    """A round number of bytes in few characters: `64 KiB`."""
    power = min(int(log2(size)) // 10, len(_UNITS) - 1) if size >= 1 else 0
    value = size / 1024**power
    return f"{value:,.0f} {_UNITS[power]}" if value == round(value) else f"{value:,.1f} {_UNITS[power]}"


def ticks(scale: AxisScale, low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Values to write beside an axis, with their positions.

    Args:
        scale: How it is divided.
        low: Position of its beginning.
        high: Position of its end.
        most: How many there is room for.
    """
    if high <= low or most < 1:
        return []
    if scale is AxisScale.SIZES:
        return _size_ticks(low, high, most)
    if scale is AxisScale.OFFSETS:
        return [(at, size_words(at) if at else "0") for at in _binary_steps(low, high, most)]
    return [(at, number_words(at)) for at in _decimal_steps(low, high, most)]


def chart_ticks(chart: Chart, most: int) -> list[tuple[float, str]]:
    """What is written below a chart; a bin that is one number has it in its middle.

    Args:
        chart: The chart.
        most: How many there is room for.
    """
    if not len(chart):
        return []
    edges = positions(chart.scale, chart.edges)
    low, high = float(edges[0]), float(edges[-1])
    if chart.scale is AxisScale.LINEAR and float(chart.edges[1] - chart.edges[0]) == 1:
        found = ticks(AxisScale.LINEAR, low, high - 1, most) if high - low > 1 else [(low, number_words(low))]
        return [(at + 0.5, text) for at, text in found if at == round(at)]
    if chart.scale is AxisScale.SIZES and len(edges) <= most and chart.edges[0]:
        # So few that each has room.
        return [(float(at), size_words(float(edge))) for at, edge in zip(edges, chart.edges, strict=True)]
    found = ticks(chart.scale, low, high, most)
    return [(-0.5, text) if chart.scale is AxisScale.SIZES and at == -1 else (at, text) for at, text in found]


def number_words(number: float) -> str:
    """A number in few characters: `1,200`, `0.25`, `3.1M`."""
    if abs(number) >= 10_000_000:
        return f"{number / 1_000_000:,.4g}M"
    return f"{number:,.0f}" if number == round(number) else f"{number:,.3g}"


def _size_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    found = [(-1.0, "0")] if low <= -0.75 else []
    span = high - max(low, 0.0)
    step = next((s for s in (1, 2, 4, 5, 10, 20, 40) if span / s <= max(most - 1, 1)), 64)
    first = max(ceil(low), 0)
    first += -first % step
    if found and step > 1 and first == 0:
        # It would stand on the 0 before it.
        first = step
    return found + [(float(at), size_words(2.0**at)) for at in range(first, floor(high + 1e-9) + 1, step)]


def _binary_steps(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2, 4 … times a power of 1024: round numbers of bytes."""
    step = 2.0 ** max(ceil(log2((high - low) / most)), 0)
    return [step * n for n in range(ceil(low / step), floor(high / step) + 1)]


def _decimal_steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    ten = 10.0 ** floor(log10(rough))
    step = next(factor * ten for factor in (1, 2, 5, 10) if factor * ten >= rough * 0.999)
    return [round(step * n, 10) for n in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


LETTERS: Mapping[Use, str] = MappingProxyType(
    {
        Use.PAYLOAD: "D",
        Use.INDEX: "I",
        Use.LOOKUP: "L",
        Use.HEAD: "H",
        Use.PADDING: "P",
        Use.SLACK: "S",
        Use.DEAD: "X",
        Use.UNKNOWN: "?",
    }
)
"""What stands on the bars of each use."""

_USES: Mapping[Use, str] = MappingProxyType(
    {
        Use.PAYLOAD: "#5aa68a",
        Use.INDEX: "#c98a4b",
        Use.LOOKUP: "#b084c8",
        Use.HEAD: "#6c97cf",
        Use.PADDING: "#a3a8b0",
        Use.SLACK: "#c9b458",
        Use.DEAD: "#cf6f6a",
        Use.UNKNOWN: "#8c8c8c",
    }
)


@dataclass(frozen=True, slots=True)
class Inks:
    """The colours of a picture, as SVG takes them.

    Attributes:
        ground: Behind all.
        text: Letters.
        muted: Letters of less weight.
        line: Lines of the grid.
        bar: Bars and areas.
        ideal: The line of what would be best.
        uses: The bars of the byte budget.
    """

    ground: str = "#ffffff"
    text: str = "#22262e"
    muted: str = "#6b7078"
    line: str = "#d9dce1"
    bar: str = "#5aa68a"
    ideal: str = "#3b67c9"
    uses: Mapping[Use, str] = field(default_factory=lambda: _USES)


LIGHT = Inks()

WIDTH, HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 36, 64, 56
_ROW, _NAME = 22, 190
_LINE_LETTERS = 104


def chart_svg(chart: Chart, inks: Inks = LIGHT) -> str:
    """A chart as a picture."""
    inner = (_LEFT, _TOP, WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM)
    x, y, width, height = inner
    edges = positions(chart.scale, chart.edges)
    low, high = (float(edges[0]), float(edges[-1])) if len(edges) > 1 else (0.0, 1.0)
    known = chart.values[~np.isnan(chart.values)]
    ideal = chart.ideal if chart.ideal is not None else np.zeros(0)
    top = chart.most or max(float(known.max(initial=0)), float(ideal.max(initial=0))) * 1.05 or 1.0
    parts = _frame(chart.title, chart.note, HEIGHT, inks)

    def across(position: float) -> float:
        return x + width * (position - low) / (high - low)

    def down(value: float) -> float:
        return y + height * (1 - value / top)

    for at, text in ticks(AxisScale.LINEAR, 0.0, top, 5):
        parts.append(_line(x, down(at), x + width, down(at), inks.line))
        parts.append(_text(x - 6, down(at) + 4, text, inks.muted, "end"))
    for at, text in chart_ticks(chart, 7):
        parts.append(_line(across(at), y + height, across(at), y + height + 4, inks.muted))
        parts.append(_text(across(at), y + height + 18, text, inks.muted, "middle"))
    body = []
    for first, last, value in zip(edges[:-1].tolist(), edges[1:].tolist(), chart.values.tolist(), strict=True):
        if value > 0:
            left, right = across(first), across(last)
            gap = 1.0 if right - left > 4 else 0.0
            body.append(f"M{left:.2f} {down(0):.2f}V{down(value):.2f}H{right - gap:.2f}V{down(0):.2f}Z")
    parts.append(f'<path d="{"".join(body)}" fill="{inks.bar}"/>')
    if chart.ideal is not None and len(chart):
        points = [
            f"{across(edge):.2f},{down(value):.2f}"
            for first, last, value in zip(edges[:-1].tolist(), edges[1:].tolist(), ideal.tolist(), strict=True)
            for edge in (first, last)
        ]
        parts.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{inks.ideal}" stroke-width="1.6" '
            'stroke-dasharray="6 3"/>'
        )
        parts.append(_text(x + width, y - 6, f"- - {chart.ideal_name}", inks.ideal, "end"))
    parts.append(_line(x, y + height, x + width, y + height, inks.muted))
    parts.append(_text(x + width / 2, HEIGHT - 12, chart.x, inks.text, "middle"))
    parts.append(
        f'<text transform="translate(16 {y + height / 2}) rotate(-90)" text-anchor="middle" fill="{inks.text}">'
        f"{escaped(visible(chart.y))}</text>"
    )
    return _svg(WIDTH, HEIGHT, parts, inks)


def shares_svg(shares: Sequence[Share], title: str = "Byte budget", inks: Inks = LIGHT) -> str:
    """The byte budget as bars, each with the letter of its use."""
    total = sum(share.size for share in shares)
    height = _TOP + _ROW * len(shares) + 16
    note = f"{plural(total, 'byte')}. " + ", ".join(
        f"{LETTERS[use]} {use.value}" for use in Use if any(share.use is use for share in shares)
    )
    parts = _frame(title, note, height, inks)
    room = WIDTH - _NAME - 150
    largest = max((share.size for share in shares), default=1) or 1
    for number, share in enumerate(shares):
        y = _TOP + _ROW * number
        width = max(room * share.size / largest, 1.5)
        parts.append(_text(_NAME - 8, y + 15, _cut(share.name, 28), inks.text, "end"))
        parts.append(
            f'<rect x="{_NAME}" y="{y + 3}" width="{width:.2f}" height="{_ROW - 6}" rx="2" '
            f'fill="{inks.uses[share.use]}"/>'
        )
        percent = f"{100 * share.size / total:.1f} %" if total else ""
        words = f"{LETTERS[share.use]}  {share.size:,}  {percent}"
        parts.append(_text(_NAME + width + 6, y + 15, words, inks.muted, "start"))
    return _svg(WIDTH, height, parts, inks)


def _frame(title: str, note: str, height: int, inks: Inks) -> list[str]:
    """The ground and the title, with as much of the note as fits on a line; all of it is the description."""
    return [
        f"<title>{escaped(visible(title))}</title><desc>{escaped(visible(note))}</desc>",
        f'<rect width="{WIDTH}" height="{height}" fill="{inks.ground}"/>',
        f'<text x="16" y="24" font-size="15" font-weight="600" fill="{inks.text}">{escaped(_cut(title, 80))}</text>',
        _text(16, 43, _cut(note, _LINE_LETTERS), inks.muted, "start"),
    ]


def _svg(width: int, height: int, parts: Sequence[str], inks: Inks) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{inks.text}">\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, ink: str, anchor: str) -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" fill="{ink}">{escaped(visible(text))}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, ink: str) -> str:
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{ink}"/>'


def _cut(text: str, most: int) -> str:
    shown = visible(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
