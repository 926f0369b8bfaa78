"""What teaches xorbs: drawings of the file and of lookup steps, and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shardcore.formats.xorb.lookup import RecordLocated
from shardcore.teaching.xorb.charts import loads, shares
from shardcore.teaching.xorb.sketches import BytePlanesSketch, RecordsSketch, sums_figure

if TYPE_CHECKING:
    from shardcore.formats.xorb.shard import XorbShard
    from shardcore.model.drawing import Drawing, Sketch
    from shardcore.shards.step_content import Shown
    from shardcore.shards.trace import Trace

__all__ = ["loads", "shares", "sketches", "step_drawing", "step_figures"]


def sketches(shard: XorbShard, trace: Trace | None) -> tuple[Sketch, ...]:
    number = max(trace.ref.row, 0) if trace is not None and trace.ref is not None else 0
    absent = "Key not found. " if trace is not None and trace.ref is None else ""
    return RecordsSketch(shard.file, number, absent), BytePlanesSketch(shard.file, number, absent)


def step_drawing(fact: Any, title: str) -> Drawing | None:
    return None


def step_figures(fact: Any, title: str) -> tuple[Shown, ...]:
    return (sums_figure(fact.file.records, fact.number),) if isinstance(fact, RecordLocated) else ()
