"""Slots and length fields, read many at a time; the live slots sorted by offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.swh.layout import OBJECT, SLOT, SwhGeometry
from shardcore.model.budget import charge_items
from shardcore.model.objects import State
from shardcore.model.span import Span
from shardcore.progress import Progress
from shardcore.sources.base import Source

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

WINDOW = 1 << 22
"""Bytes of the index per read."""

LENGTHS_AT_ONCE = 4096
"""Maximum number of length fields read together."""

_OFFSETS_AT_ONCE = 1 << 20
"""Offsets compared at a time, to limit memory."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotOrder:
    """Live slots sorted by offset, as one number per slot from which columns are computed.

    This takes 370 MB for 46 million slots; each cached column would take as much again.

    Attributes:
        ranked: Offset of the length field shifted left by `bits`, plus the slot; ascending, shape `(live,)`.
        bits: Bits of `ranked` for the slot; 0 if offsets are too large; then `apart` has the slots.
        apart: The slots if `bits` is 0.
        lengths: Sizes of the contents in this order; None if objects are adjacent, so that offsets give the sizes.
        geometry: Locations of the sections.
        empty_state: State of a slot without an object: unused or deleted.
    """

    ranked: U64
    bits: int
    apart: I64 | None
    lengths: I64 | None
    geometry: SwhGeometry
    empty_state: State

    def __len__(self) -> int:
        return len(self.ranked)

    @property
    def slots(self) -> I64:
        """Slots by offset; computed at each access, like all columns."""
        return self.apart if self.apart is not None else _slots_in(self.ranked, self.bits)

    @property
    def offsets(self) -> I64:
        return _offsets_in(self.ranked, self.bits)

    @property
    def sizes(self) -> I64:
        return self.sizes_at(np.arange(len(self), dtype=np.int64))

    @property
    def stops(self) -> I64:
        return self.offsets + OBJECT.size + self.sizes

    @property
    def holding(self) -> NDArray[np.bool_]:
        found = np.zeros(self.geometry.slots, np.bool_)
        found[self.slots] = True
        return found

    def sizes_of(self, slots: I64, offsets: I64) -> I64:
        """Return the sizes of the contents of live slots, given with their offsets."""
        wanted = _rank(slots, offsets.astype(np.uint64), self.bits)
        # Searching in ascending order is faster, because it uses the cache.
        order = np.argsort(wanted)
        sizes = np.empty(len(slots), np.int64)
        sizes[order] = self.sizes_at(np.searchsorted(self.ranked, wanted[order]))
        return sizes

    def sizes_at(self, at: I64) -> I64:
        if self.lengths is not None:
            return self.lengths[at]
        after = np.full(len(at), self.geometry.index_start, np.int64)
        inner = at + 1 < len(self)
        after[inner] = _offsets_in(self.ranked[at[inner] + 1], self.bits)
        return after - _offsets_in(self.ranked[at], self.bits) - OBJECT.size


def _rank(slots: NDArray[Any], offsets: U64, bits: int) -> U64:
    return (offsets << np.uint64(bits)) | slots.astype(np.uint64) if bits else offsets


def _offsets_in(ranked: U64, bits: int) -> I64:
    return (ranked >> np.uint64(bits)).view(np.int64)


def _slots_in(ranked: U64, bits: int) -> I64:
    return (ranked & np.uint64((1 << bits) - 1)).view(np.int64)


def order_by_offset(offsets: I64) -> NDArray[np.int64]:
    """Return the stable order of ascending offsets; sorts offset and index as one number, which is faster."""
    bits = len(offsets).bit_length()
    if bits + int(offsets.max(initial=0)).bit_length() > 64:
        return np.argsort(offsets, kind="stable")
    return _slots_in(np.sort(_rank(np.arange(len(offsets)), offsets.view(np.uint64), bits)), bits)


def load_order(source: Source, geometry: SwhGeometry, progress: Progress) -> SlotOrder:
    charge_items(geometry.slots, source)
    bits = geometry.slots.bit_length()
    if bits + geometry.index_start.bit_length() > 64:
        bits = 0
    ranked = np.empty(geometry.slots, np.uint64)
    slots = None if bits else np.empty(geometry.slots, np.int64)
    live = zeros = 0
    rows_at_once = WINDOW // SLOT.size
    for first in range(0, geometry.slots, rows_at_once):
        progress(first, geometry.slots)
        last = min(first + rows_at_once, geometry.slots)
        offsets = read_slots(source, geometry, first, last)["offset"].astype(np.uint64)
        rows = np.flatnonzero(geometry.states(offsets) == State.LIVE)
        zeros += int(np.count_nonzero(offsets == 0))
        ranked[live : live + len(rows)] = _rank(rows + first, offsets[rows], bits)
        if slots is not None:
            slots[live : live + len(rows)] = rows + first
        live += len(rows)
    ranked = ranked[:live]
    if slots is None:
        ranked.sort()
    else:
        by_offset = np.argsort(ranked, kind="stable")
        ranked, slots = ranked[by_offset], slots[:live][by_offset]
    lengths = None if _touching(ranked, bits, geometry) else _read_all_lengths(source, geometry, ranked, bits, progress)
    empty = geometry.slots - live
    deleted = geometry.declared - live
    # The older writer marks unused slots by offset 0, so other empty slots were deleted. Otherwise both look alike,
    # and the counts decide only if all empty slots are of one kind.
    all_deleted = deleted > 0 and (zeros > 0 or deleted == empty)
    progress(geometry.slots, geometry.slots)
    return SlotOrder(ranked, bits, slots, lengths, geometry, State.DELETED if all_deleted else State.UNUSED)


def _touching(ranked: U64, bits: int, geometry: SwhGeometry) -> bool:
    """Return True if nothing was deleted and the offsets allow objects without gaps between them."""
    if len(ranked) != geometry.declared or not len(ranked):
        return False
    starts = _offsets_in(ranked[:1], bits)
    if starts[0] != geometry.objects_start:
        return False
    for at in range(0, len(ranked), _OFFSETS_AT_ONCE):
        starts = _offsets_in(ranked[at : at + _OFFSETS_AT_ONCE + 1], bits)
        if (np.diff(starts) < OBJECT.size).any():
            return False
    return int(starts[-1]) + OBJECT.size <= geometry.index_start


def _read_all_lengths(source: Source, geometry: SwhGeometry, ranked: U64, bits: int, progress: Progress) -> I64:
    sizes = np.empty(len(ranked), np.int64)
    for first in range(0, len(ranked), LENGTHS_AT_ONCE):
        progress(first, max(len(ranked), 1))
        part = _offsets_in(ranked[first : first + LENGTHS_AT_ONCE], bits)
        sizes[first : first + len(part)] = read_lengths(source, geometry, part)
    return sizes


def read_slots(source: Source, geometry: SwhGeometry, first: int, last: int) -> NDArray[Any]:
    start, stop = geometry.slot_start(first), geometry.slot_start(last)
    return SLOT.read(source.read(start, stop), count=last - first, place=Span("", start, stop))


def read_slots_at(source: Source, geometry: SwhGeometry, rows: I64) -> NDArray[Any]:
    if not len(rows):
        return np.empty(0, SLOT.dtype)
    first, last = int(rows.min()), int(rows.max()) + 1
    if last - first <= 4 * len(rows) or (last - first) * SLOT.size <= 65536:
        got = np.empty(len(rows), SLOT.dtype)
        at_once = WINDOW // SLOT.size
        for start in range(first, last, at_once):
            stop = min(start + at_once, last)
            here = (rows >= start) & (rows < stop)
            if here.any():
                got[here] = read_slots(source, geometry, start, stop).take(rows[here] - start)
        return got
    starts = (geometry.index_start + SLOT.size * rows).tolist()
    data = b"".join(source.read_many([(start, start + SLOT.size) for start in starts]))
    return SLOT.read(data, count=len(rows))


def read_lengths(source: Source, geometry: SwhGeometry, starts: I64) -> I64:
    """Return the length fields at `starts`, each limited to the end of the objects section."""
    places = starts.tolist()
    data = b"".join(source.read_many([(start, start + OBJECT.size) for start in places]))
    lengths = OBJECT.read(data, count=len(places))["size"]
    rooms = (geometry.index_start - OBJECT.size - starts).astype(np.uint64)
    cut: I64 = np.minimum(lengths, rooms).astype(np.int64)
    return cut
