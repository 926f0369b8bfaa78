"""What the window says of errors: in its own words, never in those of the library or the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from shardcore import Remedy, ShardError
from shardcore.errors import reason_of
from shardscope.looks.words import grouped

WORDS: Mapping[Remedy, str] = MappingProxyType(
    {
        Remedy.DELETED: "choose File > Change how it is read…, and Deleted objects, to read it",
        Remedy.XORBS: "choose File > Change how it is read…, and the folder that holds them",
        Remedy.SPEC: "choose File > Open with…, and give the specification, or open one of the files",
        Remedy.LIMIT: "extract it instead: files are written piece by piece",
        Remedy.REPLACE: "choose another folder, or have it replaced",
        Remedy.KEYS: "choose another rule for the keys",
    }
)
"""What to do, for each remedy that an error may have."""

ACTIONS: Mapping[Remedy, str] = MappingProxyType(
    {
        Remedy.DELETED: "Show tombstoned data",
        Remedy.XORBS: "Choose the xorb folder…",
        Remedy.SPEC: "Open with…",
    }
)
"""The words on the button that does it, where one can."""


def plain_words(error: BaseException | None) -> str:
    """An error as a sentence for the window: what is wrong and where, then what to do about it here."""
    if isinstance(error, ShardError):
        placed = grouped(error.placed)
        return f"{placed}; {WORDS[error.remedy]}" if error.remedy is not None else placed
    if isinstance(error, Exception):
        return reason_of(error) or type(error).__name__
    return "it was stopped"
