"""Declaration of how a format is written, used by the command line, the window and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardcore.writing.input_items import FormatInputs
    from shardcore.writing.writer import Writer


class KeyRule(Enum):
    """Default rule for the key of an input."""

    CONTENT = "from the content"
    """The writer computes the key: `add(None, data)`."""
    PATH = "the path below the folder that was given, with /; else the name of the file"
    OWN = "a rule of the format"
    """Computed by `Writes.own_key` from the file name."""
    NONE = "none"
    """The format has no keys; those of a manifest are copied to the result manifest."""


@dataclass(frozen=True, slots=True)
class Writes:
    """Declaration of writing for a format; its options and metadata (facts) are in `Format.options`, by purpose.

    Attributes:
        create: Creates a writer: `create(output, **options)`, after the options were checked.
        purpose: One sentence: the use of the format.
        cannot: One sentence: its limitation.
        keys: Rule for the keys of inputs.
        key_form: Form of a key in words: `64 hex digits`; empty if there are no keys.
        check_key: Returns the normal form of a key given as text, or raises UsageError. Default: any text is a key.
        own_key: Returns the key for a file name, with `KeyRule.OWN`, or raises UsageError.
        check_count: Raises UsageError if a number of objects does not fit one file, given the options for writing.
        parts: Names of further contents of an object: `fragments`.
        file: Whether the target may be a file.
        folder: Whether the target may be a folder.
        members: Patterns of the names of shards in such a folder, in sub-folders with `/`, at any depth with `**/`.
            With `force`, matching files that are not rewritten are removed.
        gather: Converts inputs to objects by a rule of the format: `gather(paths, options, left_out)`.
        single: Whether a file holds one content, so that several inputs need a folder.
        converted: Rule for keys of another format that do not fit: `sha256`, `number`; empty if all fit.
        checksum: Returns the checksum or digest of every content for given options; default: none.
        settings: Options that a conversion copies from the settings of its source (see `Shard.settings`). They also
            come from result manifests, so none may contain a path.
        inherited: Returns such options, given the settings, the options, whether the target is a folder, and whether
            keys change.
        uncompressed: Options for writing that store contents uncompressed.
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
        """Return the key for a relative file name; None if the writer computes it, or there are no keys.

        Raises:
            UsageError: The name does not contain a key.
        """
        if self.keys is KeyRule.PATH:
            return name
        return self.own_key(name) if self.own_key is not None else None
