"""Pages of `docs/` prepared for the window: table rows of fields link to bytes, and words to the glossary.

A row describes a node of the tree if both have the same description, since both are generated from one field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from shardcore import Node, ShardError
from shardcore.dataclasses import dataclass, field
from shardcore.model.node import Children
from shardcore.teaching import resource_paths

GLOSSARY, WINDOW = "glossary", "index"

BEST_FIT = 4

MOST_NODES = 4000
"""Maximum number of nodes searched for a field."""

_MOST_CHILDREN = 24

_LAYOUT = re.compile(r"<!-- layout: (.*?) -->")
_ROW = re.compile(
    r"^\| (?P<offset>.*?) \| (?P<size>.*?) \| `(?P<name>[^`]+)`(?P<mark>(?: ≠)?) \| (?P<type>.*?) \| (?P<doc>.*) \|$"
)
_KEPT = re.compile(r"`[^`]*`|\[[^]]*\]\([^)]*\)")
"""Matches code and links, in which words are not linked to the glossary."""


@dataclass(frozen=True, slots=True)
class FieldRow:
    layout: str
    name: str
    doc: str


@dataclass(frozen=True)
class HelpPage:
    name: str
    title: str
    markdown: str
    rows: tuple[FieldRow, ...] = field(default=(), repr=False)

    def row_of(self, path: Sequence[Node]) -> int | None:
        for end in range(len(path), 1, -1):
            alike = [number for number, row in enumerate(self.rows) if row.doc == path[end - 1].doc]
            if alike:
                return max(alike, key=lambda number: self.fit(number, path[:end]))
        return None

    def fit(self, number: int, path: Sequence[Node]) -> int:
        row, (*around, last) = self.rows[number], path
        if sum(other.doc == row.doc for other in self.rows) == 1:
            return BEST_FIT
        fields = [other.name for other in self.rows if other.layout == row.layout]
        beside = around[-1].children if around else ()
        same = not isinstance(beside, Children) and [node.name for node in beside] == fields
        return 2 * same + any(node.name in row.layout for node in around[1:]) + (last.name == row.name)


@cache
def _paths() -> Mapping[str, Path]:
    found = (path for folder in ("formats", "guide") for path in sorted((resource_paths.docs() / folder).glob("*.md")))
    return {path.stem: path for path in found}


@cache
def titles() -> Mapping[str, str]:
    found = {name: path.read_text("utf-8").partition("\n")[0].lstrip("# ") for name, path in _paths().items()}
    return {name: title.partition(" (`")[0] for name, title in found.items()} | {GLOSSARY: "Glossary"}


@cache
def page(name: str) -> HelpPage | None:
    if name == GLOSSARY:
        return HelpPage(name, titles()[name], _glossary_text())
    if name not in titles():
        return None
    rows: list[FieldRow] = []
    text = _paths()[name].read_text("utf-8")
    return HelpPage(name, titles()[name], "\n".join(_prepared(text, rows, dict(words()))), tuple(rows))


# --- the glossary ---


@cache
def words() -> Mapping[str, str]:
    found = {}
    for line in _glossary_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 2 and cells[1] != "what it means":
            found.update({word.strip(): cells[1] for word in cells[0].split(",")})
    return found


def _glossary_text() -> str:
    text = (resource_paths.docs() / "glossary.md").read_text("utf-8")
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)


def _linked(text: str, left: dict[str, str]) -> str:
    """Return the text with words of the glossary as links, each word once; linked words are removed from `left`."""
    if not left:
        return text
    kept = [match.span() for match in _KEPT.finditer(text)]

    def link(match: re.Match[str]) -> str:
        word = match[1]
        if word not in left or any(start <= match.start() < stop for start, stop in kept):
            return match[0]
        meaning = left.pop(word).replace("`", "").replace('"', "'")
        return f'[{word}](<word:{word}> "{word}: {meaning}")'

    return re.sub(rf"(?<![\w*])({'|'.join(map(re.escape, left))})(?![\w*])", link, text)


# --- making a page ready ---


def _prepared(text: str, rows: list[FieldRow], unlinked: dict[str, str]) -> Iterator[str]:
    layout, fenced = "", False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if fenced or not line or line.startswith(("#", "```")):
            yield line
        elif line.startswith(("<picture>", "![")):
            continue  # pictures of the window or of drawings: the window is open, and draws those of the open file
        elif (begins := _LAYOUT.match(line)) is not None:
            layout = begins[1]
        elif line.startswith("<!--"):
            layout = ""
        elif layout:
            yield _layout_line(line, layout, rows)
        elif line.startswith("|"):
            yield line
        else:
            yield _linked(line, unlinked)


def _layout_line(line: str, layout: str, rows: list[FieldRow]) -> str:
    row = _ROW.match(line)
    if row is None:
        return "|---|---|---|" if line.startswith("|---") else "| offset | field | meaning |"
    rows.append(FieldRow(layout, row["name"], row["doc"]))
    size, kind = row["size"], row["type"]
    unit = "byte" if size == "1" else "bytes"
    about = kind if kind.endswith(unit) else f"{size} {unit}, {kind}"
    link = f'[`{row["name"]}`](<field:{len(rows) - 1}> "Select {row["name"]} in the file")'
    return f"| {row['offset']} | {link}{row['mark']} | *{about}:* {row['doc']} |"


# --- from a row to the file ---


def find_field(
    page: HelpPage, number: int, root: Node, near: Sequence[Node] = (), check: Callable[[], None] = lambda: None
) -> tuple[Node, ...]:
    if len(near) > 1 and not isinstance(near[-2].children, Children):
        for node in near[-2].children:
            if node.doc == page.rows[number].doc and page.row_of((*near[:-1], node)) == number:
                return (*near[:-1], node)
    best: tuple[Node, ...] = ()
    best_fit = -1
    for path in _nodes(root, check):
        if path[-1].doc == page.rows[number].doc and (fit := page.fit(number, path)) > best_fit:
            best, best_fit = path, fit
            if fit == BEST_FIT:
                break
    return best


def _nodes(root: Node, check: Callable[[], None]) -> Iterator[tuple[Node, ...]]:
    level: list[tuple[Node, ...]] = [(root,)]
    seen = 0
    while level and seen < MOST_NODES:
        below = []
        for path in level:
            check()
            for child in _some_children(path[-1]):
                seen += 1
                yield (*path, child)
                below.append((*path, child))
        level = below


def _some_children(node: Node) -> Sequence[Node]:
    try:
        return node.children[:_MOST_CHILDREN] if isinstance(node.children, Children) else node.children
    except ShardError:
        # An unreadable part has no fields; the tree shows the error.
        return ()
