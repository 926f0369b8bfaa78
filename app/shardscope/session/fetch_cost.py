"""Bytes that some work would fetch, so that it can be confirmed first. No Qt here; nothing is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardcore import DataSet, Depth, Shard, Source

MUCH = 8 << 20
"""Bytes above which fetching is requested first."""


@dataclass(frozen=True, slots=True)
class Costly:
    what: str
    size: int
    go: Callable[[], object]
    refuse: Callable[[], object] = lambda: None


def missing_of(source: Source) -> int:
    return source.size - sum(stop - start for start, stop in source.loaded(0, source.size))


def index_size(shard: Shard) -> int | None:
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
