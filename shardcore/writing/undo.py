"""Journal of an edit, `FILE.undo`: undoes an edit or completes an interrupted one; written before the file changes.

    magic 8 | state 1 | size of the head, u32 | head, JSON | records | end record 17 | sha256 of all after the state 32

A record is a kind, the first byte and the size as u64, little-endian. First come the changes, in the order in which
they are made (3: new bytes follow; 4: zeros; 5: bytes that are not in the journal), then the keys (6), then the old
bytes in ascending order (1: bytes follow; 2: zeros); 0 is the end. Undoing needs only the old bytes, completing only
the new ones, so the journal works for every intermediate state. The state is 0 while the file is being changed, 1 after
that, and 2 during undo.

With `--no-undo`, a journal without old bytes exists during the edit. A journal is untrusted input, since others may be
able to write it: see `_checked`. `docs/dev/editing.md` has the rules.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from shardcore.codecs.json_text import parse_json
from shardcore.errors import BadChecksum, FormatError, Remedy, ShardError, SourceError, Truncated, UsageError, reason_of
from shardcore.model.finding import Findings
from shardcore.model.number_text import plural
from shardcore.model.safe_text import shell_line, typed
from shardcore.model.span import Span, union
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import Source
from shardcore.sources.local import FileSource, open_side_file
from shardcore.system import is_own, sync_file
from shardcore.writing.audit import Audit, check_audit_log
from shardcore.writing.in_place import (
    SHOWN,
    Edit,
    FileChange,
    New,
    Stream,
    Zeros,
    check_names,
    make_changes,
    make_durable,
    open_for_edit,
    write_all,
)
from shardcore.writing.lock import locked, real_path
from shardcore.writing.temporary import TemporaryFile, sync_folders
from shardcore.writing.temporary_names import stem_of, sweep
from shardcore.writing.undo_chain import all_journals, bring_back, earlier_journals, forget, journal_of, put_aside

MAGIC = b"SHRDUNDO"
BEGUN, DONE, UNDOING = b"\0", b"\1", b"\2"
VERSION = 2

_HEAD = struct.Struct("<I")
_RECORD = struct.Struct("<BQQ")
_END, _OLD, _OLD_ZEROS, _NEW, _NEW_ZEROS, _NEW_UNKNOWN, _KEYS = range(7)
_CHANGES = (_NEW, _NEW_ZEROS, _NEW_UNKNOWN)
_HOLDS = (_OLD, _NEW, _KEYS)
"""Kinds of records whose bytes follow in the journal."""
_FIRST = len(MAGIC) + 1 + _HEAD.size
BLOCK = 4096
"""Block size in the search for runs of zeros, in bytes."""
BLOCKS = 256
"""Blocks read at once."""
MAX_HEAD = 1 << 20
SAMPLE = 1 << 16
"""Bytes at each end of the unchanged part that identify the file."""
AROUND = 64
"""Bytes on both sides of each change that also identify the file."""
MOST_HOLES = 1 << 30
"""Maximum zero bytes by which undo may extend a file, unless the journal is trusted."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """Record of a journal: range `[start, stop)` of the file; its bytes are at offset `at` of the journal."""

    kind: int
    start: int
    stop: int
    at: int

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal that was read from its file.

    Attributes:
        path: The edited file.
        what: Description of the edit.
        state: `BEGUN`, `DONE` or `UNDOING`.
        kept: Whether it contains the old bytes.
        inode: Device and inode of the file.
        sample: Digest of bytes that the edit does not change.
        keys_at: Record of the keys; None without keys.
    """

    path: Path
    what: str
    verb: str
    old_size: int
    new_size: int
    state: bytes
    kept: bool
    inode: tuple[int, int]
    sample: str
    changes: tuple[JournalRecord, ...]
    old: tuple[JournalRecord, ...]
    keys_at: JournalRecord | None

    @property
    def done(self) -> bool:
        return self.state == DONE

    @property
    def undo_path(self) -> Path:
        return journal_of(self.path)

    def changes_back(self) -> list[dict[str, Any]]:
        """Return the changes that undo makes, in the form of `Edit.to_json`."""
        found = []
        try:
            with self.path.open("rb") as file, self.undo_path.open("rb") as journal:
                for one in self.old:
                    size = min(one.size, SHOWN)
                    file.seek(one.start)
                    journal.seek(one.at)
                    new = bytes(size) if one.kind == _OLD_ZEROS else journal.read(size)
                    what = {"what": f"undo: {self.what}", "start": one.start, "stop": one.stop}
                    found.append(what | {"old": file.read(size).hex(), "new": new.hex()})
        except OSError as error:
            raise SourceError(f"cannot read {self.path}: {reason_of(error)}") from error
        return found

    @property
    def can_finish(self) -> bool:
        """True if the edit can be completed: the journal has all new bytes, and undo has not begun."""
        return self.state == BEGUN and not any(one.kind == _NEW_UNKNOWN for one in self.changes)

    @property
    def message(self) -> str:
        """Message about an interrupted edit."""
        line = shell_line(["shardcore", "undo", typed(str(self.path))])
        if self.state == UNDOING:
            return f"undoing an edit of {self.path} was interrupted: `{line}` restores the rest"
        again = f"run the same {self.verb or 'edit'} again to complete it"
        if not self.kept:
            return (
                f"an edit of {self.path} was interrupted ({self.what}); its old bytes were not kept, so it cannot "
                f"be undone: {again}"
            )
        text = f"an edit of {self.path} was interrupted and may be incomplete; `{line}` restores"
        return f"{text} the old bytes" + (f", or {again}" if self.can_finish else "")


# --- finding journals ---


def interrupted_edit(path: str | Path) -> Journal | None:
    """Return the journal of an interrupted edit; None if there is none for this file."""
    try:
        where = journal_of(Path(path))
        with open_side_file(where) as file:
            head = file.read(len(MAGIC) + 1)
    except (ShardError, OSError):
        return None
    if head not in (MAGIC + BEGUN, MAGIC + UNDOING):
        return None
    found = read_journal(Path(path))
    return None if found.done else found


def interrupted(path: str | Path) -> str:
    """Return a message about an interrupted edit, or empty; it suggests a command only if the journal is valid."""
    try:
        found = interrupted_edit(path)
    except ShardError as error:
        return f"{journal_of(Path(path))} describes an interrupted edit, but is ignored: {error.message}"
    return found.message if found is not None else ""


def note_interrupted(findings: Findings, source: Source, format_name: str) -> None:
    """Add a finding about an interrupted edit; its code begins with the format name."""
    if not isinstance(source, FileSource) or not os.path.lexists(journal_of(source.path)):
        return
    try:
        found = interrupted_edit(source.path)
    except ShardError:
        findings.warning(f"{format_name}.journal", None, interrupted(source.path))
        return
    if found is not None:
        findings.error(f"{format_name}.interrupted-edit", None, found.message)


def undoable_edits(path: Path) -> int | None:
    """Return the number of edits that can be undone; None if the journals belong to another file."""
    where, earlier = journal_of(path), len(earlier_journals(path))
    if not os.path.lexists(where):
        return earlier
    _check_ours(where)
    try:
        read_journal(path)
    except (UsageError, FormatError):
        return None
    return 1 + earlier


def _check_ours(where: Path) -> None:
    try:
        with open_side_file(where) as file:
            ours = file.read(len(MAGIC)) == MAGIC
    except SourceError as error:
        raise UsageError(f"{error.message}; rename it, since a journal needs its name") from error
    if not ours:
        raise UsageError(f"{where} is not an undo file; rename it, since a journal needs its name")


def read_journal(path: Path, *, trust: bool = False) -> Journal:
    """Read and check the journal of a file.

    With `trust`, it may belong to another user, name another device or inode, and restore large holes.
    """
    with _journal(path) as raw:
        return _checked(path, raw, trust=trust)


# --- editing ---


def apply(
    edit: Edit,
    *,
    journal: bool = True,
    hard_links: bool = False,
    audit: Audit | None = None,
    progress: Progress = no_progress,
) -> Path | None:
    """Write the journal, then the changes; after an error the old bytes are restored at once.

    Returns:
        The journal, if one is kept. Those of earlier edits stay if they belong to this file.

    Raises:
        UsageError: An earlier edit was interrupted, another process edits the file, it has several hard links, or the
            changes are invalid.
        SourceChanged: The file changed since it was opened.
        SourceError: The file or the journal cannot be written.
    """
    with locked(edit.path):
        edit.check()
        check_names(edit.path, hard_links=hard_links)
        open_for_edit(edit.path).close()
        if audit is not None:
            check_audit_log(edit.path)
        if left := interrupted(edit.path):
            raise UsageError(left)
        # If the journal cannot hold the new bytes, it must hold the old ones during the edit.
        keep = journal or any(isinstance(one.new, Stream) for one in edit.changes)
        path = journal_of(edit.path)
        bring_back(edit.path)
        # Without old bytes, the journals of earlier edits stay, even those about another file.
        stale = undoable_edits(edit.path) is None and journal
        _write_journal(edit, path, stale=stale, keep=keep)
        try:
            make_changes(edit, progress)
            if audit is not None:
                _note(audit, edit.path, edit.verb, edit.keys, edit.what, edit.old_size)
        except BaseException as error:
            if keep:
                _take_back(edit.path, error)
            elif isinstance(error, ShardError):
                raise SourceError(f"{error.message}; {interrupted(edit.path)}") from error
            raise
        with _edited(edit.path, edit.verb):
            if journal:
                _mark(path, DONE)
                return path
            _remove_journal(path)
            bring_back(edit.path)
            sync_folders([path.parent])
        return None


@contextlib.contextmanager
def _edited(path: Path, verb: str) -> Iterator[None]:
    """Context manager for the work after an edit: errors raised in it also state that the file was edited."""
    try:
        yield
    except SourceError as error:
        found, more = interrupted_edit(path), "do not run it again"
        if found is not None and found.can_finish:
            more = f"run the same {verb or 'edit'} again to complete it"
        elif found is not None and found.kept:
            more = f"`{shell_line(['shardcore', 'undo', typed(str(path))])}` restores the old bytes"
        raise SourceError(f"{path} was edited, but {error.message}; {more}") from error


def _take_back(path: Path, error: BaseException) -> None:
    """Restore the file after a failed edit; if that also fails, the journal stays."""
    try:
        undo(path)
    except ShardError as second:
        if isinstance(error, ShardError):
            raise SourceError(f"{error.message}; restoring the old bytes also failed: {second.message}") from error
        raise second from error


def _note(audit: Audit, path: Path, verb: str, keys: Sequence[str], what: str, old_size: int) -> None:
    size = path.stat().st_size
    audit.note(path, verb, keys, what=what, size_before=old_size, size_after=size)


def unfinished_edit(path: str | Path, verb: str, keys: Sequence[str] = ()) -> tuple[Journal, frozenset[str]] | None:
    """Return journal and keys of an interrupted edit that can be completed; None if there is none.

    Raises:
        UsageError: The interrupted edit is not `verb` of `keys`, or cannot be completed.
    """
    where = real_path(path)
    try:
        found = interrupted_edit(where)
    except ShardError as error:
        purge = shell_line(["shardcore", "undo", typed(str(where)), "--purge"])
        raise UsageError(f"{interrupted(where)}; rename the journal, or remove it: `{purge}`") from error
    if found is None:
        return None
    with _journal(where) as raw:
        had = frozenset(_keys(raw, found))
    if not found.can_finish or found.verb != verb or not had <= set(keys):
        raise UsageError(found.message)
    return found, had


def finish(
    path: str | Path, *, keep: bool = True, audit: Audit | None = None, progress: Progress = no_progress
) -> Journal:
    """Complete an interrupted edit found by `unfinished_edit`; with `keep`, its old bytes stay in the journal."""
    where = real_path(path)
    with locked(where):
        with _journal(where, writable=True) as raw:
            found = _checked(where, raw)
            if not found.can_finish:
                raise UsageError(found.message)
            if audit is not None:
                check_audit_log(where)
            _write(where, raw, found.changes, found.new_size, progress)
            if audit is not None:
                _note(audit, where, found.verb, _keys(raw, found), f"{found.what} (finished)", found.old_size)
            stays = keep and found.kept
            with _edited(where, found.verb):
                if stays:
                    _set_state(raw, DONE)
        if not stays:
            with _edited(where, found.verb):
                _remove_journal(found.undo_path, wipe=found.kept)
                bring_back(where)
                sync_folders([where.parent])
    return found


def undo(path: str | Path, progress: Progress = no_progress, *, trust: bool = False) -> Journal:
    """Undo the last edit and remove its journal; the journal of the previous edit then becomes the last one.

    Raises:
        UsageError: There is no journal, it belongs to another file, it has no old bytes, or another process edits the
            file.
        FormatError: The journal is damaged.
        SourceError: The file cannot be written.
    """
    where = real_path(path)
    with locked(where):
        bring_back(where)
        with _journal(where, writable=True) as raw:
            found = _checked(where, raw, trust=trust)
            if not found.kept:
                raise UsageError(found.message)
            open_for_edit(where).close()
            _set_state(raw, UNDOING)
            _write(where, raw, found.old, found.old_size, progress)
        _remove_journal(found.undo_path)
        bring_back(where)
        sync_folders([where.parent])
    return found


def purge(path: str | Path, *, dry_run: bool = False) -> list[Path]:
    """Remove all journals of a file, and overwrite their bytes.

    Args:
        path: The file.
        dry_run: Whether nothing is removed.

    Returns:
        The journals, the last first.

    Raises:
        UsageError: An interrupted edit needs its journal, another process edits the file, or a file with the name of a
            journal is not a journal.
        SourceError: A journal cannot be removed.
    """
    where = real_path(path)
    with locked(where):
        try:
            left = interrupted_edit(where)
        except (FormatError, UsageError):
            left = None
        if left is not None:
            raise UsageError(f"{left.message}; its journal is needed until then")
        found = all_journals(where)
        for one in found:
            _check_ours(one)
        if not dry_run:
            for one in found:
                _remove_journal(one, wipe=True)
            sweep(where.parent, stem_of(journal_of(where)))
            sync_folders([where.parent])
    return found


def _write(path: Path, raw: IO[bytes], records: Sequence[JournalRecord], size: int, progress: Progress) -> None:
    done, total = 0, max(sum(one.size for one in records), 1)
    with open_for_edit(path) as file:
        try:
            status = os.fstat(file.fileno())
            now = file.seek(0, os.SEEK_END)
            grows = now < size
            if now != size and stat.S_ISREG(status.st_mode):
                # Restored bytes beyond the end begin as a hole: zeros need not be written.
                file.truncate(size)
            for one in records:
                for start, data in _pieces(raw, one, now if grows else size):
                    file.seek(start)
                    write_all(file, data)
                    done += len(data)
                    progress(min(done, total), total)
            make_durable(file, before=status.st_mtime_ns)
        except OSError as error:
            raise SourceError(f"cannot write {path}: {reason_of(error)}") from error


def _pieces(raw: IO[bytes], record: JournalRecord, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a record in pieces, with their offsets; zeros are yielded only before `end`."""
    holds = record.kind in _HOLDS
    stop = record.stop if holds else min(record.stop, end)
    for start in range(record.start, stop, BLOCK * BLOCKS):
        size = min(BLOCK * BLOCKS, stop - start)
        yield start, _held(raw, record, start - record.start, size) if holds else bytes(size)


def _held(raw: IO[bytes], record: JournalRecord, first: int, size: int) -> bytes:
    try:
        raw.seek(record.at + first)
        data = raw.read(size)
    except OSError as error:
        raise SourceError(f"cannot read the journal: {reason_of(error)}") from error
    if len(data) < size:
        raise SourceError("cannot read the journal: it was truncated")
    return data


def _keys(raw: IO[bytes], found: Journal) -> list[str]:
    if found.keys_at is None:
        return []
    text = _held(raw, found.keys_at, 0, found.keys_at.size)
    return [str(parse_json(line, "a key of the journal")) for line in text.split(b"\n")]


def planned_undo(source: FileSource) -> tuple[Journal, Edit]:
    """Return the changes that `undo` would make, as an edit for display."""
    path = real_path(source.path)
    with locked(path):
        bring_back(path)
        found = read_journal(path)
    if not found.kept:
        raise UsageError(found.message)
    changes: list[FileChange] = []
    for one in found.old:
        new: New = Stream(one.size, partial(_kept, found.undo_path, one)) if one.kind == _OLD else Zeros(one.size)
        changes.append(FileChange(one.start, new, "restored"))
    return found, Edit(source, f"undo this: {found.what}", tuple(changes), found.old_size)


def _kept(path: Path, record: JournalRecord) -> Iterator[bytes]:
    with open_side_file(path) as raw:
        for _, piece in _pieces(raw, record, 0):
            yield piece


# --- reading a journal ---


@contextlib.contextmanager
def _journal(path: Path, *, writable: bool = False) -> Iterator[IO[bytes]]:
    where = journal_of(path)
    try:
        raw = open_side_file(where, writable=writable)
    except SourceError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise UsageError(f"no {where}: nothing to undo") from error
        raise
    with raw:
        yield raw


def _checked(path: Path, raw: IO[bytes], *, trust: bool = False) -> Journal:
    """Read a journal; raise an error if it was not written for the present file.

    Its owner must be that of the file, root or the user. It names device and inode of the file. Records are within the
    old and new size, do not overlap, and cover exactly what the edit overwrites. Bytes at the ends of the file and
    around each change must match, and after a complete edit also the new bytes.
    """
    where = journal_of(path)
    try:
        status = os.fstat(raw.fileno())
        with FileSource(real_path(path), follow_links=False) as source:
            if not (is_own(status) or status.st_uid in (0, source.path.stat().st_uid) or trust):
                raise UsageError(f"{where} belongs to another user than {path}", remedy=Remedy.JOURNAL)
            found = _read(path, where, io.BufferedReader(_Raw(raw)), source, trust=trust)
            _check_records(found, where)
            _check_file(found, raw, source, trust=trust)
            return found
    except OSError as error:
        raise SourceError(f"cannot read {where}: {reason_of(error)}") from error


class _Raw(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._file.seek(0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _read(path: Path, where: Path, file: IO[bytes], source: FileSource, *, trust: bool) -> Journal:
    first = file.read(_FIRST)
    if len(first) < _FIRST or first[: len(MAGIC)] != MAGIC:
        raise FormatError(f"{where} is not an undo file")
    (size,) = _HEAD.unpack(first[-_HEAD.size :])
    head = file.read(size) if size <= MAX_HEAD else b""
    if len(head) < size or size > MAX_HEAD:
        raise Truncated(f"{where} is truncated within its head", span=Span(where.name, 0, _FIRST))
    digest = hashlib.sha256(first[len(MAGIC) + 1 :] + head)
    tree = parse_json(head, f"the head of {where.name}")
    state = first[len(MAGIC) : len(MAGIC) + 1]
    try:
        if int(tree["version"]) != VERSION or state not in (BEGUN, DONE, UNDOING):
            raise ValueError
        journal = partial(
            Journal,
            path=path,
            what=str(tree["what"]),
            verb=str(tree["verb"]),
            old_size=int(tree["old_size"]),
            new_size=int(tree["new_size"]),
            state=state,
            kept=bool(tree["kept"]),
            inode=(int(tree["device"]), int(tree["inode"])),
            sample=str(tree["sample"]),
        )
        inode = int(tree["device"]), int(tree["inode"])
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{where} was written by another version of shardcore: undo with that version") from None
    if inode != source.inode and not trust:
        # Checked before the rest is read: an untrusted journal may have any length.
        raise UsageError(f"{where} was written for another file: device or inode differ", remedy=Remedy.JOURNAL)
    changes: list[JournalRecord] = []
    old: list[JournalRecord] = []
    keys = None
    for one in _records(file, where, digest, _FIRST + size):
        if one.kind in _CHANGES:
            changes.append(one)
        elif one.kind == _KEYS:
            keys = one
        else:
            old.append(one)
    if file.read(len(digest.digest()) + 1) != digest.digest():
        raise BadChecksum(f"{where} is damaged: sha256 mismatch; {path} is not changed")
    return journal(changes=tuple(changes), old=tuple(old), keys_at=keys)


def _records(file: IO[bytes], where: Path, digest: Any, at: int) -> Iterator[JournalRecord]:
    while True:
        raw = file.read(_RECORD.size)
        if len(raw) < _RECORD.size:
            raise Truncated(f"{where} is truncated within its records")
        digest.update(raw)
        at += _RECORD.size
        kind, start, length = _RECORD.unpack(raw)
        if kind == _END:
            return
        if kind > _KEYS:
            raise FormatError(f"{where} has an unsupported version")
        yield JournalRecord(kind, start, start + length, at)
        if kind not in _HOLDS:
            continue
        at += length
        while length:
            piece = file.read(min(length, BLOCK * BLOCKS))
            if not piece:
                raise Truncated(f"{where} is truncated within the bytes from {start:#x}")
            digest.update(piece)
            length -= len(piece)


def _check_records(journal: Journal, where: Path) -> None:
    wrong = FormatError(f"{where} is damaged: its records are not those of an edit of {journal.path}")
    old, new = journal.old_size, journal.new_size
    if not (0 <= old < 1 << 63 and 0 <= new < 1 << 63):
        raise wrong
    at = 0
    for one in sorted(journal.changes, key=lambda one: one.start):
        if one.start < at or one.stop > new:
            raise wrong
        at = one.stop
    at = 0
    for one in journal.old:
        if one.start < at:
            raise wrong
        at = one.stop
    overwritten = union((one.start, min(one.stop, old)) for one in journal.changes if one.start < old)
    overwritten = union([*overwritten, *([(new, old)] if new < old else [])])
    if union((one.start, one.stop) for one in journal.old) != (overwritten if journal.kept else []):
        raise wrong


def _check_file(journal: Journal, raw: IO[bytes], source: FileSource, *, trust: bool) -> None:
    fits = min(journal.old_size, journal.new_size) <= source.size <= max(journal.old_size, journal.new_size)
    if fits:
        stretches = union((one.start, one.stop) for one in journal.changes)
        fits = _sample(source, stretches, journal.old_size, journal.new_size) == journal.sample
    if fits and journal.done:
        fits = source.size == journal.new_size and all(_matches_change(source, raw, one) for one in journal.changes)
    if not fits:
        raise UsageError(f"{journal.path} was changed after the edit in {journal.undo_path.name}: cannot undo it")
    holes = sum(one.stop - max(one.start, source.size) for one in journal.old if one.kind == _OLD_ZEROS)
    if holes > MOST_HOLES and not trust:
        raise UsageError(
            f"{journal.undo_path} would extend {journal.path} by {plural(holes, 'zero byte')}", remedy=Remedy.JOURNAL
        )


def _matches_change(source: FileSource, raw: IO[bytes], record: JournalRecord) -> bool:
    """Return whether the file still has the bytes that a change wrote; True for a stream, whose bytes are unknown."""
    if record.kind == _NEW_UNKNOWN:
        return True
    return all(source.read(at, at + len(data)) == data for at, data in _pieces(raw, record, record.stop))


def _sample(source: FileSource, stretches: Sequence[tuple[int, int]], old_size: int, new_size: int) -> str:
    """Return a digest of unchanged bytes, at both ends of the file and around each of the changed ranges."""
    end = min(old_size, new_size)
    digest = hashlib.sha256()
    for start, stop in ((0, min(SAMPLE, end)), (max(end - SAMPLE, 0), end)):
        data = bytearray(source.read(start, stop))
        for first, last in stretches:
            low, high = max(first, start), min(last, stop)
            if low < high:
                data[low - start : high - start] = bytes(high - low)
        digest.update(data)
    gaps = zip([0, *(stop for _, stop in stretches)], [*(start for start, _ in stretches), end], strict=True)
    for first, last in gaps:
        last = min(last, end)
        near = min(first + AROUND, last), max(last - AROUND, first)
        for start, stop in ((first, near[0]), (near[1], last)):
            if start < stop:
                digest.update(source.read(start, stop))
    return digest.hexdigest()


# --- writing a journal ---


def _write_journal(edit: Edit, path: Path, *, stale: bool, keep: bool) -> None:
    """Write the journal under a temporary name and rename it; with `stale`, journals of another file are removed."""
    sweep(path.parent, stem_of(path))
    file, appeared = TemporaryFile(path, like=edit.path), False
    try:
        device, inode = edit.source.inode
        stretches = union((one.start, one.stop) for one in edit.changes)
        head = json.dumps(
            {
                "version": VERSION,
                "file": edit.path.name,
                "what": edit.what,
                "verb": edit.verb,
                "kept": keep,
                "old_size": edit.old_size,
                "new_size": edit.new_size,
                "device": device,
                "inode": inode,
                "sample": _sample(edit.source, stretches, edit.old_size, edit.new_size),
            }
        ).encode()
        digest = hashlib.sha256()
        file.write(MAGIC + BEGUN)
        for piece in (_HEAD.pack(len(head)), head):
            digest.update(piece)
            file.write(piece)
        for record in _journal_records(edit, keep=keep):
            digest.update(record)
            file.write(record)
        file.write(digest.digest())
        file.complete()
        (forget if stale else put_aside)(edit.path)
        file.appear(force=True)
        appeared = True
        sync_folders([path.parent])
    except BaseException:
        file.discard()
        if appeared:
            path.unlink(missing_ok=True)
        bring_back(edit.path)
        raise


def _journal_records(edit: Edit, *, keep: bool) -> Iterator[bytes]:
    for one in edit.changes:
        kind = _NEW if isinstance(one.new, bytes) else _NEW_ZEROS if isinstance(one.new, Zeros) else _NEW_UNKNOWN
        yield _RECORD.pack(kind, one.start, one.size)
        if isinstance(one.new, bytes):
            yield one.new
    if edit.keys:
        text = "\n".join(map(json.dumps, edit.keys)).encode()
        yield _RECORD.pack(_KEYS, 0, len(text)) + text
    for start, stop in union(edit.old_ranges()) if keep else ():
        held: tuple[int, int, int] | None = None  # kind, first, last of the current run
        for kind, first, last in _runs(edit.source, start, stop):
            if held is not None and held[0] == kind == _OLD_ZEROS:
                held = (kind, held[1], last)
                continue
            if held is not None:
                yield from _record(edit.source, *held)
            held = (kind, first, last)
        if held is not None:
            yield from _record(edit.source, *held)
    yield _RECORD.pack(_END, 0, 0)


def _runs(source: FileSource, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Divide a range into runs of zeros and runs of other bytes, at most 1 MiB each; yield kind, start and end."""
    for at in range(start, stop, BLOCK * BLOCKS):
        data = source.read(at, min(at + BLOCK * BLOCKS, stop))
        if not any(data):
            yield _OLD_ZEROS, at, at + len(data)
            continue
        begun, kind = 0, -1
        for place in range(0, len(data), BLOCK):
            now = _OLD if any(data[place : place + BLOCK]) else _OLD_ZEROS
            if kind not in (now, -1):
                yield kind, at + begun, at + place
                begun = place
            kind = now
        yield kind, at + begun, at + len(data)


def _record(source: FileSource, kind: int, first: int, last: int) -> Iterator[bytes]:
    yield _RECORD.pack(kind, first, last - first)
    if kind == _OLD:
        yield source.read(first, last)


def _mark(path: Path, state: bytes) -> None:
    with open_side_file(path, writable=True) as raw:
        _set_state(raw, state)


def _set_state(raw: IO[bytes], state: bytes) -> None:
    before = b""
    try:
        raw.seek(len(MAGIC))
        before = raw.read(1)
        raw.seek(len(MAGIC))
        write_all(raw, state)
        sync_file(raw.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            raw.seek(len(MAGIC))
            write_all(raw, before)
        raise SourceError(f"cannot write the journal: {reason_of(error)}") from error


def _remove_journal(path: Path, *, wipe: bool = False) -> None:
    """Remove a journal. With `wipe`, its bytes are then overwritten, so that no partly wiped journal is found."""
    try:
        if not wipe:
            path.unlink()
            return
        with open_side_file(path, writable=True) as raw:
            path.unlink()
            for _ in range(0, os.fstat(raw.fileno()).st_size, BLOCK * BLOCKS):
                write_all(raw, bytes(BLOCK * BLOCKS))
            sync_file(raw.fileno())
    except OSError as error:
        raise SourceError(f"cannot remove {path}: {reason_of(error)}") from error


# --- running an edit ---


@dataclass(frozen=True, slots=True)
class Edited:
    """Outcome of an edit; `finished` are the keys of an interrupted edit that was completed first, or None."""

    what: str
    finished: frozenset[str] | None
    journal: Path | None
    changed: bool


def edit_in_place(
    path: str | Path,
    verb: str,
    compute: Callable[[Sequence[str]], Edit],
    keys: Sequence[str] = (),
    *,
    agreed: Callable[[Edit | Journal], bool] = lambda _: True,
    keep: bool = True,
    hard_links: bool = False,
    audit: Audit | None = None,
    progress: Progress = no_progress,
) -> Edited:
    """Edit a file while holding its lock; an interrupted edit of the same kind is completed first.

    `compute` opens the file and returns the edit for the remaining keys; its caller closes what it opens. `agreed`
    returns whether to proceed, and is called before the edit, or the completion of a journal.
    """
    where = real_path(path)
    with locked(where):
        check_names(where, hard_links=hard_links)
        found = unfinished_edit(where, verb, keys)
        finished: frozenset[str] | None = None
        if found is not None:
            if not agreed(found[0]):
                return Edited(found[0].what, None, None, changed=False)
            finish(where, keep=keep, audit=audit, progress=progress)
            finished = found[1]
            keys = [key for key in keys if key not in finished]
            if not keys:
                return Edited(found[0].what, finished, None, changed=True)
        edit = compute(keys)
        if (edit.new_size == edit.old_size and not edit.changes) or not agreed(edit):
            return Edited(edit.what, finished, None, changed=finished is not None)
        journal = apply(edit, journal=keep, hard_links=hard_links, audit=audit, progress=progress)
        return Edited(edit.what, finished, journal, changed=True)
