"""Offset expressions: `0x10`, `-72`, `+40`, `index+12*40`, `header.version`, `*footer.index_position`.

A hand-written parser, never `eval`. Numbers are Python integers, so offsets do not overflow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shardcore.dataclasses import dataclass
from shardcore.dataclasses import field as dataclass_field
from shardcore.model.node import Children, Node
from shardcore.model.record import Value
from shardcore.model.section import Section

MAX_LENGTH = 400
MAX_DEPTH = 40

_TOKEN = (
    r"\s*(?:(?P<hex>0[xX][0-9a-fA-F_]+)|(?P<number>\d{1,3}(?:,\d{3})+(?![\d_])|\d[\d_]*)(?P<unit>[KMGTPE]i?B?\b)?"
    r"|(?P<quoted>\$?\"[^\"]*\")|(?P<name>\$?[A-Za-z_][\w.\[\]]*)|(?P<sign>[-+*/%()])|(?P<bad>\S))"
)
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


class GotoError(Exception):
    """Invalid expression; `position` is the index of the first wrong character."""

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True)
class GotoNames:
    """Names that offset expressions may contain.

    Attributes:
        size: Number of bytes of the source.
        caret: Offset to which relative expressions, such as `+16`, are added.
        sections: `name`, `$name` and `name.start` are the offset of a section, `name.size` is its size,
            `name.stop` is the offset after its last byte.
        values: `*section.field` is the value of a field, such as an offset that it stores.
        starts: `section.field` and `$section.field` are the offset of the first byte of a field.
    """

    size: int
    caret: int = 0
    sections: Sequence[Section] = ()
    values: Mapping[str, Value] = dataclass_field(default_factory=dict)
    starts: Mapping[str, int] = dataclass_field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names for completion: sections and fields; a field that stores an offset is listed without and with `*`."""
        return tuple(dict.fromkeys((*(s.name.replace(" ", "_") for s in self.sections), *self.starts)))


def evaluate(text: str, places: GotoNames) -> int:
    """Return the offset of an expression; GotoError if it is invalid or outside the source.

    A leading `+` is relative to the caret; a leading `-` counts from the end of the source.
    """
    offset = _Parser(text, places).whole()
    if offset < 0:
        raise GotoError(f"{offset} is before the first byte")
    if offset >= max(places.size, 1):
        raise GotoError(f"{offset:#x} is past the last byte, which is at {max(places.size - 1, 0):#x}")
    return offset


def calculate(text: str) -> int:
    return _Parser(text, GotoNames(0)).whole()


def starts_of(root: Node) -> dict[str, int]:
    """Return the offset of each section and field by name, and of each target as `*section.field`; reads nothing."""
    starts: dict[str, int] = {}
    sections = () if isinstance(root.children, Children) else root.children
    for section in sections:
        starts.setdefault(section.name, section.span.start)
        for field in () if isinstance(section.children, Children) else section.children:
            if field.span.source == root.span.source:
                starts.setdefault(name := f"{section.name}.{field.name}", field.span.start)
                if field.target is not None and field.value == field.target.start:
                    starts.setdefault(f"*{name}", field.target.start)
    return starts


class _Parser:
    def __init__(self, text: str, places: GotoNames) -> None:
        if len(text) > MAX_LENGTH:
            raise GotoError(f"the expression is longer than {MAX_LENGTH} characters", MAX_LENGTH)
        self.places = places
        self.tokens: list[tuple[str, str, int]] = []
        for match in re.finditer(_TOKEN, text):
            kind = match.lastgroup or "bad"
            if kind == "unit":
                kind = "number"
            token = match[0].strip()
            at = match.end() - len(token)
            if kind == "bad":
                raise GotoError(f"{token!r} is unexpected here", at)
            self.tokens.append((kind, token, at))
        self.end = len(text)
        self.at = 0
        self.depth = 0

    def whole(self) -> int:
        if not self.tokens:
            raise GotoError("the expression is empty: enter a number or a name")
        base = 0
        if self.peek() == "+":
            base = self.places.caret
        elif self.peek() == "-":
            base = self.places.size
        value = base + self.sum()
        if self.at < len(self.tokens):
            raise GotoError(f"{self.tokens[self.at][1]!r} is unexpected here", self.position)
        return value

    @property
    def position(self) -> int:
        return self.tokens[self.at][2] if self.at < len(self.tokens) else self.end

    def peek(self) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign":
            return self.tokens[self.at][1]
        return ""

    def take(self) -> tuple[str, str, int]:
        if self.at >= len(self.tokens):
            raise GotoError("the expression is incomplete", self.end)
        self.at += 1
        return self.tokens[self.at - 1]

    def sum(self) -> int:
        value = self.product()
        while self.peek() and self.peek() in "+-":
            value += self.product() if self.take()[1] == "+" else -self.product()
        return value

    def product(self) -> int:
        value = self.atom()
        while self.peek() and self.peek() in "*/%":
            position = self.position
            sign = self.take()[1]
            other = self.atom()
            if sign == "*":
                value *= other
            elif other == 0:
                raise GotoError("division by zero", position)
            else:
                value = value // other if sign == "/" else value % other
        return value

    def atom(self) -> int:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise GotoError(f"nested more than {MAX_DEPTH} levels deep", self.position)
        try:
            return self._atom()
        finally:
            self.depth -= 1

    def _atom(self) -> int:
        kind, text, position = self.take()
        if kind == "hex":
            return _whole_number(text[2:], 16, position)
        if kind == "number":
            return _decimal(text, position)
        if kind in ("name", "quoted"):
            return _named(text, self.places, position)
        if text == "*":
            kind, text, position = self.take()
            if kind not in ("name", "quoted"):
                raise GotoError(f"{text!r} is not a name: * must be followed by the name of a field", position)
            return _value(text, self.places, position)
        if text == "(":
            value = self.sum()
            if self.at >= len(self.tokens) or self.take()[1] != ")":
                raise GotoError("a closing bracket is missing", self.position)
            return value
        if text in "+-":
            return self.atom() if text == "+" else -self.atom()
        raise GotoError(f"{text!r} is unexpected here", position)


def _decimal(text: str, position: int) -> int:
    digits = text.rstrip("KMGTPEiB")
    unit = text[len(digits) :]
    factor = (1024 if "i" in unit else 1000) ** _UNITS[unit[0]] if unit else 1
    # The window writes numbers with thousands separators.
    return _whole_number(digits.replace(",", ""), 10, position) * factor


def _whole_number(digits: str, base: int, position: int) -> int:
    try:
        return int(digits, base)
    except ValueError:
        raise GotoError(f"{digits!r} is not a number", position) from None


def _named(text: str, places: GotoNames, position: int) -> int:
    name = text.lstrip("$").strip('"')
    if name in places.starts:
        return places.starts[name]
    for section in places.sections:
        for suffix, offset in ((".start", section.start), (".stop", section.stop), (".size", section.size)):
            if name == section.name + suffix or name == section.name.replace(" ", "_") + suffix:
                return offset
        if name in (section.name, section.name.replace(" ", "_")):
            return section.start
    raise GotoError(f"unknown name {name!r}{_hint(name, places)}", position)


def _value(text: str, places: GotoNames, position: int) -> int:
    name = text.lstrip("$").strip('"')
    if isinstance(value := places.values.get(name), int) and not isinstance(value, bool):
        return value
    if name in places.values:
        raise GotoError(f"{name} is not a number; without * it is the offset of the field", position)
    raise GotoError(f"unknown field {name!r}{_hint(name, places)}", position)


def _hint(name: str, places: GotoNames) -> str:
    names = dict.fromkeys(known.lstrip("*") for known in places.names)
    near = [known for known in names if name.lower() in known.lower() or known.lower() in name.lower()]
    return f"; did you mean {', '.join(near[:3])}?" if near else ""
