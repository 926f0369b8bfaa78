"""Contents to compare: ten objects of ten kinds, equal on every machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np


class ComparedObject(NamedTuple):
    name: str
    data: bytes


_TEXT = """
a shard packs many small objects into one file so that they are found again with few reads each key leads through an
index to where its bytes begin and how many there are some formats compress them others keep them as they came what is
cheap to write is not always cheap to change and what is cheap to find needs room for tables
"""
_WORDS = _TEXT.split()
_NAMES = ("Ada", "Blaise", "Charles", "Donald", "Edsger", "Frances", "Grace", "Hedy")
_TOWNS = ("Paris", "Turin", "Zürich", "Lund", "Porto", "Kyoto")
_CALLS = ("GET /index", "GET /objects", "PUT /objects", "HEAD /objects", "GET /static/logo.svg")


def _dice(seed: int) -> np.random.RandomState:
    """Return a random generator whose numbers are the same in every version of NumPy."""
    # NumPy guarantees that the numbers of this generator never change.
    return np.random.RandomState(seed)


def _lines(seed: int, each: int, line: Callable[[int, int], str], size: int) -> bytes:
    dice = _dice(seed).randint(0, 1 << 30, size // each + 1).tolist()
    return "".join(line(number, chance) for number, chance in enumerate(dice)).encode()


def _text(size: int) -> bytes:
    parts = [f"{word} ".encode() for word in _WORDS] + [b"\n"]
    return b"".join([parts[number] for number in _dice(1).randint(0, len(parts), size // 2).tolist()])


def _table(size: int) -> bytes:
    dice = _dice(3).randint(0, 100_000, (size // 12 + 1, 2)).tolist()
    return "".join(["day,price,sold\n", *(f"{n},{a / 100:.2f},{b % 997}\n" for n, (a, b) in enumerate(dice))]).encode()


def _waves(size: int) -> bytes:
    at = np.arange(size // 8 + 1) / 50
    return np.round(np.sin(at) + np.sin(at * 3.1), 2).astype("<f8").tobytes()


def _picture(size: int) -> bytes:
    at = np.arange(size)
    return ((at % 80) * 2 + at // 80 % 64 + _dice(8).randint(0, 4, size)).astype(np.uint8).tobytes()


def _labels(size: int) -> bytes:
    runs = size // 4 // 40 + 2
    numbers = np.repeat(_dice(10).randint(1, 60_000, runs), _dice(11).randint(20, 80, runs))
    return np.resize(numbers, size // 4 + 1).astype("<u4").tobytes()


def _record(n: int, d: int) -> str:
    return f'{{"id": {n}, "name": "{_NAMES[d % 8]}", "town": "{_TOWNS[d // 8 % 6]}", "age": {18 + d // 48 % 70}}}\n'


def _log(n: int, d: int) -> str:
    return f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z {_CALLS[d % 5]} 200 {d // 5 % 90_000}\n"


def _function(n: int, d: int) -> str:
    return f"def {_WORDS[d % 40]}_{n}({_WORDS[d // 40 % 40]}):\n    return {_WORDS[d // 40 % 40]} + {d % 97}\n\n"


_KINDS: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "letter.txt": (1_800, _text),
    "people.json": (2_600, partial(_lines, 2, 40, _record)),
    "prices.csv": (3_100, _table),
    "server.log": (4_200, partial(_lines, 4, 40, _log)),
    "program.py": (2_300, partial(_lines, 5, 25, _function)),
    "counts.i64": (4_096, lambda size: np.cumsum(_dice(6).randint(0, 20, size // 8 + 1)).astype("<i8").tobytes()),
    "waves.f64": (4_096, _waves),
    "slope.gray": (6_400, _picture),
    "photo.jpg": (5_700, lambda size: _dice(9).bytes(size)),
    "labels.u32": (8_192, _labels),
}


def built_in() -> tuple[ComparedObject, ...]:
    """Return the ten objects: texts, tables, arrays, an image, and incompressible bytes."""
    return tuple(ComparedObject(name, make(size)[:size]) for name, (size, make) in _KINDS.items())
