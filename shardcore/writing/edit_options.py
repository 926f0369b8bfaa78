"""Edits of an existing file, declared once for the command line and the window.

`Format.edits` lists the edits that a format supports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shardcore.model.options import Option, OptionPurpose, OptionType


class EditSubject(Enum):
    KEYS = "keys"
    FILES = "files"
    """Files whose bytes are appended."""
    TARGET = "target"
    """A new file; the shard itself does not change."""
    NOTHING = "nothing"
    """Nothing: the edit applies to the whole file."""


@dataclass(frozen=True, slots=True)
class Verb:
    """Kind of edit.

    Attributes:
        name: Name of the command, also in `Format.edits`.
        title: Label in menus.
        takes: Kind of input: keys, files, a target, or nothing.
        beside: Whether it changes only a sidecar: it then needs no journal, and applies to the members of a data set.
        back: Label of the edit that reverts it; empty if the journal reverts it.
    """

    name: str
    title: str
    help: str
    takes: EditSubject
    beside: bool = False
    back: str = ""
    back_help: str = ""
    options: tuple[Option, ...] = ()

    def help_of(self, name: str) -> str:
        return next(option.help for option in self.options if option.name == name)


_TOMBSTONE = (
    Option("reason", OptionType.TEXT, "Reason of the edit.", OptionPurpose.EDIT),
    Option("by", OptionType.TEXT, "Person who makes the edit.", OptionPurpose.EDIT),
    Option("ticket", OptionType.TEXT, "Ticket or request.", OptionPurpose.EDIT),
    Option(
        "date",
        OptionType.TEXT,
        "created_at of the objects, in ISO 8601; required if the shard does not contain it.",
        OptionPurpose.EDIT,
    ),
)
_FACTS: Mapping[str, str] = MappingProxyType({"by": "deleted_by", "reason": "reason", "ticket": "ticket_id"})
"""JSON members of a tombstone, by option name."""

DELETE = Verb(
    "delete", "Delete objects", "Delete objects of a shard in place: their bytes become zeros.", EditSubject.KEYS
)
TRUNCATE = Verb("truncate", "Truncate", "Remove the bytes that follow the end of a shard.", EditSubject.NOTHING)
APPEND = Verb(
    "append",
    "Append",
    "Append the bytes of files to the content of a shard, in place or by rewriting it.",
    EditSubject.FILES,
)
TOMBSTONE = Verb(
    "tombstone",
    "Tombstone objects",
    "Mark objects as deleted in the sidecar; the shard itself does not change.",
    EditSubject.KEYS,
    beside=True,
    back="Remove tombstones",
    back_help="Remove tombstones from the sidecar, so that the objects can be read again.",
    options=_TOMBSTONE,
)
REKEY = Verb(
    "rekey",
    "Re-key into a new file",
    "Write a new shard with an HMAC key for its chunk hashes, or another expiry; the shard itself does not change.",
    EditSubject.TARGET,
)

VERBS = (DELETE, TOMBSTONE, APPEND, TRUNCATE)
"""Edits that change existing files."""


def compute_edit(
    verb: Verb,
    make: Callable[..., Any],
    shard: Any,
    *,
    keys: Sequence[str] = (),
    paths: Sequence[Path] = (),
    values: Mapping[str, str] | None = None,
    now: str = "",
    back: bool = False,
) -> Any:
    """Compute an edit without changing anything: an `Edit`, or a tuple of `Rewrite` if only sidecars change.

    `make` is the function in `Format.edits`; `now` is ISO 8601 in UTC; `back` reverts the edit.
    """
    if verb.beside:
        facts = {fact: (values or {}).get(name) or "" for name, fact in _FACTS.items()}
        return make(shard, keys, now=now, facts=facts, undo=back, date=(values or {}).get("date") or "")
    given: dict[EditSubject, Sequence[Any]] = {
        EditSubject.KEYS: (keys,),
        EditSubject.FILES: paths,
        EditSubject.NOTHING: (),
    }
    return make(shard, *given[verb.takes])
