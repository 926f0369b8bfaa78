"""What can be searched for: bytes with wildcards, text, numbers in any width and byte order."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shardcore.errors import UsageError
from shardcore.model.number_words import plural

MAX_PATTERN = 1024
"""The longest pattern, in bytes."""

_CELL = re.compile(r"[0-9A-Fa-f?]{2}")
_NUMBER = re.compile(r"(?P<kind>[uif])(?P<bits>8|16|32|64)(?P<order>le|be)?:(?P<value>.+)")
_FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q"} | {
    "f32": "f",
    "f64": "d",
}

_SIGNS = {"le": "<", "be": ">"}
_ORDERS = {"<": "little-endian", ">": "big-endian"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is searched for.

    Attributes:
        value: The bytes, zero where the mask is.
        mask: Per byte the bits that count; `ff` for a plain byte, `00` for any.
        name: How the bytes hold what was asked for: `u32 little-endian`; empty where that needs no words.
    """

    value: bytes
    mask: bytes
    name: str = ""

    def __post_init__(self) -> None:
        if not self.value or len(self.value) != len(self.mask):
            raise UsageError("a pattern needs at least one byte")
        if len(self.value) > MAX_PATTERN:
            raise UsageError(f"a pattern has at most {plural(MAX_PATTERN, 'byte')}; this one has {len(self.value):,}")
        if not any(self.mask):
            raise UsageError("a pattern of wildcards only would be found everywhere")

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.value)

    @property
    def plain(self) -> bool:
        """Whether there is no wildcard."""
        return self.mask == b"\xff" * len(self.mask)

    def __str__(self) -> str:
        return " ".join(_cell(value, mask) for value, mask in zip(self.value, self.mask, strict=True))


def parse_hex(text: str) -> Pattern:
    """A pattern of hex digits: `50 4b ?? 4?`; `?` stands for any half byte, spaces and `0x` are ignored.

    Raises:
        UsageError: It is no such pattern.
    """
    digits = re.sub(r"0[xX]|[\s,_]", "", text)
    if len(digits) % 2:
        raise UsageError(f"an odd number of hex digits: {text!r}")
    value, mask = bytearray(), bytearray()
    for at in range(0, len(digits), 2):
        cell = digits[at : at + 2]
        if not _CELL.fullmatch(cell):
            raise UsageError(f"{cell!r} is no byte: two hex digits, or ? for any digit")
        value.append(int(cell.replace("?", "0"), 16))
        mask.append(int("".join("0" if digit == "?" else "f" for digit in cell), 16))
    return Pattern(bytes(value), bytes(mask))


def parse_text(text: str, encoding: str = "utf-8") -> Pattern:
    """The bytes of a text.

    Raises:
        UsageError: The encoding has no bytes for it.
    """
    try:
        data = text.encode(encoding)
    except (UnicodeEncodeError, LookupError) as error:
        raise UsageError(f"{text!r} cannot be written as {encoding}") from error
    return Pattern(data, b"\xff" * len(data))


def parse_number(text: str, kind: str = "u64", order: str = "<") -> Pattern:
    """The bytes of a number.

    Args:
        text: Decimal, or hex with `0x`; may say its own kind: `u32be:512`.
        kind: `u8` … `u64`, `i8` … `i64`, `f32`, `f64`.
        order: `<` for little-endian, `>` for big-endian.

    Raises:
        UsageError: It is no number, or does not fit.
    """
    if match := _NUMBER.fullmatch(text.strip()):
        kind, text = match["kind"] + match["bits"], match["value"]
        order = _SIGNS.get(match["order"], order)
    if kind not in _FORMATS:
        raise UsageError(f"{kind!r} is no kind of number; {', '.join(_FORMATS)} are")
    try:
        number = float(text) if kind[0] == "f" else int(text.replace("_", ""), 0)
        data = struct.pack(order + _FORMATS[kind], number)
    except (ValueError, struct.error, OverflowError) as error:
        raise UsageError(f"{text!r} does not fit a {kind}") from error
    return Pattern(data, b"\xff" * len(data), _number_name(kind, order))


def _number_name(kind: str, order: str) -> str:
    return kind if kind[1:] == "8" else f"{kind} {_ORDERS[order]}"


def parse_numbers(text: str) -> tuple[Pattern, ...]:
    """The bytes of a number in all widths from 16 bits up and in both orders, as far as it fits; the widest first.

    Args:
        text: As for `parse_number`; one that says its own kind, or kind and order, is searched as that only.

    Raises:
        UsageError: It is no number, or fits nowhere.
    """
    match = _NUMBER.fullmatch(text.strip())
    kinds: Sequence[str]
    if match:
        kinds, text = (match["kind"] + match["bits"],), match["value"]
    else:
        kinds = ("u64", "u32", "u16") if _is_whole(text) else ("f64", "f32")
        kinds = [kind.replace("u", "i") for kind in kinds] if text.strip().startswith("-") else kinds
    orders = (match["order"],) if match and match["order"] else ("be", "le")
    found: dict[bytes, Pattern] = {}
    wrong: UsageError | None = None
    for kind in kinds:
        for order in orders:
            try:
                pattern = parse_number(text, kind, _SIGNS[order])
            except UsageError as error:
                wrong = error
                continue
            if (same := found.get(pattern.value)) is not None and pattern.size > 1:
                pattern = replace(same, name=f"{kind}, both byte orders")
            found[pattern.value] = pattern
    if not found:
        raise wrong or UsageError(f"{text!r} is no number")
    return tuple(found.values())


def _is_whole(text: str) -> bool:
    try:
        int(text.replace("_", ""), 0)
    except ValueError:
        return False
    return True


def _cell(value: int, mask: int) -> str:
    digits = f"{value:02x}"
    return "".join(d if (mask >> shift) & 15 else "?" for d, shift in zip(digits, (4, 0), strict=True))
