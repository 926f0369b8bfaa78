"""The names of files that are not complete, and what runs that were killed left of such files."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from shardcore.errors import Remedy, SourceError
from shardcore.system import is_link, is_own, lock_file, open_to_lock

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
    return final.parent / _temporary_name(stem or stem_of(final), run)


def temporary_text(final: str) -> str:
    """Return the text of `temporary_path`, without a path object: it is needed for each of many files."""
    folder, name = os.path.split(final)
    return os.path.join(folder, _temporary_name(_stem(name)))  # noqa: PTH118


def _temporary_name(stem: str, run: str = "") -> str:
    return f".{stem}.{run}-{int.from_bytes(os.urandom(3))}.part" if run else f".{stem}.{new_run()}.part"


def stem_of(final: Path) -> str:
    """Return what the temporary names of a final one have of it."""
    return _stem(final.name)


def _stem(name: str) -> str:
    return os.fsencode(name)[:100].decode("utf-8", "ignore")


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
            descriptor = open_to_lock(path)
            if descriptor is None:
                return []
            held.append(descriptor)
            # In a shared folder another user may give any file such a name.
            if not (is_own(os.fstat(descriptor)) and lock(descriptor)):
                return []
        for path in paths:
            remove_tree(path)
    except OSError:
        return []
    finally:
        for descriptor in held:
            os.close(descriptor)
    return paths


def lock(descriptor: int) -> bool:
    """Lock an open file or folder against being swept; False where that cannot be, or another one has done so."""
    return lock_file(descriptor) is True


def in_use(path: Path) -> bool | None:
    """Return whether a run that is alive holds this; None where there are no locks, True where it cannot be opened."""
    try:
        descriptor = open_to_lock(path)
    except OSError:
        return True
    if descriptor is None:
        return None
    try:
        free = lock_file(descriptor)
    finally:
        os.close(descriptor)
    return None if free is None else not free


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with all in it, as far as that can be; links are not followed."""
    if path.is_dir() and not is_link(path):
        import shutil  # most runs leave nothing

        shutil.rmtree(path, ignore_errors=True)
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
    """Return True when a folder of new files is there and stays; wait for a run that is about to end.

    Where there are no locks, a run that does not end within `WAITED` counts as interrupted.
    """
    end = time.monotonic() + WAITED
    while os.path.lexists(place):
        if in_use(place) is False or time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False
