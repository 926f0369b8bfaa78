"""Parsing keys given as text to the writer: decimal, or hexadecimal with 0x."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np

from shardcore.errors import UsageError
from shardcore.formats.neuroglancer.sharding import KEY_LIMIT, Keys
from shardcore.model.safe_text import short
from shardcore.writing.writer import OddName

_NUMBER = re.compile(r"[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")
_DIGITS = 19
"""Numbers of up to this many digits are below 2**64."""


def key_number(text: str, who: str = "") -> int:
    """Return the key in a text; raise UsageError, its message starting with `who`, if it is not a uint64."""
    number = int(text, 16 if text[1:2] in "xX" and text[1:2] else 10) if _NUMBER.fullmatch(text) else KEY_LIMIT
    if number >= KEY_LIMIT:
        prefix = f"{who}: " if who else ""
        raise UsageError(f"{prefix}a key is an unsigned 64-bit integer, decimal or with 0x, not {short(text)}")
    return number


def key_numbers(texts: Sequence[str]) -> Keys:
    together = "".join(texts)
    if together.isascii() and together.isdigit() and min(map(len, texts)) > 0 and max(map(len, texts)) <= _DIGITS:
        return np.fromiter(map(int, texts), np.uint64, len(texts))
    return np.fromiter(map(key_number, texts), np.uint64, len(texts))


def checked_key(text: str) -> str:
    return str(key_number(text))


def key_of_name(name: str) -> str:
    """Return the key in a file name, which is its stem; raise OddName if that is not a number."""
    last = PurePosixPath(name).name
    stem = last.rpartition(".")[0] or last
    try:
        return str(key_number(stem))
    except UsageError:
        raise OddName(f"{name}: the file name must be the key, a decimal or 0x number") from None
