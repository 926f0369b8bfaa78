"""JSON text as nodes, each with its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.nodes.children import Deferred, Extents, grouped
from shardcore.nodes.node import Node
from shardcore.record import FieldRole
from shardcore.span import Span

MAX_DEPTH = 64
"""Deeper values are shown as one node."""

MAX_NESTING = 200
"""Deeper texts are refused: the parser would run out of stack."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SPACE = " \t\n\r"


class JsonTree:
    """The nodes of one JSON text, which has been parsed already and is known to be whole.

    Args:
        data: The text, UTF-8.
        source: The name of the source it lies in.
        base: Where in that source it begins.
    """

    def __init__(self, data: bytes, source: str, base: int = 0) -> None:
        self._text = data.decode()
        self._source = source
        self._base = base
        self._decoder = json.JSONDecoder()
        # Places in the text count letters, places in the file bytes.
        leads = np.frombuffer(data, np.uint8) & 0xC0 != 0x80
        self._bytes: NDArray[np.int64] = np.append(np.flatnonzero(leads), len(data)).astype(np.int64)

    def root(self, name: str = "JSON") -> Node:
        """The node of the whole value."""
        start = self._skip_space(0)
        return self._node(name, start, start, self._value_end(start), 0)

    def _node(self, name: str, start: int, value_at: int, stop: int, depth: int) -> Node:
        """A value; its bytes begin at `start`, with its name where it has one."""
        span = self._span(start, stop)
        if self._text[value_at] in "{[" and depth < MAX_DEPTH:
            kids = Deferred(lambda: self._members(value_at, depth + 1), self._source)
            kind = "object" if self._text[value_at] == "{" else "array"
            return Node(name, span, text=kind, role=FieldRole.TEXT, children=kids)
        value = self._decoder.raw_decode(self._text, value_at)[0] if depth < MAX_DEPTH else None
        text = self._text[value_at : min(stop, value_at + 200)]
        plain = isinstance(value, (int, float, str))
        return Node(name, span, value=value if plain else None, text=text, role=FieldRole.TEXT)

    def _members(self, at: int, depth: int) -> Sequence[Node]:
        """The members of the object or array that begins at the letter `at`."""
        found = self._scan(at)
        if not found:
            return ()
        starts = self._base + self._bytes[[start for _, start, _, _ in found]]
        stops = self._base + self._bytes[[stop for _, _, _, stop in found]]

        def describe(first: int, last: int) -> list[Node]:
            return [self._node(*member, depth) for member in found[first:last]]

        return list(grouped(Extents(starts, stops, describe, source=self._source)))

    def _scan(self, at: int) -> list[tuple[str, int, int, int]]:
        """Name, start, start of the value and stop of each member."""
        closing = {"{": "}", "[": "]"}[self._text[at]]
        found: list[tuple[str, int, int, int]] = []
        at = self._skip_space(at + 1)
        while self._text[at] != closing:
            start, name = at, f"[{len(found)}]"
            if closing == "}":
                name, at = self._decoder.raw_decode(self._text, at)
                at = self._skip_space(self._skip_space(at) + 1)
            stop = self._value_end(at)
            found.append((str(name), start, at, stop))
            at = self._skip_space(stop)
            if self._text[at] == ",":
                at = self._skip_space(at + 1)
        return found

    def _value_end(self, at: int) -> int:
        return int(self._decoder.raw_decode(self._text, at)[1])

    def _skip_space(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in _SPACE:
            at += 1
        return at

    def _span(self, start: int, stop: int) -> Span:
        return Span(self._source, self._base + int(self._bytes[start]), self._base + int(self._bytes[stop]))


def parse_json(data: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: It is not UTF-8, not JSON, or nested too deeply.
    """
    text = data.decode()
    brackets = np.frombuffer(re.sub(r"[^][{}]", "", _STRING.sub("", text)).encode(), np.uint8)
    steps = np.where(np.isin(brackets, np.frombuffer(b"[{", np.uint8)), 1, -1)
    if len(steps) and int(np.cumsum(steps).max()) > MAX_NESTING:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
    return json.loads(text)
