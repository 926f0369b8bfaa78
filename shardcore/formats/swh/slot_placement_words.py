"""What is written over and under the drawing `parking`."""

from __future__ import annotations

from collections.abc import Sequence

from shardcore.formats.swh.drawn_hash import HASHED_KEYS, Hashed
from shardcore.formats.swh.layout import Geometry
from shardcore.formats.swh.slot_placement_figures import Car, Street, tag
from shardcore.model.number_words import plural


def title_of(hashed: Hashed, tried: int, street: Street) -> str:
    """Where the key comes to, in a few words."""
    key, slot = f"key {tag(hashed.key)}…", street.cars[0].slot
    if tried != hashed.displacement:
        return f"With d = {tried} the {key} would be in slot {slot}"
    lives = street.member and street.cars[0].fits
    return f"Why the {key} is in slot {slot}" if lives else f"The {key} belongs in slot {slot}, and is not there"


def caption_of(geometry: Geometry, hashed: Hashed, tried: int, street: Street, *, few: bool) -> str:
    """What to see.

    Args:
        geometry: The shard.
        hashed: The key that is looked at.
        tried: The displacement that is drawn.
        street: The keys of its bucket.
        few: Whether all keys of the shard are hashed.
    """
    limit = f" The other keys of the bucket are not drawn: they are hashed up to {HASHED_KEYS:,} objects."
    own = [car for car in street.cars if car.home >= 0]
    if tried != hashed.displacement:
        return _tried_caption(hashed.displacement, tried, own) + ("" if few else limit)
    if lost := sum(car.slot != car.home for car in own):
        lie, them = ("lies", "it") if lost == 1 else ("lie", "them")
        return (
            f"{lost} of the {plural(len(own), 'key')} of bucket {hashed.bucket} {lie} elsewhere than d = {tried} leads "
            f"to, so no lookup finds {them}: the hash function or the index is damaged."
        )
    if not street.member:
        return _absent_caption(street)
    if few:
        together = (
            f"The {plural(len(own), 'key')} of bucket {hashed.bucket} share the displacement d = {tried}, and with it "
            "each lands where no other key does."
        )
    else:
        together = f"The displacement d = {tried} of bucket {hashed.bucket} moves its keys to where no other key lies."
    return (
        f"{together} A perfect hash gives every key a slot of its own; {plural(geometry.slots, 'slot')} for "
        f"{plural(geometry.declared, 'key')}, because with none to spare the last buckets would hardly find places."
        f"{'' if few else limit}"
    )


def _tried_caption(stored: int, tried: int, own: Sequence[Car]) -> str:
    """What another displacement than the stored one would do."""
    if own and all(car.slot == car.home for car in own):
        return f"With d = {tried} each key is in its slot: the {stored} that is stored is damaged."
    losers, keys = sum(not car.fits for car in own), plural(len(own), "key")
    told = f"{losers} of {keys} would fall on slots that are taken" if losers else f"all {keys} would find slots, too"
    why = "The writer tries 0, 1, 2, … until all keys of a bucket fit at once"
    return f"With d = {tried}, {told}. {why}, and keeps that number: {stored}."


def _absent_caption(street: Street) -> str:
    """Where a key lands that is not in the shard."""
    slot = street.cars[0].slot
    if street.held[slot].key is None:
        return f"This key has slot {slot}, which is unused. Any key has some slot, whether it is there or not."
    return (
        f"This key is not in the shard, yet it has slot {slot}, as any key has some slot. Only comparing it "
        "with the key that is stored there shows that it is absent."
    )
