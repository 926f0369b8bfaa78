"""Axes: where a value stands on one, and which values are written beside it."""

from __future__ import annotations

from math import ceil, floor, log2, log10

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shardcore.teaching.charts.charts import Chart, Scale

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def positions(scale: Scale, values: ArrayLike) -> NDArray[np.float64]:
    """Where values stand: sizes by their logarithm, with 0 one step before 1; all others where they are."""
    numbers = np.asarray(values, np.float64)
    if scale is not Scale.SIZES:
        return numbers
    return np.where(numbers < 1, -1.0, np.log2(np.maximum(numbers, 1.0)))


def size_words(size: float) -> str:
    """A round number of bytes in few characters: `64 KiB`."""
    power = min(int(log2(size)) // 10, len(_UNITS) - 1) if size >= 1 else 0
    value = size / 1024**power
    return f"{value:,.0f} {_UNITS[power]}" if value == round(value) else f"{value:,.1f} {_UNITS[power]}"


def ticks(scale: Scale, low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Values to write beside an axis, with their positions.

    Args:
        scale: How it is divided.
        low: Position of its beginning.
        high: Position of its end.
        most: How many there is room for.
    """
    if high <= low or most < 1:
        return []
    if scale is Scale.SIZES:
        return _size_ticks(low, high, most)
    if scale is Scale.OFFSETS:
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
    if chart.scale is Scale.LINEAR and float(chart.edges[1] - chart.edges[0]) == 1:
        found = ticks(Scale.LINEAR, low, high - 1, most) if high - low > 1 else [(low, number_words(low))]
        return [(at + 0.5, text) for at, text in found if at == round(at)]
    if chart.scale is Scale.SIZES and len(edges) <= most and chart.edges[0]:
        # So few that each has room.
        return [(float(at), size_words(float(edge))) for at, edge in zip(edges, chart.edges, strict=True)]
    found = ticks(chart.scale, low, high, most)
    return [(-0.5, text) if chart.scale is Scale.SIZES and at == -1 else (at, text) for at, text in found]


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
