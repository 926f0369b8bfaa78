"""Estimates of the bytes that an operation fetches, for confirmation beforehand. Reads nothing. No Qt here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardcore import DataSet, Depth, Shard, Source

MUCH = 8 << 20
"""Bytes above which the user is asked before fetching."""


@dataclass(frozen=True, slots=True)
class CostlyRead:
    """Operation that fetches `size` bytes; `what` is the beginning of a sentence, such as `Verifying the content`."""

    what: str
    size: int
    go: Callable[[], object]
    refuse: Callable[[], object] = lambda: None


def missing_of(source: Source) -> int:
    return source.size - sum(stop - start for start, stop in source.loaded(0, source.size))


def index_size(shard: Shard) -> int | None:
    """Return an upper bound of the bytes for reading the index; None if a folder must be listed to know it."""
    return None if isinstance(shard, DataSet) and not shard.listed else shard.index_bytes


def whole(shard: Shard) -> int:
    if shard.source is not None:
        return missing_of(shard.source)
    if isinstance(shard, DataSet) and shard.listed:
        return shard.size or 0
    return 0


def verifying(shard: Shard, depth: Depth) -> int:
    if depth is Depth.CONTENT:
        return whole(shard)
    if depth is Depth.STRUCTURE or shard.loaded:
        return 0
    return index_size(shard) or 0
