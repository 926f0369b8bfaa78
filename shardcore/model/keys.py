"""Keys of objects: text, or the bytes and numbers that formats store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import index
from pathlib import PurePath
from typing import SupportsIndex, TypeVar

from shardcore.errors import UsageError
from shardcore.model.text import short

_Value = TypeVar("_Value")

Key = str | bytes | bytearray | memoryview | SupportsIndex
"""A key of an object: its text form, or the bytes or the number that the format stores."""


def several(values: Iterable[_Value], name: str) -> Iterable[_Value]:
    """Return values that are given as a list.

    Raises:
        UsageError: It is one text or path: each letter of it would be taken for a value.
    """
    if isinstance(values, (str, bytes, bytearray, PurePath)):
        raise UsageError(
            f"{name} is a list, not one value: give [{short(str(values) if isinstance(values, PurePath) else values)}]"
        )
    return values


@dataclass(frozen=True, slots=True)
class KeyForm:
    """The keys of a format as bytes or numbers, besides their text form.

    Attributes:
        of_bytes: Returns the text form of bytes; None where no key is bytes.
        numbers: Whether a key can be a number, whose text form is decimal.
        to_raw: Returns what the format stores for a text form; text where the text form is the key.
    """

    of_bytes: Callable[[bytes], str] | None = None
    numbers: bool = False
    to_raw: Callable[[str], bytes | int | str] = str

    def text(self, key: Key, format: str) -> str:
        """Return the text form of a key.

        Args:
            key: Text, bytes or a number.
            format: The name of the format, for errors.

        Raises:
            UsageError: The format has no such keys.
        """
        if isinstance(key, str):
            return key
        if isinstance(key, bytes | bytearray | memoryview):
            if self.of_bytes is not None:
                return self.of_bytes(bytes(key))
        elif self.numbers and isinstance(key, SupportsIndex):
            return str(index(key))
        forms = ["text"] + ["bytes"] * (self.of_bytes is not None) + ["a number"] * self.numbers
        raise UsageError(f"a key of a {format} shard is {' or '.join(forms)}, not {type(key).__name__}")

    def raw(self, text: str) -> bytes | int | str:
        """Return a key as the format stores it."""
        return self.to_raw(text)


def number_or_text(text: str) -> int | str:
    """Return the number that a text states, else the text."""
    return int(text) if text.isascii() and text.isdigit() else text


NUMBERS = KeyForm(numbers=True, to_raw=number_or_text)
"""Keys that are numbers in decimal."""
