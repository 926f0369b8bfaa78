"""Looking up a key: one hash, one slot, one object; the eleven steps are those of `docs/formats/swh.md`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, ShardError, UsageError, shown_key
from shardcore.formats.swh import chd
from shardcore.formats.swh.displacement import DisplacementLocation, displacement_locations, displacements
from shardcore.formats.swh.file import SwhFile, check_length
from shardcore.formats.swh.layout import HASH_HEAD, HASH_TAIL, HEADER, OBJECT, SLOT, length_span
from shardcore.formats.swh.objects import key_bytes, live_ref
from shardcore.formats.swh.slots import read_slots_at
from shardcore.model.number_words import plural
from shardcore.model.objects import ObjectRef, State
from shardcore.model.span import Span
from shardcore.model.text import short
from shardcore.shards.format import lazily
from shardcore.shards.step_content import Compared, Fields

if TYPE_CHECKING:
    from shardcore.shards.trace import LookupRecorder
    from shardcore.sources.base import Source

place_drawing = lazily("shardcore.formats.swh.displacement_figures:place_drawing")
displacement_drawing = lazily("shardcore.formats.swh.displacement_figures:displacement_drawing")
slot_drawing = lazily("shardcore.formats.swh.slot_placement_figures:slot_drawing")

CONTENT_GUESS = 65536
"""Bytes read with an object's length, which usually include its content."""

MOST_SEARCHED = 100_000
"""Largest index, in slots, that is searched to explain why a key is not found."""

LEAST_GUESS = 16384
"""Smaller `CONTENT_GUESS` of a lookup that also read a second key, to detect hashes of signed bytes."""


@dataclass(frozen=True, slots=True)
class SwhKey:
    digest: bytes

    def __str__(self) -> str:
        return self.digest.hex()


def parse_key(text: str) -> SwhKey:
    return SwhKey(key_bytes(text))


def _ends_text(bucket: int, place: DisplacementLocation, low: int) -> str:
    def end(number: int, which: int) -> str:
        at = place.positions[which]
        return f"({at} - {number}) · 2^{low} + {place.lows[which]} = {((at - number) << low) + place.lows[which]}"

    stop = place.start + place.length
    if not bucket:
        return (
            "Values are packed one after the other; that of bucket 0 begins at store bit 0. One-bit 0 is at bit "
            f"{place.positions[1]} of the unary bits; with its low bits, {place.lows[1]}, the value ends at store bit "
            f"{stop}, as {end(0, 1)}"
        )
    return (
        "Values are packed one after the other, and the end of each is kept, in two parts. "
        f"One-bits {bucket - 1} and {bucket} are at bits {place.positions[0]} and {place.positions[1]} of the unary "
        f"bits; with their low bits, {place.lows[0]} and {place.lows[1]}, values {bucket - 1} and {bucket} end at "
        f"store bits {place.start} and {stop}, as {end(bucket - 1, 0)} and {end(bucket, 1)}"
    )


def _value_text(place: DisplacementLocation, displacement: int) -> str:
    if not place.length:
        return "The value takes no bits, and a value of no bits is 0: d = 0"
    least = (1 << place.length) - 1
    return (
        f"The {plural(place.length, 'bit')} from store bit {place.start} on are the number {displacement - least}. "
        f"Values of {plural(place.length, 'bit')} count from 2^{place.length} - 1 = {least} on, where shorter ones "
        f"end: d = {displacement - least} + {least} = {displacement}"
    )


class SwhLookup:
    def __init__(self, file: SwhFile) -> None:
        self._file = file
        self._geometry = file.geometry
        # First 8 bytes of the live keys, sorted, and their slots; built when a lookup in a loaded index fails.
        self._prefixes: tuple[NDArray[np.uint64], NDArray[np.int64]] | None = None

    def parse(self, text: str) -> SwhKey:
        return parse_key(text)

    def find(self, key: SwhKey, recorder: LookupRecorder) -> ObjectRef:
        self._file.hash_parts()
        source = recorder.meter(self._file.source)
        geometry = self._geometry
        recorder.step(
            "Is this a shard?",
            f"The header: version 1, {plural(geometry.declared, 'object')} written, an index of "
            f"{plural(geometry.slots, 'slot')}.",
            Span("", 0, HEADER.size),
            why="A reader first checks the format; the header has the offsets of the other sections.",
            version=1,
            objects_count=geometry.declared,
            slots=geometry.slots,
            shown=(Fields(HEADER, 0, self._file.header),),
        )
        self._tell_start(key, recorder)
        slot, beyond = self._slot_of(key, source, recorder)
        row = self._read_slot(slot, source)
        if row["key"] != key.digest:
            self._file.check_function(source)
        if row["key"] != key.digest and self._file.misfit is not None:
            # An empty or foreign slot proves nothing then.
            raise self._file.misfit
        offset = self._told_slot(key, slot, row, recorder)
        return self._object(key, slot, offset, source, recorder, max(CONTENT_GUESS - beyond, LEAST_GUESS))

    def find_many(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return the slots of many keys, vectorised; -1 for a key that is not found."""
        if not len(texts):
            return np.empty(0, np.int64)
        if (odd := next((text for text in texts if len(text) != 64), None)) is not None:
            raise UsageError(f"a key of a swh shard is 64 hex digits, not {short(odd)}")
        try:
            # `fromhex` skips blanks, so a key with blanks gives too few bytes.
            wanted = np.frombuffer(bytes.fromhex("".join(texts)), np.uint8).reshape(len(texts), 32)
        except ValueError:
            wanted = np.frombuffer(b"".join(key_bytes(text) for text in texts), np.uint8).reshape(-1, 32)
        source = self._file.source
        rows = self._file.slots_of(wanted)
        slots = read_slots_at(source, self._geometry, rows)
        live = self._geometry.states(slots["offset"]) == State.LIVE
        equal = (slots["key"].reshape(-1, 32).view("<u8") == np.ascontiguousarray(wanted).view("<u8")).all(axis=1)
        found = live & equal
        if not found.all():
            self._file.check_function(source)
            if self._file.misfit is not None:
                raise self._file.misfit
        return np.where(found, rows, -1)

    @property
    def _seed_span(self) -> Span:
        at = self._file.hash_parts().start + HASH_HEAD.offsets["seed"]
        return Span("", at, at + HASH_HEAD.sizes["seed"])

    def _read_slot(self, slot: int, source: Source) -> dict[str, object]:
        span = self._geometry.slot_span(slot)
        return SLOT.read_one(source.read(span.start, span.stop))

    def _tell_start(self, key: SwhKey, recorder: LookupRecorder) -> None:
        if not recorder.recording:
            return
        words: list[Any] = [f"{word:08x}" for word in chd.key_words(key.digest)]
        recorder.step(
            "The key as eight numbers",
            f"Its 32 bytes are read as eight little-endian 32-bit numbers, w0 to w7: {' '.join(words)}.",
            why="The hash works on 32-bit numbers, not on single bytes.",
            **{f"w{number}": word for number, word in enumerate(words)},
        )
        parts = self._file.hash_parts()
        recorder.step(
            "The seed",
            "The key is hashed by Bob Jenkins' hash, which works on three 32-bit state numbers, a, b and c. They start "
            f"as a = b = 9e3779b9 and c = the seed, {parts.seed}.",
            self._seed_span,
            why="The writer tried seeds until each key had its own slot; only the same seed finds it again.",
            at={"seed": self._seed_span},
            seed=parts.seed,
        )

    def _slot_of(self, key: SwhKey, source: Source, recorder: LookupRecorder) -> tuple[int, int]:
        parts = self._file.hash_parts()
        tail = parts.stop - HASH_TAIL.size
        bucket, first, step = chd.place_one(self._hashed(key, recorder), parts.buckets, parts.slots)
        recorder.step(
            "Bucket, first slot, step",
            f"With n = {plural(parts.slots, 'slot')} and B = {plural(parts.buckets, 'bucket')}: "
            f"bucket g = a mod B = {bucket}; first_slot f = b mod n = {first}; step h = c mod (n - 1) + 1 = {step}.",
            Span("", tail, parts.stop),
            why="The bucket selects the displacement; it is applied to the first slot and the step.",
            n=parts.slots,
            B=parts.buckets,
            g=bucket,
            f=first,
            h=step,
            at={
                value: Span("", tail + HASH_TAIL.offsets[name], tail + HASH_TAIL.offsets[name] + HASH_TAIL.sizes[name])
                for value, name in (("n", "slots_count"), ("B", "buckets_count"))
            },
        )
        displacement, beyond = self._displacement(bucket, source, recorder)
        turns, probes = divmod(displacement, parts.slots)
        slot = chd.slot_one(first, step, displacement, parts.slots)
        span = self._geometry.slot_span(slot)
        recorder.step(
            "The slot",
            "(first_slot + step · p0 + p1) mod n = "
            f"({first} + {step} · {probes} + {turns}) mod {parts.slots} = {slot}. "
            f"Slot {slot} of the index begins at byte {span.start:#x}.",
            why="The writer moved each bucket until all its keys had free slots; a reader repeats the move.",
            inputs=(Span("", tail, parts.stop),),
            slot=slot,
            position=span.start,
            draw=lambda: slot_drawing(self._geometry, (first, step), displacement),
        )
        return slot, beyond

    def _hashed(self, key: SwhKey, recorder: LookupRecorder) -> chd.Triple:
        rounds = chd.jenkins_rounds(key.digest, self._file.hash_parts().seed)
        if recorder.recording:
            values: dict[str, Any] = {}
            for number, one in enumerate(rounds, 1):
                values[f"round {number} added"] = " ".join(f"{x:08x}" for x in one.added)
                values[f"round {number} mixed"] = " ".join(f"{x:08x}" for x in one.mixed)
            values |= {name: f"{x:08x}" for name, x in zip("abc", rounds[-1].mixed, strict=True)}
            result = ", ".join(f"{name} = {values[name]}" for name in "abc")
            recorder.step(
                "Three rounds of mixing",
                "Each round adds to a, b, c and mixes them: w0, w1, w2; then w3, w4, w5; then w6, w7 and 32, the key's "
                f"length in bytes. They end as {result}.",
                why="Mixing spreads keys evenly: keys that differ in a single bit get very different numbers.",
                inputs=(self._seed_span,),
                **values,
            )
        return rounds[-1].mixed

    def _displacement(self, bucket: int, source: Source, recorder: LookupRecorder) -> tuple[int, int]:
        parts, hashes = self._file.hash_parts(), self._file.hash_source(source)
        # A key that shows whether bytes are signed is read, too, if that costs no request.
        companion = self._file.companion(bucket)
        buckets = [bucket] if companion is None else [bucket, companion.bucket]
        places = displacement_locations(hashes, parts, buckets)
        place = places[0]
        recorder.step(
            f"Location of the displacement of bucket {bucket}",
            f"{_ends_text(bucket, place, parts.low_width)}: first_bit = {place.start}, "
            f"length = {plural(place.length, 'bit')}.",
            *place.spans,
            why="Most displacements are small, so each is stored in only the bits it needs, and its end is stored too.",
            P_before=place.positions[0],
            P=place.positions[1],
            first_bit=place.start,
            len=place.length,
            draw=lambda: place_drawing(parts, bucket, place),
        )
        (displacement, span), *others = displacements(hashes, parts, places)
        for other, _ in others:
            if companion is not None:
                self._file.hear(companion, other)
        turns, probes = divmod(displacement, parts.slots)
        recorder.step(
            "The displacement",
            f"{_value_text(place, displacement)}; p1 = {displacement} // {parts.slots} = {turns}, "
            f"p0 = {displacement} mod {parts.slots} = {probes}.",
            *((span,) if span.size else ()),
            why="The hash function stores one number per bucket instead of a table of keys.",
            inputs=() if span.size else place.spans,
            d=displacement,
            p0=probes,
            p1=turns,
            draw=lambda: displacement_drawing(parts, bucket, place, displacement, span),
        )
        return displacement, companion.apart if companion is not None else 0

    def _not_found(self, key: SwhKey, slot: int, stored: bytes, state: State) -> ShardError:
        """Return KeyAbsent, or FormatError if damage may be the reason; only loaded bytes are searched."""
        span = self._geometry.offset_span(slot) if state is State.UNUSED else self._geometry.key_span(slot)
        geometry, parts, source = self._geometry, self._file.hash_parts(), self._file.source
        start, stop = geometry.slot_span(0).start, geometry.slot_span(geometry.slots - 1).stop
        if geometry.slots > MOST_SEARCHED or source.loaded(start, parts.stop) != ((start, parts.stop),):
            return KeyAbsent(str(key), span=span)
        what = f"lookup of {shown_key(str(key))} gives slot {slot}"
        if (other := self._slot_with(key, start, stop)) is not None:
            return FormatError(
                f"{what}, but slot {other} has this key: the hash function or one of the slots is damaged",
                span=geometry.slot_span(other),
            )
        keys = np.frombuffer(stored, np.uint8).reshape(1, 32)
        if state is not State.UNUSED and self._file.slots_of(keys)[0] != slot:
            return FormatError(
                f"{what}, which is damaged: the key in it does not hash to it, so it may have been this one", span=span
            )
        return KeyAbsent(str(key), span=span)

    def _slot_with(self, key: SwhKey, start: int, stop: int) -> int | None:
        """Return the live slot with a key, by a search of the loaded index; None if there is none."""
        if self._prefixes is None:
            rows = SLOT.read(self._file.source.read(start, stop), count=self._geometry.slots)
            live = np.flatnonzero(self._geometry.states(rows["offset"]) == State.LIVE)
            prefixes = np.ascontiguousarray(rows["key"][live]).view("<u8").reshape(-1, 4)[:, 0]
            order = np.argsort(prefixes)
            self._prefixes = prefixes[order], live[order]
        prefixes, slots = self._prefixes
        wanted = np.uint64(int.from_bytes(key.digest[:8], "little"))
        first, last = (int(np.searchsorted(prefixes, wanted, side)) for side in ("left", "right"))
        for slot in slots[first:last].tolist():
            if self._read_slot(slot, self._file.source)["key"] == key.digest:
                return int(slot)
        return None

    def _told_slot(self, key: SwhKey, slot: int, row: dict[str, object], recorder: LookupRecorder) -> int:
        key_span, offset_span = self._geometry.key_span(slot), self._geometry.offset_span(slot)
        stored, offset = row["key"], row["offset"]
        assert isinstance(stored, bytes)
        assert isinstance(offset, int)
        state = self._geometry.state(offset)
        equal = stored == key.digest
        missing = None if equal and state is not State.UNUSED else self._not_found(key, slot, stored, state)
        verdict = "it is this key" if equal else "it is another key"
        if isinstance(missing, KeyAbsent):
            verdict += ", so this one is not in the shard"
        if state is State.UNUSED:
            verdict = "its offset shows whether it has an object"
        recorder.step(
            "Is it really this key?",
            f"Every key maps to some slot, so the keys must be compared. Slot {slot} has {stored.hex()}: {verdict}.",
            key_span,
            why="A perfect hash gives any key a slot, so only a comparison shows whether the key is in the shard.",
            stored=stored.hex(),
            equal=equal,
            shown=(Compared(f"The key in slot {slot}", key.digest, stored, key_span),),
        )
        if missing is not None and state is not State.UNUSED:
            raise missing
        if state is State.UNUSED:
            recorder.step(
                "Location of the object",
                "Its offset marks a slot without an object: never used, or its object was deleted.",
                offset_span,
                why="There are more slots than objects, so that building is fast; the offset shows which are unused.",
                offset=offset,
                at={"offset": offset_span},
            )
            raise missing or KeyAbsent(str(key), span=offset_span)
        recorder.step(
            "Location of the object",
            f"The object begins at byte {offset:#x}, with the 8 bytes of its length.",
            offset_span,
            why="Slots have a fixed size and contents do not, so a slot has only the offset of its object.",
            offset=offset,
            at={"offset": offset_span},
        )
        if state is State.DAMAGED:
            raise self._geometry.outside(slot, offset)
        return offset

    def _object(
        self, key: SwhKey, slot: int, offset: int, source: Source, recorder: LookupRecorder, guess: int
    ) -> ObjectRef:
        """Read the length and up to `guess` bytes of content in one request."""
        stop = self._geometry.index_start
        window = source.read(offset, min(offset + OBJECT.size + guess, stop))
        size = int(OBJECT.read_one(window, place=Span("", offset, offset + len(window)))["size"])
        if (error := self._geometry.too_long(offset, size)) is not None:
            raise error
        if (order := self._file.order) is not None:
            content = offset + OBJECT.size
            expected = int(order.sizes_of(np.array([slot]), np.array([offset]))[0])
            check_length(window[: OBJECT.size], Span("", content, content + expected))
        ref = live_ref(str(key), slot, offset, size)
        recorder.step(
            "The object",
            f"Its length is {plural(size, 'byte')}; the content follows.",
            *reversed(ref.spans),
            why="The length is stored before the content, so that one read returns both.",
            length=size,
            at={"length": length_span(offset)},
        )
        return ref
