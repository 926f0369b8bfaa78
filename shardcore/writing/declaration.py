"""Declarations of writing: stated once, read by the command line, the window and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardcore.writing.items import FormatInputs
    from shardcore.writing.writer import Writer


class KeyRule(Enum):
    """Default origin of the key of an input."""

    CONTENT = "from the content"
    """The writer makes it: `add(None, data)`."""
    PATH = "the path below the folder that was given, with /; else the name of the file"
    OWN = "a rule of the format"
    """`Writes.own_key` says it, from the name of the file."""
    NONE = "none"
    """The format has no keys: those of a manifest go on into the result manifest."""


@dataclass(frozen=True, slots=True)
class Writes:
    """Declaration of writing a format. Options are `Format.options` with `Purpose.WRITE`, facts with `Purpose.FACT`.

    Attributes:
        create: Starts a writer: `create(output, **options)`, the options checked already.
        purpose: One sentence: what the format is for.
        cannot: One sentence: what it cannot.
        keys: Where the keys of inputs come from.
        key_form: The form of a key in words: `64 hex digits`; empty where there are none.
        check_key: The key that a text means, in its usual form; a `UsageError` says why it is none. Without it any text
            is a key.
        own_key: The key for the name of a file, with `KeyRule.OWN`; a `UsageError` says why there is none.
        check_count: Refuses a number of objects that cannot be in one file, by the options for writing.
        parts: Names of further contents that an object may have: `fragments`.
        file: Whether the target may be a file.
        folder: Whether it may be a folder.
        members: Patterns of the names of shards in such a folder, in its sub-folders with `/`, at any depth with `**/`:
            with `force`, those that are not written again are removed.
        gather: Makes objects of inputs by a rule of the format; `gather(paths, options, left_out)`. See `FormatInputs`.
        single: Whether a file holds one content, so that several inputs need a folder.
        converted: What becomes of keys of another format that do not fit: `sha256`, `number`; empty where all fit.
        checksum: The checksum or digest of every content, for some options; without it there is none.
        settings: Options that a conversion takes over from the settings of its source (see `Shard.settings`). They come
            from result manifests, too: none may name a path.
        inherited: The same by a rule of the format, from the settings, the options that were given, whether the target
            is a folder, and whether objects have other keys.
        uncompressed: Options with which contents are stored uncompressed.
    """

    create: Callable[..., Writer]
    purpose: str
    cannot: str
    keys: KeyRule
    key_form: str = ""
    check_key: Callable[[str], str] | None = None
    own_key: Callable[[str], str] | None = None
    check_count: Callable[[int, Mapping[str, Any]], None] | None = None
    parts: tuple[str, ...] = ()
    file: bool = True
    folder: bool = False
    members: tuple[str, ...] = ()
    gather: Callable[..., FormatInputs] | None = None
    single: bool = False
    converted: str = ""
    checksum: Callable[[Mapping[str, Any]], str] | None = None
    settings: tuple[str, ...] = ()
    inherited: Callable[[Mapping[str, Any], Mapping[str, Any], bool, bool], Mapping[str, Any]] | None = None
    uncompressed: Mapping[str, Any] = field(default_factory=dict)

    def key_of(self, name: str) -> str | None:
        """The key of a file of that name (relative, with `/`); None where the writer makes it, or there are no keys.

        Raises:
            UsageError: The name does not state a key.
        """
        if self.keys is KeyRule.PATH:
            return name
        return self.own_key(name) if self.own_key is not None else None
