"""Changes of a file in place: what is going to change is known, and shown, before a byte is written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from shardcore.errors import SourceChanged, SourceError, UsageError, reason_of
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import Source
from shardcore.sources.local import FileSource
from shardcore.writing.left_over import stem_of, sweep
from shardcore.writing.temporary import STREAM_PIECE, TemporaryFile, sync_folder

SHOWN = 64
"""Bytes of a change that are shown at most."""


@dataclass(frozen=True, slots=True)
class Zeros:
    """New bytes that are all zero.

    Attributes:
        size: How many.
    """

    size: int


@dataclass(frozen=True, slots=True)
class Stream:
    """New bytes that come in pieces, and need not fit into memory.

    Attributes:
        size: How many.
        pieces: Begins to give them, each time it is called.
    """

    size: int
    pieces: Callable[[], Iterator[bytes]]


New = bytes | Zeros | Stream


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of the file that gets new bytes; it may reach over the old end.

    Attributes:
        start: First byte.
        new: What stands there afterwards.
        what: What it is, in few words: `slot 5`.
    """

    start: int
    new: New
    what: str = ""

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.new) if isinstance(self.new, bytes) else self.new.size

    @property
    def stop(self) -> int:
        """One past the last byte."""
        return self.start + self.size

    def pieces(self) -> Iterator[bytes]:
        """The new bytes, in pieces.

        Raises:
            SourceError: They cannot be read.
        """
        if isinstance(self.new, bytes):
            yield self.new
        elif isinstance(self.new, Zeros):
            for at in range(0, self.new.size, STREAM_PIECE):
                yield bytes(min(STREAM_PIECE, self.new.size - at))
        else:
            yield from self.new.pieces()

    def digest(self) -> str:
        """The sha256 of the new bytes in hex; empty for a stream, which is read only once."""
        if isinstance(self.new, Stream):
            return ""
        found = hashlib.sha256()
        for piece in self.pieces():
            found.update(piece)
        return found.hexdigest()

    def head(self) -> bytes:
        """The first new bytes, as many as are shown."""
        if isinstance(self.new, Zeros):
            return bytes(min(self.new.size, SHOWN))
        return next(self.pieces(), b"")[:SHOWN]


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes of one local file, in the order in which they are made, and its new size.

    Attributes:
        source: The file as it was opened.
        what: What the edit does, as a sentence without its point: `delete 2 objects`.
        changes: What changes; no two of them overlap.
        new_size: Bytes of the file afterwards.
    """

    source: FileSource
    what: str
    changes: tuple[Change, ...]
    new_size: int

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def old_size(self) -> int:
        """Bytes of the file before."""
        return self.source.size

    def old_stretches(self) -> list[tuple[int, int]]:
        """The stretches of the old file that are overwritten or cut off."""
        found = [(one.start, min(one.stop, self.old_size)) for one in self.changes if one.start < self.old_size]
        if self.new_size < self.old_size:
            found.append((self.new_size, self.old_size))
        return sorted(found)

    def told(self) -> dict[str, Any]:
        """What changes, as JSON: old and new bytes in hex, the first of long ones.

        Raises:
            SourceError: The file cannot be read.
        """
        changes = []
        for one in self.changes:
            # A change may begin beyond the old end: what grows by more than one stretch has several there.
            stop = min(one.start + SHOWN, one.stop, self.old_size)
            old = self.source.read(one.start, stop) if one.start < stop else b""
            changes.append(
                {"what": one.what, "start": one.start, "stop": one.stop, "old": old.hex(), "new": one.head().hex()}
            )
        return {"path": str(self.path), "size": self.old_size, "new_size": self.new_size, "changes": changes}

    def check(self) -> None:
        """Looks whether the edit still makes sense.

        Raises:
            SourceChanged: The file is another one than when it was opened.
            UsageError: Changes overlap, or reach over the new end.
        """
        self.source.check_unchanged()
        at = 0
        for one in sorted(self.changes, key=lambda one: one.start):
            if one.start < at or one.stop > self.new_size:
                raise UsageError(f"the changes of {self.path} overlap, or reach over its new end")
            at = one.stop


def edit_of(source: Source | None, what: str, changes: tuple[Change, ...], new_size: int | None = None) -> Edit:
    """An edit of an opened file.

    Args:
        source: The source of the shard.
        what: See `Edit`.
        changes: See `Edit`.
        new_size: See `Edit`; None where the size stays.

    Raises:
        UsageError: The shard is no local file.
    """
    if not isinstance(source, FileSource):
        raise UsageError("only local files can be changed in place")
    return Edit(source, what, changes, source.size if new_size is None else new_size)


def make_changes(edit: Edit, progress: Progress = no_progress) -> None:
    """Writes the new bytes, and makes them durable.

    Raises:
        SourceError: The file cannot be written; what is done is not undone.
    """
    total, done = sum(one.size for one in edit.changes), 0
    try:
        with edit.path.open("r+b", buffering=0) as file:
            for one in edit.changes:
                file.seek(one.start)
                for piece in one.pieces():
                    write_all(file, piece)
                    done += len(piece)
                    progress(done, max(total, 1))
            # A block device has no size that could be set; what grows has grown by being written.
            if edit.new_size < edit.old_size:
                file.truncate(edit.new_size)
            os.fsync(file.fileno())
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot write {edit.path}: {reason_of(error)}") from error


def write_all(file: IO[bytes], data: bytes) -> None:
    """Writes all of some bytes to a file without a buffer.

    Raises:
        OSError: They cannot be written.
    """
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A small file that gets other content as a whole: it is replaced, and whole at any moment.

    Attributes:
        path: The file.
        what: What that does, as a sentence without its point.
        old: Its bytes now; None where it is not there yet.
        new: Its bytes afterwards.
    """

    path: Path
    what: str
    old: bytes | None
    new: bytes

    def told(self) -> dict[str, Any]:
        """What changes, as JSON: the texts."""
        old = self.old.decode("utf-8", "replace") if self.old is not None else None
        return {"path": str(self.path), "what": self.what, "old": old, "new": self.new.decode("utf-8", "replace")}

    def make(self) -> None:
        """Replaces the file.

        Raises:
            SourceChanged: It changed meanwhile.
            SourceError: It cannot be written.
        """
        try:
            now = self.path.read_bytes() if self.path.exists() else None
        except OSError as error:
            raise SourceError(f"cannot read {self.path}: {reason_of(error)}") from error
        if now != self.old:
            raise SourceChanged(f"{self.path} was changed by another program")
        sweep(self.path.absolute().parent, stem_of(self.path))
        file = TemporaryFile(self.path)
        try:
            file.write(self.new)
            file.complete()
            file.appear(force=self.old is not None)
        except BaseException:
            file.discard()
            raise
        sync_folder(self.path.absolute().parent)
