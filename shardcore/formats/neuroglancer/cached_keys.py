"""Keys in memory, for drawings that compute their routes with a changed specification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shardcore.formats.neuroglancer.file import NeuroglancerFile
from shardcore.formats.neuroglancer.minishard import Numbers


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The open shards of a key space; `all` is True if these are all of its shards."""

    files: Sequence[NeuroglancerFile] = ()
    all: bool = False


@dataclass(frozen=True, slots=True)
class CachedKeys:
    """Keys in memory: the first keys, the number of keys, and True if these are all keys of the data set."""

    ids: Numbers
    count: int
    complete: bool


def cached_keys(opened: OpenFiles, most: int) -> CachedKeys:
    tables = [file.levels.known_table for file in opened.files]
    ids: list[Numbers] = []
    count = kept = 0
    for table in tables:
        if table is None:
            continue
        if kept < most:
            ids.append(table.entries.ids[: most - kept])
            kept += len(ids[-1])
        count += len(table.entries)
    complete = opened.all and all(table is not None for table in tables)
    return CachedKeys(np.concatenate(ids) if ids else np.zeros(0, np.uint64), count, complete)


def loads_of(opened: OpenFiles) -> dict[int, int]:
    loads = {}
    for file in opened.files:
        table = file.levels.known_table
        if table is not None and file.number is not None:
            loads[file.number] = len(table.entries)
    return loads
