"""Keys of objects: text, bytes or numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from pathlib import PurePath
from typing import SupportsIndex, TypeVar

from shardcore.dataclasses import dataclass
from shardcore.errors import UsageError
from shardcore.model.text import short

_Value = TypeVar("_Value")

Key = str | bytes | bytearray | memoryview | SupportsIndex
"""A key of an object: its text form, or the bytes or the number that the format stores."""


def several(values: Iterable[_Value], name: str) -> Iterable[_Value]:
    """Return `values`. UsageError for a single text or path, because iterating over it would yield its characters."""
    if isinstance(values, (str, bytes, bytearray, PurePath)):
        raise UsageError(
            f"{name} must be a list: give [{short(str(values) if isinstance(values, PurePath) else values)}]"
        )
    return values


@dataclass(frozen=True, slots=True)
class KeyForm:
    """Conversion of keys between text and their stored form.

    `of_bytes` is None if the stored keys are not byte strings. `numbers` is True if they are numbers.
    """

    of_bytes: Callable[[bytes], str] | None = None
    numbers: bool = False
    to_raw: Callable[[str], bytes | int | str] = str

    def text(self, key: Key, format: str) -> str:
        if isinstance(key, str):
            return key
        if isinstance(key, bytes | bytearray | memoryview):
            if self.of_bytes is not None:
                return self.of_bytes(bytes(key))
        elif self.numbers and isinstance(key, SupportsIndex):
            return str(index(key))
        forms = ["text"] + ["bytes"] * (self.of_bytes is not None) + ["a number"] * self.numbers
        raise UsageError(f"a key of a {format} shard must be {' or '.join(forms)}, not {type(key).__name__}")

    def raw(self, text: str) -> bytes | int | str:
        return self.to_raw(text)


def number_or_text(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


NUMBERS = KeyForm(numbers=True, to_raw=number_or_text)
