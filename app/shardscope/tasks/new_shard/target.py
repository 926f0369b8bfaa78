"""Target of a new shard: suggested name and existing files. No Qt here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

from shardcore.shards.format import Format
from shardcore.sources.remote.address import is_address
from shardscope.session.open_request import OpenRequest
from shardscope.tasks.new_shard.request import NewShardTarget

MOST_LISTED = 100_000
"""Entries of a folder that are looked at."""


class TargetStatus(Enum):
    FREE = "free"
    FILE = "file"
    """A file, which would be replaced."""
    FOLDER = "folder"
    """A folder, into which several files are to go."""
    NOT_A_FILE = "not a file"
    """A folder, where a file is to go."""
    NOT_A_FOLDER = "not a folder"
    """A file, where a folder is to go."""
    NO_PLACE = "no place"
    """The folder that it is to lie in is not there."""
    INPUT = "input"
    """Path to read."""


@dataclass(frozen=True, slots=True)
class TargetPlace:
    standing: TargetStatus
    shards: int = 0


def look(target: NewShardTarget, inputs: Iterable[str], members: tuple[str, ...]) -> TargetPlace:
    path = str(target.path)
    if not os.path.isdir(target.path.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
        return TargetPlace(TargetStatus.NO_PLACE)
    if not os.path.lexists(path):
        return TargetPlace(TargetStatus.FREE)
    if any(_same(path, one) for one in inputs):
        return TargetPlace(TargetStatus.INPUT)
    is_folder = os.path.isdir(path)  # noqa: PTH112
    if target.folder:
        return (
            TargetPlace(TargetStatus.FOLDER, _shards_in(path, members))
            if is_folder
            else TargetPlace(TargetStatus.NOT_A_FOLDER)
        )
    return TargetPlace(TargetStatus.NOT_A_FILE if is_folder else TargetStatus.FILE)


def suggested(inputs: tuple[str, ...], source: str, format: Format, *, folder: bool, home: str) -> Path:
    local = inputs or ((source,) if source and not is_address(source) else ())
    if local:
        first = Path(local[0]).absolute()
        where, stem = OpenRequest(local[0]).folder, first.stem if len(local) == 1 else first.parent.name
    else:
        where, stem = Path(home), Path(source.rstrip("/")).stem
    stem = stem or "new"
    suffix = "" if folder else format.suffixes[0] if format.suffixes else ""
    name = f"{stem}{suffix}"
    if any(name == Path(one).name for one in (*inputs, source) if one):
        name = f"{stem}-{format.name}{suffix}"
    return where / name


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)  # noqa: PTH121 - both are texts
    except (OSError, ValueError):
        return False


def _shards_in(folder: str, members: tuple[str, ...]) -> int:
    found = 0
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                found += any(fnmatchcase(entry.name, pattern) for pattern in members)
                if number >= MOST_LISTED:
                    break
    except OSError:
        return 0
    return found
