"""Values in braces in a lesson, read from the open file; `docs/writing-lessons.md` lists them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from shardcore.dataclasses import dataclass
from shardcore.errors import ShardError
from shardcore.model.node import Node
from shardcore.model.record import FieldRole
from shardcore.model.span import Span
from shardcore.model.text import shown
from shardcore.operations.offset_expression import GotoError, calculate
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard
from shardcore.shards.trace import Trace

MOST_CHILDREN = 4096
"""Maximum number of nodes of a list that are searched for a name; use numbers, such as `[5]`, for others."""
MOST_NESTED = 8
MOST_MEMBERS = 3
_WORD = 8

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&:])")
_CONTENT = re.compile(r"(?P<kind>number|text) (?P<start>\d+)\.\.(?P<stop>\d+) of content")
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?: of (\S+))?")
_NUMBER = re.compile(r"\[(\d+)\]")


class NotHereError(Exception):
    """The file does not have the requested value; `line` is the line of the lesson, 0 if unknown."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.line = 0


@dataclass(frozen=True)
class LessonScene:
    shard: Shard
    key: str = ""
    trace: Trace | None = None

    def fill(self, text: str) -> str:
        """Replace placeholders in braces by plain values: no thousands separators, no Markdown."""
        return self._filled(text, lambda value, before: _plain(value))

    def prose(self, text: str) -> str:
        """Replace placeholders in braces by formatted values; text from the file is escaped for Markdown."""
        return self._filled(text, _said)

    def _filled(self, text: str, said: Callable[[object, str], str], depth: int = 0) -> str:
        if depth > MOST_NESTED:
            raise NotHereError("braces are nested too deeply")
        whole, at = "", 0
        for start, stop in outermost(text):
            whole += text[at:start]
            inner = self._filled(text[start + 1 : stop], lambda value, before: _plain(value), depth + 1)
            whole += said(self.value(inner.strip()), whole)
            at = stop + 1
        return whole + text[at:]

    def value(self, name: str) -> object:
        if name.startswith("="):
            return self._calculated(name[1:])
        if (whole := self._whole(name)) is not None:
            return whole
        if (slice_of := _CONTENT.fullmatch(name)) is not None:
            return self._content(slice_of["kind"], int(slice_of["start"]), int(slice_of["stop"]))
        word, of, path = name.partition(" of ")
        if of and word in _OF_NODE:
            return _OF_NODE[word](self.node(path)[-1])
        named, within, title = name.partition(" in ")
        if within:
            return self._told(named.strip(), title.strip())
        raise NotHereError(f"unknown value {{{name}}}")

    def _whole(self, name: str) -> str | int | None:
        if name == "key":
            if not self.key:
                raise NotHereError("this file has no key to look up")
            return self.key
        if name == "size of file":
            return self.shard.source.size if self.shard.source is not None else ""
        if name == "count of objects":
            return len(self.shard.objects)
        return None

    def _content(self, kind: str, start: int, stop: int) -> str | int:
        if self.trace is None:
            raise NotHereError("no object was looked up")
        try:
            data = self.shard.read(self.shard.find(self.trace.key))[start:stop]
        except ShardError as error:
            raise NotHereError(error.message) from error
        return int.from_bytes(data, "little") if kind == "number" else data.decode("latin-1")

    def _calculated(self, text: str) -> int:
        try:
            return calculate(text)
        except GotoError as error:
            raise NotHereError(f"{text.strip()} cannot be calculated: {error.message}") from error

    def _told(self, name: str, title: str) -> object:
        number = self.step(title)
        values = self.trace.steps[number].values if self.trace is not None else {}
        if name not in values:
            raise NotHereError(f"the step “{title}” has no value {name}; available: {', '.join(values) or 'none'}")
        meaning = self.trace.steps[number].meanings.get(name) if self.trace is not None else None
        is_offset = meaning is not None and meaning.unit == "byte" and isinstance(values[name], int)
        return _Offset(values[name]) if is_offset else values[name]

    def step(self, title: str) -> int:
        steps = self.trace.steps if self.trace is not None else ()
        for number, step in enumerate(steps):
            if fnmatchcase(step.title, title):
                return number
        raise NotHereError(f"the lookup has no step “{title}”")

    def node(self, path: str) -> tuple[Node, ...]:
        """Return the nodes from the root to `path`: names (`*`: any text) or numbers (`[5]`), separated by `/`.

        Raises:
            NotHereError: There is no such node.
        """
        names = path.strip().split("/")
        found = self._below((self.shard.tree,), names)
        if found is None and "." in names[0]:
            found = self._elsewhere(names[1:])
        if found is None:
            raise NotHereError(f"this file has no {path.strip()}")
        return found

    def span(self, text: str) -> Span:
        """Return the span of a node, or of `START..STOP`; with ` of SOURCE`, the range is in another source."""
        found = _RANGE.fullmatch(text)
        if found is None:
            return self.node(text)[-1].span
        try:
            return Span(found[3] or "", int(found[1]), int(found[2]))
        except ValueError as error:
            raise NotHereError(f"{text} is an empty range") from error

    def _elsewhere(self, names: Sequence[str]) -> tuple[Node, ...] | None:
        root = self.shard.tree
        if not isinstance(self.shard, DataSet):
            return self._below((root,), names)
        some = islice((node for node in root.children if Path(node.name).suffix), MOST_MEMBERS)
        return next((found for node in some if (found := self._below((root, node), names)) is not None), None)

    def _below(self, path: tuple[Node, ...], names: Sequence[str]) -> tuple[Node, ...] | None:
        if not names:
            return path
        some = _called(self.children(path[-1]), names[0])
        return next((found for child in some if (found := self._below((*path, child), names[1:])) is not None), None)

    def children(self, node: Node) -> Sequence[Node]:
        if node.decoded and not node.expandable:
            try:
                return self.shard.tree_of(node.decoded).children
            except ShardError as error:
                raise NotHereError(f"{node.name} cannot be decoded: {error.message}") from error
        return node.children


def _called(children: Sequence[Node], name: str) -> Iterator[Node]:
    numbered = _NUMBER.fullmatch(name)
    if numbered is not None:
        if int(numbered[1]) < len(children):
            yield children[int(numbered[1])]
        return
    for child in islice(children, MOST_CHILDREN):
        if child.name == name or fnmatchcase(child.name, name):
            yield child


def outermost(text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of outermost braces: opening, closing."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        if letter == "{":
            start = start if depth else at
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
            if not depth:
                yield start, at


def escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", shown(text))


def literal(text: str) -> str:
    return escaped(text.replace("{", "(").replace("}", ")"))


def code(text: str) -> str:
    return f"`{_said(text, '`')}`"


def _said(told: object, before: str) -> str:
    in_code = before.count("`") % 2 == 1
    if isinstance(told, _Offset) and not in_code and told >= 10:
        return escaped(f"{told:,} ({told:#x})")
    if isinstance(told, int) and not in_code:
        return escaped(f"{told:,}")
    value = _plain(told)
    return shown(value).replace("`", "'") if in_code else escaped(value)


class _Offset(int):
    """Offset that is written in decimal and hexadecimal, because the window may show either."""


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return value.hex() if isinstance(value, bytes) else str(value)


def _value_of(node: Node) -> object:
    if isinstance(node.value, bytes) and len(node.value) <= _WORD and node.text.isdecimal():
        return int(node.text)
    if node.role is FieldRole.OFFSET and isinstance(node.value, int):
        return _Offset(node.value)
    return node.text if node.value is None else node.value


_OF_NODE: dict[str, Callable[[Node], object]] = {
    "value": _value_of,
    "text": lambda node: node.text,
    "start": lambda node: _Offset(node.span.start),
    "stop": lambda node: _Offset(node.span.stop),
    "size": lambda node: node.span.size,
}
