"""Locks against concurrent edits of a file.

The lock is an `flock` of the edited file itself: edits in place keep its inode, and a killed process leaves no lock
behind. For a sidecar, which is replaced, the shard is locked. File systems without locks allow concurrent edits.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from shardcore.errors import Remedy, UsageError, reported_as
from shardcore.sources.location import local_path
from shardcore.system import lock_file, open_to_lock

WAIT = 5.0
"""Seconds to wait for another editor."""

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
        try:
            if mine.get(inode):
                break
            if lock_file(descriptor) is False:
                if time.monotonic() >= until:
                    raise UsageError(f"{path} is being edited by another process{_holder(inode)}", remedy=Remedy.AGAIN)
                time.sleep(_POLL)
            elif _inode_at(path) == inode:
                break
            # Otherwise the file was replaced meanwhile, and the locked inode has no name any more.
        except BaseException:
            os.close(descriptor)
            raise
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


def _inode_at(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _holder(inode: tuple[int, int]) -> str:
    """Return ` (pid N)` for the process that holds the lock; empty if unknown."""
    for line in _locks():
        parts = line.split()
        # 1: FLOCK ADVISORY WRITE 4711 08:01:131082 0 EOF
        locks = len(parts) > 5 and parts[1:4] == ["FLOCK", "ADVISORY", "WRITE"] and int(parts[4]) > 0
        if locks and parts[5].rpartition(":")[2] == str(inode[1]):
            return f" (pid {parts[4]})"
    return ""


def _locks() -> Iterable[str]:
    with contextlib.suppress(OSError):
        return Path("/proc/locks").read_text(encoding="ascii", errors="replace").splitlines()
    return ()
