"""Declarations of how a format is written and edited, used by the command line, the window and the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from shardcore.dataclasses import dataclass, field
from shardcore.model.options import Option, OptionPurpose, OptionType

if TYPE_CHECKING:
    from shardcore.writing.inputs import FormatInputs
    from shardcore.writing.writer import Writer


class KeyRule(Enum):
    """Default rule by which an input file gets its key."""

    CONTENT = "from the content"
    """The writer computes the key: `add(None, data)`."""
    PATH = "the path of the file relative to the input folder, with /; for a single file, its name"
    OWN = "a rule of the format"
    """Computed by `Writes.own_key` from the file name."""
    NONE = "none"
    """The format has no keys. If a manifest gives keys, they are copied to the result manifest."""


@dataclass(frozen=True, slots=True)
class Writes:
    """Declaration of how a format is written. Its options, and the metadata that it stores, are in `Format.options`.

    Attributes:
        create: Creates a writer: `create(output, **options)`, after the options were checked.
        purpose: One sentence: the use of the format.
        cannot: One sentence: the main limitation of the format.
        keys: Rule for the keys of inputs.
        key_form: Form of a key in words: `64 hex digits`; empty if there are no keys.
        check_key: Returns the normal form of a key given as text, or raises UsageError. Default: any text is a key.
        own_key: Returns the key for a file name, or raises UsageError; only with `KeyRule.OWN`.
        check_count: Raises UsageError if a number of objects does not fit one file, given the options for writing.
        parts: Names of further contents of an object: `fragments`.
        file: Whether the target may be a file.
        folder: Whether the target may be a folder.
        members: Patterns of the file names of shards in a target folder: with `/` in sub-folders, with `**/` at any
            depth. With `force`, matching files that are not written again are removed.
        gather: Converts inputs to objects by a rule of the format: `gather(paths, options, left_out)`.
        single: Whether a file stores only one content; for several inputs, the target must be a folder.
        converted: Rule for keys of another format that do not fit: `sha256`, `number`; empty if all fit.
        checksum: Returns the checksum or digest of every content for given options; default: none.
        settings: Options that a conversion copies from the settings of its source (see `Shard.settings`). They also
            come from result manifests, so none may contain a path.
        inherited: Returns further options for a conversion. Arguments: the settings of its source, the given options,
            whether the target is a folder, and whether keys change.
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


# --- edits, which `Format.edits` lists ---------------------------------------------------------------------


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
    """Kind of edit, such as delete or append, with its texts for menus and help.

    Attributes:
        name: Name of the command, also in `Format.edits`.
        title: Label in menus.
        takes: Kind of input: keys, files, a target, or nothing.
        beside: Whether the edit changes only a sidecar; it then needs no journal, and is possible in a data set.
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
        OptionType.TIME,
        "created_at of the objects, in ISO 8601; required if the shard does not contain it.",
        OptionPurpose.EDIT,
    ),
)

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
