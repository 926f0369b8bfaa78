"""The journal of an edit, `FILE.undo`: what to put back where; complete before the first byte of the file changes.

    magic 8 | state 1 | size of the head, u32 | head, JSON | records | end record 17 | sha256 of all after the state 32

A record is a kind (1: bytes follow, 2: so many zeros), the first byte and the size as u64, little-endian; kind 0 ends
them. Old bytes are put back from records alone, whatever of the edit was done, so the journal holds for every
half-done state. The state is 0 while the file is being changed and 1 when it is: a journal with 0 is an edit that was
interrupted. Journals of edits before the last one are kept, too; `chain` says how they are called.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from shardcore.errors import BadChecksum, FormatError, ShardError, SourceError, Truncated, UsageError, reason_of
from shardcore.json_text import parse_json
from shardcore.progress import Progress, no_progress
from shardcore.sources.local import FileSource
from shardcore.span import Span
from shardcore.text import shell_line, typed
from shardcore.writing.chain import bring_back, earlier_journals, forget, journal_of, put_aside
from shardcore.writing.edit import Change, Edit, New, Stream, Zeros, make_changes, write_all
from shardcore.writing.left_over import stem_of, sweep
from shardcore.writing.temporary import TemporaryFile, sync_folder

MAGIC = b"SHRDUNDO"
BEGUN, DONE = b"\0", b"\1"

_HEAD = struct.Struct("<I")
_RECORD = struct.Struct("<BQQ")
_END, _BYTES, _ZEROS = 0, 1, 2
_FIRST = len(MAGIC) + 1 + _HEAD.size
BLOCK = 4096
"""Runs of zeros are found in blocks of so many bytes."""
BLOCKS = 256
"""Blocks read at once."""
MAX_HEAD = 16 << 20
SAMPLE = 1 << 16
"""Bytes at each end of what stays as it is, by which the file is recognised."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal that was read.

    Attributes:
        path: The file that was edited.
        what: What the edit did.
        old_size: Bytes of the file before.
        new_size: Bytes of it afterwards.
        done: Whether the edit came to its end.
        sample: Digest of bytes that the edit leaves alone.
        changes: `start`, `stop` and `sha256` (or none) of each change.
        records_at: Where the records begin.
    """

    path: Path
    what: str
    old_size: int
    new_size: int
    done: bool
    sample: str
    changes: tuple[dict[str, Any], ...]
    records_at: int

    @property
    def undo_path(self) -> Path:
        """Where it is."""
        return journal_of(self.path)


def interrupted(path: str | Path) -> str:
    """A sentence about an edit of a file that did not come to its end; empty where there is none."""
    try:
        with journal_of(Path(path)).open("rb") as file:
            head = file.read(len(MAGIC) + 1)
    except (OSError, ValueError):
        return ""
    if head != MAGIC + BEGUN:
        return ""
    line = shell_line(["shardcore", "undo", typed(str(path))])
    return f"an edit of {path} was interrupted: it may be half done; `{line}` puts back what was there"


def apply(edit: Edit, *, journal: bool = True, progress: Progress = no_progress) -> Path | None:
    """Makes an edit: the journal first, then the changes.

    Args:
        edit: The edit.
        journal: Whether the old bytes are kept.
        progress: Called after every piece.

    Returns:
        The journal, where there is one. Those of the edits before it stay, as long as they are about this file.

    Raises:
        UsageError: An older edit was interrupted, or the changes make no sense.
        SourceChanged: The file changed since it was opened.
        SourceError: The file or the journal cannot be written.
    """
    edit.check()
    left = interrupted(edit.path)
    if left:
        raise UsageError(left)
    if not journal:
        make_changes(edit, progress)
        return None
    path = journal_of(edit.path)
    bring_back(edit.path)
    _write_journal(edit, path, stale=kept_of(edit.path) is None)
    make_changes(edit, progress)
    _mark(path, DONE)
    return path


def kept_of(path: Path) -> int | None:
    """How many edits of a file can be undone, one after the other.

    Returns:
        None where there are journals, but the file is another one than they are about: the next edit replaces them.

    Raises:
        UsageError: What has the name of the journal is something else.
        SourceError: The journal or the file cannot be read.
    """
    where, earlier = journal_of(path), len(earlier_journals(path))
    if not os.path.lexists(where):
        return earlier
    try:
        with where.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise UsageError(f"{where} is no journal of an edit: move it away, its name is needed")
    except OSError as error:
        raise SourceError(f"cannot read {where}: {reason_of(error)}") from error
    try:
        _check_file(read_journal(path))
    except (UsageError, FormatError):
        return None
    return 1 + earlier


def undo(path: str | Path, progress: Progress = no_progress) -> Journal:
    """Puts back what the last edit of a file changed, and removes its journal; that of the edit before is next.

    Raises:
        UsageError: There is no journal, or the file is another one than the journal is about.
        FormatError: The journal is damaged.
        SourceError: The file cannot be written.
    """
    where = Path(path)
    bring_back(where)
    found = read_journal(where)
    _check_file(found)
    _mark(found.undo_path, BEGUN)
    try:
        with found.undo_path.open("rb") as journal, where.open("r+b", buffering=0) as file:
            journal.seek(found.records_at)
            now = file.seek(0, os.SEEK_END)
            if now != found.old_size:
                # What was cut off comes back as a hole: zeros there need not be written.
                file.truncate(found.old_size)
            for start, data in _old_bytes(journal, now):
                file.seek(start)
                write_all(file, data)
                progress(min(start, found.old_size), max(found.old_size, 1))
            os.fsync(file.fileno())
        found.undo_path.unlink()
    except OSError as error:
        raise SourceError(f"cannot write {where}: {reason_of(error)}") from error
    bring_back(where)
    sync_folder(where.absolute().parent)
    return found


def putting_back(source: FileSource) -> tuple[Journal, Edit]:
    """What `undo` would write, as an edit that can be shown; it is made by `undo` alone.

    Args:
        source: The file as it is now.

    Raises:
        UsageError: There is no journal, or the file is another one than the journal is about.
        FormatError: The journal is damaged.
        SourceError: It cannot be read.
    """
    bring_back(source.path)
    found = read_journal(source.path)
    _check_file(found)
    changes: list[Change] = []
    try:
        with found.undo_path.open("rb") as file:
            file.seek(found.records_at)
            while (record := _RECORD.unpack(file.read(_RECORD.size)))[0] != _END:
                kind, start, length = record
                pieces = partial(_kept, found.undo_path, file.tell(), length)
                new: New = Stream(length, pieces) if kind == _BYTES else Zeros(length)
                changes.append(Change(start, new, "put back"))
                file.seek(length if kind == _BYTES else 0, os.SEEK_CUR)
    except (OSError, struct.error) as error:
        raise SourceError(f"cannot read {found.undo_path}: {reason_of(error)}") from error
    return found, Edit(source, f"undo this: {found.what}", tuple(changes), found.old_size)


def _kept(path: Path, at: int, length: int) -> Iterator[bytes]:
    """Old bytes out of a journal, in pieces."""
    try:
        with path.open("rb") as file:
            file.seek(at)
            while length and (piece := file.read(min(length, BLOCK * BLOCKS))):
                yield piece
                length -= len(piece)
    except OSError as error:
        raise SourceError(f"cannot read {path}: {reason_of(error)}") from error


def read_journal(path: Path) -> Journal:
    """The journal of a file, all of it checked.

    Raises:
        UsageError: There is none.
        FormatError: It is damaged.
        SourceError: It cannot be read.
    """
    where = journal_of(path)
    try:
        with where.open("rb") as file:
            return _read(path, where, file)
    except FileNotFoundError as error:
        raise UsageError(f"there is no {where}: nothing to undo") from error
    except OSError as error:
        raise SourceError(f"cannot read {where}: {reason_of(error)}") from error


def _read(path: Path, where: Path, file: IO[bytes]) -> Journal:
    first = file.read(_FIRST)
    if len(first) < _FIRST or first[: len(MAGIC)] != MAGIC:
        raise FormatError(f"{where} is no journal of an edit")
    (size,) = _HEAD.unpack(first[-_HEAD.size :])
    head = file.read(size) if size <= MAX_HEAD else b""
    if len(head) < size:
        raise Truncated(f"{where} ends within its head", span=Span(where.name, 0, _FIRST))
    digest = hashlib.sha256(first[len(MAGIC) + 1 :] + head)
    tree = parse_json(head, f"the head of {where.name}")
    for kind, start, length in _records(file, where, digest):
        if kind == _BYTES:
            _pass_over(file, where, digest, length, start)
    if file.read() != digest.digest():
        raise BadChecksum(f"{where} is damaged: its sha256 is another one; {path} stays as it is")
    try:
        return Journal(
            path,
            str(tree["what"]),
            int(tree["old_size"]),
            int(tree["new_size"]),
            first[len(MAGIC) : len(MAGIC) + 1] == DONE,
            str(tree["sample"]),
            tuple(tree["changes"]),
            _FIRST + size,
        )
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{where} is of another version than is known here") from None


def _records(file: IO[bytes], where: Path, digest: Any) -> Iterator[tuple[int, int, int]]:
    while True:
        raw = file.read(_RECORD.size)
        if len(raw) < _RECORD.size:
            raise Truncated(f"{where} ends within its records")
        digest.update(raw)
        kind, start, length = _RECORD.unpack(raw)
        if kind == _END:
            return
        if kind not in (_BYTES, _ZEROS):
            raise FormatError(f"{where} is of another version than is known here")
        yield kind, start, length


def _pass_over(file: IO[bytes], where: Path, digest: Any, length: int, start: int) -> None:
    while length:
        piece = file.read(min(length, BLOCK * BLOCKS))
        if not piece:
            raise Truncated(f"{where} ends within the bytes from {start}")
        digest.update(piece)
        length -= len(piece)


def _old_bytes(file: IO[bytes], end: int) -> Iterator[tuple[int, bytes]]:
    """The old bytes, in pieces, of a journal that was checked; zeros only before `end`."""
    while True:
        kind, start, length = _RECORD.unpack(file.read(_RECORD.size))
        if kind == _END:
            return
        if kind == _ZEROS:
            length = max(min(length, end - start), 0)
        for at in range(0, length, BLOCK * BLOCKS):
            size = min(BLOCK * BLOCKS, length - at)
            yield start + at, file.read(size) if kind == _BYTES else bytes(size)


def _write_journal(edit: Edit, path: Path, *, stale: bool) -> None:
    """Writes the journal under a temporary name; it appears when it is complete and durable.

    Args:
        edit: The edit.
        path: The journal.
        stale: Whether the journals that are there are about another file, and go.
    """
    sweep(path.absolute().parent, stem_of(path))
    file = TemporaryFile(path)
    try:
        head = json.dumps(
            {
                "version": 1,
                "file": edit.path.name,
                "what": edit.what,
                "old_size": edit.old_size,
                "new_size": edit.new_size,
                "identity": edit.source.identity.rpartition("#")[2],
                "sample": _sample(edit.source, [(c.start, c.stop) for c in edit.changes], edit.old_size, edit.new_size),
                "changes": [{"start": c.start, "stop": c.stop, "sha256": c.digest()} for c in edit.changes],
            }
        ).encode()
        digest = hashlib.sha256()
        file.write(MAGIC + BEGUN)
        for piece in (_HEAD.pack(len(head)), head):
            digest.update(piece)
            file.write(piece)
        for record in _journal_records(edit):
            digest.update(record)
            file.write(record)
        file.write(digest.digest())
        file.complete()
        (forget if stale else put_aside)(edit.path)
        file.appear(force=True)
    except BaseException:
        file.discard()
        bring_back(edit.path)
        raise
    sync_folder(path.absolute().parent)


def _journal_records(edit: Edit) -> Iterator[bytes]:
    for start, stop in edit.old_stretches():
        held: tuple[int, int, int] | None = None  # kind, first, last of the run that goes on
        for kind, first, last in _runs(edit.source, start, stop):
            if held is not None and held[0] == kind == _ZEROS:
                held = (kind, held[1], last)
                continue
            if held is not None:
                yield from _record(edit.source, *held)
            held = (kind, first, last)
        if held is not None:
            yield from _record(edit.source, *held)
    yield _RECORD.pack(_END, 0, 0)


def _runs(source: FileSource, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Pieces of a stretch: runs of zeros, and runs of other bytes of at most a mebibyte."""
    for at in range(start, stop, BLOCK * BLOCKS):
        data = source.read(at, min(at + BLOCK * BLOCKS, stop))
        if not any(data):
            yield _ZEROS, at, at + len(data)
            continue
        begun, kind = 0, -1
        for place in range(0, len(data), BLOCK):
            now = _BYTES if any(data[place : place + BLOCK]) else _ZEROS
            if kind not in (now, -1):
                yield kind, at + begun, at + place
                begun = place
            kind = now
        yield kind, at + begun, at + len(data)


def _record(source: FileSource, kind: int, first: int, last: int) -> Iterator[bytes]:
    yield _RECORD.pack(kind, first, last - first)
    if kind == _BYTES:
        yield source.read(first, last)


def _mark(path: Path, state: bytes) -> None:
    """Notes in a journal whether the edit came to its end."""
    try:
        with path.open("r+b", buffering=0) as file:
            file.seek(len(MAGIC))
            write_all(file, state)
            os.fsync(file.fileno())
    except OSError as error:
        raise SourceError(f"cannot write {path}: {reason_of(error)}") from error


def _check_file(journal: Journal) -> None:
    """Refuses a file that is another one than the journal is about.

    Raises:
        UsageError: It is.
        SourceError: It cannot be read.
    """
    stretches = [(int(one["start"]), int(one["stop"])) for one in journal.changes]
    with FileSource(journal.path) as source:
        fits = min(journal.old_size, journal.new_size) <= source.size <= max(journal.old_size, journal.new_size)
        with contextlib.suppress(ShardError):
            fits = fits and _sample(source, stretches, journal.old_size, journal.new_size) == journal.sample
            if fits and journal.done:
                fits = source.size == journal.new_size and all(_holds(source, one) for one in journal.changes)
    if not fits:
        raise UsageError(
            f"{journal.path} was changed after the edit that {journal.undo_path.name} is about: not undone"
        )


def _holds(source: FileSource, change: dict[str, Any]) -> bool:
    """Whether a change still stands as the edit wrote it; of a stream that is not known."""
    if not change["sha256"]:
        return True
    digest = hashlib.sha256()
    for at in range(change["start"], change["stop"], BLOCK * BLOCKS):
        digest.update(source.read(at, min(at + BLOCK * BLOCKS, change["stop"])))
    return digest.hexdigest() == str(change["sha256"])


def _sample(source: FileSource, stretches: list[tuple[int, int]], old_size: int, new_size: int) -> str:
    """The digest of bytes at both ends of the file that an edit leaves alone."""
    end = min(old_size, new_size)
    digest = hashlib.sha256()
    for start, stop in ((0, min(SAMPLE, end)), (max(end - SAMPLE, 0), end)):
        data = bytearray(source.read(start, stop))
        for first, last in stretches:
            low, high = max(first, start), min(last, stop)
            if low < high:
                data[low - start : high - start] = bytes(high - low)
        digest.update(data)
    return digest.hexdigest()
