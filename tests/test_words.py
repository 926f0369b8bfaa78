"""The words that people are shown: none of the left side of `docs/dev/vocabulary.md` occurs.

Texts are the sentences in the code (`doc=`, steps, findings, messages, labels), as string literals, and the pages.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT / "docs" / "dev" / "vocabulary.md"

ALLOWED = (
    "xorb info (CAS info)",
    "3. CAS Info Section",  # the section of the specification
    'Older texts say "CAS block" for xorb.',
)
"""Phrases in which a word of the left side may stand: quotations of specifications."""


def rules(page: str) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    """The rows of the table: words that are not shown, and the beginnings of the paths where they are not."""
    table = page.partition("<!-- words -->")[2].partition("<!-- end of words -->")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.strip().splitlines()[2:]]
    found = [("|".join(map(re.escape, left.split(", "))), tuple(_places(where))) for left, _, where in rows]
    return [(re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE), places) for words, places in found]


def _places(where: str) -> Iterator[str]:
    """The beginnings of paths that the third column names: everything, folders, or formats."""
    for name in where.split(", "):
        if name == "everywhere":
            yield ""
        elif (ROOT / name).exists():
            yield f"{name}/"
        else:
            assert (ROOT / "shardcore" / "formats" / name).is_dir(), f"neither a folder nor a format: {name}"
            yield f"shardcore/formats/{name}/"
            yield f"docs/formats/{name}.md"


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The string literals of a module that may be sentences: no docstrings, and no bare names of fields and codes.

    What is filled into an f-string stands there as `{}`.
    """
    tree = ast.parse(source)
    parts: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr):
                parts.add(id(statement.value))
        if isinstance(node, ast.JoinedStr):
            parts.update(id(value) for value in node.values)
            pieces = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            yield node.lineno, "".join(map(str, pieces))
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in parts else None
        if isinstance(text, str) and not re.fullmatch(r"[a-z0-9_.:-]*", text):
            yield node.lineno, text


def paragraphs(page: str) -> Iterator[tuple[int, str]]:
    """The lines of a page, without what is quoted as code and without comments."""
    page = re.sub(r"```.*?```|<!--.*?-->", lambda found: "\n" * found[0].count("\n"), page, flags=re.DOTALL)
    yield from enumerate(page.splitlines(), 1)


@cache
def texts() -> tuple[tuple[str, int, str], ...]:
    """Everything that somebody is shown, with path and line."""
    found: list[tuple[str, int, str]] = []
    for folder in ("shardcore", "app"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            found += [(name, line, text) for line, text in literals(path.read_text())]
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page = path.read_text()
        if path == LIST:
            table = re.compile(r"<!-- words -->.*?<!-- end of words -->", re.DOTALL)
            page = table.sub(lambda found: "\n" * found[0].count("\n"), page)
        found += [(path.relative_to(ROOT).as_posix(), line, text) for line, text in paragraphs(page)]
    return tuple(found)


_QUOTED = re.compile("|".join(["`[^`]*`", *map(re.escape, ALLOWED)]), re.IGNORECASE)


def cleaned(text: str) -> str:
    """A text without the phrases that are allowed, and without names of fields and other code."""
    return _QUOTED.sub("…", text)


# One worker reads all texts for both.
@pytest.mark.thorough
@pytest.mark.xdist_group("words")
def test_no_word_of_the_left_side_is_shown() -> None:
    """Each thing has one word, and the others are not used."""
    table = rules(LIST.read_text())
    assert len(table) >= 20
    hits = [
        f"{path}:{line}: {pattern.findall(shown)} in {text!r}"
        for path, line, text in texts()
        for shown in [cleaned(text)]
        for pattern, places in table
        if path.startswith(places) and pattern.search(shown)
    ]
    assert hits == []


LITERAL = re.compile(
    r"(?<!here )(?<!there )\bis no (?!longer\b|more\b)\w+|\b(?:stands?|lies?) (?:in|beside|there|elsewhere)\b"
    r"|\bso many\b|\bgoes on\b|\b(?:is|are) said\b|\bsays so\b|\bthere is what\b|\w, too[.;:)]"
    r"|\b(?:not to|cannot) be had\b|\bhow far it is\b",
    re.IGNORECASE,
)
"""Patterns of literal English; labels, commands, messages, lessons and the pages for users are free of them."""

PLAIN = ("shardcore/", "app/", "docs/guide/", "docs/formats/", *(f"docs/{name}.md" for name in (
    "bounds", "cluster", "command-line", "cookbook", "first-steps", "glossary", "index", "install", "library",
    "other-programs", "remote", "security", "troubleshooting",
)))  # fmt: skip


@pytest.mark.thorough
@pytest.mark.xdist_group("words")
def test_no_literal_english() -> None:
    told = [one for one in texts() if one[0].startswith(PLAIN)]
    for folder in ("lessons", "missions"):
        for path in sorted((ROOT / "resources" / folder).glob("*.md")):
            told += [(path.name, line, text) for line, text in paragraphs(path.read_text())]
    assert [one for one in told if LITERAL.search(cleaned(one[2]))] == []
