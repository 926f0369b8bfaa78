"""Temporary names of incomplete files, their locks, and removal of the temporary files of killed runs."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path
from typing import TypeGuard

from shardcore.errors import Remedy, SourceError
from shardcore.sources.base import Source
from shardcore.sources.local import FileSource
from shardcore.system import closing_file, is_link, is_own, lock_file, open_to_lock

_LEFT_OVER = r"(?s)\.(?P<stem>.*)\.(?P<run>[0-9a-f]{12})(-[0-9]+)?\.part"

JOURNAL = ".undo"
"""Suffix of the journal of the last edit; see `journal`."""
REPLACING = ".replacing-shards"
"""Suffix of a folder with complete new files while they replace old ones; see `output`."""
WAITED = 5.0
"""Maximum seconds to wait while another run replaces files."""
FOLDERS_ABOVE = 2
"""Levels of parent folders searched for an interrupted replacement, since a data set may be opened by a sub-folder."""


def new_run() -> str:
    """Return a random ID for the temporary names of one run."""
    return os.urandom(6).hex()


def temporary_path(final: Path, run: str = "", stem: str = "") -> Path:
    """Return an unused temporary path in the folder of a final path.

    Its name consists of `stem` (default: the final name), which all files of a shard share, and the ID `run`.
    """
    return Path(temporary_text(str(final), run, stem))


def temporary_text(final: str, run: str = "", stem: str = "") -> str:
    """Do the same as `temporary_path` for a path given as text, which is faster."""
    folder, name = os.path.split(final)
    unique = f"{run}-{int.from_bytes(os.urandom(3))}" if run else new_run()
    return os.path.join(folder, f".{stem or _stem(name)}.{unique}.part")  # noqa: PTH118


def stem_of(final: Path) -> str:
    return _stem(final.name)


def _stem(name: str) -> str:
    return os.fsencode(name)[:100].decode("utf-8", "ignore")


def is_left_over(name: str) -> bool:
    """Return whether a file name is a temporary name, which a running or killed run gave to a file."""
    return re.fullmatch(_LEFT_OVER, name) is not None or (name.startswith(".") and name.endswith(REPLACING))


def sweep(folder: Path, stem: str | None = None) -> list[Path]:
    """Remove the temporary files and folders that killed runs left in a folder; return their paths.

    `stem` limits this to one shard. Files of runs that are alive are locked; without file locks, nothing is removed.
    """
    runs: dict[str, list[Path]] = {}
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            match = re.fullmatch(_LEFT_OVER, path.name)
            if match is not None and stem in (None, match["stem"]):
                runs.setdefault(match["run"], []).append(path)
    return [path for paths in runs.values() for path in _swept(paths)]


def _swept(paths: list[Path]) -> list[Path]:
    """Remove the files of one run, and return their paths. If one is locked, the run is alive: nothing is removed."""
    held: list[int] = []
    try:
        for path in paths:
            descriptor = open_to_lock(path)
            if descriptor is None:
                return []
            held.append(descriptor)
            # In a shared folder another user may use such a name for any file.
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
    """Lock an open file or folder, so that `sweep` does not remove it; False if that fails."""
    return lock_file(descriptor) is True


def inode_of(path: str | Path, *, follow: bool = True) -> tuple[int, int] | None:
    """Return device and inode of a file, or with `follow` of the target of a link; None if it does not exist."""
    try:
        found = Path(path).stat(follow_symlinks=follow)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def in_use(path: Path) -> bool | None:
    """Return whether a process has locked a file, or it cannot be opened; None if the file system has no locks."""
    try:
        descriptor = open_to_lock(path)
    except OSError:
        return True
    if descriptor is None:
        return None
    with closing_file(descriptor):
        free = lock_file(descriptor)
    return None if free is None else not free


def remove_tree(path: Path) -> None:
    """Remove a file, or a folder with its content, ignoring errors; links are not followed."""
    if path.is_dir() and not is_link(path):
        import shutil  # rarely needed

        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        path.unlink()


def has_journal(source: Source) -> TypeGuard[FileSource]:
    """Return whether a source is a local file with a journal beside it. The journal is not read."""
    return isinstance(source, FileSource) and os.path.lexists(f"{os.path.realpath(source.path)}{JOURNAL}")


def replacing_path(target: Path, *, folder: bool) -> Path:
    """Return the path of the folder for the new files of a target while they replace the old ones."""
    return target / REPLACING if folder else target.parent / f".{stem_of(target)}{REPLACING}"


def check_replaced(path: Path, *, folder: bool) -> None:
    """Raise SourceError if the files to open are being replaced, or if their replacement was interrupted."""
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
    """Wait at most `WAITED` seconds for a running replacement; return whether its folder is still there."""
    end = time.monotonic() + WAITED
    while os.path.lexists(place):
        if in_use(place) is False or time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False
