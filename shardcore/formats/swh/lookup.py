"""Lookup of a key: hash, displacement, slot, and comparison of the stored key. The texts are in `trace_steps.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, KeyAbsent, ShardError, shown_key
from shardcore.formats.swh import chd
from shardcore.formats.swh.file import SwhFile, check_length, checked_key, live_ref, many_key_bytes
from shardcore.formats.swh.hash_section import (
    ONES_PER_ENTRY,
    HashLayout,
    bit_field,
    byte_range,
    displacement,
    find_bucket_bits,
    value_location,
)
from shardcore.formats.swh.layout import DIRECTORY_ENTRY, OBJECT, SLOT, ShardLayout
from shardcore.model.objects import ObjectRef, State
from shardcore.model.references import Reference, ReferenceCollector
from shardcore.model.span import Span
from shardcore.sources.base import FAR_GAP, Source

UNARY_GUESS = 4096
"""Bytes of unary bits read around the probable position of a one-bit."""

CONTENT_GUESS = 65536
"""Bytes read after an object's length, in the same request; they usually include its content."""

LEAST_GUESS = 16384
"""Minimum number of bytes read after a length, if the displacement of a second key was also read."""

MOST_SEARCHED = 100_000
"""Largest index, in slots, that is searched to explain why a key is not found."""

SAMPLE_SLOTS = 200
"""Slots read at once to find live keys for the check of the hash function."""

SAMPLE_KEYS = 16
"""Maximum number of live keys hashed for the check of the hash function."""

FEW_KEYS = 2
"""Maximum number of keys with a wrong slot that is explained by damaged keys, not by a wrong hash function."""

CERTAIN = 10_000
"""The hash function is trusted if a wrong one would match as many keys in fewer than one of this many shards."""

I64 = NDArray[np.int64]
Range = tuple[int, int]
Read = Callable[[Sequence[Range]], Sequence[bytes]]
"""Reads ranges of the hash function section, given as bytes `[start, stop)` of the file."""


# --- results of the steps ---------------------------------------------------------------------------------------
# Not frozen: each lookup creates six of these objects, and creating frozen ones would take a third of its time.


@dataclass(slots=True)
class Begun:
    """First result of a lookup: the header, and the key that is looked up."""

    key: bytes
    header: Mapping[str, Any]
    shard: ShardLayout
    hashing: HashLayout


@dataclass(slots=True)
class Hashed:
    """A key with its hash: bucket g, first slot f and step h."""

    key: bytes
    hashing: HashLayout
    bucket: int
    first: int
    step: int

    @property
    def rounds(self) -> tuple[chd.Round, chd.Round, chd.Round]:
        return chd.jenkins_rounds(self.key, self.hashing.seed)


@dataclass(slots=True)
class DisplacementLocated:
    """Location of the displacement of the key's bucket g.

    Attributes:
        positions: P[g - 1] and P[g] in the unary bits; P[-1] is -1.
        start: First bit of the value in the value store.
        length: Bits of the value.
        ranges: Byte ranges in the file of the directory entry and of the low bits.
        entry: Value of the directory entry: position of one-bit `g // 128 * 128`.
        lows: Low bits of bucket g - 1 and of g; 0 for bucket -1.
        unary: Reads of the unary bits: (offset in the unary bits, bytes) per read.
    """

    hashed: Hashed
    positions: tuple[int, int]
    start: int
    length: int
    ranges: tuple[Range, Range]
    entry: int
    lows: tuple[int, int]
    unary: tuple[tuple[int, bytes], ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """Spans of the bytes that were read: directory entry, unary bits, low bits."""
        first = self.hashed.hashing.parts["unary bits"].start
        unary = (Span("", first + at, first + at + len(piece)) for at, piece in self.unary)
        return Span("", *self.ranges[0]), *unary, Span("", *self.ranges[1])


@dataclass(slots=True)
class KeyPlaced:
    """The displacement of the key's bucket, and the slot that follows from it.

    Attributes:
        displacement: d = p0 + p1 · n.
        stored: Span of the value in the file; empty for a value of no bits.
        slot_start: Offset of the slot in the file, counted back from the hash function, where the index ends.
    """

    hashed: Hashed
    located: DisplacementLocated
    displacement: int
    stored: Span
    slot: int
    slot_start: int

    @property
    def slots(self) -> int:
        return self.hashed.hashing.slots

    @property
    def turns(self) -> int:
        return self.displacement // self.slots

    @property
    def probes(self) -> int:
        return self.displacement % self.slots


@dataclass(slots=True)
class KeyCompared:
    """The slot that was read; `missing` is the error if it does not contain the requested key."""

    placed: KeyPlaced
    stored: bytes
    offset: int
    state: State
    missing: ShardError | None

    @property
    def equal(self) -> bool:
        return self.stored == self.placed.hashed.key

    def span(self, field: str) -> Span:
        return SLOT.span(field, self.placed.slot_start)


@dataclass(slots=True)
class Candidates:
    """Names of the shards of a folder in which a key is searched, in order of the search."""

    names: tuple[str, ...]


Fact = Begun | Hashed | DisplacementLocated | KeyPlaced | KeyCompared | ObjectRef


def hash_key(hashing: HashLayout, key: bytes) -> Hashed:
    return Hashed(key, hashing, *chd.place_one(chd.jenkins_one(key, hashing.seed), hashing.buckets, hashing.slots))


def locate(read: Read, keys: Sequence[Hashed]) -> list[DisplacementLocated]:
    """Locate the displacements of keys, usually by one parallel read of three small ranges per key.

    Raises:
        FormatError: The displacement of the first key cannot be located. Other keys that fail are left out.
    """
    ranges = [_ranges(hashed) for hashed in keys]
    data = read([one for three in ranges for one in three])
    found = [_located(read, keys[0], ranges[0], data[:3])]
    for number, hashed in enumerate(keys[1:], 1):
        with suppress(FormatError):
            found.append(_located(read, hashed, ranges[number], data[3 * number : 3 * number + 3]))
    return found


def place(read: Read, keys: Sequence[DisplacementLocated]) -> list[KeyPlaced]:
    store = keys[0].hashed.hashing.parts["value store"]
    fields = [byte_range(located.start, located.length) for located in keys]
    data = read([(store.start + start, store.start + stop) for start, stop in fields])
    placed = []
    for located, (start, stop), field in zip(keys, fields, data, strict=True):
        stored = bit_field(field, located.start - 8 * start, located.length)
        d, hashed = displacement(stored, located.length), located.hashed
        slots = hashed.hashing.slots
        slot = chd.slot_one(hashed.first, hashed.step, d, slots)
        slot_start = hashed.hashing.start - SLOT.size * (slots - slot)
        span = Span("", store.start + start, store.start + stop)
        placed.append(KeyPlaced(hashed, located, d, span, slot, slot_start))
    return placed


def place_key(read: Read, hashing: HashLayout, key: bytes) -> KeyPlaced:
    """Return the slot of a key and the located displacement from which it was computed."""
    return place(read, locate(read, [hash_key(hashing, key)]))[0]


def _ranges(hashed: Hashed) -> tuple[Range, Range, Range]:
    """Return the byte ranges of a bucket's directory entry, of its unary bits (estimated), and of its low bits."""
    hashing, bucket, parts = hashed.hashing, hashed.bucket, hashed.hashing.parts
    unary, low = parts["unary bits"], parts["low bits"]
    entry = parts["select directory"].start + DIRECTORY_ENTRY.size * (bucket // ONES_PER_ENTRY)
    first_low = max(bucket - 1, 0) * hashing.low_width
    low_start, low_stop = byte_range(first_low, (bucket + 1) * hashing.low_width - first_low)
    # One-bits are spread evenly, so the position is estimated and read in parallel with the directory.
    likely = hashing.unary_bits * bucket // hashing.buckets // 8
    start = unary.start + max(likely - UNARY_GUESS // 2, 0)
    return (
        (entry, entry + DIRECTORY_ENTRY.size),
        (start, min(start + UNARY_GUESS, unary.stop)),
        (low.start + low_start, low.start + low_stop),
    )


def _located(
    read: Read, hashed: Hashed, ranges: tuple[Range, Range, Range], data: Sequence[bytes]
) -> DisplacementLocated:
    hashing, bucket, (entry_bytes, guessed, low_bytes) = hashed.hashing, hashed.bucket, data
    entry_place, (guess_start, guess_stop), low_place = ranges
    unary, width = hashing.parts["unary bits"], hashing.low_width
    looked: list[tuple[int, bytes]] = []

    def read_unary(start: int, stop: int) -> bytes:
        first, last = unary.start + start, min(unary.start + stop, unary.stop)
        inside = guess_start <= first and last <= guess_stop
        looked.append(
            (start, guessed[first - guess_start : last - guess_start] if inside else read([(first, last)])[0])
        )
        return looked[-1][1]

    (entry,) = DIRECTORY_ENTRY.packer.unpack(entry_bytes)
    positions = find_bucket_bits(read_unary, entry, bucket, hashing.unary_bits, hashing.where)
    shift = max(bucket - 1, 0) * width - 8 * (low_place[0] - hashing.parts["low bits"].start)
    own = bit_field(low_bytes, shift + (width if bucket else 0), width)
    lows = bit_field(low_bytes, shift, width) if bucket else 0, own
    start, length = value_location(bucket, positions, lows, width, hashing.store_bits)
    return DisplacementLocated(hashed, positions, start, length, (entry_place, low_place), entry, lows, tuple(looked))


def is_certain(agree: int, slots: int) -> bool:
    return agree * math.log(max(slots, 2)) >= math.log(CERTAIN)


# --- the lookup -------------------------------------------------------------------------------------------------


class SwhLookup:
    def __init__(self, file: SwhFile) -> None:
        self._file = file
        self._layout = file.layout
        self._checked = False
        # First 8 bytes of the live keys, sorted, and their slots; built when a lookup in a loaded index fails.
        self._prefixes: tuple[NDArray[np.uint64], I64] | None = None

    @cached_property
    def _last(self) -> list[tuple[int, Hashed]]:
        return [(slot, hash_key(self._file.hashing(), key)) for slot, key in self._file.last_keys]

    def parse(self, text: str) -> str:
        return checked_key(text)

    def walk(self, key: str, source: Source) -> Iterator[Fact]:
        """Look up a key and yield each result in order: hash, displacement, slot, and finally the object.

        Raises:
            KeyAbsent: The shard does not have the key.
            FormatError: A part of the shard that the lookup reads is damaged.
        """
        file, hashing = self._file, self._file.hashing()
        yield Begun(bytes.fromhex(key), file.header, self._layout, hashing)
        hashed = hash_key(hashing, bytes.fromhex(key))
        yield hashed
        read, near = file.hash_reader(source), self._near_key(hashed)
        slot, other, apart = near or (-1, None, 0)
        located = locate(read, [hashed] if other is None else [hashed, other])
        yield located[0]
        placed, *others = place(read, located)
        self._checked |= bool(others) and others[0].slot == slot
        yield placed
        compared = self._compare(placed, source)
        yield compared
        if compared.missing is not None:
            raise compared.missing
        if compared.state is State.DAMAGED:
            raise self._layout.outside(placed.slot, compared.offset)
        yield self._object(key, placed.slot, compared.offset, source, max(CONTENT_GUESS - apart, LEAST_GUESS))

    def in_memory(self, key: str) -> ObjectRef | None:
        """Return the object of a key, found in the loaded index of a local file; None if `walk` is to be used."""
        file, source, layout = self._file, self._file.source, self._layout
        if (order := file.order) is None or not source.near or (displacements := file.displacements()) is None:
            return None
        raw, hashing = bytes.fromhex(key), file.hashing()
        bucket, first, step = chd.place_one(chd.jenkins_one(raw, hashing.seed), hashing.buckets, hashing.slots)
        slot = chd.slot_one(first, step, int(displacements[bucket]), hashing.slots)
        start = layout.slot_start(slot)
        stored, offset = SLOT.packer.unpack(source.read(start, start + SLOT.size))
        if stored != raw or layout.state(offset) is not State.LIVE:
            return None
        size, length = order.size_of(slot, offset), source.read(offset, offset + OBJECT.size)
        return live_ref(key, slot, offset, size) if OBJECT.packer.pack(size) == length else None

    def find_many(self, texts: Sequence[str]) -> I64:
        """Return the slots of many keys, vectorised; -1 for a key that is not found.

        Raises:
            FormatError: A part of the shard that the lookup reads is damaged.
        """
        if not len(texts):
            return np.empty(0, np.int64)
        wanted = np.frombuffer(many_key_bytes(texts), np.uint8).reshape(-1, 32)
        rows = self._file.slots_of(wanted)
        slots = self._file.slots_at(rows)
        states = self._layout.states(slots["offset"])
        equal = (slots["key"].reshape(-1, 32).view("<u8") == np.ascontiguousarray(wanted).view("<u8")).all(axis=1)
        for damaged in np.flatnonzero(equal & (states == State.DAMAGED))[:1].tolist():
            raise self._layout.outside(int(rows[damaged]), int(slots["offset"][damaged]))
        found = equal & (states == State.LIVE)
        if not found.all():
            self._check_function(self._file.source)
        return np.where(found, rows, -1)

    def gather_references(self, into: ReferenceCollector) -> None:
        """Add a reference from the displacement to the slot that contains the requested span, if it is in one slot."""
        file, layout, span = self._file, self._layout, into.span
        slot = (span.start - layout.index_start) // SLOT.size
        last = (span.stop - 1 - layout.index_start) // SLOT.size
        if span.source or not 0 <= slot == last < layout.slots:
            return
        for _, key in file.live_keys(slot, file.slots(slot, slot + 1)):
            with suppress(FormatError):  # the tree and verification report a damaged hash function
                placed = place_key(file.hash_reader(file.source), file.hashing(), key)
                if placed.slot == slot:
                    why = f"The displacement of bucket {placed.hashed.bucket} determines the slot of this key, {slot}."
                    pointer = placed.stored if placed.stored.size else file.hashing().parts["unary bits"]
                    into.add(Reference(pointer, layout.slot_span(slot), why))

    def _compare(self, placed: KeyPlaced, source: Source) -> KeyCompared:
        stored, offset = SLOT.packer.unpack(source.read(placed.slot_start, placed.slot_start + SLOT.size))
        state, key = self._layout.state(offset), placed.hashed.key
        if stored != key:
            # An empty slot, or another key in it, proves nothing if the hash function does not match the keys.
            self._check_function(source)
        missing = None
        if stored != key or state is State.UNUSED:
            missing = self._missing(key, placed.slot, stored, state)
        return KeyCompared(placed, stored, offset, state, missing)

    def _object(self, key: str, slot: int, offset: int, source: Source, guess: int) -> ObjectRef:
        """Read an object's length; from a remote file, also up to `guess` bytes of content in the same request."""
        guess = 0 if source.near else guess
        window = source.read(offset, min(offset + OBJECT.size + guess, self._layout.index_start))
        (size,) = OBJECT.packer.unpack_from(window)
        if (error := self._layout.too_long(offset, size)) is not None:
            raise error
        if (order := self._file.order) is not None:
            start = offset + OBJECT.size
            check_length(window[: OBJECT.size], Span("", start, start + order.size_of(slot, offset)))
        return live_ref(key, slot, offset, size)

    # --- a key that is not found ---------------------------------------------------------------------------------

    def _missing(self, raw: bytes, slot: int, stored: bytes, state: State) -> ShardError:
        """Return the error for a missing key: KeyAbsent, or FormatError if a search of a loaded index shows damage."""
        layout, key = self._layout, raw.hex()
        absent = KeyAbsent(key, span=layout.slot_span(slot, "offset" if state is State.UNUSED else "key"))
        start, stop = layout.index_start, self._file.hashing().stop
        if layout.slots > MOST_SEARCHED or self._file.source.loaded(start, stop) != ((start, stop),):
            return absent
        what = f"lookup of {shown_key(key)} gives slot {slot}"
        if (other := self._slot_with(raw)) is not None:
            message = f"{what}, but slot {other} has this key: the hash function or one of the slots is damaged"
            return FormatError(message, span=layout.slot_span(other))
        if state is not State.UNUSED and self._file.slots_of(np.frombuffer(stored, np.uint8).reshape(1, 32))[0] != slot:
            message = f"{what}, which is damaged: its stored key does not hash to the slot, and may have been this key"
            return FormatError(message, span=absent.span)
        return absent

    def _slot_with(self, key: bytes) -> int | None:
        """Return the live slot that has this key, by a search of the loaded index; None if no slot has it."""
        if self._prefixes is None:
            rows = self._file.slots(0, self._layout.slots)
            live = np.flatnonzero(self._layout.states(rows["offset"]) == State.LIVE)
            prefixes = np.ascontiguousarray(rows["key"][live]).view("<u8").reshape(-1, 4)[:, 0]
            order = np.argsort(prefixes)
            self._prefixes = prefixes[order], live[order]
        prefixes, slots = self._prefixes
        wanted = np.uint64(int.from_bytes(key[:8], "little"))
        first, last = (int(np.searchsorted(prefixes, wanted, side)) for side in ("left", "right"))
        found = self._file.slots_at(slots[first:last])["key"]
        return next((int(slots[first + at]) for at in range(last - first) if found[at].tobytes() == key), None)

    # --- does the hash function fit the keys? ----------------------------------------------------------------------

    def _check_function(self, source: Source) -> None:
        """Hash a few live keys at the first call; raise FormatError if most do not hash to their slots."""
        if not self._checked:
            self._file.misfit = self._misfit(source) or self._file.misfit
            self._checked = True
        if self._file.misfit is not None:
            raise self._file.misfit

    def _misfit(self, source: Source) -> FormatError | None:
        hashing, agree, others = self._file.hashing(), 0, 0
        for slot, key in islice(self._sample_keys(source), SAMPLE_KEYS):
            same = False
            with suppress(FormatError):  # the displacement of this key may be damaged
                same = slot == place_key(self._file.hash_reader(source), hashing, key).slot
            agree += same
            others += not same
            if agree and is_certain(agree, hashing.slots):
                return None
        # A few mismatches may be damaged keys, not a damaged function.
        if agree + others > FEW_KEYS and others >= agree:
            return self._file.misfit_of(others, agree + others)
        return None

    def _sample_keys(self, source: Source) -> Iterator[tuple[int, bytes]]:
        yield from self._file.last_keys
        rest = self._layout.slots - self._file.last_slots_count
        for first in range(0, min(rest, 50 * SAMPLE_SLOTS), SAMPLE_SLOTS):
            rows = self._file.slots(first, min(first + SAMPLE_SLOTS, rest), source)
            yield from self._file.live_keys(first, rows)[:SAMPLE_KEYS]

    def _near_key(self, hashed: Hashed) -> tuple[int, Hashed, int] | None:
        """Return a second key to look up: a live key of the bucket nearest to that of `hashed`, with its known slot.

        It checks the hash function without further requests. Returns (slot, hash, bytes between the displacements of
        both keys), or None if the displacements are too far apart or no check is needed.
        """
        hashing = hashed.hashing
        if self._checked or self._file.has_hash_section or not is_certain(1, hashing.slots):
            return None
        nearest = min(self._last, key=lambda one: abs(one[1].bucket - hashed.bucket), default=None)
        if nearest is None:
            return None
        between = abs(nearest[1].bucket - hashed.bucket)
        apart = [
            between * bits // hashing.buckets // 8
            for bits in (hashing.unary_bits, hashing.low_width * hashing.buckets, hashing.store_bits)
        ]
        return (*nearest, sum(apart)) if max(apart) < FAR_GAP // 2 else None
