"""JSON parsing with limits on size, depth, number of values, and digits.

The standard parser has no limits: 10 MB of `[],[],` take 250 MB of memory, and 1,000 brackets raise `RecursionError`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError
from shardcore.model.safe_text import short
from shardcore.model.span import Span

INTEGER_DIGITS = 20
"""Maximum digits of an integer: those of an unsigned 64-bit integer, which every format fits in."""
FREE_DIGITS = 1000
"""Maximum digits of an integer in user metadata; Python prints up to 4,300."""
FLOAT_LETTERS = 1000
"""Maximum characters of a number with a decimal point or exponent."""

_COMMA = "trailing comma before a closing bracket"
_SMALL = 4096  # shorter texts are parsed without counting: they cannot have many values
_BLOCK = 1 << 20
_QUOTE = 0x22


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """Limits of a JSON text.

    Attributes:
        size: Size of the text in bytes.
        depth: Levels of nested containers.
        values: Number of values and member names; one per 16 bytes of the text is always allowed.
        containers: Number of arrays and objects, which take ten times the memory; one per 64 bytes is always allowed.
        digits: Digits of an integer.
    """

    size: int = 16 << 20
    depth: int = 200
    values: int = 1_000_000
    containers: int = 250_000
    digits: int = INTEGER_DIGITS

    def fault(self, values: int, containers: int, depth: int, size: int) -> str:
        if depth > self.depth:
            return f"nested deeper than {self.depth} levels"
        if values > max(self.values, size // 16):
            return f"more than {max(self.values, size // 16)} values"
        if containers > max(self.containers, size // 64):
            return f"more than {max(self.containers, size // 64)} arrays and objects"
        return ""


USUAL = JsonLimits()
FREE = JsonLimits(digits=FREE_DIGITS)
"""Limits for user metadata."""


def parse_json(
    text: str | bytes, what: str, *, limits: JsonLimits = USUAL, span: Span | None = None, encoding: str = "utf-8"
) -> Any:
    """Return the value of a JSON text; `what` names it in errors, such as `the info`."""
    if len(text) > limits.size:
        raise FormatError(f"{what} has {len(text):,} bytes; the limit is {limits.size:,}", span=span)
    fault = structure_fault(text, limits)
    if fault:
        raise FormatError(f"{what}: {fault}", span=span)
    try:
        if isinstance(text, bytes):
            text = text.decode(encoding)
        decoder = _decoder(limits.digits)
        if text.startswith("{"):
            # Faster than `decode`, which also skips white space.
            value, end = decoder.raw_decode(text)
            if not text[end:].strip(" \t\r\n"):
                return value
        return decoder.decode(text)
    except UnicodeDecodeError as error:
        raise FormatError(f"{what} is not UTF-8: {error.reason} at byte {error.start}", span=span) from None
    except _TooLong as error:
        raise FormatError(f"{what}: {error}", span=span) from None
    except RecursionError:
        raise FormatError(f"{what}: nested deeper than {limits.depth} levels", span=span) from None
    except json.JSONDecodeError as error:
        raise FormatError(f"{what} is not JSON: {json_fault(error)}", span=span) from None


def json_fault(error: json.JSONDecodeError) -> str:
    """Return the text of a parser error, with its location."""
    if error.msg.startswith("Illegal trailing comma"):
        # Python 3.13 reports the comma, other versions the bracket after it.
        rest = error.doc[error.pos + 1 :]
        at = len(error.doc) - len(rest.lstrip(" \t\n\r"))
        error = json.JSONDecodeError("Expecting property name" if rest.lstrip()[:1] == "}" else "", error.doc, at)
    message, close = error.msg, error.doc[error.pos : error.pos + 1]
    if message.startswith("Extra data"):
        text = "unexpected text after the end"
    elif message.startswith("Unterminated string"):
        text = "unterminated string"
    elif "control character" in message:
        text = "a string contains a control character; write it as an escape such as \\n"
    elif "\\" in message:
        text = "a string contains an invalid escape"
    elif close == "\ufeff":
        text = "unexpected byte order mark at the start"
    elif not close:
        text = "unexpected end of the text"
    elif message.startswith("Expecting property name"):
        text = _COMMA if close == "}" else "expected a name in double quotes"
    elif message.startswith("Expecting ':'"):
        text = "expected a colon after a name"
    elif message.startswith("Expecting ','"):
        text = "expected a comma or a closing bracket"
    else:
        text = _COMMA if close == "]" else "expected a value"
    place = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    return f"{text} ({place})"


def whole_number(value: object, what: str, low: int, high: int, *, span: Span | None = None) -> int:
    """Return an integer in `[low, high]`, or raise `FormatError`; `3.0` is accepted, `true` is not."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**64:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormatError(f"{what} is {short(value)}, not an integer", span=span)
    if not low <= value <= high:
        raise FormatError(f"{what} is {short(value)}; valid: {low} to {high}", span=span)
    return value


def structure_fault(text: str | bytes, limits: JsonLimits) -> str:
    """Return an error text if a text exceeds the limits on depth or values, else ""; does not parse the text."""
    opening = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if len(text) <= _SMALL and opening <= limits.depth:
        return ""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    values = containers = depth = deepest = 0
    for _, kinds in structure(data):
        opens = np.isin(kinds, _OPENING)
        closes = np.isin(kinds, _CLOSING)
        containers += int(np.count_nonzero(opens))
        values += len(kinds) - int(np.count_nonzero(closes))
        if opens.any():
            levels = np.cumsum(opens.astype(np.int32) - closes)
            deepest = max(deepest, depth + int(levels.max()))
            depth += int(levels[-1])
        else:
            depth -= int(np.count_nonzero(closes))
        fault = limits.fault(values, containers, deepest, len(data))
        if fault:
            return fault
    return ""


def structure(data: bytes) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
    """Yield the offsets (int64) and characters (uint8) of `{ } [ ] , :` outside strings, block by block."""
    # Blank the escapes, so that all remaining quotes delimit strings.
    if b"\\" in data:
        data = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    whole = np.frombuffer(data, np.uint8)
    inside = 0
    for start in range(0, len(whole), _BLOCK):
        block = whole[start : start + _BLOCK]
        strings = np.cumsum(block == _QUOTE, dtype=np.int32) + inside
        found = np.flatnonzero(_STRUCTURAL[block] & (strings & 1 == 0))
        inside = int(strings[-1]) & 1
        yield found + start, block[found]


_OPENING: NDArray[np.uint8] = np.frombuffer(b"[{", np.uint8)
_CLOSING: NDArray[np.uint8] = np.frombuffer(b"]}", np.uint8)
_STRUCTURAL: NDArray[np.bool_] = np.isin(np.arange(256), np.frombuffer(b"{}[],:", np.uint8))


class _TooLong(ValueError):
    """A number has too many digits."""


@functools.cache
def _decoder(digits: int) -> json.JSONDecoder:
    def integer(text: str) -> int:
        if len(text) > digits and len(text.lstrip("-")) > digits:
            raise _TooLong(f"a number has {len(text.lstrip('-'))} digits; the limit is {digits}")
        return int(text)

    def number(text: str) -> float:
        if len(text) > FLOAT_LETTERS:
            raise _TooLong(f"a number has {len(text)} characters; the limit is {FLOAT_LETTERS}")
        return float(text)

    return json.JSONDecoder(parse_int=integer, parse_float=number)
