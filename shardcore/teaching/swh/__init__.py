"""What teaches Read Shards: drawings of the file and of lookup steps, and charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from shardcore.formats.swh.layout import HEADER
from shardcore.formats.swh.lookup import Begun, DisplacementLocated, KeyCompared, KeyPlaced
from shardcore.shards.step_content import Compared as ComparedBytes
from shardcore.shards.step_content import Fields, Shown
from shardcore.teaching.swh.charts import loads, shares
from shardcore.teaching.swh.displacement import DisplacementSketch, displacement_drawing, location_drawing
from shardcore.teaching.swh.scene import KeyScene
from shardcore.teaching.swh.slot_placement import SlotPlacementSketch, slot_drawing

if TYPE_CHECKING:
    from shardcore.formats.swh.shard import SwhDataSet, SwhShard
    from shardcore.model.drawing import Drawing, Sketch
    from shardcore.shards.trace import Trace

__all__ = ["folder_sketches", "loads", "shares", "sketches", "step_drawing", "step_figures"]


def sketches(shard: SwhShard, trace: Trace | None) -> tuple[Sketch, ...]:
    return _sketches(KeyScene(lambda: shard.file, trace)) if shard.file.hash_layout is not None else ()


def folder_sketches(data_set: SwhDataSet, trace: Trace | None) -> tuple[Sketch, ...] | None:
    """Return the drawings of the first shard, which is opened at the first drawing."""
    if trace is not None:
        return None
    if not (first := data_set.first_member):
        return ()
    return data_set.placed_sketches(
        _sketches(KeyScene(lambda: cast("SwhShard", data_set.member(first)).file, None)), first
    )


def _sketches(scene: KeyScene) -> tuple[Sketch, ...]:
    return SlotPlacementSketch(scene), DisplacementSketch(scene)


def step_drawing(fact: Any, title: str) -> Drawing | None:
    if isinstance(fact, DisplacementLocated):
        return location_drawing(fact)
    if isinstance(fact, KeyPlaced):
        return slot_drawing(fact) if title == "The slot" else displacement_drawing(fact)
    return None


def step_figures(fact: Any, title: str) -> tuple[Shown, ...]:
    if isinstance(fact, Begun) and title == "Is this a shard?":
        return (Fields(HEADER, 0, fact.header),)
    if isinstance(fact, KeyCompared) and title == "Is it really this key?":
        slot, key = fact.placed.slot, fact.placed.hashed.key
        return (ComparedBytes(f"The key in slot {slot}", key, fact.stored, fact.span("key")),)
    return ()
