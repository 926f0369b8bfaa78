"""Drawings of Read Shards: the file, the steps of a lookup, and charts of its bytes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shardcore.dataclasses import replace
from shardcore.formats.swh import chd
from shardcore.formats.swh.file import SlotOrder, SwhFile
from shardcore.formats.swh.layout import HEADER, OBJECT, SLOT
from shardcore.formats.swh.lookup import Begun, DisplacementLocated, KeyCompared, KeyPlaced
from shardcore.model.computed_children import gaps
from shardcore.model.objects import State
from shardcore.model.text import plural
from shardcore.model.usage import Load, LoadSource, Share, Use, budget, counts_of, share_of
from shardcore.progress import Progress
from shardcore.shards.trace import Compared as ComparedBytes
from shardcore.shards.trace import Fields, Shown, Trace
from shardcore.teaching.swh.displacement import DisplacementSketch, KeyScene, displacement_drawing, location_drawing
from shardcore.teaching.swh.slot_placement import SlotPlacementSketch, slot_drawing

if TYPE_CHECKING:
    from shardcore.formats.swh.folder import SwhDataSet
    from shardcore.formats.swh.shard import SwhShard
    from shardcore.model.drawing import Drawing, Sketch


def shares(file: SwhFile) -> tuple[Share, ...]:
    inside: dict[str, list[Share]] = {}
    if (trailing := file.section("trailing")) is not None:
        doc = "Unused bytes after the hash function."
        inside["trailing"] = [share_of(Use.SLACK, "trailing", trailing.start, trailing.stop, doc)]
    if (order := file.order) is not None:
        inside["objects"] = _objects(file, order)
        inside["index"] = _index(file, order)
    return budget(file.sections, inside)


def _objects(file: SwhFile, order: SlotOrder) -> list[Share]:
    starts, stops = order.offsets, order.stops
    holes = gaps(starts, stops, file.layout.objects_start, file.layout.index_start)
    lengths = share_of(Use.INDEX, "lengths of objects", starts, starts + OBJECT.size, "8 bytes before each content.")
    contents = share_of(Use.DATA, "contents", starts + OBJECT.size, stops, "The contents of the objects.")
    doc = "Deleted objects: length and content are overwritten with zeros."
    return [contents, lengths, share_of(Use.DEAD, "deleted objects", holes[:, 0], holes[:, 1], doc)]


def _index(file: SwhFile, order: SlotOrder) -> list[Share]:
    live, slots = len(order), file.layout.slots
    used, rest = file.table.shares(order.holding)
    deleted = min(max(file.layout.declared - live, 0), slots - live)
    if not deleted:
        return [used, rest]
    # Unused slots and slots of deleted objects look alike; only their numbers are known.
    doc = f"{plural(slots - live, 'slot')} without an object, of which {deleted:,} had one before its deletion."
    size, name = deleted * SLOT.size, "slots of deleted objects"
    gone = replace(rest, use=Use.DEAD, name=name, size=size, stretches=deleted, doc=doc)
    return [used, gone, replace(rest, size=rest.size - size, stretches=(rest.size - size) // SLOT.size)]


def loads(file: SwhFile) -> tuple[LoadSource, ...]:
    known = file.order is not None
    sources = [
        LoadSource("slots", "Objects in the slots", 0 if known else file.header["index_size"], partial(_slots, file))
    ]
    if (hashing := file.hash_layout) is not None:
        reads = file.header["index_size"] + (0 if file.has_hash_section else hashing.stop - hashing.start)
        sources.append(LoadSource("buckets", "Keys in the buckets", reads, partial(_buckets, file)))
    return tuple(sources)


def _slots(file: SwhFile, progress: Progress) -> Load:
    order, layout = file.load(progress), file.layout
    starts = layout.index_start + SLOT.size * np.arange(layout.slots, dtype=np.int64)
    return Load(
        "Objects in the slots",
        "slot",
        "object",
        order.holding.astype(np.int64),
        "A perfect hash gives every key its own slot; a few slots stay unused.",
        min(layout.declared / layout.slots, 1.0),
        "objects_count / slots",
        row_bounds=np.arange(layout.slots + 1, dtype=np.int64),
        starts=starts,
        stops=starts + SLOT.size,
    )


def _buckets(file: SwhFile, progress: Progress) -> Load:
    """Count the keys per bucket; reads the index and hashes all live keys."""
    parts, layout = file.hashing(), file.layout
    counts = np.zeros(parts.buckets, np.int64)
    for first, rows in file.slot_windows():
        progress(first, layout.slots)
        keys = rows["key"][layout.states(rows["offset"]) == State.LIVE]
        if len(keys):
            a, _, _ = chd.jenkins(np.ascontiguousarray(keys), parts.seed)
            counts += counts_of(a % np.uint32(parts.buckets), parts.buckets)
    progress(layout.slots, layout.slots)
    return Load(
        "Keys in the buckets",
        "bucket",
        "key",
        counts,
        "The hash function divides keys into buckets of about 4 and stores one displacement per bucket; "
        "the largest buckets are placed first.",
        int(counts.sum()) / parts.buckets,
        by_chance=True,
    )


def sketches(shard: SwhShard, trace: Trace | None) -> tuple[Sketch, ...]:
    return _sketches(KeyScene(lambda: shard.file, trace)) if shard.file.hash_layout is not None else ()


def folder_sketches(data_set: SwhDataSet, trace: Trace | None) -> tuple[Sketch, ...] | None:
    """Return the drawings of the first shard, which is opened at the first drawing; None after a lookup."""
    first = data_set.first_member
    scene = KeyScene(lambda: cast("SwhShard", data_set.member(first)).file, None)
    return None if trace is not None else data_set.placed_sketches(_sketches(scene), first) if first else ()


def _sketches(scene: KeyScene) -> tuple[Sketch, ...]:
    return SlotPlacementSketch(scene), DisplacementSketch(scene)


def step_figures(fact: Any, title: str) -> Drawing | tuple[Shown, ...]:
    if isinstance(fact, DisplacementLocated):
        return location_drawing(fact)
    if isinstance(fact, KeyPlaced):
        return slot_drawing(fact) if title == "The slot" else displacement_drawing(fact)
    if isinstance(fact, Begun) and title == "Is this a shard?":
        return (Fields(HEADER, 0, fact.header),)
    if isinstance(fact, KeyCompared) and title == "Is it really this key?":
        slot, key = fact.placed.slot, fact.placed.hashed.key
        return (ComparedBytes(f"The key in slot {slot}", key, fact.stored, fact.span("key")),)
    return ()
