"""What teaches MDB shards: drawings of the file and of lookup steps, and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from shardcore.codecs.xet.hashes import SIZE
from shardcore.formats.mdb.content import ChunksFound, ChunksMissing
from shardcore.formats.mdb.layout import FILE_ENTRY
from shardcore.formats.mdb.lookup import Matched, OtherHash, TableSearched
from shardcore.model.span import Span
from shardcore.shards.step_content import Compared, Fields
from shardcore.teaching.mdb.charts import loads, shares
from shardcore.teaching.mdb.chunk_map import ChunkMapSketch
from shardcore.teaching.mdb.hash_lookup import HashLookupSketch, bisection_figure
from shardcore.teaching.mdb.insertion import CutsSketch
from shardcore.teaching.mdb.scene import MdbScene

if TYPE_CHECKING:
    from shardcore.formats.mdb.folder import MdbDataSet
    from shardcore.formats.mdb.shard import MdbShard
    from shardcore.model.drawing import Drawing, Sketch
    from shardcore.shards.step_content import Shown
    from shardcore.shards.trace import Trace

__all__ = ["folder_sketches", "loads", "shares", "sketches", "step_drawing", "step_figures"]


def sketches(shard: MdbShard, trace: Trace | None) -> tuple[Sketch, ...]:
    key = shard.parse_key(trace.key) if trace is not None else None
    return _sketches(MdbScene(lambda: shard.file, key, shard.file))


def folder_sketches(data_set: MdbDataSet, trace: Trace | None) -> tuple[Sketch, ...] | None:
    """Return the drawings of the first shard, which is opened at the first drawing."""
    if trace is not None:
        return None
    if not (first := data_set.first_member):
        return ()
    return data_set.placed_sketches(
        _sketches(MdbScene(lambda: cast("MdbShard", data_set.member(first)).file, None)), first
    )


def _sketches(scene: MdbScene) -> tuple[Sketch, ...]:
    return ChunkMapSketch(scene), CutsSketch(scene), HashLookupSketch(scene)


def step_drawing(fact: Any, title: str) -> Drawing | None:
    return None


def step_figures(fact: Any, title: str) -> tuple[Shown, ...]:
    if isinstance(fact, TableSearched):
        table, shown = fact.table, list["Shown"]()
        if table.count:
            shown.append(bisection_figure(table, *fact.piece, fact.key))
        if len(fact.rows):
            start = table.span(fact.first, fact.first + 1).start
            shown.append(Fields(table.record, start, table.record.values(fact.rows[0]), relative=True))
        return tuple(shown)
    if isinstance(fact, OtherHash | Matched):
        found = fact.found if isinstance(fact, OtherHash) else fact.raw
        place = Span("", fact.place.start, fact.place.start + SIZE)
        return (Compared("The hash in the record", fact.raw, found, place, words=True),)
    if isinstance(fact, ChunksFound | ChunksMissing) and fact.segment is not None:
        return (Fields(FILE_ENTRY, fact.place.start, fact.segment),)
    return ()
