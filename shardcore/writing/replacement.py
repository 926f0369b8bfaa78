"""Replacing several files together; a killed run leaves all old files, or a state that can be completed.

The complete new files are in a folder. Renaming that folder to its fixed name is the commit; afterwards, files are only
moved to their places and old ones removed, which can be repeated. Until that is done, the target is not opened.

    OUT/.replacing-shards/replacement.json   {"files": [...], "remove": [...]}, names relative to OUT
    OUT/.replacing-shards/files/...          the new files
    .NAME.replacing-shards/                  the same beside a file NAME that is replaced with others
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from shardcore.codecs.json_text import JsonLimits, parse_json
from shardcore.errors import FormatError, Remedy, SourceError, UsageError, reason_of, reported_as
from shardcore.model.safe_text import short
from shardcore.sources.base import check_name
from shardcore.system import is_link, is_own, is_special_name, open_file, replace_file, sync_file
from shardcore.writing.temporary import is_replaceable, sync_folders
from shardcore.writing.temporary_names import in_use, is_left, remove_tree, replacing_path

FILES, LIST = "files", "replacement.json"
LIMITS = JsonLimits(size=1 << 28)


def begin(prepared: Path, place: Path, files: Sequence[str], remove: Sequence[str]) -> None:
    """Commit the new files, which are in `FILES` below `prepared`; after an error nothing is changed.

    `remove` lists old files that no new file replaces.
    """
    with reported_as(f"cannot write {place}"):
        with (prepared / LIST).open("x", encoding="ascii") as stream:
            json.dump({"files": list(files), "remove": list(remove)}, stream)
            stream.flush()
            sync_file(stream.fileno())
        sync_folders([Path(folder) for folder, _, _ in os.walk(prepared)])
        while not is_left(place):
            try:
                prepared.rename(place)
                break
            except OSError:
                # Another run was first: wait for it.
                if not os.path.lexists(place):
                    raise
        else:
            raise UsageError(f"another run is already replacing files in {place.parent}", remedy=Remedy.FINISH)
    try:
        sync_folders([place.parent])
    except SourceError:
        place.rename(prepared)
        raise


def finish(place: Path) -> list[Path]:
    """Move new files to their final paths and remove old ones; can be repeated. Return the removed files."""
    root = place.parent
    files, remove = _read(place)
    removed = []
    try:
        prepared, folders = place / FILES, set[str]()
        for name in files:
            new = prepared / name
            if not os.path.lexists(new):
                continue  # moved before the interruption
            folder = name.rpartition("/")[0]
            if folder not in folders:
                _check_folders(place, f"{FILES}/{name}")
                (root / folder).mkdir(parents=True, exist_ok=True)
                folders.add(folder)
            if not stat.S_ISREG(new.lstat().st_mode):
                raise FormatError(f"{new} is not a regular file")
            replace_file(new, root / name)
        sync_folders({root / folder for folder in {name.rpartition("/")[0] for name in files}})
        for name in remove:
            _check_folders(root, name)
            if not os.path.isdir(root / name):  # noqa: PTH112
                with contextlib.suppress(FileNotFoundError):
                    (root / name).unlink()
                    removed.append(root / name)
    except OSError as error:
        why = f"replacing files in {root} is not finished: {reason_of(error)}"
        raise SourceError(why, remedy=Remedy.FINISH) from error
    remove_tree(place)
    sync_folders([root])
    return removed


def finish_interrupted(target: Path, *, folder: bool, force: bool) -> list[Path] | None:
    """Complete an interrupted replacement and return the removed files; None if there was none.

    Raises:
        UsageError: Files may not be replaced without `force`, or another run is replacing them.
        SourceError: It cannot be completed.
        FormatError: The list of the files is invalid.
    """
    place = replacing_path(target, folder=folder)
    if not os.path.lexists(place) or not is_left(place):
        return None
    if in_use(place):
        raise UsageError(f"another run is replacing {target}", remedy=Remedy.AGAIN)
    if not force:
        raise UsageError(f"replacing {target} was interrupted", remedy=Remedy.FINISH)
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or not is_own(found):
        raise FormatError(f"{place} is not a folder of the current user: remove it")
    return finish(place)


def is_removable(root: Path, path: Path) -> bool:
    """Return whether a path below `root` may be removed: it is no folder, and no link leads to it."""
    name = path.relative_to(root).as_posix()
    try:
        check_name(name)
        _check_folders(root, name)
    except (SourceError, FormatError):
        return False
    return is_replaceable(path)


def _read(place: Path) -> tuple[list[str], list[str]]:
    """Return the names of the new files, and of old ones to remove; empty if all are moved."""
    with reported_as(f"cannot read {place / LIST}"):
        try:
            with open(place / LIST, "rb", opener=open_file) as stream:
                text = stream.read(LIMITS.size + 1)
        except FileNotFoundError:
            return [], []
    members = parse_json(text, str(place / LIST), limits=LIMITS)
    lists = [members.get(name) for name in ("files", "remove")] if isinstance(members, dict) else []
    if not lists or not all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in lists):
        raise FormatError(f"{place / LIST} does not list files")
    files, remove = ([check_name(name) for name in one or ()] for one in lists)
    if odd := next((name for name in (*files, *remove) if any(map(is_special_name, name.split("/")))), None):
        raise FormatError(f"{place / LIST} lists {short(odd)}, which is not a valid file name on this system")
    return files, remove


def _check_folders(root: Path, name: str) -> None:
    folder = root
    for part in name.split("/")[:-1]:
        folder = folder / part
        if is_link(folder):
            raise FormatError(f"{folder} is a link: links are not followed when files are moved or removed")
