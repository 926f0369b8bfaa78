"""Details of a selection: value, meaning, specification, location, and commands that reproduce it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shardcore.dataclasses import dataclass, field
from shardcore.model.computed_children import Grouped, RecordTable, RowRange
from shardcore.model.data_set_nodes import PlacedChildren
from shardcore.model.node import Node, nearest_row
from shardcore.model.record import Differs, FieldRole
from shardcore.model.span import Span
from shardcore.model.text import (
    bits_text,
    key_text,
    plural,
    product_text,
    range_text,
    shell_line,
    typed,
    visible,
    without_marks,
)
from shardcore.system import last_part


@dataclass(frozen=True, slots=True)
class OpenedWith:
    """Options that a shard was opened with, except secrets. `partial`: only the intact part was opened."""

    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    remote: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False

    @property
    def words(self) -> list[str]:
        found = ["--format", self.format] if self.format else []
        for name, value in (self._shown(self.options) | self._shown(self.remote)).items():
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            found += [flag] if value is True else [flag, str(value)]
        return found

    @property
    def arguments(self) -> str:
        found = {"format": self.format} if self.format else {}
        texts = [f"{name}={value!r}" for name, value in (found | self._shown(self.options)).items()]
        if remote := self._shown(self.remote):
            inner = ", ".join(f"{name}={value!r}" for name, value in remote.items())
            texts.append(f"remote=shardcore.RemoteOptions({inner})")
        if self.partial:
            texts.append("partial=True")
        return "".join(f", {text}" for text in texts)

    @staticmethod
    def _shown(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in values.items() if isinstance(one, (str, int)) and one not in (False, "")}


DEFAULTS = OpenedWith()

_FLAGS = {"anonymous": "--no-sign-request"}
"""Flags of the command line whose name differs from the option."""

SHOWN_OPTIONS = ("endpoint_url", "region", "profile", "anonymous", "requester_pays", "addressing")
"""Names of connection options that may be shown: neither secrets nor limits."""


def node_json(node: Node) -> dict[str, Any]:
    """Return a node in the JSON form of `explain --json`; byte strings in hex."""
    value = node.value.hex() if isinstance(node.value, bytes) else node.value
    found: dict[str, Any] = {
        "name": node.name,
        "span": node.span.to_json(),
        "value": value,
        "text": node.text,
        "role": node.role.name.lower(),
        "doc": node.doc,
    }
    if node.differs is not None:
        found["differs"] = {"page": node.differs.page, "practice": node.differs.practice}
    return found


def explain_command(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    """Return the shell command `shardcore explain` for the first byte of a span, quoted."""
    words = ["shardcore", "explain", typed(uri), f"{span.start:#x}"]
    words += ["--in", span.source] if span.source else []
    return shell_line([*words, *how.words])


def get_command(uri: str, key: str, how: OpenedWith = DEFAULTS) -> str:
    """Return the shell command that writes an object to standard output. An unprintable key is passed by `--keys`."""
    words = ["shardcore", "get", typed(uri), *how.words]
    if key.isprintable():
        return shell_line([*words, *(["--"] if key.startswith("-") else []), key])
    # Within single quotes shells change nothing, except that some look for `!`.
    text = key_text(key).replace("'", "\\u0027").replace("!", "\\u0021")
    line = shell_line([*words, "--keys", "-"])
    return line and f"printf '%s\\n' '{text}' | {line}"


def explain_line(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    where = f"{span.start:#x}, {span.source!r}" if span.source else f"{span.start:#x}"
    return f"shardcore.open({uri!r}{how.arguments}).explain({where})"


def read_lines(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    return (
        "import shardcore\n\n"
        f"with shardcore.open({uri!r}{how.arguments}) as shard:\n"
        f"    data = shard.bytes_of({span.source!r}).read({span.start:#x}, {span.stop:#x})\n"
    )


def curl_command(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    """Return the `curl` command that fetches a span; empty if the bytes have no URL."""
    if span.source or not span.size or not uri.startswith(("http://", "https://")):
        return ""
    return shell_line(["curl", "--fail", "--range", f"{span.start}-{span.stop - 1}", "--output", "bytes.bin", uri])


_GROUPED = (FieldRole.COUNT, FieldRole.NUMBER)
"""Roles whose numbers get thousands separators."""


def headline(node: Node) -> str:
    """Return the value of a node for a heading: `520 bytes`, `0x1171`, names of flags; empty for raw bytes."""
    number = _plain_number(node)
    if number is not None and node.role is FieldRole.SIZE and number >= 0:
        return plural(number, "byte")
    if number is not None and node.role in _GROUPED:
        return f"{number:,}"
    if table_of(node) is not None:
        return plural(node.span.size, "byte")
    if isinstance(node.value, str) and node.value:
        # The text may have JSON escapes.
        return node.value
    return _named(node) or node.text


def _named(node: Node) -> str:
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        return ""
    if node.value == 0 and node.text.startswith("0x") and _number_of(node.text) == 0:
        return "none set"
    number, _, names = node.text.partition(" ")
    said = names if names and _number_of(number) == node.value else node.text
    bracketed = said.startswith("(") and said.endswith(")")
    said = (said[1:-1] if bracketed else said).replace(" | ", ", ")
    # A codec or checksum named None.
    return "none" if said == "None" else said


def _number_of(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def grouped_value(node: Node) -> str:
    """Return the value of a node for a narrow column: as `headline`, but without a unit."""
    number, target = _plain_number(node), node.target
    # The text may leave out the shard of a data set.
    if target is not None and node.text in (str(target), range_text(target.start, target.stop)):
        return f"→ {target.start:#x}"
    return f"{number:,}" if number is not None and node.role in (*_GROUPED, FieldRole.SIZE) else node.text


def _plain_number(node: Node) -> int | None:
    value = node.value
    if isinstance(value, bytes) and node.role is FieldRole.SIZE and node.text.isascii() and node.text.isdecimal():
        # NumPy has no 3-byte integers: the number is in the text.
        return int(node.text)
    if isinstance(value, bool) or not isinstance(value, int) or node.text not in ("", str(value)):
        return None
    return value


def sum_text(node: Node) -> str:
    """Return the calculation behind a value, such as `13 slots × 40`; empty if unknown."""
    if node.sum:
        return node.sum
    table = table_of(node)
    if table is None:
        return ""
    record, rows = table
    counted = node.text.startswith(f"{rows:,} ") and node.text.replace(",", "").replace(" ", "").isalnum()
    return f"{node.text} × {record:,}" if counted else product_text(rows, "row", record)


def record_size(node: Node) -> int | None:
    """Return the number of bytes per row if the child nodes are rows of a table; else None."""
    children = node.children
    while isinstance(children, (RowRange, PlacedChildren)):
        children = children.base
    return children.record.size if isinstance(children, RecordTable) else None


def table_of(node: Node) -> tuple[int, int] | None:
    """Return bytes per row and number of rows, if all bytes of the node are rows of one table; else None."""
    children = node.children
    rows = len(children) if isinstance(children, (RecordTable, RowRange)) else 0
    if isinstance(children, Grouped):
        children = children.base
        rows = len(children)
    if isinstance(children, RowRange):
        children = children.base
    if not isinstance(children, RecordTable) or rows * children.record.size != node.span.size or not rows:
        return None
    return children.record.size, rows


MOST_RAW = 48
"""Maximum number of bytes shown in hex."""

MOST_LETTERS = 300
"""Maximum number of characters shown of a value."""


@dataclass(frozen=True, slots=True)
class Card:
    """Details of a selection, as texts. `adds`: calculation of the value; `command`, `get`, `link`: shell commands."""

    path: tuple[str, ...]
    value: str
    adds: str
    meaning: str
    specification: str
    type: str
    place: str
    raw: str
    differs: Differs | None
    key: str
    command: str
    get: str
    python: str
    link: str

    @property
    def name(self) -> str:
        return self.path[-1]


def card_of(
    path: Sequence[Node], raw: bytes, uri: str, how: OpenedWith = DEFAULTS, key: str = "", chosen: Span | None = None
) -> Card:
    """Return the details of the last node of a path. `raw`: its first bytes; `chosen`: the bytes selected in it."""
    node = path[-1]
    part = chosen if chosen is not None and chosen.size > 1 and chosen != node.span else None
    span = part or node.span
    raw = raw[span.start - node.span.start :][: span.size]
    names = (last_part(uri), *(each.name for each in path[1:]))
    shown = raw[:MOST_RAW].hex(" ")
    if span.size > min(len(raw), MOST_RAW) and shown:
        shown += f" … and {span.size - min(len(raw), MOST_RAW):,} more"
    place = range_text(node.span.start, node.span.stop, visible(node.span.source))
    if node.bits is not None:
        place = f"{place}: {bits_text(*node.bits)}"
    if part is not None:
        place = f"{range_text(part.start, part.stop)}; in {place}"
    return Card(
        tuple(visible(name) for name in names),
        _cut(visible(headline(node))),
        sum_text(node),
        visible(without_marks(node.doc)),
        next((each.spec for each in reversed(path) if each.spec), ""),
        node.type,
        place,
        shown,
        next((each.differs for each in reversed(path[-2:]) if each.differs is not None), None),
        visible(key),
        explain_command(uri, span, how) if span.size else "",
        get_command(uri, key, how) if key else "",
        _python(path, part, uri, how),
        link_command(uri, span, how),
    )


def link_command(uri: str, span: Span, how: OpenedWith = DEFAULTS) -> str:
    where = f"{span.start}-{span.stop}" if span.size > 1 else f"{span.start}"
    source = f"{span.source}:" if span.source else ""
    # The window has its own connection settings.
    return shell_line(
        ["shardscope", f"{typed(uri)}#{source}{where}", *(["--format", how.format] if how.format else [])]
    )


def markdown(card: Card) -> str:
    lines = [f"### {_quiet(card.name)}", "", " › ".join(_quiet(name) for name in card.path), ""]
    if card.value:
        lines += [f"**{_quiet(card.value)}**" + (f" = {card.adds}" if card.adds else ""), ""]
    if card.meaning:
        lines += [_quiet(card.meaning), ""]
    facts = [
        ("bytes", card.place),
        ("type", card.type),
        ("raw", card.raw),
        ("stated in", card.specification),
        ("object", card.key),
    ]
    table = [f"| {name} | {_code(text) if name in _CODE else _quiet(text)} |" for name, text in facts if text]
    lines += [table[0], "|---|---|", *table[1:]]
    if card.differs is not None:
        lines += ["", f"> **Specification:** {card.differs.page}.  "]
        lines += [f"> **In practice:** {card.differs.practice}."]
    commands = "\n".join(line for line in (card.command, card.get, card.link) if line)
    lines += ["", "```console", *(f"$ {line}" for line in commands.splitlines()), "```"]
    lines += ["", "```python", card.python.rstrip("\n"), "```", ""]
    return "\n".join(lines)


def _python(path: Sequence[Node], part: Span | None, uri: str, how: OpenedWith) -> str:
    node = path[-1]
    span = part or node.span
    source = f", {span.source!r}" if span.source else ""
    if node.value is not None and node.bits is None and span.size and part is None:
        # Depth within the source of the bytes.
        depth = sum(each.span.source == span.source for each in path) - 1
        line = f"print(shard.explain({span.start:#x}{source})[{depth}].value)"
        if nearest_row(path) is not None:
            # Without the index, the path may end at the section.
            line = f"shard.load_index()\n    {line}"
    else:
        line = f"print(shard.bytes_of({span.source!r}).read({span.start:#x}, {span.stop:#x}).hex(' '))"
    return f"import shardcore\n\nwith shardcore.open({uri!r}{how.arguments}) as shard:\n    {line}\n"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


_CODE = ("raw", "object")


def _code(text: str) -> str:
    return _quiet(text) if any(letter in "`|\\" for letter in text) else f"`{text}`"


def _quiet(text: str) -> str:
    return "".join(f"\\{letter}" if letter in r"\`*_[]<>|#&~$!" else letter for letter in text)
