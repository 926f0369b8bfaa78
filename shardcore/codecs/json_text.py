"""JSON parsing with limits on size, depth, number of values, and digits; byte ranges of JSON values and CSV cells.

The standard parser has no limits: 10 MB of `[],[],` take 250 MB of memory, and 1,000 brackets raise `RecursionError`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError
from shardcore.model.span import Span
from shardcore.model.text import short

INTEGER_DIGITS = 20
"""Maximum digits of an integer: 20, as in the largest unsigned 64-bit integer; no format has larger ones."""
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
"""Limits for user metadata, in which integers may have `FREE_DIGITS` digits."""


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
    faults = (
        (message.startswith("Extra data"), "unexpected text after the end"),
        (message.startswith("Unterminated string"), "unterminated string"),
        ("control character" in message, "a string contains a control character; write it as an escape such as \\n"),
        ("\\" in message, "a string contains an invalid escape"),
        (close == "\ufeff", "unexpected byte order mark at the start"),
        (not close, "unexpected end of the text"),
        (message.startswith("Expecting property name"), _COMMA if close == "}" else "expected a name in double quotes"),
        (message.startswith("Expecting ':'"), "expected a colon after a name"),
        (message.startswith("Expecting ','"), "expected a comma or a closing bracket"),
        (True, _COMMA if close == "]" else "expected a value"),
    )
    text = next(text for holds, text in faults if holds)
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
    yield from _outside_strings(data, _STRUCTURAL)


def _outside_strings(data: bytes, marks: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint8]]]:
    """Yield offsets and values of the bytes outside quotes for which `marks`, a table of 256 byte values, is True."""
    whole = np.frombuffer(data, np.uint8)
    inside = 0
    for start in range(0, len(whole), _BLOCK):
        block = whole[start : start + _BLOCK]
        quotes = np.cumsum(block == _QUOTE, dtype=np.int32) + inside
        found = np.flatnonzero(marks[block] & (quotes & 1 == 0))
        inside = int(quotes[-1]) & 1
        yield found + start, block[found]


_OPENING: NDArray[np.uint8] = np.frombuffer(b"[{", np.uint8)
_CLOSING: NDArray[np.uint8] = np.frombuffer(b"]}", np.uint8)
_STRUCTURAL: NDArray[np.bool_] = np.isin(np.arange(256), np.frombuffer(b"{}[],:", np.uint8))
_LINE_END: NDArray[np.bool_] = np.arange(256) == ord("\n")


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


# --- byte ranges of JSON values ----------------------------------------------------------------------------

_SPACE = b" \t\r\n"
_KINDS = {b"{": "object", b"[": "array", b'"': "string", b"t": "boolean", b"f": "boolean", b"n": "null"}


@dataclass(frozen=True, slots=True)
class JsonValue:
    """Value at bytes `[start, stop)` of a JSON text; `key` is its name in an object, which begins at `key_start`.

    `kind` is `object`, `array`, `string`, `number`, `boolean` or `null`; `count` is the number of members or items.
    """

    key: str
    start: int
    stop: int
    kind: str
    count: int = 0
    key_start: int = 0


class JsonSpans:
    """Byte ranges of the values of a JSON text, in an encoding that extends ASCII.

    Parse the text first: if it is not JSON, the ranges are wrong, but inside the text. Raises `FormatError` if the text
    exceeds the limits, or its brackets do not match.
    """

    def __init__(self, data: bytes, encoding: str = "utf-8", *, limits: JsonLimits = FREE) -> None:
        if len(data) > limits.size:
            raise FormatError(f"the JSON text has {len(data):,} bytes; the limit is {limits.size:,}")
        if fault := structure_fault(data, limits):
            raise FormatError(f"the JSON text: {fault}")
        self._data = data
        self._encoding = encoding
        blocks = list(structure(data))
        places = np.concatenate([at for at, _ in blocks]) if blocks else np.zeros(0, np.int64)
        marks = np.concatenate([mark for _, mark in blocks]) if blocks else np.zeros(0, np.uint8)
        opens = np.isin(marks, _OPENING)
        closes = np.isin(marks, _CLOSING)
        levels = np.cumsum(opens.astype(np.int32) - closes) + closes
        if np.count_nonzero(opens) != np.count_nonzero(closes) or (len(levels) and int(levels.min()) < 1):
            raise FormatError("the JSON text has unbalanced brackets")
        # Sorted by level and offset, each opening bracket is followed by its closing one.
        order = np.lexsort((places, levels))
        first, last = order[opens[order]], order[closes[order]]
        ends = zip((places[last] + 1).tolist(), levels[first].tolist(), strict=True)
        self._ends = dict(zip(places[first].tolist(), ends, strict=True))  # end and level of each container
        commas, colons = marks == ord(","), marks == ord(":")
        self._commas = {int(n): places[commas & (levels == n)] for n in np.unique(levels[commas])}
        self._colons = {int(n): places[colons & (levels == n)] for n in np.unique(levels[colons])}

    @property
    def root(self) -> JsonValue:
        begin = 3 if self._data.startswith(b"\xef\xbb\xbf") else 0
        return self._value("", *self._stripped(begin, len(self._data)))

    def members(self, value: JsonValue, first: int = 0, last: int | None = None) -> Iterator[JsonValue]:
        """Yield the members `[first, last)` of a container, in the order of the text."""
        if not value.count:
            return
        last = value.count if last is None else min(last, value.count)
        colons = self._within(self._colons, value.start)[first:last].tolist() if value.kind == "object" else []
        for (edge, stop), colon in zip_longest(pairwise(self.edges(value, first, last).tolist()), colons):
            if colon is None:
                yield self._value("", *self._stripped(edge + 1, stop))
                continue
            key_start, key_stop = self._stripped(edge + 1, colon)
            yield self._value(self.text(key_start, key_stop), *self._stripped(colon + 1, stop), key_start)

    def edges(self, value: JsonValue, first: int, last: int) -> NDArray[np.int64]:
        """Return the offsets (int64) of the brackets or commas before, between and after members `[first, last)`."""
        commas = self._within(self._commas, value.start)[max(first - 1, 0) : last]
        return np.concatenate([[value.start], commas, [value.stop - 1]])[min(first, 1) :][: last - first + 1]

    def path(self, offset: int) -> tuple[int, ...]:
        """Return the member numbers on the path from the root to the smallest value that contains a byte.

        The name of a member, and white space before it, belong to its value.
        """
        at, found = self.root, []
        while at.count:
            commas = self._within(self._commas, at.start)
            if not at.start < offset < at.stop - 1:
                break
            number = int(np.searchsorted(commas, offset, "left"))
            found.append(number)
            at = next(self.members(at, number, number + 1))
        return tuple(found)

    def raw(self, start: int, stop: int) -> str:
        return self._data[start:stop].decode(self._encoding, "replace")

    def text(self, start: int, stop: int) -> str:
        """Return a value as text: strings are unescaped, other values unchanged."""
        raw = self.raw(start, stop)
        if raw.startswith('"'):
            try:
                parsed = json.loads(raw, strict=False)
            except ValueError:
                return raw
            return parsed if isinstance(parsed, str) else raw
        return raw

    def _value(self, key: str, start: int, stop: int, key_start: int | None = None) -> JsonValue:
        kind = _KINDS.get(self._data[start : start + 1], "number")
        count = 0
        if kind in ("object", "array"):
            stop, _ = self._ends[start]
            first, last = self._stripped(start + 1, stop - 1)
            count = len(self._within(self._commas, start)) + 1 if first < last else 0
        return JsonValue(key, start, stop, kind, count, start if key_start is None else key_start)

    def _within(self, places: dict[int, NDArray[np.int64]], start: int) -> NDArray[np.int64]:
        """Return the offsets in `places` (by level) that are directly in the container at `start`, not deeper."""
        stop, level = self._ends[start]
        found = places.get(level, np.zeros(0, np.int64))
        return found[slice(*np.searchsorted(found, (start, stop)))]

    def _stripped(self, start: int, stop: int) -> tuple[int, int]:
        data = self._data
        while start < stop and data[start] in _SPACE:
            start += 1
        while stop > start and data[stop - 1] in _SPACE:
            stop -= 1
        return start, stop


# --- byte ranges of rows and cells -------------------------------------------------------------------------


def row_spans(data: bytes, most: int = 1 << 20) -> NDArray[np.int64]:
    """Return the byte ranges `[start, stop)` of at most `most` rows, without line ends; int64, shape `(rows, 2)`.

    Line ends inside quotes do not end a row; empty lines are skipped. The encoding must be a superset of ASCII.
    """
    whole = np.frombuffer(data, np.uint8)
    ends: list[NDArray[np.int64]] = []
    count = 0
    for found, _ in _outside_strings(data, _LINE_END):
        ends.append(found)
        count += len(found)
        if count > 2 * most:
            break
    else:
        ends.append(np.array([len(whole)], np.int64))
    stops = np.concatenate(ends) if ends else np.zeros(0, np.int64)
    starts = np.concatenate([[3 if data.startswith(b"\xef\xbb\xbf") else 0], stops[:-1] + 1]).astype(np.int64)
    if len(whole):
        # A carriage return before the line end belongs to it.
        returned = (stops > starts) & (whole[np.maximum(stops - 1, 0)] == ord("\r"))
        stops = stops - returned
    filled = stops > starts
    return np.stack([starts[filled], stops[filled]], axis=1)[:most]


def cell_spans(data: bytes, start: int, stop: int, delimiter: str, most: int = 4096) -> list[tuple[int, int]]:
    """Return the byte ranges `[start, stop)` of the cells of a row, including quotes."""
    mark = delimiter.encode("ascii")
    found: list[tuple[int, int]] = []
    at = start
    while len(found) < most:
        end = at
        if data[at : at + 1] == b'"' and at < stop:
            end = _quoted_end(data, at, stop)
        end = data.find(mark, end, stop)
        if end < 0:
            found.append((at, stop))
            break
        found.append((at, end))
        at = end + 1
    return found


def _quoted_end(data: bytes, start: int, stop: int) -> int:
    at = start + 1
    while True:
        at = data.find(b'"', at, stop)
        if at < 0:
            return stop
        if data[at + 1 : at + 2] != b'"' or at + 1 >= stop:
            return at + 1
        at += 2


def cell_text(raw: bytes, encoding: str = "utf-8") -> str:
    text = raw.decode(encoding, "replace")
    if text.startswith('"'):
        inner, closed, rest = text[1:].replace('""', "\0").partition('"')
        return (inner + rest if closed else text[1:].replace('""', "\0")).replace("\0", '"')
    return text
