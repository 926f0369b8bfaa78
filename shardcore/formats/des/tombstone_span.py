"""Location of a tombstone in the text of its sidecar."""

from __future__ import annotations

import json
from collections.abc import Iterator

from shardcore.errors import ShardError, source_lost
from shardcore.formats.des.file import DesFile
from shardcore.formats.des.sidecar import Sidecar, Tombstone
from shardcore.model.span import Span

MOST_SOUGHT = 1 << 20
"""Largest sidecar in which tombstones are located, in bytes; in a larger one the span is the whole file."""

_BLANK = " \t\r\n"


def tombstone_span(file: DesFile, sidecar: Sidecar, tombstone: Tombstone) -> Span:
    """Return the span of a tombstone and its key in the sidecar; of the whole sidecar if it is not found."""
    folder = file.source.folder
    if folder is None or sidecar.size > MOST_SOUGHT:
        return sidecar.span
    try:
        data = folder.read(sidecar.name, MOST_SOUGHT)
    except ShardError as error:
        if source_lost(error):
            raise
        return sidecar.span
    found = _place(data, tombstone) if len(data) == sidecar.size else None
    return Span(sidecar.span.source, *found) if found is not None else sidecar.span


def _place(data: bytes, tombstone: Tombstone) -> tuple[int, int] | None:
    # Latin-1 maps each byte to one character, so offsets in the text are offsets in the file.
    text = data.decode("latin-1")
    try:
        start = next((at for name, _, at, _ in _members(text, 0) if name == "tombstones"), None)
        for name, first, _, stop in _members(text, start) if start is not None else ():
            if _as_text(name) == tombstone.key:
                return first, stop
    except (ValueError, RecursionError):
        return None
    return None


def _members(text: str, at: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the members of the JSON object at `at`: name, start of the name, start and end of the value."""
    decoder = json.JSONDecoder()
    at = _past_blank(text, _past_blank(text, at) + 1)
    while text[at : at + 1] == '"':
        first = at
        name, at = decoder.raw_decode(text, at)
        value = _past_blank(text, _past_blank(text, at) + 1)
        _, at = decoder.raw_decode(text, value)
        yield name, first, value, at
        at = _past_blank(text, at)
        at = _past_blank(text, at + 1) if text[at : at + 1] == "," else at


def _past_blank(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANK:
        at += 1
    return at


def _as_text(name: str) -> str:
    try:
        return name.encode("latin-1").decode()
    except UnicodeError:
        return name
