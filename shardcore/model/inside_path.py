"""Paths to objects and decoded bytes inside a file, and their text form in links.

The text is `/KEY/KEY…`, a link is `FILE#/KEY/KEY…`, optionally followed by `#START-STOP`. In keys, `%`, `/`, `#`, a
leading `@` and unprintable characters are percent-encoded, and so are keys that consist of dots. The empty key is
`@`. `@100-200` are the bytes that the range `[100, 200)` decodes to; `@:a.meta` is a file beside the first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

from shardcore.errors import UsageError
from shardcore.model.span import SourceName
from shardcore.model.text import short, visible

InsideStep = str | SourceName
"""Key of an object, or name of decoded bytes or of a file beside the first one (see `Shard.bytes_of`)."""

InsidePath = tuple[InsideStep, ...]
"""Keys and names from the outermost object to the innermost."""

_LINK = r"(?s)(?P<file>.+)#(?P<path>(?:/[^/#]*)+)(?P<rest>#[^#]*)?"
_STRETCHES = r"(?a)(?:@\d{1,20}-\d{1,20})+"
_BESIDE = "@:"
_EMPTY = "@"
_ACTING = "%/#"


def inside_text(path: Sequence[InsideStep]) -> str:
    """Return the text of a path: `/2090/model.safetensors`; empty for the file itself."""
    return "".join(f"/{_step_text(step)}" for step in path)


def parse_inside(text: str) -> InsidePath:
    if not text:
        return ()
    if not text.startswith("/"):
        raise UsageError(f"the path inside a file must begin with /, not {short(text)}")
    return tuple(_step(part) for part in text[1:].split("/"))


def split_inside(link: str) -> tuple[str, InsidePath, str]:
    """Split a link into file, path inside it, and rest (`#72-80` or empty); UsageError for an invalid path."""
    found = re.fullmatch(_LINK, link) if "#/" in link else None
    return (link, (), "") if found is None else (found["file"], parse_inside(found["path"]), found["rest"] or "")


def inside_link(file: str, path: Sequence[InsideStep]) -> str:
    if not path:
        return file
    text = inside_text(path)
    return f"{file}{text}" if split_inside(file)[1] else f"{file}#{text}"


def shown_inside(name: str, path: Sequence[InsideStep]) -> str:
    """Return a path for display: `archive.des › 2090 › model.safetensors`."""
    return " › ".join([name, *(visible(str(step)) for step in path)])


def names_of(link: str, last: Callable[[str], str]) -> list[str]:
    try:
        file, path, _ = split_inside(link)
    except UsageError:
        file, path = link, ()
    return [last(file), *(str(step) for step in path)]


def last_name(step: InsideStep) -> str:
    """Return the part of a key after its last slash."""
    return str(step).rstrip("/").rpartition("/")[2] or str(step)


def _step_text(step: InsideStep) -> str:
    if isinstance(step, SourceName):
        text = str(step)
        return _encoded(text if re.fullmatch(_STRETCHES, text) else _BESIDE + text)
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
        if not re.fullmatch(_STRETCHES, plain):
            raise UsageError(
                f"{short(text)} is not a path inside a file: bytes are @START-STOP, and a key with @ begins with %40"
            )
        return SourceName.parse(plain)
    return plain
