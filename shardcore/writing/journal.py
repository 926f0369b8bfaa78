"""Journal of an edit, `FILE.undo`, written before the file changes: it serves to undo or complete the edit.

    magic 8 | state 1 | size of the head, u32 | head, JSON | records | end record 17 | sha256 of all after the state 32

A record is a kind, the first byte and the size as u64, little-endian. First come the changes, in the order in which
they are made (3: new bytes follow; 4: zeros; 5: bytes that are not in the journal), then the keys (6), then the old
bytes in ascending order (1: bytes follow; 2: zeros); 0 is the end. Undoing needs only the old bytes, completing only
the new ones, so the journal works for every intermediate state. The state is 0 while the file is being changed, 1 after
that, and 2 during undo.

With `--no-undo`, a journal without old bytes exists during the edit. A journal is untrusted input, since others may be
able to write it: see `check_journal`. `docs/dev/editing.md` has the rules.

`FILE.undo` belongs to the last edit, `FILE.undo.1`, `FILE.undo.2` … to those before it. They are beside the real file,
not beside a link to it. A new edit renames the previous journal to the next number, and undo renames it back. A run
that is killed in between leaves no `FILE.undo`; the highest number is then the last.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import struct
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import IO, Any

from shardcore.codecs.json_text import parse_json
from shardcore.dataclasses import dataclass
from shardcore.errors import (
    BadChecksum,
    FormatError,
    Remedy,
    SourceError,
    Truncated,
    UsageError,
    reason_of,
    reported_as,
)
from shardcore.model.span import Span, union
from shardcore.model.text import plural, shell_line, typed
from shardcore.sources.local import FileSource, open_side_file
from shardcore.system import is_own, sync_file
from shardcore.writing.in_place import SHOWN, Edit, Zeros, real_path, write_all
from shardcore.writing.temporary import TemporaryFile, sync_folders
from shardcore.writing.temporary_names import JOURNAL, stem_of, sweep

MAGIC = b"SHRDUNDO"
BEGUN, DONE, UNDOING = b"\0", b"\1", b"\2"
VERSION = 2

_HEAD = struct.Struct("<I")
_RECORD = struct.Struct("<BQQ")
_END, _OLD, _OLD_ZEROS, _NEW, _NEW_ZEROS, _NEW_UNKNOWN, _KEYS = range(7)
_CHANGES = (_NEW, _NEW_ZEROS, _NEW_UNKNOWN)
_HOLDS = (_OLD, _NEW, _KEYS)
"""Kinds of records that are followed by their bytes in the journal."""
_FIRST = len(MAGIC) + 1 + _HEAD.size
BLOCK = 4096
"""Block size in the search for runs of zeros, in bytes."""
PIECE = 256 * BLOCK
"""Number of bytes read at once."""
MAX_HEAD = 1 << 20
SAMPLE = 1 << 16
"""Number of bytes at each end of the file that are hashed, except changed ones, to recognise the file."""
AROUND = 64
"""Number of unchanged bytes on both sides of each change that are also hashed to recognise the file."""
MOST_HOLES = 1 << 30
"""Maximum zero bytes by which undo may extend a file, unless the journal is trusted."""


# --- the chain of journals -------------------------------------------------------------------------------


def journal_of(path: Path) -> Path:
    real = real_path(path)
    return real.with_name(real.name + JOURNAL)


def earlier_journals(path: Path) -> list[Path]:
    """Return the journals of the edits before the last one, the oldest first."""
    found: list[Path] = []
    while os.path.lexists(one := _numbered(path, len(found) + 1)):
        found.append(one)
    return found


def all_journals(path: Path) -> list[Path]:
    """Return all journals, that of the last edit first; gaps in the numbers are allowed."""
    last = journal_of(path)
    with reported_as(f"cannot list {last.parent}"):
        names = {one.name for one in last.parent.iterdir()}
    ends = (name.removeprefix(f"{last.name}.") for name in names if name.startswith(f"{last.name}."))
    numbers = {int(end) for end in ends if end.isascii() and end.isdigit() and str(int(end)) == end}
    return [*([last] if last.name in names else []), *(_numbered(path, one) for one in sorted(numbers, reverse=True))]


def put_aside(path: Path) -> None:
    """Rename the journal of the last edit to the next number, before another edit."""
    now = journal_of(path)
    if os.path.lexists(now):
        _rename(now, _numbered(path, len(earlier_journals(path)) + 1))


def bring_back(path: Path) -> None:
    """Rename the journal with the highest number to `FILE.undo`, if that is missing."""
    if not os.path.lexists(journal_of(path)) and (earlier := earlier_journals(path)):
        _rename(earlier[-1], journal_of(path))


def forget(path: Path) -> None:
    # Remove the oldest last, so that the remaining chain has no gap.
    for one in (journal_of(path), *reversed(earlier_journals(path))):
        with reported_as(f"cannot remove {one}"):
            one.unlink(missing_ok=True)


def _numbered(path: Path, number: int) -> Path:
    last = journal_of(path)
    return last.with_name(f"{last.name}.{number}")


def _rename(old: Path, new: Path) -> None:
    with reported_as(f"cannot rename {old}"):
        old.rename(new)


# --- contents --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """Record of a journal about the range `[start, stop)` of the file; its bytes are at offset `at` of the journal."""

    kind: int
    start: int
    stop: int
    at: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def holds(self) -> bool:
        """True if its bytes are in the journal; False if they are zeros or unknown."""
        return self.kind in _HOLDS

    def pieces(self, raw: IO[bytes], end: int) -> Iterator[tuple[int, bytes]]:
        """Yield offsets in the file with the bytes to write there. Zeros at or after the offset `end` are left out."""
        stop = self.stop if self.holds else min(self.stop, end)
        for start in range(self.start, stop, PIECE):
            size = min(PIECE, stop - start)
            yield start, self.held(raw, start - self.start, size) if self.holds else bytes(size)

    def held(self, raw: IO[bytes], first: int, size: int) -> bytes:
        with reported_as("cannot read the journal"):
            raw.seek(self.at + first)
            data = raw.read(size)
        if len(data) < size:
            raise SourceError("cannot read the journal: it was truncated")
        return data


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal that was read from its file.

    Attributes:
        path: The edited file.
        what: Description of the edit.
        state: `BEGUN`, `DONE` or `UNDOING`.
        kept: Whether the journal contains the old bytes.
        inode: Device and inode of the file.
        sample: Digest of some bytes that the edit does not change; it shows whether the journal is about this file.
        changes: Records of the new bytes.
        old: Records of the old bytes; empty if they are not kept.
        keys_at: Record of the keys of the edited objects; None without keys.
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

    def keys(self, raw: IO[bytes]) -> list[str]:
        if self.keys_at is None:
            return []
        text = self.keys_at.held(raw, 0, self.keys_at.size)
        return [str(parse_json(line, "a key of the journal")) for line in text.split(b"\n")]

    def changes_back(self) -> list[dict[str, Any]]:
        """Return the changes that undo makes, in the form of `Edit.to_json`."""
        found = []
        with (
            reported_as(f"cannot read {self.path}"),
            self.path.open("rb") as file,
            self.undo_path.open("rb") as journal,
        ):
            for one in self.old:
                size = min(one.size, SHOWN)
                file.seek(one.start)
                new = one.held(journal, 0, size) if one.holds else bytes(size)
                what = {"what": f"undo: {self.what}", "start": one.start, "stop": one.stop}
                found.append(what | {"old": file.read(size).hex(), "new": new.hex()})
        return found

    @property
    def can_finish(self) -> bool:
        """True if the edit can be completed: the journal has all new bytes, and undo has not begun."""
        return self.state == BEGUN and not any(one.kind == _NEW_UNKNOWN for one in self.changes)

    @property
    def message(self) -> str:
        """Message for the user: the edit was interrupted, and how to complete or undo it."""
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


# --- reading ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened_journal(path: Path, *, writable: bool = False) -> Iterator[IO[bytes]]:
    where = journal_of(path)
    try:
        raw = open_side_file(where, writable=writable)
    except SourceError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise UsageError(f"there is no file {where}: nothing to undo") from error
        raise
    with raw:
        yield raw


def read_journal(path: Path, *, trust: bool = False) -> Journal:
    """Read and check the journal of a file.

    With `trust`, it may belong to another user, name another device or inode, and restore large holes.
    """
    with opened_journal(path) as raw:
        return check_journal(path, raw, trust=trust)


def check_journal(path: Path, raw: IO[bytes], *, trust: bool = False) -> Journal:
    """Read a journal that was just opened; raise an error if it was not written for the present file.

    Its owner must be that of the file, root or the user. It names device and inode of the file. Records are within the
    old and new size, do not overlap, and cover exactly what the edit overwrites. Bytes at the ends of the file and
    around each change must match, and after a complete edit also the new bytes.
    """
    where = journal_of(path)
    with reported_as(f"cannot read {where}"), FileSource(real_path(path), follow_links=False) as source:
        status = os.fstat(raw.fileno())
        if not (is_own(status) or status.st_uid in (0, source.path.stat().st_uid) or trust):
            raise UsageError(f"{where} belongs to another user than {path}", remedy=Remedy.JOURNAL)
        file = io.BufferedReader(raw)  # type: ignore[type-var]
        try:
            found = _read(path, where, file, source, trust=trust)
        finally:
            file.detach()
        _check_records(found, where)
        _check_file(found, raw, source, trust=trust)
        return found


def _read(path: Path, where: Path, file: IO[bytes], source: FileSource, *, trust: bool) -> Journal:
    first = file.read(_FIRST)
    if len(first) < _FIRST or first[: len(MAGIC)] != MAGIC:
        raise FormatError(f"{where} is not an undo file")
    state = first[len(MAGIC) : len(MAGIC) + 1]
    (size,) = _HEAD.unpack(first[-_HEAD.size :])
    head = file.read(size) if size <= MAX_HEAD else b""
    if len(head) < size or size > MAX_HEAD:
        raise Truncated(f"{where} is truncated within its head", span=Span(where.name, 0, _FIRST))
    digest = hashlib.sha256(first[len(MAGIC) + 1 :] + head)
    tree = parse_json(head, f"the head of {where.name}")
    try:
        if int(tree["version"]) != VERSION or state not in (BEGUN, DONE, UNDOING):
            raise ValueError
        what, verb, sample = (str(tree[name]) for name in ("what", "verb", "sample"))
        old_size, new_size, device, number = (int(tree[name]) for name in ("old_size", "new_size", "device", "inode"))
        kept = bool(tree["kept"])
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{where} was written by another version of shardcore: undo with that version") from None
    if (device, number) != source.inode and not trust:
        # Checked before the rest is read: an untrusted journal may have any length.
        raise UsageError(f"{where} was written for another file: device or inode differ", remedy=Remedy.JOURNAL)
    records = list(_records(file, where, digest, _FIRST + size))
    if file.read(len(digest.digest()) + 1) != digest.digest():
        raise BadChecksum(f"{where} is damaged: sha256 mismatch; {path} is not changed")
    changes = tuple(one for one in records if one.kind in _CHANGES)
    old = tuple(one for one in records if one.kind in (_OLD, _OLD_ZEROS))
    keys = next((one for one in reversed(records) if one.kind == _KEYS), None)
    inode = device, number
    return Journal(path, what, verb, old_size, new_size, state, kept, inode, sample, changes, old, keys)


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
            piece = file.read(min(length, PIECE))
            if not piece:
                raise Truncated(f"{where} is truncated within the bytes from {start:#x}")
            digest.update(piece)
            length -= len(piece)


def _check_records(journal: Journal, where: Path) -> None:
    old, new, changes = journal.old_size, journal.new_size, sorted(journal.changes, key=lambda one: one.start)
    fits = 0 <= old < 1 << 63 and 0 <= new < 1 << 63 and all(one.stop <= new for one in changes)
    fits = fits and all(one.stop <= other.start for some in (changes, journal.old) for one, other in pairwise(some))
    overwritten = [(one.start, min(one.stop, old)) for one in changes if one.start < old]
    expected = union([*overwritten, (new, old)]) if journal.kept else []
    if not fits or union((one.start, one.stop) for one in journal.old) != expected:
        raise FormatError(f"{where} is damaged: its records do not describe a possible edit of {journal.path}")


def _check_file(journal: Journal, raw: IO[bytes], source: FileSource, *, trust: bool) -> None:
    fits = min(journal.old_size, journal.new_size) <= source.size <= max(journal.old_size, journal.new_size)
    if fits:
        stretches = union((one.start, one.stop) for one in journal.changes)
        fits = _sample(source, stretches, journal.old_size, journal.new_size) == journal.sample
    if fits and journal.done:
        # The journal does not have the bytes that the edit wrote from a stream.
        known = (one for one in journal.changes if one.kind != _NEW_UNKNOWN)
        pieces = (piece for one in known for piece in one.pieces(raw, one.stop))
        fits = source.size == journal.new_size and all(source.read(at, at + len(data)) == data for at, data in pieces)
    if not fits:
        raise UsageError(f"{journal.path} was changed after the edit in {journal.undo_path.name}: cannot undo it")
    holes = sum(one.stop - max(one.start, source.size) for one in journal.old if one.kind == _OLD_ZEROS)
    if holes > MOST_HOLES and not trust:
        raise UsageError(
            f"{journal.undo_path} would extend {journal.path} by {plural(holes, 'zero byte')}", remedy=Remedy.JOURNAL
        )


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


# --- writing ---------------------------------------------------------------------------------------------


def write_journal(edit: Edit, path: Path, *, stale: bool, keep: bool) -> None:
    """Write the journal of an edit. With `stale`, existing journals are about another file, and are removed."""
    sweep(path.parent, stem_of(path))
    device, inode = edit.source.inode
    stretches = union((one.start, one.stop) for one in edit.changes)
    head = {
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
    text, digest, appeared = json.dumps(head).encode(), hashlib.sha256(), False
    try:
        with TemporaryFile(path, like=edit.path) as file:
            file.write(MAGIC + BEGUN)
            for piece in chain((_HEAD.pack(len(text)), text), _written_records(edit, keep=keep)):
                digest.update(piece)
                file.write(piece)
            file.write(digest.digest())
            file.complete()
            (forget if stale else put_aside)(edit.path)
            file.appear(force=True)
            appeared = True
        sync_folders([path.parent])
    except BaseException:
        if appeared:
            path.unlink(missing_ok=True)
        bring_back(edit.path)
        raise


def _written_records(edit: Edit, *, keep: bool) -> Iterator[bytes]:
    for one in edit.changes:
        kind = _NEW if isinstance(one.new, bytes) else _NEW_ZEROS if isinstance(one.new, Zeros) else _NEW_UNKNOWN
        yield _RECORD.pack(kind, one.start, one.size)
        if isinstance(one.new, bytes):
            yield one.new
    if edit.keys:
        text = "\n".join(map(json.dumps, edit.keys)).encode()
        yield _RECORD.pack(_KEYS, 0, len(text)) + text
    for start, stop in union(edit.old_ranges()) if keep else ():
        yield from _old_records(edit.source, start, stop)
    yield _RECORD.pack(_END, 0, 0)


def _old_records(source: FileSource, start: int, stop: int) -> Iterator[bytes]:
    """Yield the records of a range: a run of zeros is one record, other bytes are in records of at most 1 MiB."""
    zeros: int | None = None
    for at in range(start, stop, PIECE):
        data = source.read(at, min(at + PIECE, stop))
        blocks = [bool(data[first : first + BLOCK].lstrip(b"\0")) for first in range(0, len(data), BLOCK)]
        first = 0
        for filled, run in groupby(blocks):
            last = min(first + BLOCK * len(list(run)), len(data))
            if not filled:
                zeros = at + first if zeros is None else zeros
            else:
                if zeros is not None:
                    yield _RECORD.pack(_OLD_ZEROS, zeros, at + first - zeros)
                    zeros = None
                yield _RECORD.pack(_OLD, at + first, last - first) + data[first:last]
            first = last
    if zeros is not None:
        yield _RECORD.pack(_OLD_ZEROS, zeros, stop - zeros)


def mark_journal(path: Path, state: bytes) -> None:
    with open_side_file(path, writable=True) as raw:
        set_state(raw, state)


def set_state(raw: IO[bytes], state: bytes) -> None:
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


def drop_last(path: Path, *, wipe: bool = False) -> None:
    """Remove the journal of the last edit, and rename that of the edit before to `FILE.undo`."""
    remove_journal(journal_of(path), wipe=wipe)
    bring_back(path)
    sync_folders([path.parent])


def remove_journal(path: Path, *, wipe: bool = False) -> None:
    """Remove the name of a journal; with `wipe`, then overwrite its bytes. So no partly wiped journal can be found."""
    with reported_as(f"cannot remove {path}"):
        if not wipe:
            path.unlink()
            return
        with open_side_file(path, writable=True) as raw:
            path.unlink()
            for _ in range(0, os.fstat(raw.fileno()).st_size, PIECE):
                write_all(raw, bytes(PIECE))
            sync_file(raw.fileno())
