"""Text and numbers to fill samples with: the same in every run, and compressible as what people store is."""

from __future__ import annotations

import math
import random
import struct

_TEXT = (
    "a shard holds many objects in one file so that they can be found read and checked without opening each of them "
    "an index says where every object lies and how long it is the reader looks at a few bytes computes a place and "
    "jumps there"
)
WORDS = _TEXT.split()


def sentences(seed: int, size: int) -> bytes:
    """At least `size` bytes of lines of words."""
    dice = random.Random(seed)
    lines: list[str] = []
    have = 0
    while have < size:
        lines.append(" ".join(dice.choices(WORDS, k=dice.randint(6, 12))).capitalize() + ".\n")
        have += len(lines[-1])
    return "".join(lines).encode()


def wave(first: int, count: int) -> bytes:
    """Numbers of a slow wave, as little-endian float32."""
    return b"".join(
        struct.pack("<f", round(math.sin(i / 37) * 50 + (i % 997) / 100, 2)) for i in range(first, first + count)
    )
