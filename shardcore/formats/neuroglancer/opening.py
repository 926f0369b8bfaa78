"""Opening: from a file, or a name in a folder, to a shard."""

from __future__ import annotations

from shardcore.errors import SourceError, Truncated
from shardcore.format import Draft, OpenContext
from shardcore.formats.neuroglancer.origin import Origin, origin_of
from shardcore.formats.neuroglancer.reader import VERSION, NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import ShardingSpec, shard_number
from shardcore.formats.neuroglancer.table import KEPT_WHOLE
from shardcore.formats.neuroglancer.things import SHARD_INDEX
from shardcore.nodes.sections import Section, SectionRole
from shardcore.sources.base import Folder, Source
from shardcore.sources.local import LocalFolder
from shardcore.sources.opening import PrefetchedSource
from shardcore.sources.wrapped import ConcatSource, OnDemandSource
from shardcore.span import Span


def open_shard(probe: PrefetchedSource, context: OpenContext) -> NeuroglancerShard:
    """Opens a shard file, or one part of the split form together with the other.

    Raises:
        NotAShard: There is no info, and no specification fits.
        FormatError: The file is shorter than its shard index.
        SourceError: The bytes cannot be had.
    """
    whole, kept, index_size = joined(probe)
    origin = origin_of(probe, whole, context.options.spec, forced=context.options.forced, index_size=index_size)
    head = _head(whole, origin.spec, index_size, context.draft)
    # A name that is not one of the data set's, or a guessed specification, says nothing about the number.
    named = shard_number(probe.name)
    fits = named is not None and named[1] == origin.spec.name_digits and named[0] < origin.spec.shards
    number = named[0] if named is not None and fits and origin.inference is None else None
    shard = NeuroglancerShard(kept, origin, head, number, split=index_size is not None, routed=False)
    shard.why = origin.why
    return shard


def open_member(folder: Folder, name: str, origin: Origin) -> NeuroglancerShard:
    """Opens a shard of a data set, whose routing tells the first steps of every lookup.

    Raises:
        FormatError: The file is shorter than its shard index.
        SourceError: The bytes cannot be had.
    """
    source = part_of(folder, name)
    try:
        whole, kept, index_size = joined(PrefetchedSource(source))
        head = _head(whole, origin.spec, index_size, Draft())
    except BaseException:
        source.close()
        raise
    named = shard_number(name)
    number = named[0] if named is not None else None
    return NeuroglancerShard(kept, origin, head, number, split=index_size is not None, routed=True)


def joined(probe: PrefetchedSource) -> tuple[Source, Source, int | None]:
    """The whole shard, of the split form both parts; once for opening, once to keep, and the size of an `.index`.

    Raises:
        SourceError: The other part is not there.
    """
    stem, _, suffix = probe.name.rpartition(".")
    other = {"index": "data", "data": "index"}.get(suffix)
    if other is None or shard_number(probe.name) is None or probe.folder is None:
        return probe, probe.base, None
    try:
        second = part_of(probe.folder, f"{stem}.{other}")
    except SourceError as error:
        raise SourceError(f"{probe.name} is one part of a shard; the other is missing: {error.message}") from error
    if suffix == "index":
        return ConcatSource([probe, second], probe.name), ConcatSource([probe.base, second], probe.name), probe.size
    return ConcatSource([second, probe], probe.name), ConcatSource([second, probe.base], probe.name), second.size


def part_of(folder: Folder, name: str) -> Source:
    """A file of a folder. A data set can have more shards than a process may have files open: local ones are not kept.

    Raises:
        SourceError: Nothing is there, or the name leaves the folder.
    """
    return OnDemandSource(folder, name) if isinstance(folder, LocalFolder) else folder.open(name)


def _head(whole: Source, spec: ShardingSpec, index_size: int | None, draft: Draft) -> bytes:
    """The shard index, unless it is too large to be read at once.

    Raises:
        Truncated: The file is shorter than it, or an `.index` has another length.
    """
    base = spec.index_size
    size = whole.size if index_size is None else index_size
    if size < base or index_size not in (None, base):
        place = Span("", 0, min(size, whole.size))
        draft.version = VERSION
        doc = "Where the index of each minishard lies."
        draft.add(Section(SHARD_INDEX, SectionRole.INDEX, place.start, place.stop, doc))
        message = f"{size} bytes; the shard index of {spec.minishards} minishards takes {base}"
        raise Truncated(message, span=place)
    return whole.read(0, base) if base <= KEPT_WHOLE else b""
