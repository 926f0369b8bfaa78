"""Bytes of ten kinds, made up: the same at any time, on any machine, and as many as somebody wants."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

import numpy as np
from numpy.typing import NDArray

_LEAST = 1 << 15
"""At least so many bytes are made at once, and kept."""

_KINDS = 16
"""Kinds of bytes that are kept."""

Maker = Callable[[int], bytes]


def _kept(make: Maker) -> Maker:
    """A maker whose bytes are kept: twice as many are made when more are wanted, and they begin with the same."""

    @lru_cache(maxsize=_KINDS)
    def remembered(size: int) -> bytes:
        data = make(size)
        return data if len(data) == size else (data * (size // len(data) + 1))[:size]

    @wraps(make)
    def call(size: int) -> bytes:
        return remembered(max(1 << max(size - 1, 0).bit_length(), _LEAST))

    return call


_TEXT = """
a shard packs many small objects into one file so that they are found again with few reads each key leads through an
index to where its bytes begin and how many there are some formats compress them others keep them as they came what is
cheap to write is not always cheap to change and what is cheap to find needs room for tables
"""
_WORDS = tuple(_TEXT.split())
_NAMES = ("Ada", "Blaise", "Charles", "Donald", "Edsger", "Frances", "Grace", "Hedy")
_TOWNS = ("Paris", "Turin", "Zürich", "Lund", "Porto", "Kyoto")
_CALLS = ("GET /index", "GET /objects", "PUT /objects", "HEAD /objects", "GET /static/logo.svg")


def _dice(seed: int) -> np.random.RandomState:
    # The numbers of this generator are promised to stay the same in every version of NumPy.
    return np.random.RandomState(seed)


def _joined(parts: list[bytes], which: NDArray[np.int64]) -> bytes:
    """Parts one after the other, by their numbers."""
    return b"".join([parts[number] for number in which.tolist()])


@_kept
def text(size: int) -> bytes:
    """Words of a small language, in lines."""
    parts = [f"{word} ".encode() for word in _WORDS] + [b"\n"]
    return _joined(parts, _dice(1).randint(0, len(parts), size // 2))[:size]


@_kept
def records(size: int) -> bytes:
    """JSON, one object on each line."""
    dice = _dice(2).randint(0, 1 << 30, size // 40 + 1).tolist()
    lines = [
        f'{{"id": {n}, "name": "{_NAMES[d % 8]}", "town": "{_TOWNS[d // 8 % 6]}", "age": {18 + d // 48 % 70}}}\n'
        for n, d in enumerate(dice)
    ]
    return "".join(lines).encode()[:size]


@_kept
def table(size: int) -> bytes:
    """Numbers as text, with commas."""
    dice = _dice(3).randint(0, 100_000, (size // 12 + 1, 2)).tolist()
    lines = ["day,price,sold\n", *(f"{n},{a / 100:.2f},{b % 997}\n" for n, (a, b) in enumerate(dice))]
    return "".join(lines).encode()[:size]


@_kept
def log(size: int) -> bytes:
    """Lines of a server."""
    dice = _dice(4).randint(0, 1 << 30, size // 40 + 1).tolist()
    lines = [
        f"2026-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z {_CALLS[d % 5]} 200 {d // 5 % 90_000}\n"
        for n, d in enumerate(dice)
    ]
    return "".join(lines).encode()[:size]


@_kept
def program(size: int) -> bytes:
    """Something that looks like a program."""
    dice = _dice(5).randint(0, 1 << 30, size // 25 + 1).tolist()
    lines = [
        f"def {_WORDS[d % 40]}_{n}({_WORDS[d // 40 % 40]}):\n    return {_WORDS[d // 40 % 40]} + {d % 97}\n\n"
        for n, d in enumerate(dice)
    ]
    return "".join(lines).encode()[:size]


@_kept
def counts(size: int) -> bytes:
    """Whole numbers of 64 bits that grow a little each time."""
    return np.cumsum(_dice(6).randint(0, 20, size // 8 + 1)).astype("<i8").tobytes()[:size]


@_kept
def waves(size: int) -> bytes:
    """Floating-point numbers of 64 bits along two waves, rounded to hundredths."""
    at = np.arange(size // 8 + 1) / 50
    return np.round(np.sin(at) + np.sin(at * 3.1), 2).astype("<f8").tobytes()[:size]


@_kept
def picture(size: int) -> bytes:
    """Grey pixels along a slope, with a little noise."""
    at = np.arange(size)
    return ((at % 80) * 2 + at // 80 % 64 + _dice(8).randint(0, 4, size)).astype(np.uint8).tobytes()


@_kept
def noise(size: int) -> bytes:
    """Bytes that no codec makes smaller, as of a photograph that is compressed already."""
    return _dice(9).bytes(size)


@_kept
def labels(size: int) -> bytes:
    """Numbers of 32 bits in long runs, as a segmentation has them."""
    runs = size // 4 // 40 + 2
    numbers = np.repeat(_dice(10).randint(1, 60_000, runs), _dice(11).randint(20, 80, runs))
    return np.resize(numbers, size // 4 + 1).astype("<u4").tobytes()[:size]
