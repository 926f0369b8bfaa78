"""The sketch `parking` (Slot placement): how the displacement of a bucket gives each of its keys a slot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from shardcore.formats.swh import chd
from shardcore.formats.swh.displacement_figures import value_span
from shardcore.formats.swh.hash_data import HASHED_KEYS, Hashed
from shardcore.formats.swh.key_scene import KeyedScene
from shardcore.formats.swh.layout import SwhGeometry
from shardcore.formats.swh.slot_placement_figures import (
    SLOTS_AROUND,
    WHOLE_RING,
    BucketKeys,
    Held,
    KeyMove,
    around_figure,
    buckets_figure,
    keys_figure,
    long_ring_figure,
    mixed_figure,
    path_of,
    ring_figure,
    ring_links,
    rounds_figure,
    tag,
)
from shardcore.formats.swh.slots import read_slots
from shardcore.model.drawing import Control, ControlKind, Drawing, Figure, Link, Tone, chosen, window
from shardcore.model.number_words import plural
from shardcore.model.objects import State


def title_of(hashed: Hashed, tried: int, group: BucketKeys) -> str:
    key, slot = f"key {tag(hashed.key)}…", group.moves[0].slot
    if tried != hashed.displacement:
        return f"With d = {tried} the {key} would be in slot {slot}"
    lives = group.present and group.moves[0].fits
    return f"Why the {key} is in slot {slot}" if lives else f"The {key} belongs in slot {slot}, but is not stored there"


def caption_of(geometry: SwhGeometry, hashed: Hashed, tried: int, group: BucketKeys, *, few: bool) -> str:
    limit = f" The other keys of the bucket are drawn only for shards of up to {HASHED_KEYS:,} objects."
    own = [move for move in group.moves if move.stored_slot >= 0]
    if tried != hashed.displacement:
        return _tried_caption(hashed.displacement, tried, own) + ("" if few else limit)
    if lost := sum(move.slot != move.stored_slot for move in own):
        lie, them = ("is", "it") if lost == 1 else ("are", "them")
        return (
            f"{lost} of the {plural(len(own), 'key')} of bucket {hashed.bucket} {lie} in other slots than d = {tried} "
            f"gives, so no lookup finds {them}: the hash function or the index is damaged."
        )
    if not group.present:
        return _absent_caption(group)
    if few:
        together = (
            f"The {plural(len(own), 'key')} of bucket {hashed.bucket} share the displacement d = {tried}, and with it "
            "each gets its own slot."
        )
    else:
        together = f"The displacement d = {tried} of bucket {hashed.bucket} moves each of its keys to its own slot."
    return (
        f"{together} A perfect hash gives every key its own slot; {plural(geometry.slots, 'slot')} for "
        f"{plural(geometry.declared, 'key')}, because without spare slots the last buckets would hardly fit."
        f"{'' if few else limit}"
    )


def _tried_caption(stored: int, tried: int, own: Sequence[KeyMove]) -> str:
    if own and all(move.slot == move.stored_slot for move in own):
        return f"With d = {tried} each key is in its slot: the stored displacement {stored} is damaged."
    losers, keys = sum(not move.fits for move in own), plural(len(own), "key")
    result = f"{losers} of {keys} would get slots in use" if losers else f"all {keys} would also get free slots"
    why = "The writer tries 0, 1, 2, … until all keys of a bucket fit at once"
    return f"With d = {tried}, {result}. {why}, and keeps that number: {stored}."


def _absent_caption(group: BucketKeys) -> str:
    slot = group.moves[0].slot
    if group.held[slot].key is None:
        return f"This key has slot {slot}, which is unused. Every key maps to some slot, stored or not."
    return (
        f"This key is not in the shard, but it maps to slot {slot}, as every key maps to some slot. Only the "
        "comparison with the stored key shows that it is absent."
    )


KEYS_DRAWN = 5
"""Maximum number of keys of a bucket drawn with their sums."""

KEYS_DRAWN_UNFOLDED = 2
"""Maximum while the rounds of the hash are drawn, too, because the number of items is limited."""

_SLID = 1 << 24
"""Largest displacement for which a slider is offered; writers use smaller ones."""


class SlotPlacementSketch:
    name = "parking"
    title = "Slot placement"

    def __init__(self, scene: KeyedScene) -> None:
        self._scene = scene

    @property
    def controls(self) -> tuple[Control, ...]:
        mixing = Control(
            "mixing",
            "Show mixing rounds",
            ControlKind.SWITCH,
            False,
            doc="Shows the state of the hash after each round.",
        )
        stored = self._scene.displacement
        if stored is None or stored > _SLID:
            return (mixing,)
        doc = "Moves all keys of the bucket; red: the slot is already used. Reset returns to the stored value."
        slider = Control("displacement", "Displacement d", ControlKind.SLIDER, stored, 0, _highest(stored), doc=doc)
        return (slider, mixing)

    def draw(self, values: Mapping[str, Any]) -> Drawing:
        hashed = self._scene.hashed
        if hashed is None:
            chosen(self.controls, values)
            return self._no_objects()
        settings = chosen(self.controls, values)
        tried, unfolded = settings.get("displacement", hashed.displacement), settings["mixing"]
        file = self._scene.hashing.file
        parts, geometry = file.hash_parts(), file.geometry
        group = self._bucket_keys(hashed, tried)
        known = self._scene.hashing.displacements()
        figures: list[Figure] = [mixed_figure(hashed.key, (hashed.bucket, hashed.first, hashed.step), parts)]
        if unfolded:
            figures.append(rounds_figure(hashed.rounds))
        buckets = buckets_figure(
            parts,
            hashed.bucket,
            tried,
            hashed.displacement,
            value_span(parts, hashed.place),
            None if known is None else [int(each) for each in known],
            fits=all(move.fits for move in group.moves if move.stored_slot >= 0),
        )
        whole = geometry.slots <= WHOLE_RING
        moves = group.moves[: KEYS_DRAWN if whole or not unfolded else KEYS_DRAWN_UNFOLDED]
        figures.append(buckets)
        links = [Link("g", "bucket", tone=Tone.KEY)]
        path, _ = path_of(hashed.first, hashed.step, tried, parts.slots)
        if whole:
            held = [group.held[slot] for slot in range(geometry.slots)]
            title = f"{geometry.slots} slots, a ring: after slot {geometry.slots - 1} comes slot 0"
            figures.append(ring_figure(geometry, held, group.moves, title))
            links += ring_links(path)
            shown = geometry.slots
        else:
            ruler, arrows = long_ring_figure(geometry, path, moves)
            here = window(geometry.slots, group.moves[0].slot, SLOTS_AROUND)
            figures += [ruler, around_figure(geometry, here, [group.held[slot] for slot in here], group.moves)]
            links += [*arrows, Link(f"jump {len(path) - 1}", f"slot {group.moves[0].slot}", tone=Tone.KEY)]
            shown = len(here)
        figures.append(keys_figure(moves, hashed.bucket, tried, parts.slots))
        return Drawing(
            title_of(hashed, tried, group),
            tuple(figures),
            tuple(links),
            caption_of(geometry, hashed, tried, group, few=self._scene.hashing.few),
            more=geometry.slots - shown,
            what_if=tried != hashed.displacement,
            legend=MappingProxyType({Tone.KEY: "a key of the bucket"}),
        )

    def _bucket_keys(self, hashed: Hashed, tried: int) -> BucketKeys:
        return self._small_bucket(hashed, tried) or self._large_bucket(hashed, tried)

    def _small_bucket(self, hashed: Hashed, tried: int) -> BucketKeys | None:
        all_keys = self._scene.hashing.all_keys()
        if all_keys is None:
            return None
        geometry = self._scene.hashing.file.geometry
        moving = all_keys.of_bucket(hashed.bucket)
        bucket = set(moving)
        keys = [all_keys.keys[at].tobytes() for at in moving]
        places = [(int(all_keys.firsts[at]), int(all_keys.steps[at]), int(all_keys.slots[at])) for at in moving]
        targets = [chd.slot_one(first, step, tried, geometry.slots) for first, step, _ in places]
        rivals = defaultdict[int, list[bytes]](list)
        for key, slot in zip(keys, targets, strict=True):
            rivals[slot].append(key)
        moves = []
        for key, (first, step, own), slot in zip(keys, places, targets, strict=True):
            other = int(all_keys.holder[slot])
            holder = all_keys.keys[other].tobytes() if other >= 0 and other not in bucket else None
            if holder is None and len(rivals[slot]) > 1:
                holder = next((rival for rival in rivals[slot] if rival != key), key)
            lost = tried == hashed.displacement and slot != own
            verdict = f"lost: in slot {own}" if lost else "fits" if holder is None else f"slot taken by {tag(holder)}…"
            fits = holder is None and not lost
            span = (geometry.key_span(own),)
            moves.append(KeyMove(key, first, step, slot, own, span, key == hashed.key, verdict, fits))
        away = bucket if tried != hashed.displacement else set[int]()
        held = {
            slot: Held(all_keys.keys[at].tobytes() if at >= 0 else None, at in away)
            for slot, at in self._shown(all_keys.holder.tolist(), hashed, tried)
        }
        member = any(move.selected for move in moves)
        if not member:
            slot = chd.slot_one(hashed.first, hashed.step, tried, geometry.slots)
            at = int(all_keys.holder[slot])
            moves.insert(0, self._absent_key(hashed, slot, all_keys.keys[at].tobytes() if at >= 0 else None))
        return BucketKeys(sorted(moves, key=lambda move: not move.selected), held, member)

    def _shown(self, holder: list[int], hashed: Hashed, tried: int) -> list[tuple[int, int]]:
        slots = len(holder)
        if slots <= WHOLE_RING:
            return list(enumerate(holder))
        here = window(slots, chd.slot_one(hashed.first, hashed.step, tried, slots), SLOTS_AROUND)
        return [(slot, holder[slot]) for slot in here]

    def _large_bucket(self, hashed: Hashed, tried: int) -> BucketKeys:
        file = self._scene.hashing.file
        geometry = file.geometry
        slot = chd.slot_one(hashed.first, hashed.step, tried, geometry.slots)
        here = window(geometry.slots, slot, WHOLE_RING if geometry.slots <= WHOLE_RING else SLOTS_AROUND)
        rows = read_slots(file.source, geometry, here.start, here.stop)
        live = geometry.states(rows["offset"]) == State.LIVE
        held = {
            number: Held(row["key"].tobytes() if full else None)
            for number, row, full in zip(here, rows, live.tolist(), strict=True)
        }
        there = held[slot].key
        if there == hashed.key:
            span = (geometry.key_span(slot),)
            return BucketKeys(
                [KeyMove(hashed.key, hashed.first, hashed.step, slot, slot, span, True, "fits", True)], held, True
            )
        own = chd.slot_one(hashed.first, hashed.step, hashed.displacement, geometry.slots)
        row = read_slots(file.source, geometry, own, own + 1)
        member = bool(row["key"][0].tobytes() == hashed.key)
        if not member:
            return BucketKeys([self._absent_key(hashed, slot, there)], held, False)
        verdict = "fits" if there is None else f"slot taken by {tag(there)}…"
        span = (geometry.key_span(own),)
        move = KeyMove(hashed.key, hashed.first, hashed.step, slot, own, span, True, verdict, there is None)
        return BucketKeys([move], held, True)

    @staticmethod
    def _absent_key(hashed: Hashed, slot: int, there: bytes | None) -> KeyMove:
        verdict = "no: it is unused" if there is None else f"no: it holds {tag(there)}…"
        return KeyMove(hashed.key, hashed.first, hashed.step, slot, -1, (), True, verdict, False)

    def _no_objects(self) -> Drawing:
        file = self._scene.hashing.file
        geometry = file.geometry
        shown = range(min(geometry.slots, WHOLE_RING))
        figure = around_figure(geometry, shown, [Held(None)] * len(shown), [])
        caption = "This shard has no objects. Any key still maps to a slot, but every slot is unused."
        return Drawing("Slots without objects", (figure,), (), caption, more=geometry.slots - len(shown))


def _highest(stored: int) -> int:
    return max(2 * stored, 15)
