"""Bytes that some work would fetch, so that it can be confirmed first. No Qt here; nothing is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardcore import DataSet, Depth, Shard, Source

MUCH = 8 << 20
"""Bytes above which fetching is requested first."""


@dataclass(frozen=True, slots=True)
class Costly:
    """Work that would fetch much.

    Attributes:
        what: What it is, as the beginning of a sentence: `Verifying the content`.
        size: Bytes that would be fetched.
        go: Does it.
        refuse: Called where the user does not agree.
    """

    what: str
    size: int
    go: Callable[[], object]
    refuse: Callable[[], object] = lambda: None


def missing_of(source: Source) -> int:
    """Bytes of a source that are not here yet."""
    return source.size - sum(stop - start for start, stop in source.loaded(0, source.size))


def index_size(shard: Shard) -> int | None:
    """Bytes that reading the index fetches at most; None when that is unknown without asking."""
    return None if isinstance(shard, DataSet) and not shard.listed else shard.index_bytes


def whole(shard: Shard) -> int:
    """Bytes that reading everything would fetch; of a data set whose members are unknown, none are known."""
    if shard.source is not None:
        return missing_of(shard.source)
    if isinstance(shard, DataSet) and shard.listed:
        return shard.size or 0
    return 0


def verifying(shard: Shard, depth: Depth) -> int:
    """Bytes that a verification would fetch."""
    if depth is Depth.CONTENT:
        return whole(shard)
    if depth is Depth.STRUCTURE or shard.loaded:
        return 0
    return index_size(shard) or 0
