"""References to a byte range: pointers, table entries, slots."""

from __future__ import annotations

from contextlib import suppress

from shardcore.errors import ShardError, UsageError
from shardcore.model.data_set_nodes import inside_span
from shardcore.model.node import named
from shardcore.model.references import (
    MOST_REFERENCES,
    NamedReference,
    Reference,
    ReferenceCollector,
    References,
    gather_declared,
    gather_decoded,
    placed_references,
)
from shardcore.model.span import SourceName, Span
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard, reading

__all__ = ["MOST_REFERENCES", "NamedReference", "References", "references_to"]


def references_to(shard: Shard, span: Span, most: int = MOST_REFERENCES) -> References:
    """Return the references to a span; references to the smallest targets come first.

    `References.complete` is False if references may be missing, because the index is not loaded.
    An empty span means the byte at its start. References beyond the first `most` are only counted.
    """
    if isinstance(shard, DataSet):
        return _in_data_set(shard, span, most)
    into = ReferenceCollector(span, most)
    gather_declared(shard.tree, (), into)
    if span.source:
        part = shard.part(span.source)
        gather_decoded(span.source, part.source.size, into)
        gather_declared(part.tree(), (), into)
    with suppress(UsageError):
        path = shard.explain(span.start, span.source)
        gather_declared(path[-1], path[1:], into)
    with reading(shard):
        shard.point_to(into)
    return References(tuple(_named(shard, reference) for reference in into.sorted), into.more, shard.loaded)


def _in_data_set(shard: DataSet, span: Span, most: int) -> References:
    """Collect the references within the shard that contains the span; for a sidecar, within all open shards."""
    path = SourceName.parse(span.source).path
    names = [member.name for member in shard.members]
    if path in names:
        return placed_references(references_to(shard.member(path), inside_span(span, path), most), path)
    found: list[NamedReference] = []
    more = 0
    for name in filter(shard.is_open, names):
        part = placed_references(references_to(shard.member(name), span, most), name)
        found += part.found
        more += part.more
    return References(tuple(found[:most]), more + max(len(found) - most, 0), shard.loaded)


def _named(shard: Shard, reference: Reference) -> NamedReference:
    place = reference.place
    try:
        path = named(shard.whole_path(place.start, place.source), place)
    except ShardError:
        path = ()
    return NamedReference(place, reference.target, tuple(node.name for node in path[1:]), reference.why)
