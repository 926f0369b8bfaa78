"""Byte ranges of the rows and cells of delimited text, and of the values in a JSON text.

One NumPy pass over the line ends or brackets; cells and members are found on demand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import FREE, JsonLimits, structure, structure_fault
from shardcore.errors import FormatError

_QUOTE = ord('"')
_FEED = ord("\n")
_BLOCK = 1 << 20


def row_spans(data: bytes, most: int = 1 << 20) -> NDArray[np.int64]:
    """Return the byte ranges `[start, stop)` of at most `most` rows, without line ends; int64, shape `(rows, 2)`.

    Line ends inside quotes do not end a row; empty lines are skipped. The encoding must be a superset of ASCII.
    """
    whole = np.frombuffer(data, np.uint8)
    ends: list[NDArray[np.int64]] = []
    inside = count = 0
    for start in range(0, len(whole), _BLOCK):
        block = whole[start : start + _BLOCK]
        quotes = np.cumsum(block == _QUOTE, dtype=np.int32) + inside
        inside = int(quotes[-1]) & 1
        ends.append(np.flatnonzero((block == _FEED) & (quotes & 1 == 0)) + start)
        count += len(ends[-1])
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


# --- JSON ------------------------------------------------------------------------------------------------

_SPACE = b" \t\r\n"
_OPEN = b"[{"
_KINDS = {b"{": "object", b"[": "array", b'"': "string", b"t": "boolean", b"f": "boolean", b"n": "null"}


@dataclass(frozen=True, slots=True)
class JsonValue:
    """Value at `[start, stop)` in a JSON text; its name `key` begins at `key_start`.

    `kind` is `object`, `array`, `string`, `number`, `boolean` or `null`; `count` the number of members or items.
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
        opens = np.isin(marks, np.frombuffer(_OPEN, np.uint8))
        closes = np.isin(marks, np.frombuffer(b"]}", np.uint8))
        levels = np.cumsum(opens.astype(np.int32) - closes) + closes
        if np.count_nonzero(opens) != np.count_nonzero(closes) or (len(levels) and int(levels.min()) < 1):
            raise FormatError("the JSON text has unbalanced brackets")
        self._ends = self._pairs(places, levels, opens, closes)
        commas, colons = marks == ord(","), marks == ord(":")
        self._commas = {int(n): places[commas & (levels == n)] for n in np.unique(levels[commas])}
        self._colons = {int(n): places[colons & (levels == n)] for n in np.unique(levels[colons])}

    @staticmethod
    def _pairs(
        places: NDArray[np.int64], levels: NDArray[np.int32], opens: NDArray[np.bool_], closes: NDArray[np.bool_]
    ) -> dict[int, tuple[int, int]]:
        """Return end and level of each container, by the offset of its opening bracket."""
        # Sorted by level and offset, each opening bracket is followed by its closing one.
        order = np.lexsort((places, levels))
        first, last = order[opens[order]], order[closes[order]]
        stops = (places[last] + 1).tolist()
        return dict(zip(places[first].tolist(), zip(stops, levels[first].tolist(), strict=True), strict=True))

    @property
    def root(self) -> JsonValue:
        begin = 3 if self._data.startswith(b"\xef\xbb\xbf") else 0
        return self._value("", *self._stripped(begin, len(self._data)))

    def members(self, value: JsonValue, first: int = 0, last: int | None = None) -> Iterator[JsonValue]:
        """Yield the members `[first, last)` of a container, in the order of the text."""
        if not value.count:
            return
        _, level = self._ends[value.start]
        commas = self._within(self._commas, level, value)
        # Item n is between commas n - 1 and n; the brackets count as outermost commas.
        edges = np.concatenate([[value.start], commas, [value.stop - 1]])
        colons = self._within(self._colons, level, value) if value.kind == "object" else None
        for number in range(first, min(value.count if last is None else last, value.count)):
            start, stop = int(edges[number]) + 1, int(edges[number + 1])
            if colons is None or number >= len(colons):
                yield self._value("", *self._stripped(start, stop))
                continue
            colon = int(colons[number])
            key_start, key_stop = self._stripped(start, colon)
            yield self._value(self.text(key_start, key_stop), *self._stripped(colon + 1, stop), key_start)

    def path(self, offset: int) -> tuple[int, ...]:
        """Return the member numbers on the path from the root to the smallest value that contains a byte.

        The name of a member, and white space before it, belong to its value.
        """
        at, found = self.root, []
        while at.count:
            _, level = self._ends[at.start]
            commas = self._within(self._commas, level, at)
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
        before = start if key_start is None else key_start
        if kind not in ("object", "array"):
            return JsonValue(key, start, stop, kind, 0, before)
        stop, level = self._ends[start]
        inner = self._stripped(start + 1, stop - 1)
        plain = JsonValue(key, start, stop, kind, 0, before)
        count = len(self._within(self._commas, level, plain)) + 1 if inner[0] < inner[1] else 0
        return JsonValue(key, start, stop, kind, count, before)

    def _within(self, places: dict[int, NDArray[np.int64]], level: int, value: JsonValue) -> NDArray[np.int64]:
        found = places.get(level)
        if found is None:
            return np.zeros(0, np.int64)
        first, last = np.searchsorted(found, (value.start, value.stop))
        return found[first:last]

    def _stripped(self, start: int, stop: int) -> tuple[int, int]:
        data = self._data
        while start < stop and data[start] in _SPACE:
            start += 1
        while stop > start and data[stop - 1] in _SPACE:
            stop -= 1
        return start, stop
