"""Finding a key: one hash, one slot, one read. The eleven steps that are told are those of `docs/formats/swh.md`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shardcore.errors import FormatError, KeyAbsent
from shardcore.formats.swh import chd, chd_code
from shardcore.formats.swh.layout import DIRECTORY_ENTRY, HASH_HEAD, HASH_TAIL, HEADER, OBJECT, SLOT, HashParts
from shardcore.formats.swh.objects import key_bytes, live_ref
from shardcore.objects import ObjectRef, State
from shardcore.sources.base import Source
from shardcore.span import Span
from shardcore.trace import Look

if TYPE_CHECKING:
    from shardcore.formats.swh.reader import SwhShard

UNARY_GUESS = 4096
"""Bytes of unary bits fetched around where a bucket's one-bit is likely to be."""

CONTENT_GUESS = 65536
"""Bytes fetched with an object's length, in the hope that they hold its content."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the displacement of a bucket is kept.

    Attributes:
        positions: P[g - 1] and P[g], bits of the unary bits.
        start: First bit of the value in the store.
        length: Bits of the value.
        spans: The bytes looked at.
    """

    positions: tuple[int, int]
    start: int
    length: int
    spans: tuple[Span, ...]


def lookup(shard: SwhShard, key: str, look: Look) -> ObjectRef:
    """Finds a key and tells it; see `Shard.lookup`."""
    wanted = key_bytes(key)
    parts = shard.hash_parts()
    source = look.meter(shard.source)
    geometry = shard.geometry
    look.step(
        "Is this a shard?",
        f"The header says: version 1, {geometry.declared} objects, {geometry.slots} slots.",
        Span("", 0, HEADER.size),
        version=1,
        objects_count=geometry.declared,
        slots=geometry.slots,
    )
    _tell_words(wanted, look)
    seed_start = parts.start + HASH_HEAD.offsets["seed"]
    look.step(
        "The seed",
        f"The hash starts with 9e3779b9, 9e3779b9 and the seed, {parts.seed}.",
        Span("", seed_start, seed_start + 4),
        seed=parts.seed,
    )
    signed = shard.signed is True
    slot = _slot_of(shard, parts, wanted, source, look, signed=signed)
    row = SLOT.read_one(source.read(geometry.slot_start(slot), geometry.slot_start(slot + 1)))
    if row["key"] != wanted and shard.signed is None and shard.is_signed(source):
        look.step(
            "Another dialect",
            "No key of this shard hashes to its slot; they do if key bytes count as signed, as in an old version of "
            "the hash library. Once more with that rule. Current readers do not find this key.",
        )
        slot = _slot_of(shard, parts, wanted, source, look, signed=True)
        row = SLOT.read_one(source.read(geometry.slot_start(slot), geometry.slot_start(slot + 1)))
    offset = _told_slot(shard, key, wanted, slot, row, look)
    return _object(shard, key, slot, offset, source, look)


def bucket_place(source: Source, parts: HashParts, bucket: int) -> Place:
    """Where the displacement of a bucket is kept, from a few small ranges (one parallel group in the usual case).

    Raises:
        FormatError: The select directory or the sums of the function are damaged.
    """
    unary, directory, low = (parts.part(name) for name in ("unary bits", "select directory", "low bits"))
    entry_start = directory.start + DIRECTORY_ENTRY.size * (bucket // chd_code.ONES_PER_ENTRY)
    first_low = max(bucket - 1, 0) * parts.low_width
    low_bits = (bucket + 1) * parts.low_width - first_low
    low_start, low_stop = chd_code.byte_range(first_low, low_bits)
    # One-bits are spread evenly: guess where this bucket's is, and fetch around it while the directory is fetched.
    likely = parts.unary_bits * bucket // parts.buckets // 8
    guess_start = max(likely - UNARY_GUESS // 2, 0)
    guess_stop = min(guess_start + UNARY_GUESS, unary.size)
    entry_bytes, guessed, lows = source.read_many(
        [
            (entry_start, entry_start + DIRECTORY_ENTRY.size),
            (unary.start + guess_start, unary.start + guess_stop),
            (low.start + low_start, low.start + low_stop),
        ]
    )
    looked: list[Span] = []

    def read_unary(start: int, stop: int) -> bytes:
        stop = min(stop, unary.size)
        looked.append(Span("", unary.start + start, unary.start + stop))
        if guess_start <= start and stop <= guess_stop:
            return guessed[start - guess_start : stop - guess_start]
        return source.read(unary.start + start, unary.start + stop)

    entry = int(DIRECTORY_ENTRY.read_one(entry_bytes)["position"])
    positions = chd_code.find_bucket_bits(read_unary, entry, bucket, parts.unary_bits, parts.where)
    shift = first_low - 8 * low_start
    own = chd_code.bit_field(lows, shift + (parts.low_width if bucket else 0), parts.low_width)
    before = chd_code.bit_field(lows, shift, parts.low_width) if bucket else 0
    start, length = chd_code.value_place(bucket, positions, (before, own), parts.low_width, parts.store_bits)
    spans = (
        Span("", entry_start, entry_start + DIRECTORY_ENTRY.size),
        *looked,
        Span("", low.start + low_start, low.start + low_stop),
    )
    return Place(positions, start, length, spans)


def single_displacement(source: Source, parts: HashParts, place: Place) -> tuple[int, Span]:
    """The displacement kept at a place of the value store, and the bytes it was read from."""
    store = parts.part("value store")
    start, stop = chd_code.byte_range(place.start, place.length)
    span = Span("", store.start + start, store.start + stop)
    data = source.read(span.start, span.stop)
    stored = chd_code.bit_field(data, place.start - 8 * start, place.length)
    return chd_code.displacement(stored, place.length), span


def slot_of_key(source: Source, parts: HashParts, key: bytes, *, signed: bool) -> int:
    """The slot of one key, silently."""
    hashed = chd.jenkins_rounds(key, parts.seed, signed)[-1].mixed
    bucket, first, step = chd.place_one(hashed, parts.buckets, parts.slots)
    displacement, _ = single_displacement(source, parts, bucket_place(source, parts, bucket))
    return chd.slot_one(first, step, displacement, parts.slots)


def _tell_words(wanted: bytes, look: Look) -> None:
    if not look.telling:
        return
    words = [f"{word:08x}" for word in chd.key_words(wanted)]
    look.step(
        "The key as eight numbers",
        f"Its 32 bytes are read as little-endian 32-bit numbers: {' '.join(words)}.",
        **{f"w{number}": word for number, word in enumerate(words)},
    )


def _slot_of(shard: SwhShard, parts: HashParts, wanted: bytes, source: Source, look: Look, *, signed: bool) -> int:
    """Steps 4 to 8: from the key to its slot."""
    rounds = chd.jenkins_rounds(wanted, parts.seed, signed)
    hashed = rounds[-1].mixed
    if look.telling:
        states = {f"round {n} mixed": " ".join(f"{x:08x}" for x in r.mixed) for n, r in enumerate(rounds, 1)}
        added = {f"round {n} added": " ".join(f"{x:08x}" for x in r.added) for n, r in enumerate(rounds, 1)}
        look.step(
            "Three rounds of mixing",
            f"Words 0 to 2, 3 to 5, then 6, 7 and the length 32 are added and mixed: {states['round 3 mixed']}.",
            **{name: value for pair in zip(added.items(), states.items(), strict=True) for name, value in pair},
        )
    bucket, first, step = chd.place_one(hashed, parts.buckets, parts.slots)
    look.step(
        "Bucket, start, step",
        f"a mod {parts.buckets} is bucket {bucket}; b mod {parts.slots} is start {first}; "
        f"c mod {parts.slots - 1}, plus 1, is step {step}.",
        Span("", parts.stop - HASH_TAIL.size, parts.stop),
        n=parts.slots,
        B=parts.buckets,
        g=bucket,
        f=first,
        h=step,
    )
    hashes = shard.hash_source(source)
    place = bucket_place(hashes, parts, bucket)
    look.step(
        f"Where bucket {bucket}'s displacement is stored",
        f"One-bits {bucket - 1} and {bucket} stand at bits {place.positions[0]} and {place.positions[1]}; with their "
        f"low bits the value has {place.length} bits, from bit {place.start} of the store on.",
        *place.spans,
        P_before=place.positions[0],
        P=place.positions[1],
        start=place.start,
        len=place.length,
    )
    displacement, span = single_displacement(hashes, parts, place)
    turns, probes = divmod(displacement, parts.slots)
    look.step(
        "The displacement",
        f"The {place.length} bits, plus 2^{place.length} - 1, are {displacement} = {turns} · n + {probes}.",
        span,
        d=displacement,
        p0=probes,
        p1=turns,
    )
    slot = chd.slot_one(first, step, displacement, parts.slots)
    start = shard.geometry.slot_start(slot)
    look.step(
        "The slot",
        f"({first} + {step} · {probes} + {turns}) mod {parts.slots} is slot {slot}, at byte {start}.",
        Span("", start, start + SLOT.size),
        slot=slot,
        position=start,
    )
    return slot


def _told_slot(shard: SwhShard, key: str, wanted: bytes, slot: int, row: dict[str, object], look: Look) -> int:
    """Steps 9 and 10: whether it is this key, and where the object is."""
    start = shard.geometry.slot_start(slot)
    key_span, offset_span = Span("", start, start + 32), Span("", start + 32, start + SLOT.size)
    stored, offset = row["key"], row["offset"]
    assert isinstance(stored, bytes)
    assert isinstance(offset, int)
    state = State(int(shard.geometry.states(np.array([offset], np.uint64))[0]))
    equal = stored == wanted
    verdict = "they are equal" if equal else "they differ, so the key is not in this shard"
    if state is State.UNUSED:
        verdict = "the slot holds no object; its offset tells"
    look.step(
        "Is it really this key?",
        f"Slot {slot} holds {stored.hex()}: {verdict}.",
        key_span,
        stored=stored.hex(),
        equal=equal,
    )
    if not equal and state is not State.UNUSED:
        raise KeyAbsent(key, span=key_span)
    if state is State.UNUSED:
        look.step(
            "Where the object is",
            "There is no object: the slot was never used, or its object was deleted.",
            offset_span,
            offset=offset,
        )
        raise KeyAbsent(key, span=offset_span)
    look.step("Where the object is", f"Its length stands at byte {offset}.", offset_span, offset=offset)
    if state is State.DAMAGED:
        raise FormatError(f"slot {slot} points to {offset}, outside the objects", span=offset_span)
    return offset


def _object(shard: SwhShard, key: str, slot: int, offset: int, source: Source, look: Look) -> ObjectRef:
    """Step 11: the length, and with a guess the content."""
    stop = shard.geometry.index_start
    window = source.read(offset, min(offset + OBJECT.size + CONTENT_GUESS, stop))
    shard.keep_window(offset, window)
    size = int(OBJECT.read_one(window, place=Span("", offset, offset + len(window)))["size"])
    length_span = Span("", offset, offset + OBJECT.size)
    if size > stop - offset - OBJECT.size:
        raise FormatError(f"the object says {size} bytes; the objects end after {stop - offset - 8}", span=length_span)
    content = Span("", length_span.stop, length_span.stop + size)
    look.step("The object", f"Its length is {size}; the content follows.", length_span, content, length=size)
    return live_ref(key.lower(), slot, offset, size)
