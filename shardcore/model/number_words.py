"""Numbers in sentences for people: grouped digits, and nouns that agree with them.

Programs get raw numbers: the values of a step and everything in `--json` do not pass through here.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, SupportsInt

_IRREGULAR = {"index": "indices", "entry": "entries", "copy": "copies", "key": "keys"}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
WHOLE = 1e16
"""Floats from which neighbours are more than 1 apart, and that are written with an exponent."""
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def grouped_digits(count: SupportsInt) -> str:
    return f"{int(count):,}"


def plural(count: SupportsInt, noun: str, many: str = "") -> str:
    """Return a number and its noun, in agreement: `1 byte`, `2,400 bytes`, `0 entries`.

    Args:
        count: Count; NumPy's integers are fine.
        noun: What is counted, in the singular; its last word takes the ending (`shard index` is `shard indices`).
        many: The plural, where it is not formed by rule or a verb follows: `plural(n, "byte follows", "bytes follow")`.
    """
    number = int(count)
    return f"{number:,} {noun if number == 1 else many or _many(noun)}"


def _many(noun: str) -> str:
    head, space, last = noun.rpartition(" ")
    return f"{head}{space}{_IRREGULAR.get(last) or last + ('es' if last.endswith(_SIBILANTS) else 's')}"


def size_text(size: int) -> str:
    if size < 0:
        return f"−{size_text(-size)}"
    if size < 1024:
        return f"{size:,} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    value = size / 1024**power
    return f"{value:.1f} {_UNITS[power - 1]}" if value < 100 else f"{value:,.0f} {_UNITS[power - 1]}"


def long_size(size: int) -> str:
    return plural(size, "byte") if size < 1024 else f"{size_text(size)} ({plural(size, 'byte')})"


def ends_text(start: SupportsInt, stop: SupportsInt) -> str:
    first, after = int(start), int(stop)
    return f"{first:#x}–{after - 1:#x}" if after > first + 1 else f"{first:#x}"


def bits_text(first: int, stop: int) -> str:
    return f"bit {first:,}" if stop == first + 1 else f"bits {first:,}–{stop - 1:,}"


def range_text(start: SupportsInt, stop: SupportsInt, source: str = "") -> str:
    within = f" of {source}" if source else ""
    return f"{ends_text(start, stop)}{within} · {plural(int(stop) - int(start), 'byte')}"


def number_text(value: Any) -> str:
    if isinstance(value, Integral) or not isinstance(value, Real):
        return str(value)
    exact = float(value)
    if exact.is_integer() and abs(exact) < WHOLE:
        return f"{exact:.0f}"
    digits = f"{exact:.9g}"
    return digits if float(digits) == exact else str(value)


def product_text(count: SupportsInt, noun: str, each: SupportsInt, total: SupportsInt | None = None) -> str:
    text = f"{plural(count, noun)} × {int(each):,}"
    come = int(count) * int(each)
    return text if total is None or int(total) == come else f"{text} would be {come:,}"
