"""The names of files that are not complete, and what runs that were killed left of such files."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from pathlib import Path

from shardcore.errors import Remedy, SourceError

_LEFT_OVER = re.compile(r"\.(?P<stem>.*)\.(?P<run>[0-9a-f]{12})(-[0-9]+)?\.part", re.DOTALL)

REPLACING = ".replacing-shards"
"""The end of the name of a folder with files that are about to replace others; see `replacement`."""
WAITED = 5.0
"""Seconds that readers and other runs wait while a run moves its files to their places."""
FOLDERS_ABOVE = 2
"""A data set may be opened by a folder that lies so deep in the one that was written."""


def new_run() -> str:
    """Return the mark that the temporary names of one run share."""
    return os.urandom(6).hex()


def temporary_path(final: Path, run: str = "", stem: str = "") -> Path:
    """Return a free name beside a final one, by which what is not complete can be recognised.

    Args:
        final: The final name.
        run: The mark of the run.
        stem: What stands for the final name; it is that of the file for whose sake this one is written.
    """
    stem = stem or stem_of(final)
    if not run:
        return final.parent / f".{stem}.{new_run()}.part"
    return final.parent / f".{stem}.{run}-{int.from_bytes(os.urandom(3))}.part"


def stem_of(final: Path) -> str:
    """Return what the temporary names of a final one have of it."""
    return os.fsencode(final.name)[:100].decode("utf-8", "ignore")


def is_left_over(name: str) -> bool:
    """Return True for the name of a file or folder of a run that is not complete, alive or not."""
    return _LEFT_OVER.fullmatch(name) is not None or (name.startswith(".") and name.endswith(REPLACING))


def sweep(folder: Path, stem: str | None = None) -> list[Path]:
    """Remove the temporary files and folders that runs left which did not end.

    Runs that are alive hold a lock; where the file system has none, nothing is removed.

    Args:
        folder: Where to look.
        stem: Only those of the final name with this stem; None for all.

    Returns:
        What was removed.
    """
    runs: dict[str, list[Path]] = {}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            match = _LEFT_OVER.fullmatch(path.name)
            if match is not None and stem in (None, match["stem"]):
                runs.setdefault(match["run"], []).append(path)
    return [path for paths in runs.values() for path in _swept(paths)]


def _swept(paths: list[Path]) -> list[Path]:
    """Remove what one run left, locked meanwhile: a run that begins now sees that. Nothing, while it is alive."""
    held: list[int] = []
    try:
        for path in paths:
            held.append(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)))
            if not (_is_own(held[-1]) and lock(held[-1])):
                return []
        for path in paths:
            remove_tree(path)
    except OSError:
        return []
    finally:
        for descriptor in held:
            os.close(descriptor)
    return paths


def _is_own(descriptor: int) -> bool:
    """Return whether an open file is the user's: in a shared folder another user may give any file such a name."""
    return not hasattr(os, "geteuid") or os.fstat(descriptor).st_uid == os.geteuid()


def lock(descriptor: int) -> bool:
    """Lock an open file or folder against being swept; False where that cannot be, or another one has done so."""
    if sys.platform == "win32":
        # No locks of that kind: nothing is swept there.
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def in_use(path: Path) -> bool:
    """Return whether a run that is alive holds this, or nothing can be stated about it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return True
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with all in it, as far as that can be; links are not followed."""
    if not path.is_symlink() and path.is_dir():
        for inner in sorted(path.rglob("*"), reverse=True):
            with contextlib.suppress(OSError):
                if inner.is_dir() and not inner.is_symlink():
                    inner.rmdir()
                else:
                    inner.unlink()
        with contextlib.suppress(OSError):
            path.rmdir()
        return
    with contextlib.suppress(OSError):
        path.unlink()


def replacing_path(target: Path, *, folder: bool) -> Path:
    """Return the folder of the new files while they replace others.

    Args:
        target: What is written.
        folder: Whether that is a folder.
    """
    return target / REPLACING if folder else target.parent / f".{stem_of(target)}{REPLACING}"


def check_replaced(path: Path, *, folder: bool) -> None:
    """Look whether files that are going to be opened are all old or all new.

    Args:
        path: What is opened: a file or a folder.
        folder: Whether it is a folder.

    Raises:
        SourceError: They are being replaced, or a run that replaced them was interrupted.
    """
    roots = (path, *path.absolute().parents[:FOLDERS_ABOVE]) if folder else (path,)
    for root in roots:
        place = replacing_path(root, folder=folder)
        if os.path.lexists(place) and is_left(place):
            if in_use(place):
                raise SourceError(f"the files of {root} are being replaced", remedy=Remedy.AGAIN)
            raise SourceError(
                f"replacing {root} was interrupted: some files may be old and some new", remedy=Remedy.FINISH
            )


def is_left(place: Path) -> bool:
    """Return True when a folder of new files is there and stays; wait for a run that is about to end."""
    end = time.monotonic() + WAITED
    while os.path.lexists(place):
        if not in_use(place) or time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False
