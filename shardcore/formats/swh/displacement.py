"""Reading the displacement of single buckets, and so the slot of a key, in a few small ranges."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from shardcore.errors import FormatError
from shardcore.formats.swh import chd, chd_code
from shardcore.formats.swh.hash_section import HashParts
from shardcore.formats.swh.layout import DIRECTORY_ENTRY
from shardcore.model.span import Span
from shardcore.sources.base import FAR_GAP, Source

UNARY_GUESS = 4096
"""Bytes of unary bits read around the probable position of a one-bit."""


@dataclass(frozen=True, slots=True)
class DisplacementLocation:
    """Location of the displacement of a bucket.

    Attributes:
        positions: P[g - 1] and P[g] in the unary bits; P[-1] is -1.
        start: First bit of the value in the value store.
        length: Bits of the value.
        spans: The bytes read: directory entry, unary bits, low bits.
        entry: The directory entry: position of the one-bit it is for.
        lows: Low bits of bucket g - 1 and of g; 0 for bucket -1.
        unary: The unary bits read: offset within them, and bytes.
    """

    positions: tuple[int, int]
    start: int
    length: int
    spans: tuple[Span, ...]
    entry: int
    lows: tuple[int, int]
    unary: tuple[tuple[int, bytes], ...]


def displacement_location(source: Source, parts: HashParts, bucket: int) -> DisplacementLocation:
    """Return the location of a bucket's displacement; usually one parallel group of three small ranges."""
    ranges = _guess(parts, bucket)
    return _place(source, parts, bucket, source.read_many(ranges))


def displacement_locations(source: Source, parts: HashParts, buckets: Sequence[int]) -> list[DisplacementLocation]:
    """Return the locations for several buckets, read together; only errors of the first bucket are raised."""
    ranges = [_guess(parts, bucket) for bucket in buckets]
    data = source.read_many([one for group in ranges for one in group])
    size = len(ranges[0])
    found = [_place(source, parts, buckets[0], data[:size])]
    for number, bucket in enumerate(buckets[1:], 1):
        with suppress(FormatError):
            found.append(_place(source, parts, bucket, data[size * number : size * (number + 1)]))
    return found


def distance_between(parts: HashParts, one: int, other: int) -> int | None:
    """Return the approximate distance in bytes between the data of two buckets; None if too far for one read."""
    apart = [
        abs(one - other) * bits // max(parts.buckets, 1) // 8
        for bits in (parts.unary_bits, parts.low_width * parts.buckets, parts.store_bits)
    ]
    return sum(apart) if max(apart) < FAR_GAP // 2 else None


def _guess(parts: HashParts, bucket: int) -> list[tuple[int, int]]:
    """Return the ranges of the directory entry, the probable unary bits, and the low bits of a bucket."""
    unary, directory, low = (parts.part(name) for name in ("unary bits", "select directory", "low bits"))
    entry_start = directory.start + DIRECTORY_ENTRY.size * (bucket // chd_code.ONES_PER_ENTRY)
    first_low = max(bucket - 1, 0) * parts.low_width
    low_bits = (bucket + 1) * parts.low_width - first_low
    low_start, low_stop = chd_code.byte_range(first_low, low_bits)
    # One-bits are spread evenly, so the position is estimated and read in parallel with the directory.
    likely = parts.unary_bits * bucket // parts.buckets // 8
    guess_start = max(likely - UNARY_GUESS // 2, 0)
    guess_stop = min(guess_start + UNARY_GUESS, unary.size)
    return [
        (entry_start, entry_start + DIRECTORY_ENTRY.size),
        (unary.start + guess_start, unary.start + guess_stop),
        (low.start + low_start, low.start + low_stop),
    ]


def _place(source: Source, parts: HashParts, bucket: int, fetched: Sequence[bytes]) -> DisplacementLocation:
    unary, low = parts.part("unary bits"), parts.part("low bits")
    entry_bytes, guessed, lows = fetched
    (entry_start, _), guess, lows_at = _guess(parts, bucket)
    guess_start, guess_stop = guess[0] - unary.start, guess[1] - unary.start
    low_start, low_stop = lows_at[0] - low.start, lows_at[1] - low.start
    first_low = max(bucket - 1, 0) * parts.low_width
    looked: list[tuple[int, bytes]] = []

    def read_unary(start: int, stop: int) -> bytes:
        stop = min(stop, unary.size)
        if guess_start <= start and stop <= guess_stop:
            data = guessed[start - guess_start : stop - guess_start]
        else:
            data = source.read(unary.start + start, unary.start + stop)
        looked.append((start, data))
        return data

    entry = int(DIRECTORY_ENTRY.read_one(entry_bytes)["position"])
    positions = chd_code.find_bucket_bits(read_unary, entry, bucket, parts.unary_bits, parts.where)
    shift = first_low - 8 * low_start
    own = chd_code.bit_field(lows, shift + (parts.low_width if bucket else 0), parts.low_width)
    before = chd_code.bit_field(lows, shift, parts.low_width) if bucket else 0
    start, length = chd_code.value_location(bucket, positions, (before, own), parts.low_width, parts.store_bits)
    spans = (
        Span("", entry_start, entry_start + DIRECTORY_ENTRY.size),
        *(Span("", unary.start + at, unary.start + at + len(data)) for at, data in looked),
        Span("", low.start + low_start, low.start + low_stop),
    )
    return DisplacementLocation(positions, start, length, spans, entry, (before, own), tuple(looked))


def single_displacement(source: Source, parts: HashParts, place: DisplacementLocation) -> tuple[int, Span]:
    return displacements(source, parts, [place])[0]


def displacements(source: Source, parts: HashParts, places: Sequence[DisplacementLocation]) -> list[tuple[int, Span]]:
    store, found = parts.part("value store"), []
    fields = [chd_code.byte_range(place.start, place.length) for place in places]
    data = source.read_many([(store.start + start, store.start + stop) for start, stop in fields])
    for place, (start, stop), field in zip(places, fields, data, strict=True):
        stored = chd_code.bit_field(field, place.start - 8 * start, place.length)
        span = Span("", store.start + start, store.start + stop)
        found.append((chd_code.displacement(stored, place.length), span))
    return found


def slot_of_key(source: Source, parts: HashParts, key: bytes) -> int:
    hashed = chd.jenkins_rounds(key, parts.seed)[-1].mixed
    bucket, first, step = chd.place_one(hashed, parts.buckets, parts.slots)
    displacement, _ = single_displacement(source, parts, displacement_location(source, parts, bucket))
    return chd.slot_one(first, step, displacement, parts.slots)
