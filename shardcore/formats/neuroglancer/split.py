"""The split form of a shard: `<number>.index` holds the shard index, `<number>.data` the rest."""

from __future__ import annotations

from shardcore.errors import SourceError, says_absent
from shardcore.formats.neuroglancer.sharding import shard_number
from shardcore.sources.base import Source
from shardcore.sources.opening import PrefetchedSource
from shardcore.sources.wrapped import ConcatSource

OTHER_PART = {"index": "data", "data": "index"}


def joined(probe: PrefetchedSource) -> tuple[Source, Source, int | None]:
    """The whole shard, of the split form both parts; once for opening, once to keep, and the size of an `.index`.

    Raises:
        SourceError: The other part is not there.
    """
    stem, _, suffix = probe.name.rpartition(".")
    other = OTHER_PART.get(suffix)
    if other is None or shard_number(probe.name) is None or probe.folder is None:
        return probe, probe.base, None
    try:
        second = probe.folder.open_on_demand(f"{stem}.{other}")
    except SourceError as error:
        if not says_absent(error):
            raise
        raise SourceError(f"{probe.name} is one part of a shard; the other is missing: {error.message}") from error
    if suffix == "index":
        return ConcatSource([probe, second], probe.name), ConcatSource([probe.base, second], probe.name), probe.size
    return ConcatSource([second, probe], probe.name), ConcatSource([second, probe.base], probe.name), second.size
