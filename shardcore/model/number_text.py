"""Numbers as text in messages: grouped digits, plurals, sizes, ranges. Not for output that programs read."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, SupportsInt

_IRREGULAR = {"index": "indices", "entry": "entries", "copy": "copies", "key": "keys"}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
WHOLE = 1e16
"""Floats from this value on differ by more than 1 and are written with an exponent."""
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def grouped_digits(count: SupportsInt) -> str:
    return f"{int(count):,}"


def plural(count: SupportsInt, noun: str, many: str = "") -> str:
    """Return a number with its noun: `1 byte`, `2,400 bytes`, `0 entries`.

    `many` is an irregular plural, or a phrase with a verb: `plural(n, "byte follows", "bytes follow")`.
    """
    number = int(count)
    return f"{number:,} {noun if number == 1 else many or _many(noun)}"


def _many(noun: str) -> str:
    head, space, last = noun.rpartition(" ")
    return f"{head}{space}{_IRREGULAR.get(last) or last + ('es' if last.endswith(_SIBILANTS) else 's')}"


def size_text(size: int) -> str:
    """Return a short size: `512 B`, `4.2 KiB`, `98.5 GiB`."""
    if size < 0:
        return f"−{size_text(-size)}"
    if size < 1024:
        return f"{size:,} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    value = size / 1024**power
    return f"{value:.1f} {_UNITS[power - 1]}" if value < 100 else f"{value:,.0f} {_UNITS[power - 1]}"


def long_size(size: int) -> str:
    """Return a full size: `512 bytes`, `4.9 KiB (5,064 bytes)`."""
    return plural(size, "byte") if size < 1024 else f"{size_text(size)} ({plural(size, 'byte')})"


def ends_text(start: SupportsInt, stop: SupportsInt) -> str:
    """Return a half-open range with both ends inclusive, `0x1171–0x1178`; one number for at most one byte."""
    first, after = int(start), int(stop)
    return f"{first:#x}–{after - 1:#x}" if after > first + 1 else f"{first:#x}"


def bits_text(first: int, stop: int) -> str:
    """Return a half-open range of bits as text with both ends inclusive: `bit 3`, `bits 3–5`."""
    return f"bit {first:,}" if stop == first + 1 else f"bits {first:,}–{stop - 1:,}"


def range_text(start: SupportsInt, stop: SupportsInt, source: str = "") -> str:
    """Return a half-open range as text with both ends inclusive: `0x1171–0x1178 · 8 bytes`."""
    within = f" of {source}" if source else ""
    return f"{ends_text(start, stop)}{within} · {plural(int(stop) - int(start), 'byte')}"


def number_text(value: Any) -> str:
    """Return the shortest decimal that identifies the number: `0.1` for a float32, not `0.10000000149011612`."""
    if isinstance(value, Integral) or not isinstance(value, Real):
        return str(value)
    exact = float(value)
    if exact.is_integer() and abs(exact) < WHOLE:
        return f"{exact:.0f}"
    digits = f"{exact:.9g}"
    return digits if float(digits) == exact else str(value)


def product_text(count: SupportsInt, noun: str, each: SupportsInt, total: SupportsInt | None = None) -> str:
    """Return a product such as `13 slots × 40`; adds `would be 520` if that differs from `total`."""
    text = f"{plural(count, noun)} × {int(each):,}"
    come = int(count) * int(each)
    return text if total is None or int(total) == come else f"{text} would be {come:,}"
