"""JSON text as nodes with byte ranges, built from the offsets of brackets, commas and colons."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import structure
from shardcore.model.computed_children import Deferred, Extents, grouped
from shardcore.model.node import Node
from shardcore.model.record import FieldRole
from shardcore.model.span import Span
from shardcore.shards.cache import Once

MAX_DEPTH = 64
"""Values below this depth are shown as one node."""
TEXT_LETTERS = 200
"""Maximum number of letters shown of a value or a name."""

I64 = NDArray[np.int64]

_SPACE = re.compile(rb"[ \t\n\r]*")
_SPACES = np.isin(np.arange(256), np.frombuffer(b" \t\n\r", np.uint8))
LONGEST_VALUE = 1 << 16
"""Longest text, in bytes, that is the value of its node; of a longer text only the beginning is shown."""

_INDENT = 64  # bytes of white space skipped in parallel for all members


class JsonNodes:
    """Nodes of one JSON text, which `parse_json` must have accepted."""

    def __init__(self, data: bytes, source: str, base: int = 0) -> None:
        self._data = data
        self._source = source
        self._base = base
        self._marks: Once[tuple[I64, NDArray[np.uint8], NDArray[np.int32]]] = Once()

    def root(self, name: str = "JSON") -> Node:
        start = self._skip_space(0)
        return self._node(name, start, start, len(self._data.rstrip()), 0)

    def _node(self, name: str, start: int, value_at: int, stop: int, depth: int) -> Node:
        span = self._span(start, stop)
        if self._data[value_at] in b"{[" and depth < MAX_DEPTH:
            kids = Deferred(lambda: self._members(value_at, depth + 1), self._source)
            kind = "object" if self._data[value_at] == ord("{") else "array"
            return Node(name, span, text=kind, role=FieldRole.TEXT, children=kids)
        small = stop - value_at <= LONGEST_VALUE
        value = json.loads(self._data[value_at:stop]) if depth < MAX_DEPTH and small else None
        text = self._data[value_at : min(stop, value_at + 4 * TEXT_LETTERS)].decode(errors="ignore")[:TEXT_LETTERS]
        plain = isinstance(value, (int, float, str))
        return Node(name, span, value=value if plain else None, text=text, role=FieldRole.TEXT)

    def _members(self, at: int, depth: int) -> Sequence[Node]:
        """Return the nodes of the object or array whose opening bracket is at `at`."""
        places, kinds, levels = self._marks.get(self._find_marks)
        first = int(np.searchsorted(places, at))
        level = levels[first]
        last = first + 1 + int(np.argmax(levels[first + 1 :] < level))
        inner = levels[first + 1 : last] == level
        # Indices of the marks that end each member: a comma or the closing bracket.
        ends = np.append(np.flatnonzero(inner & (kinds[first + 1 : last] == ord(","))) + first + 1, last)
        before = np.append(first, ends[:-1])
        if last == first + 1 and self._skip_space(at + 1) == places[last]:
            return ()
        named = self._data[at] == ord("{")
        starts = self._values_at(places[before] + 1)
        # The first mark in a member of an object is the colon.
        values = self._values_at(places[before + 1] + 1) if named else starts
        stops = self._stops(starts, places[ends])

        def describe(low: int, high: int) -> list[Node]:
            found = []
            for number in range(low, high):
                start, value, stop = int(starts[number]), int(values[number]), int(stops[number])
                name = self._name(start, int(places[before[number] + 1])) if named else f"[{number}]"
                found.append(self._node(name, start, value, stop, depth))
            return found

        return list(grouped(Extents(starts + self._base, stops + self._base, describe, source=self._source)))

    def _find_marks(self) -> tuple[I64, NDArray[np.uint8], NDArray[np.int32]]:
        blocks = list(structure(self._data))
        places = np.concatenate([found for found, _ in blocks]) if blocks else np.zeros(0, np.int64)
        kinds = np.concatenate([kind for _, kind in blocks]) if blocks else np.zeros(0, np.uint8)
        steps = np.zeros(len(kinds), np.int8)
        steps[(kinds == ord("[")) | (kinds == ord("{"))] = 1
        steps[(kinds == ord("]")) | (kinds == ord("}"))] = -1
        return places, kinds, np.cumsum(steps, dtype=np.int32)

    def _name(self, start: int, colon: int) -> str:
        name = str(json.loads(self._data[start:colon]))
        return name if len(name) <= TEXT_LETTERS else name[:TEXT_LETTERS] + "…"

    def _values_at(self, places: I64) -> I64:
        data, places = np.frombuffer(self._data, np.uint8), places.copy()
        moving = np.arange(len(places))
        for _ in range(_INDENT):
            moving = moving[_SPACES[data[places[moving]]]]
            if not len(moving):
                return places
            places[moving] += 1
        for number in moving.tolist():
            places[number] = self._skip_space(int(places[number]))
        return places

    def _stops(self, starts: I64, ends: I64) -> I64:
        data, stops = np.frombuffer(self._data, np.uint8), ends.copy()
        moving = np.arange(len(stops))
        for _ in range(_INDENT):
            moving = moving[_SPACES[data[stops[moving] - 1]]]
            if not len(moving):
                return stops
            stops[moving] -= 1
        for number in moving.tolist():
            start = int(starts[number])
            stops[number] = start + len(self._data[start : int(stops[number])].rstrip(b" \t\n\r"))
        return stops

    def _skip_space(self, at: int) -> int:
        found = _SPACE.match(self._data, at)
        return found.end() if found else at

    def _span(self, start: int, stop: int) -> Span:
        return Span(self._source, self._base + start, self._base + stop)
