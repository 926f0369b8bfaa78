"""Edits of a file in place: its changes (computed before a byte is written), locks against others, and audit log.

The lock against concurrent edits is an `flock` of the edited file itself: edits in place keep its inode, and a killed
process leaves no lock behind. For a sidecar, which is replaced, the shard is locked. File systems without locks allow
concurrent edits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass
from shardcore.errors import Remedy, SourceChanged, SourceError, UsageError, reported_as
from shardcore.model.text import iso_text
from shardcore.progress import Progress, no_progress
from shardcore.sources.base import Source, on_failure
from shardcore.sources.local import FileSource, open_at_once, read_side_file
from shardcore.sources.location import local_path
from shardcore.system import closing_file, give_mode, lock_file, open_file, open_to_lock, sync_file
from shardcore.writing.temporary import STREAM_PIECE, TemporaryFile, sync_folders
from shardcore.writing.temporary_names import inode_of, is_left_over, stem_of, sweep

# --- locks ---

WAIT = 5.0
"""Maximum seconds to wait while another process edits the file."""

_POLL = 0.02

_held = threading.local()


def real_path(path: str | Path) -> Path:
    """Return the path of a file with links resolved; locks, journals and audit log are named after it."""
    with reported_as(f"cannot open {path}"):
        return Path(os.path.realpath(local_path(path)))


@contextlib.contextmanager
def locked(*paths: str | Path, wait: float | None = None) -> Iterator[None]:
    """Hold the locks of files or folders during the block. The same thread may lock a file more than once."""
    with contextlib.ExitStack() as stack:
        # Sorted, to avoid deadlocks between two editors of the same files.
        for path in sorted({real_path(path) for path in paths}):
            stack.enter_context(_locked(path, time.monotonic() + (WAIT if wait is None else wait)))
        yield


@contextlib.contextmanager
def _locked(path: Path, until: float) -> Iterator[None]:
    mine: dict[tuple[int, int], int] = _held.__dict__.setdefault("files", {})
    while True:
        descriptor, inode = _opened(path)
        if descriptor is None:
            yield
            return
        with on_failure(os.close, descriptor):
            if mine.get(inode):
                break
            if lock_file(descriptor) is False:
                if time.monotonic() >= until:
                    raise UsageError(f"{path} is being edited by another process{_holder(inode)}", remedy=Remedy.AGAIN)
                time.sleep(_POLL)
            elif inode_of(path, follow=False) == inode:
                break
            # Otherwise the file was replaced meanwhile, and the locked inode has no name any more.
        os.close(descriptor)
    mine[inode] = mine.get(inode, 0) + 1
    try:
        yield
    finally:
        mine[inode] -= 1
        if not mine[inode]:
            del mine[inode]
        os.close(descriptor)


def _opened(path: Path) -> tuple[int | None, tuple[int, int]]:
    with reported_as(f"cannot open {path}"):
        try:
            # Locks on network file systems need a file open for writing.
            descriptor = open_to_lock(path, os.O_RDWR)
        except OSError:
            descriptor = open_to_lock(path)
        status = os.fstat(descriptor) if descriptor is not None else path.lstat()
    return descriptor, (status.st_dev, status.st_ino)


def _holder(inode: tuple[int, int]) -> str:
    """Return ` (pid N)` for the process that holds the lock; empty if unknown."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines():
            parts = line.split()
            # 1: FLOCK ADVISORY WRITE 4711 08:01:131082 0 EOF
            locks = len(parts) > 5 and parts[1:4] == ["FLOCK", "ADVISORY", "WRITE"] and int(parts[4]) > 0
            if locks and parts[5].rpartition(":")[2] == str(inode[1]):
                return f" (pid {parts[4]})"
    return ""


# --- edits ---

SHOWN = 64
"""Maximum number of bytes of a change that are displayed."""


@dataclass(frozen=True, slots=True)
class Zeros:
    size: int


@dataclass(frozen=True, slots=True)
class Stream:
    """New bytes as a stream that need not fit into memory; each call of `pieces` starts at the beginning."""

    size: int
    pieces: Callable[[], Iterator[bytes]]


New = bytes | Zeros | Stream


@dataclass(frozen=True, slots=True)
class FileChange:
    """Range of a file whose bytes an edit replaces; it may extend beyond the old end of the file."""

    start: int
    new: New
    what: str = ""

    @property
    def size(self) -> int:
        return len(self.new) if isinstance(self.new, bytes) else self.new.size

    @property
    def stop(self) -> int:
        return self.start + self.size

    def pieces(self) -> Iterator[bytes]:
        if isinstance(self.new, bytes):
            yield self.new
        elif isinstance(self.new, Zeros):
            for at in range(0, self.new.size, STREAM_PIECE):
                yield bytes(min(STREAM_PIECE, self.new.size - at))
        else:
            yield from self.new.pieces()

    def digest(self) -> str:
        """Return the sha256 of the new bytes in hex; empty for a stream, which is read only when it is written."""
        if isinstance(self.new, Stream):
            return ""
        return sha256_of(self.pieces())[0]

    def head(self) -> bytes:
        """Return the first `SHOWN` new bytes."""
        if isinstance(self.new, Zeros):
            return bytes(min(self.new.size, SHOWN))
        return next(self.pieces(), b"")[:SHOWN]


@dataclass(frozen=True, slots=True)
class Edit:
    """Edit of one local file: its changes, in the order of writing and without overlaps, and the new file size."""

    source: FileSource
    what: str
    changes: tuple[FileChange, ...]
    new_size: int
    verb: str = ""
    keys: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Path of the file with links resolved, since `source` may be opened through a link."""
        return real_path(self.source.path)

    @property
    def old_size(self) -> int:
        return self.source.size

    def old_ranges(self) -> list[tuple[int, int]]:
        """Return the ranges of the old file that are overwritten or cut off."""
        found = [(one.start, min(one.stop, self.old_size)) for one in self.changes if one.start < self.old_size]
        if self.new_size < self.old_size:
            found.append((self.new_size, self.old_size))
        return sorted(found)

    def to_json(self) -> dict[str, Any]:
        """Return the edit as JSON values, with the first old and new bytes of each change in hex."""
        changes = []
        for one in self.changes:
            # A change may begin beyond the old end, if the file grows by several changes.
            stop = min(one.start + SHOWN, one.stop, self.old_size)
            old = self.source.read(one.start, stop) if one.start < stop else b""
            changes.append(
                {"what": one.what, "start": one.start, "stop": one.stop, "old": old.hex(), "new": one.head().hex()}
            )
        return {"path": str(self.path), "size": self.old_size, "new_size": self.new_size, "changes": changes}

    def check(self) -> None:
        """Raise SourceChanged if the file was replaced or changed, UsageError for overlapping changes."""
        self.source.check_unchanged()
        at = 0
        for one in sorted(self.changes, key=lambda one: one.start):
            if one.start < at or one.stop > self.new_size:
                raise UsageError(f"the changes of {self.path} overlap, or extend beyond its new end")
            at = one.stop


def edit_of(
    source: Source | None,
    what: str,
    changes: tuple[FileChange, ...],
    new_size: int | None = None,
    *,
    verb: str = "",
    keys: tuple[str, ...] = (),
) -> Edit:
    """Return an edit of an opened file; UsageError if it is not local. By default the size does not change."""
    if not isinstance(source, FileSource):
        raise UsageError("only local files can be changed in place")
    return Edit(source, what, changes, source.size if new_size is None else new_size, verb, keys)


def make_changes(edit: Edit, progress: Progress = no_progress) -> None:
    """Write the changes and sync the file; after an error it may be partly changed."""
    total, done = sum(one.size for one in edit.changes), 0
    with open_for_edit(edit.path) as file:
        edit.source.check_same(file.fileno())
        with reported_as(f"cannot write {edit.path}"):
            for one in edit.changes:
                file.seek(one.start)
                for piece in one.pieces():
                    write_all(file, piece)
                    done += len(piece)
                    progress(done, max(total, 1))
            # The size of a block device cannot be set; a growing file has already grown by the writes.
            if edit.new_size < edit.old_size:
                file.truncate(edit.new_size)
            make_durable(file, before=edit.source.modified)


def open_for_edit(path: Path) -> IO[bytes]:
    """Open a regular file or block device for reading and writing, unbuffered; SourceError for others and for links."""
    descriptor = open_at_once(path, os.O_RDWR, follow_links=False)
    with on_failure(os.close, descriptor):
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
            raise SourceError(f"cannot write {path}: not a regular file")
        return os.fdopen(descriptor, "r+b", 0)


def make_durable(file: IO[bytes], *, before: int) -> None:
    """Sync an edited file, and ensure a new modification time (`before`: the old one, in ns), which readers check."""
    status = os.fstat(file.fileno())
    if status.st_mtime_ns == before and os.utime in os.supports_fd:
        # Two edits may be faster than the clock resolution of the file system.
        os.utime(file.fileno(), ns=(status.st_atime_ns, before + 1))
    sync_file(file.fileno())


def write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


# --- audit log, `FILE.audit.jsonl`: one JSON object per deletion --------------------------------------------

AUDIT_SUFFIX = ".audit.jsonl"


@dataclass(frozen=True, slots=True)
class Audit:
    """Reason and author of an edit, for the audit log; `time` is ISO 8601 in UTC (default: now)."""

    reason: str = ""
    who: str = ""
    ticket: str = ""
    time: str = ""

    def note(self, path: Path, verb: str, keys: Sequence[str], **facts: Any) -> None:
        """Append an entry to the audit log of a file, and sync it; `facts` are additional JSON members."""
        time = self.time or iso_text(datetime.now(UTC), "milliseconds")
        given = {"reason": self.reason, "who": self.who, "ticket": self.ticket}
        line = {"time": time, "verb": verb, "file": real_path(path).name, "keys": list(keys), **given, **facts}
        _append_audit(path, json.dumps(line).encode() + b"\n")


def audit_log_of(path: Path) -> Path:
    real = real_path(path)
    return real.with_name(real.name + AUDIT_SUFFIX)


def check_audit_log(path: Path) -> None:
    """Raise SourceError if the audit log cannot be written; called before the file is edited."""
    os.close(_open_audit_log(path))


def _append_audit(path: Path, line: bytes) -> None:
    with closing_file(_open_audit_log(path)) as descriptor, reported_as(f"cannot write {audit_log_of(path)}"):
        size = os.fstat(descriptor).st_size
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                # Start a new line after an entry that a power failure truncated.
                line = b"\n" + line
        if os.write(descriptor, line) < len(line):
            os.ftruncate(descriptor, size)
            raise OSError("the disk is full")
        sync_file(descriptor)


def _open_audit_log(path: Path) -> int:
    log = audit_log_of(path)
    flags = os.O_RDWR | os.O_APPEND
    with reported_as(f"cannot write {log}"):
        with contextlib.suppress(FileNotFoundError):
            descriptor = open_file(log, flags)
            with on_failure(os.close, descriptor):
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise SourceError(f"cannot write {log}: not a regular file")
                return descriptor
        descriptor = open_file(log, flags | os.O_CREAT | os.O_EXCL, 0o600)
        with on_failure(os.close, descriptor):
            give_mode(descriptor, real_path(path))
            sync_folders([log.parent])
        return descriptor


# --- sidecars and checks -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replacement of a small file, done atomically.

    Attributes:
        path: The file.
        what: Description of the change.
        old: The present bytes of the file; None if it does not exist yet.
        new: The new bytes; None removes the file.
        shard: The shard to which it belongs. It is locked during the change, and the audit log is named after it.
        verb: Kind of edit.
        keys: Keys of the objects that the edit concerns.
    """

    path: Path
    what: str
    old: bytes | None
    new: bytes | None
    shard: Path
    verb: str = ""
    keys: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the change as JSON values, with the old and the new text of the file."""
        texts = [one.decode("utf-8", "replace") if one is not None else None for one in (self.old, self.new)]
        return {"path": str(self.path), "what": self.what, "old": texts[0], "new": texts[1]}

    def check(self, *, hard_links: bool = False) -> None:
        """Check that the file has not changed since `old` was read.

        Raises:
            SourceChanged: The file has changed.
            UsageError: The file has several hard links.
            SourceError: The file cannot be read, or is not a regular file.
        """
        now = None
        if os.path.lexists(self.path):
            check_names(self.path, hard_links=hard_links)
            now = read_side_file(self.path)
        if now != self.old:
            raise SourceChanged(f"{self.path} was changed by another program")

    def make(self) -> None:
        """Replace the file; `make_rewrites` calls `check` first.

        The new file gets mode and owner of the old one, or of the shard if there was none.

        Raises:
            SourceError: The file cannot be written.
        """
        sweep(self.path.absolute().parent, stem_of(self.path))
        if self.new is None:
            with reported_as(f"cannot remove {self.path}"):
                self.path.unlink()
            return
        with TemporaryFile(self.path, like=self.path if self.old is not None else self.shard) as file:
            file.write(self.new)
            file.complete()
            file.appear(force=self.old is not None)


def make_rewrites(
    rewrites: Sequence[Rewrite],
    *,
    hard_links: bool = False,
    audit: Audit | None = None,
    progress: Progress = no_progress,
) -> None:
    """Replace small files after locking and checking all of them.

    Raises:
        SourceChanged: Another program changed one of the files; no file is replaced.
        UsageError: Another process edits one of the shards, or a file has several hard links.
        SourceError: A file cannot be written; the files before it are already replaced.
    """
    with locked(*(one.shard for one in rewrites)):
        for one in rewrites:
            one.check(hard_links=hard_links)
            if audit is not None:
                check_audit_log(one.shard)
        for number, one in enumerate(rewrites):
            progress(number, len(rewrites))
            one.make()
            if audit is not None:
                sizes = {"size_before": len(one.old or b""), "size_after": len(one.new or b"")}
                sha256 = hashlib.sha256(one.new or b"").hexdigest()
                audit.note(one.shard, one.verb, one.keys, what=one.what, sidecar=one.path.name, **sizes, sha256=sha256)
            sync_folders([one.path.absolute().parent])


def check_names(path: Path, *, hard_links: bool) -> None:
    """Raise UsageError for a file with several hard links, unless allowed."""
    with reported_as(f"cannot open {path}"):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            # The writer may have been killed just after giving the file its final name. `sweep` does not remove the
            # temporary name, since it takes the lock of the edit for a running writer.
            for other in path.parent.iterdir():
                if is_left_over(other.name) and other != path and os.path.samestat(other.lstat(), status):
                    other.unlink()
            status = path.lstat()
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and not hard_links:
        raise UsageError(
            f"{path} has {status.st_nlink} names (hard links): an edit changes all of them",
            remedy=Remedy.HARD_LINKS,
        )


def check_other_file(source: Source | None, target: str | Path) -> None:
    """Raise UsageError if a target is the source file itself, also through links."""
    if not isinstance(source, FileSource):
        return
    with contextlib.suppress(OSError, ValueError):
        if source.path.samefile(target):
            raise UsageError(f"{target} is the shard itself, which must not change: give another name")
