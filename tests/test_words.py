"""Texts for users: words that the vocabulary (`docs/dev/vocabulary.md`, left column) replaces do not occur.

Checked are the string literals in the code (descriptions, steps, findings, messages, labels) and the pages.
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
"""Phrases in which such a word is allowed, since specifications use them."""


def rules(page: str) -> list[tuple[re.Pattern[str], tuple[str, ...]]]:
    """Return a pattern of the words per row of the table, and the beginnings of the paths where these are forbidden."""
    table = page.partition("<!-- words -->")[2].partition("<!-- end of words -->")[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.strip().splitlines()[2:]]
    found = [("|".join(map(re.escape, left.split(", "))), tuple(_places(where))) for left, _, where in rows]
    return [(re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE), places) for words, places in found]


def _places(where: str) -> Iterator[str]:
    """Yield the beginnings of the paths that the third column names: all paths, a folder, or a format."""
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
    """Yield line and text of the string literals that may be sentences: no docstrings, names and codes.

    In the text of an f-string, `{}` replaces each expression.
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
    """Yield number and text of the lines of a page, with code blocks and comments left empty."""
    page = re.sub(r"```.*?```|<!--.*?-->", lambda found: "\n" * found[0].count("\n"), page, flags=re.DOTALL)
    yield from enumerate(page.splitlines(), 1)


@cache
def texts() -> tuple[tuple[str, int, str], ...]:
    """Return all texts to check, each with path and line."""
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
    """Return a text without allowed phrases and without code in backquotes."""
    return _QUOTED.sub("…", text)


# Both tests run in one worker, so that the texts are read only once.
@pytest.mark.thorough
@pytest.mark.xdist_group("words")
def test_no_word_of_the_left_side_is_shown() -> None:
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
"""Unidiomatic phrases that must not occur in the code, in lessons and in pages for users."""

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
