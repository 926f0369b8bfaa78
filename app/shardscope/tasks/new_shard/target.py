"""Target of a new shard: suggested path and existing files; accesses the disk. No Qt here."""

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
"""Maximum number of entries counted in a folder."""


class TargetStatus(Enum):
    FREE = "free"
    FILE = "file"
    """The file exists and would be replaced."""
    FOLDER = "folder"
    """The folder exists; several files are to be written into it."""
    NOT_A_FILE = "not a file"
    """The target is a folder, but a file is to be written."""
    NOT_A_FOLDER = "not a folder"
    """The target is a file, but a folder is to be written."""
    NO_PLACE = "no place"
    """The parent folder does not exist."""
    INPUT = "input"
    """The target is one of the inputs."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """State of a target on disk; `shards` is the number of shards of the format in a folder."""

    status: TargetStatus
    shards: int = 0


def look(target: NewShardTarget, inputs: Iterable[str], members: tuple[str, ...]) -> TargetState:
    """Check a target, in a job; `members` are name patterns of the shards in a folder."""
    path = str(target.path)
    if not os.path.isdir(target.path.parent):  # noqa: PTH112 - Path.is_dir raises where looking is not allowed
        return TargetState(TargetStatus.NO_PLACE)
    if not os.path.lexists(path):
        return TargetState(TargetStatus.FREE)
    if any(_same(path, one) for one in inputs):
        return TargetState(TargetStatus.INPUT)
    is_folder = os.path.isdir(path)  # noqa: PTH112
    if target.folder:
        return (
            TargetState(TargetStatus.FOLDER, _shards_in(path, members))
            if is_folder
            else TargetState(TargetStatus.NOT_A_FOLDER)
        )
    return TargetState(TargetStatus.NOT_A_FILE if is_folder else TargetStatus.FILE)


def suggested(inputs: tuple[str, ...], source: str, format: Format, *, folder: bool, home: str) -> Path:
    """Return a default target beside the input but never the input; in `home` if the source is remote."""
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
