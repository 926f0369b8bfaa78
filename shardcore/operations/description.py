"""Settings of each operation, with type, default, help and unit, from which commands and dialogs are built.

The module imports nothing that needs NumPy, so that the completion of a command line stays fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shardcore.dataclasses import MISSING, dataclass, field, fields
from shardcore.errors import DEFAULT_LIMIT
from shardcore.model.finding import Depth
from shardcore.model.keys import Key
from shardcore.shards.registry import FORMATS
from shardcore.writing.declaration import TOMBSTONE

if TYPE_CHECKING:
    from shardcore.model.objects import State


@dataclass(frozen=True, slots=True)
class Setting:
    """Description of one setting of an operation, from which its option and its field in a dialog are built.

    Attributes:
        help: Text of the help, one sentence.
        placeholder: Name of the value in help, such as `FILE`; empty for a switch.
        flags: Names of the option, such as `--limit-bytes`; default: derived from the name of the setting.
        positional: Whether it is a positional argument instead of an option.
        unit: Unit of a number; a number of `bytes` may be written as 1K, 1M, 1G.
        usual: Default in commands and dialogs; None if it is the default of the library.
        values: Values that a text may have; empty if there is no fixed choice.
        formats: Names of the formats that support the setting; empty for all formats.
        on: Value of the setting if its switch is set.
        forced: Name of a switch, such as `force`, that also determines this setting, and the value it sets.
        file: Whether the value is the path of a file to write.
        listed: Whether the value is a list of keys, which may also come from a file.
        panel: Title of its group of options in the help; empty for the first group.
        label: Label in a dialog; for a switch, the text of its check box. Default: help for a switch, else the name.
    """

    help: str
    placeholder: str = ""
    flags: tuple[str, ...] = ()
    positional: bool = False
    unit: str = ""
    usual: Any = None
    values: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    on: Any = True
    forced: tuple[str, Any] | None = None
    file: bool = False
    listed: bool = False
    panel: str = ""
    label: str = ""


_SETTING = "setting"


def setting(default: Any, help: str | Setting, placeholder: str = "", *flags: str, **more: Any) -> Any:
    """Return the dataclass field of a setting; `default` is `MISSING` if a value is required."""
    described = help if isinstance(help, Setting) else Setting(help, placeholder, flags, **more)
    return field(default=default, metadata={_SETTING: described})


def settings_of(operation: Any) -> Iterator[tuple[str, Setting, Any]]:
    """Yield name, description and default of each setting of an operation, or of a class of operations."""
    for one in fields(operation):
        if _SETTING in one.metadata:
            yield one.name, one.metadata[_SETTING], one.default


def given(operation: Any) -> dict[str, Any]:
    """Return the values of all settings except positional ones, as keyword arguments of the library function."""
    return {name: getattr(operation, name) for name, one, _ in settings_of(operation) if not one.positional}


TARGET_FORMAT = Setting(f"The format to write: {', '.join(FORMATS)}.", "FORMAT", positional=True, values=tuple(FORMATS))
PLAN_ONLY = Setting("Print what would be written without writing it.")
NO_VERIFY = Setting(
    "Verify only the index of the result, not the contents.",
    "",
    ("--no-verify",),
    on=Depth.INDEX,
    label="Verify only the index",
)
FORCE = Setting("Replace existing files.")
OUT = "The shard; a folder, or a name ending with /, for several files."
KEYS = Setting("Keys, in the text form of the format.", "KEY", listed=True)
LIMIT = "Refuse decoded objects over N bytes (1K, 1M); 0: no limit."

ANY_SIZE = 1 << 63
"""Limit in bytes that no object exceeds, for calls that require a limit."""

AS_USUAL = ""
"""Value of `parts` for the parts that are separate files in the unsharded format (fragments of a mesh)."""

ALL_PARTS = "all"

NO_PARTS = "none"


class Conflict(StrEnum):
    """Policy for a file that exists already. No policy follows a link or replaces a folder."""

    ERROR = "error"
    """The object is not written, and an error is reported."""
    SKIP = "skip"
    """A file with the name and size of the object is kept; the content of the object is not read.

    Name and size suffice, since a file gets its name only when it is complete. If the size is unknown before reading
    (compressed chunks of Neuroglancer), the name suffices. A file of another size is kept, and an error reported."""
    RENAME = "rename"
    """The object gets the next free name: `name (2).txt`."""
    REPLACE = "replace"


@dataclass(frozen=True, kw_only=True)
class ObjectSelection:
    """Selection of objects: those with the `keys`, or all that fit the pattern `match` and the `kind`."""

    match: str | None = setting(None, "Only keys that match.", "GLOB")
    kind: str | None = setting(None, "Only objects of this kind.", "KIND")
    keys: Iterable[Key] | None = setting(None, KEYS)

    @property
    def everything(self) -> bool:
        """True if neither a pattern nor a kind is set."""
        return self.match is None and self.kind is None

    def takes(self, key: str | None) -> bool:
        """Return whether a key matches the pattern; None stands for an object without a key."""
        return self.match is None or (key is not None and fnmatchcase(key, self.match))


@dataclass(frozen=True, kw_only=True)
class ExtractOptions:
    """Options of extraction.

    Attributes:
        limit: Maximum bytes of one object; None for no limit.
        folders: Whether a key that is a relative path (`a/b/c.txt`) is extracted into sub-folders.
        conflict: Policy for existing files.
        guess_extension: Whether a name without an extension gets one, detected from the content.
        parts: Parts written beside the content: `AS_USUAL`, `ALL_PARTS`, `NO_PARTS`, or the name of one part.
        manifest: Whether `manifest.json` is written.
        skip_unused: Whether slots without an object are left out; otherwise the manifest lists them.
        deleted: Whether tombstoned objects are included, if the shard was opened to return them.
    """

    limit: int | None = setting(None, LIMIT, "N", "--limit-bytes", unit="bytes", usual=DEFAULT_LIMIT)
    folders: bool = setting(
        False, "Extract keys with / to sub-folders, or all into DIR.", "", "--folders/--flat", label="Names"
    )
    conflict: Conflict = setting(
        Conflict.ERROR,
        "Existing files: error (default), skip, rename or replace.",
        "POLICY",
        forced=("force", Conflict.REPLACE),
        label="Existing files",
    )
    guess_extension: bool = setting(False, "Add missing file extensions, detected from the content.")
    parts: str = setting(AS_USUAL, "Also write these parts of each object.", "NAME|all|none")
    manifest: bool = setting(True, "Write manifest.json.", "", "--manifest/--no-manifest", label="Write a manifest")
    skip_unused: bool = True
    deleted: bool = False

    @property
    def states(self) -> tuple[State, ...]:
        """States of the rows that are extracted."""
        hidden = self.hidden
        return tuple(state for state in _states() if state not in hidden)

    @property
    def hidden(self) -> tuple[State, ...]:
        """States of the rows that are left out."""
        state = _states()
        unused = (state.UNUSED, state.DELETED) if self.skip_unused else ()
        return unused if self.deleted else (*unused, state.TOMBSTONED)


def _states() -> type[State]:
    from shardcore.model.objects import State  # NumPy is loaded with it

    return State


@dataclass(frozen=True, kw_only=True)
class Extract(ExtractOptions, ObjectSelection):
    """Write objects into files of a folder, with safe names and a manifest."""

    folder: str | Path = setting(MISSING, "Created if it does not exist.", "DIR", positional=True)


@dataclass(frozen=True, kw_only=True)
class Recover:
    """Extract the intact objects of a damaged file, also without its index, and write a report."""

    folder: Path | None = setting(None, "Created if it does not exist.", "DIR", positional=True)
    plan: bool = setting(False, "Report without writing anything; DIR is not needed.")
    raw: bool = setting(
        False,
        "Also extract bytes that belong to no object",
        formats=("des",),
        label="Include bytes outside any object",
    )
    limit: int = setting(DEFAULT_LIMIT, LIMIT, "N", "--limit-bytes", unit="bytes")


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Pack files into a new shard, and verify it by reading it back."""

    format: str = setting(MISSING, TARGET_FORMAT)
    out: str | Path = setting(MISSING, OUT, "OUT", positional=True)
    inputs: Sequence[str | Path] = setting(
        (), "Files, folders; - reads names from standard input.", "INPUT", positional=True
    )
    manifest: str | None = setting(None, "Keys of the files: JSON Lines, or the manifest of extract.", "FILE|-")
    skip_unreadable: bool = setting(
        False,
        "Skip files that cannot be read or whose names are not valid keys; exit code 1.",
        label="Skip unreadable",
    )
    report: Path | None = setting(
        None, "Write the key of every input to a JSON file; -: standard output.", "FILE", file=True
    )
    plan: bool = setting(False, PLAN_ONLY)
    verify: Depth = setting(Depth.CONTENT, NO_VERIFY)
    force: bool = setting(False, FORCE)


class KeyChoice(StrEnum):
    """Rule for the keys of the new shard."""

    USUAL = ""
    """Keys stay unchanged if all are valid in the target format; else its rule applies: sha256 or number."""
    AS_IS = "as-is"
    SHA256 = "sha256"
    """The sha256 of the content; equal contents become one object."""
    NUMBER = "number"
    """The 0-based number of the object, in row order."""
    NAME = "name"
    """The file name of the object."""


@dataclass(frozen=True, kw_only=True)
class Convert:
    """Write all objects of a shard into a new one of another format."""

    format: str = setting(MISSING, TARGET_FORMAT)
    out: str | Path = setting(MISSING, OUT, "OUT", positional=True)
    keys: KeyChoice | str = setting(
        KeyChoice.USUAL,
        "New keys: as-is, sha256, number or name; default: as-is where they are valid.",
        "RULE",
        "--key",
        values=tuple(one.value for one in KeyChoice if one.value),
    )
    manifest: str | None = setting(
        None, "The result manifest of the conversion that wrote URI: restores its keys.", "FILE"
    )
    plan: bool = setting(False, PLAN_ONLY)
    verify: Depth = setting(Depth.CONTENT, NO_VERIFY)
    limit: int | None = setting(
        None,
        "Refuse more than N bytes of contents in total; 0: no limit; default: 1 GiB + 256 × the stored size.",
        "N",
        "--limit-bytes",
        unit="bytes",
        label="Size limit",
    )
    force: bool = setting(False, FORCE)


@dataclass(frozen=True, kw_only=True)
class Rekey:
    """Rewrite a Xet shard with an HMAC key for its chunk hashes, another expiry, or both."""

    out: str | Path = setting(MISSING, "The new file.", "OUT", positional=True)
    key: str | None = setting(None, "The HMAC key, 64 hex digits.", "HEX")
    expiry: str | None = setting(None, "An ISO date, Unix seconds, or none.", "WHEN")
    force: bool = setting(False, FORCE)


DRY_RUN = Setting("Show old and new bytes without changing the file.")
YES = Setting("Do not ask for confirmation.", "", ("--yes", "-y"))
HARD_LINKS = Setting("Edit a file with several names (hard links): it changes under all of them.")


@dataclass(frozen=True, kw_only=True)
class Audited:
    """Edit of objects that can append a line to an audit log."""

    keys: Iterable[Key] = setting((), KEYS)
    reason: str = setting("", TOMBSTONE.help_of("reason"), "TEXT")
    who: str = setting("", TOMBSTONE.help_of("by"), "NAME")
    ticket: str = setting("", TOMBSTONE.help_of("ticket"), "ID")
    audit: bool = setting(False, "Append a line about the edit to FILE.audit.jsonl.")


@dataclass(frozen=True, kw_only=True)
class Truncate:
    """Remove the bytes that follow the end of a shard."""

    dry_run: bool = setting(False, DRY_RUN)
    yes: bool = setting(False, YES)
    no_undo: bool = setting(False, "Keep no copy of the overwritten bytes, as takedowns require.")
    hard_links: bool = setting(False, HARD_LINKS)


@dataclass(frozen=True, kw_only=True)
class Append(Truncate):
    """Append the bytes of files to the content of a shard, in place or by rewriting it."""

    inputs: Sequence[str | Path] = setting(MISSING, "Files whose bytes are appended.", "INPUT", positional=True)


@dataclass(frozen=True, kw_only=True)
class Delete(Truncate, Audited):
    """Delete objects of a shard in place: their bytes become zeros."""


@dataclass(frozen=True, kw_only=True)
class TombstoneEdit(Audited):
    """Mark objects as deleted in the sidecar; the shard itself does not change."""

    undo: bool = setting(False, "Remove tombstones instead.")
    dry_run: bool = setting(False, DRY_RUN)
    yes: bool = setting(False, YES)
    hard_links: bool = setting(False, HARD_LINKS)


@dataclass(frozen=True, kw_only=True)
class Undo:
    """Undo the last edit of a file from FILE.undo; run again, it undoes the edit before."""

    purge: bool = setting(False, "Remove FILE.undo and older undo files, with the old bytes in them.")
    trust: bool = setting(
        False,
        "Use FILE.undo though it belongs to another user, names another device or inode (both were copied or "
        "restored from a backup), or extends FILE by more than 1 GiB of zeros.",
    )
    yes: bool = setting(False, YES)
    dry_run: bool = setting(False, DRY_RUN)


@dataclass(frozen=True, kw_only=True)
class Diff:
    """Compare two shards object by object."""

    first: str = setting(MISSING, "The first shard.", "A", positional=True)
    second: str = setting(MISSING, "The second shard.", "B", positional=True)
    content: bool = setting(False, "Compare remote contents, not only sizes.")


@dataclass(frozen=True, kw_only=True)
class Find:
    """Find the files and folders that contain a key."""

    key: str = setting(MISSING, "A key, in the text form of its format.", "KEY", positional=True)
    paths: Sequence[str | Path] = setting(
        MISSING, "Files, folders (with their sub-folders) and addresses.", "PATH", positional=True
    )
