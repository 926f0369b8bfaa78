"""The split form of a shard: `<number>.index` holds the shard index, `<number>.data` the rest."""

from __future__ import annotations

from shardcore.errors import SourceError, says_absent
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY
from shardcore.formats.neuroglancer.sharding import shard_number
from shardcore.sources.base import Source
from shardcore.sources.opening import PrefetchedSource
from shardcore.sources.wrapped import ConcatSource

MOST_FIRST = 1 << 20
"""Bytes of an index that are asked for before the size of the file is known."""

OTHER_PART = {"index": "data", "data": "index"}


def joined(probe: PrefetchedSource, wanted: int | None = None) -> tuple[Source, Source, int | None]:
    """The whole shard, of the split form both parts; once for opening, once to keep, and the size of an `.index`.

    Args:
        probe: The file, or one of the parts.
        wanted: The minishard that is read next, where that is known: of the other part, its index comes first.

    Raises:
        SourceError: The other part is not there.
    """
    stem, _, suffix = probe.name.rpartition(".")
    other = OTHER_PART.get(suffix)
    if other is None or shard_number(probe.name) is None or probe.folder is None:
        return probe, probe.base, None
    try:
        place = _place_of(probe, wanted) if suffix == "index" and wanted is not None else None
        name = f"{stem}.{other}"
        second = probe.folder.open_on_demand(name) if place is None else probe.folder.open_at(name, *place)
    except SourceError as error:
        if not says_absent(error):
            raise
        raise SourceError(f"{probe.name} is one part of a shard; the other is missing: {error.message}") from error
    if suffix == "index":
        return ConcatSource([probe, second], probe.name), ConcatSource([probe.base, second], probe.name), probe.size
    return ConcatSource([second, probe], probe.name), ConcatSource([second, probe.base], probe.name), second.size


def _place_of(index: PrefetchedSource, minishard: int) -> tuple[int, int] | None:
    """Where the index of a minishard lies in the `.data`; None where it is empty, or nothing can be said."""
    start = minishard * SHARD_INDEX_ENTRY.size
    head = index.head(start + SHARD_INDEX_ENTRY.size)[start:]
    if len(head) < SHARD_INDEX_ENTRY.size:
        return None
    entry = SHARD_INDEX_ENTRY.read_one(head)
    first, last = int(entry["start_offset"]), int(entry["end_offset"])
    return (first, last) if 0 < last - first <= MOST_FIRST else None
