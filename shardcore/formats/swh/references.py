"""References to the slots of a shard: the displacements of the hash function."""

from __future__ import annotations

from shardcore.errors import FormatError
from shardcore.formats.swh import chd
from shardcore.formats.swh.displacement import displacement_location, single_displacement
from shardcore.formats.swh.file import SwhFile
from shardcore.formats.swh.layout import SLOT
from shardcore.model.objects import State
from shardcore.model.references import Reference, ReferenceCollector


def gather(file: SwhFile, into: ReferenceCollector) -> None:
    if into.span.source:
        return
    geometry = file.geometry
    first = (into.span.start - geometry.index_start) // SLOT.size
    last = (into.span.stop - 1 - geometry.index_start) // SLOT.size
    if 0 <= first == last < geometry.slots:
        _gather_slot(file, first, into)


def _gather_slot(file: SwhFile, slot: int, into: ReferenceCollector) -> None:
    span = file.geometry.slot_span(slot)
    row = SLOT.read_one(file.source.read(span.start, span.stop))
    if file.geometry.state(row["offset"]) is not State.LIVE:
        return
    try:
        parts, hashes = file.hash_parts(), file.hash_source(file.source)
        mixed = chd.jenkins_rounds(row["key"], parts.seed)[-1].mixed
        bucket, start, step = chd.place_one(mixed, parts.buckets, parts.slots)
        displacement, place = single_displacement(hashes, parts, displacement_location(hashes, parts, bucket))
    except FormatError:
        return  # no references from a damaged hash function; the tree and the findings report the damage
    if chd.slot_one(start, step, displacement, parts.slots) == slot:
        why = f"The displacement of bucket {bucket} determines the slot of this key, {slot}."
        into.add(Reference(place if place.size else parts.part("unary bits"), span, why))
