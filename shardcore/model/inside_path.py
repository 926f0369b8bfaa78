"""Path to something inside a file: keys of objects and names of decoded bytes, and its text in links.

The text of a path is `/KEY/KEY…`, and a link is `FILE#/KEY/KEY…`, with `#START-STOP` after it for bytes. In a key, `%`,
`/`, `#`, an `@` at the beginning and what cannot be printed are percent-encoded, so that each key has its own text; the
empty key is `@`, and keys of dots are encoded, so that a link stays the same as a path.
A part that begins with `@` is no key, but the bytes of that name: `@100-200` are what the bytes 100 to 200 decode to,
`@:a.meta` a file beside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

from shardcore.errors import UsageError
from shardcore.model.source_name import SourceName
from shardcore.model.text import short, visible

InsideStep = str | SourceName
"""The key of an object, or the name of bytes (see `Shard.bytes_of`)."""

InsidePath = tuple[InsideStep, ...]
"""Outermost first."""

_LINK = re.compile(r"(?P<file>.+)#(?P<path>(?:/[^/#]*)+)(?P<rest>#[^#]*)?", re.DOTALL)
_STRETCHES = re.compile(r"(?:@\d{1,20}-\d{1,20})+", re.ASCII)
_BESIDE = "@:"
_EMPTY = "@"
_ACTING = "%/#"


def inside_text(path: Sequence[InsideStep]) -> str:
    return "".join(f"/{_step_text(step)}" for step in path)


def parse_inside(text: str) -> InsidePath:
    if not text:
        return ()
    if not text.startswith("/"):
        raise UsageError(f"a path inside a file begins with /, not {short(text)}")
    return tuple(_step(part) for part in text[1:].split("/"))


def split_inside(link: str) -> tuple[str, InsidePath, str]:
    found = _LINK.fullmatch(link) if "#/" in link else None
    return (link, (), "") if found is None else (found["file"], parse_inside(found["path"]), found["rest"] or "")


def inside_link(file: str, path: Sequence[InsideStep]) -> str:
    if not path:
        return file
    text = inside_text(path)
    return f"{file}{text}" if split_inside(file)[1] else f"{file}#{text}"


def shown_inside(name: str, path: Sequence[InsideStep]) -> str:
    return " › ".join([name, *(visible(str(step)) for step in path)])


def names_of(link: str, last: Callable[[str], str]) -> list[str]:
    try:
        file, path, _ = split_inside(link)
    except UsageError:
        file, path = link, ()
    return [last(file), *(str(step) for step in path)]


def last_name(step: InsideStep) -> str:
    return str(step).rstrip("/").rpartition("/")[2] or str(step)


def _step_text(step: InsideStep) -> str:
    if isinstance(step, SourceName):
        text = str(step)
        return _encoded(text if _STRETCHES.fullmatch(text) else _BESIDE + text)
    if step in ("", ".", ".."):
        return step.replace(".", "%2E") or _EMPTY
    return "%40" + _encoded(step[1:]) if step.startswith("@") else _encoded(step)


def _encoded(text: str) -> str:
    return "".join(
        one if one.isprintable() and one not in _ACTING else quote(one, safe="", errors="surrogatepass") for one in text
    )


def _step(text: str) -> InsideStep:
    try:
        plain = unquote(text, errors="surrogatepass")
    except UnicodeDecodeError as error:
        raise UsageError(f"{short(text)} is not a path inside a file: its escapes are not UTF-8") from error
    if text.startswith(_BESIDE):
        return SourceName.parse(plain[len(_BESIDE) :])
    if text == _EMPTY:
        return ""
    if text.startswith("@"):
        if not _STRETCHES.fullmatch(plain):
            raise UsageError(f"{short(text)} is not a path inside a file: bytes are @START-STOP, a key %40…")
        return SourceName.parse(plain)
    return plain
