"""Inputs of packing: finding files in folders, and the objects to write, whose contents are read when needed.

Files that the new shard replaces are left out. Contents are compared with the size and digest in a manifest.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from shardcore.dataclasses import dataclass, field, replace
from shardcore.errors import Remedy, ShardError, SourceError, UsageError, reason_of
from shardcore.model.text import grouped_digits, plural
from shardcore.sources.location import local_path
from shardcore.system import is_link_entry, listed_name, open_file
from shardcore.writing.temporary_names import inode_of, is_left_over
from shardcore.writing.writer import Data, OddName, Sized, UnreadableInput, Writer, pieces_of

Content = str | Path | bytes | Sized | Callable[[], Data]
"""Content of an object: a path, bytes, a size alone (for a plan), or a function that returns bytes or a stream."""

SMALL_FILE = 1 << 16
"""Maximum size in bytes of a file that is read with a single call."""


@dataclass(slots=True)
class Stated:
    """Size and sha256 of a content as stated in a manifest; None and an empty string if the manifest has none."""

    size: int | None = None
    sha256: str = ""

    def check_size(self, size: int, label: str) -> None:
        if self.size is not None and self.size != size:
            have, want = grouped_digits(size), grouped_digits(self.size)
            raise SourceError(f"{label} has {have} bytes; the manifest states {want}")

    def check_sha256(self, sha256: str, label: str) -> None:
        if self.sha256 and self.sha256 != sha256:
            raise SourceError(f"{label} has the sha256 {sha256}; the manifest states {self.sha256}")


NOTHING_STATED = Stated()


# Not frozen (nor `Stated` and `More`): creating frozen instances is three times as slow, and there are millions.
@dataclass(slots=True)
class InputItem:
    """Object that is to be added to a writer.

    Attributes:
        key: Key in its text form; None if the format computes it.
        content: Path, bytes, stream or size of its content.
        label: Name in error messages.
        name: Relative file name, with `/`.
        parts: Further contents, by name.
        stated: Size and digest in a manifest, by part; "" is the content itself.
        facts: Metadata that the format stores, by name.
        path: Path of its file, if `content` is only a size.
        was: Key before a conversion, for the result manifest; None if it is the same.
        recorded: Metadata that the format cannot store; it is only written to the result manifest.
        known: Key of an equal object that was added before; this object is then only listed in the result manifest.
    """

    key: str | None
    content: Content
    label: str = ""
    name: str = ""
    parts: Mapping[str, Content] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    was: str | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)
    known: str | None = None
    stated: Mapping[str, Stated] = field(default_factory=dict)
    path: str = ""

    @property
    def old_key(self) -> str | None:
        return self.was if self.was is not None else self.key

    @property
    def origin(self) -> str:
        """Path of its file if it has one, else its label."""
        if isinstance(self.content, (str, Path)):
            return str(self.content)
        return self.path or self.label

    def unread(self) -> InputItem:
        """Return the item with sizes instead of contents, for a plan."""
        parts = {part: _size_of(content, self.label, self._stated(part)) for part, content in self.parts.items()}
        return replace(self, content=_size_of(self.content, self.label, self._stated()), parts=parts, path=self.origin)

    def add_to(self, writer: Writer) -> str:
        """Add this item to a writer; return its key, or an empty string if the format has no keys."""
        if self.known is not None:
            return self.known
        if isinstance(self.content, (str, Path)) and not self.parts:
            small = _read_small(self.content, self.label, self._stated())
            if small is not None:
                whole, before = small
                key = writer.add(self.key, whole, label=self.label, name=self.name, **self.facts)
                check_unchanged(self.content, self.label or str(self.content), before)
                return key
        with ExitStack() as stack:
            parts = {
                part: stack.enter_context(opened(content, self.label, self._stated(part)))
                for part, content in self.parts.items()
            }
            data = stack.enter_context(opened(self.content, self.label, self._stated()))
            return writer.add(self.key, data, label=self.label, name=self.name, parts=parts, **self.facts)

    def _stated(self, part: str = "") -> Stated:
        return self.stated.get(part, NOTHING_STATED)


@dataclass(frozen=True, slots=True)
class InputBatch:
    """Small objects without metadata or parts, as lists of keys and contents; a writer adds them in one call."""

    keys: list[str]
    contents: list[bytes]

    def items(self) -> Iterator[InputItem]:
        return (InputItem(key, data, key, key) for key, data in zip(self.keys, self.contents, strict=True))


@dataclass(frozen=True, slots=True)
class FormatInputs:
    """Result of `Writes.gather`: inputs that a format has converted to objects.

    Attributes:
        items: The objects, created when they are needed.
        options: Options found in the inputs, such as those of an `info`; options of the user take precedence.
        notes: Messages, such as about skipped files; complete after iteration over `items`.
        total: Number of objects; 0 if unknown.
    """

    items: Iterable[InputItem]
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    total: int = 0


def _size_of(content: Content, label: str, stated: Stated) -> Content:
    if not isinstance(content, (str, Path)):
        return content
    try:
        size = Path(content).stat().st_size
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"cannot read {content}: {reason_of(error)}") from error
    stated.check_size(size, label or str(content))
    return Sized(size)


@contextmanager
def opened(content: Content, label: str = "", stated: Stated = NOTHING_STATED) -> Iterator[Data]:
    """Open a content for a writer. SourceError: its file changes during the block, or differs from `stated`."""
    if isinstance(content, (str, Path)):
        label = label or str(content)
        try:
            stream = Path(content).open("rb")  # noqa: SIM115 - closed below
        except (OSError, ValueError) as error:
            raise UnreadableInput(f"cannot read {label}: {reason_of(error)}") from error
        with stream:
            before = os.fstat(stream.fileno())
            regular = stat.S_ISREG(before.st_mode)
            if stated == NOTHING_STATED:
                yield stream
            else:
                if regular:
                    stated.check_size(before.st_size, label)
                read = _StatedStream(stream, label, stated)
                yield read  # type: ignore[misc]  # has the methods of a stream that writers use
                read.check()
            if regular:
                check_unchanged(content, label, before)
    elif callable(content):
        yield content()
    else:
        yield content


def _read_small(path: str | Path, label: str, stated: Stated) -> tuple[bytes, os.stat_result] | None:
    """Read a small regular file with few system calls; None for any other file.

    Returns the content, and the status of the file before it was read, for `check_unchanged`.
    """
    label = label or str(path)
    try:
        descriptor = open_file(path, os.O_RDONLY, follow_links=True)
    except (OSError, ValueError):
        return None  # `opened` raises the error
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or not 0 < before.st_size <= SMALL_FILE:
            return None
        stated.check_size(before.st_size, label)
        data = os.read(descriptor, before.st_size)
    except SourceError:
        raise
    except OSError as error:
        raise UnreadableInput(f"cannot read {label}: {reason_of(error)}") from error
    finally:
        os.close(descriptor)
    if len(data) != before.st_size:
        return None
    if stated.sha256:
        stated.check_sha256(hashlib.sha256(data).hexdigest(), label)
    return data, before


class _StatedStream:
    """Stream of a file that computes size and digest, and compares them at the end with those in a manifest."""

    def __init__(self, stream: IO[bytes], label: str, stated: Stated) -> None:
        self._stream = stream
        self._label = label
        self._stated = stated
        self._digest = hashlib.sha256() if stated.sha256 else None
        self._size = 0
        self.seekable, self.seek, self.tell = stream.seekable, stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._size += len(piece)
        if self._digest is not None:
            self._digest.update(piece)
        return piece

    def check(self) -> None:
        for _ in pieces_of(self, self._label):  # type: ignore[arg-type]
            pass
        self._stated.check_size(self._size, self._label)
        if self._digest is not None:
            self._stated.check_sha256(self._digest.hexdigest(), self._label)


def check_unchanged(path: str | Path, label: str, before: os.stat_result) -> None:
    """Raise SourceError if a file was replaced or written to since its status `before` was read."""
    try:
        after = os.stat(path)  # noqa: PTH116 - of a text, this is quicker
    except OSError as error:
        raise SourceError(f"{label} changed while it was packed: {reason_of(error)}; pack again") from error
    if after.st_size != before.st_size:
        sizes = f"{grouped_digits(before.st_size)} bytes before, then {grouped_digits(after.st_size)}"
        raise SourceError(f"{label} changed while it was packed: {sizes}; pack again")
    if (after.st_mtime_ns, after.st_ino, after.st_dev) != (before.st_mtime_ns, before.st_ino, before.st_dev):
        raise SourceError(f"{label} changed while it was packed; pack again")


# --- files of inputs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Skipped:
    """Input that was skipped because it cannot be read or the format cannot store its name."""

    name: str
    why: str


class LeftOut:
    """Collects inputs that are not packed. With `skip`, a failing input is added here; its error is not raised."""

    def __init__(self, *, skip: bool = False, remedy: Remedy = Remedy.NAMES) -> None:
        self.skip = skip
        self._remedy = remedy
        self.skipped: list[Skipped] = []
        self._links = 0
        self._others = 0

    def fail(self, name: str, error: ShardError) -> None:
        """Record an input that cannot be packed; raise its error unless `skip`."""
        if not self.skip:
            if isinstance(error, OddName):
                error.remedy = error.remedy or self._remedy
            elif isinstance(error, UnreadableInput) and self._remedy is Remedy.NAMES:
                error.remedy = error.remedy or Remedy.SKIP
            raise error
        self.skipped.append(Skipped(name, error.message))

    def add(self, entry: os.DirEntry[str]) -> None:
        """Count an entry of a folder that is neither a file nor a folder: a link, pipe, socket or device."""
        if is_link_entry(entry):
            self._links += 1
        else:
            self._others += 1

    def notes(self) -> list[str]:
        counts = (
            (self._links, plural(self._links, "link") + " (links in folders are not followed)"),
            (self._others, plural(self._others, "pipe, socket or device", "pipes, sockets and devices")),
        )
        return [f"left out: {words}" for count, words in counts if count]


def named(inputs: Iterable[str | Path]) -> Iterator[str | Path]:
    """Yield the input paths; `-` is replaced by the paths in standard input, one per line."""
    for one in inputs:
        if one == "-":
            yield from (line for line in sys.stdin.read().splitlines() if line)
        else:
            yield local_path(one)


def input_files(
    inputs: Iterable[str | Path], left_out: LeftOut | None = None, *, deep: bool = True
) -> Iterator[tuple[Path, str]]:
    """Yield path and name of each input file, and of the files in each input folder, sorted; `deep`: at any depth.

    Links in folders are left out, as are temporary files of writers. The name of a file is relative to its input
    folder, with `/`.
    """
    left_out = left_out or LeftOut()
    for one in inputs:
        path = Path(one)
        # `Path.is_dir` and `is_file` raise for names that are too long and without permission.
        if os.path.isdir(path):  # noqa: PTH112
            yield from _files_below(path, "", left_out, deep=deep)
        elif os.path.isfile(path):  # noqa: PTH113
            yield path, path.name
        else:
            there = os.path.exists(path)  # noqa: PTH110
            why = f"{path} is not a regular file" if there else f"file not found: {path}"
            left_out.fail(str(path), SourceError(why))


def _files_below(folder: Path, above: str, left_out: LeftOut, *, deep: bool = True) -> Iterator[tuple[Path, str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        left_out.fail(str(folder), SourceError(f"cannot list {folder}: {reason_of(error)}"))
        return
    for entry in entries:
        if is_left_over(entry.name):
            continue
        name = above + listed_name(entry.name)
        if is_link_entry(entry) or not (entry.is_dir() or entry.is_file()):
            left_out.add(entry)
        elif entry.is_file():
            yield Path(entry.path), name
        elif deep:
            yield from _files_below(Path(entry.path), f"{name}/", left_out)


class Replaced:
    """Files that a new shard replaces: the file `out`, or with `force` those in folder `out` that match `members`."""

    def __init__(self, out: str | Path, members: tuple[str, ...] = (), *, folder: bool, force: bool) -> None:
        self._place = inode_of(out, follow=folder) if force or not folder else None
        self._members = members if folder else None

    def __bool__(self) -> bool:
        return self._place is not None

    def __contains__(self, path: Path) -> bool:
        if self._members is None:
            return inode_of(path) == self._place
        return any(self._is_member(path, pattern) for pattern in self._members)

    def _is_member(self, path: Path, pattern: str) -> bool:
        if pattern.startswith("**/"):
            below = any(inode_of(folder) == self._place for folder in path.parents)
            return below and fnmatchcase(path.name, pattern.removeprefix("**/"))
        depth = pattern.count("/") + 1
        name = "/".join(path.parts[-depth:])
        return fnmatchcase(name, pattern) and inode_of(path.parents[depth - 1]) == self._place


def without_replaced(
    items: Iterable[InputItem],
    replaced: Replaced,
    inputs: Collection[Path] | None = None,
    notes: MutableSequence[str] | None = None,
) -> Iterator[InputItem]:
    """Yield the objects, except those with contents in files that the new shard replaces.

    A note is added for such a file. If it is one of `inputs`, or `inputs` is None, UsageError is raised instead.
    """
    for item in items:
        contents: tuple[Content, ...] = (item.content, *item.parts.values())
        files = (one for one in contents if isinstance(one, (str, Path)))
        same = next((one for one in files if Path(one) in replaced), None)
        if same is None:
            yield item
        elif inputs is None or Path(same) in inputs:
            raise overwrite_error(Path(same))
        elif notes is not None:
            notes.append(f"left out: {same}: the new shard replaces it")


def overwrite_error(path: Path) -> UsageError:
    return UsageError(f"{path} is an input and would be replaced: give the new shard another name")
