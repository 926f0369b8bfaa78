"""Slots of the index and length fields of objects, read many at a time; and what sorting the slots by offset tells."""

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

WINDOW = 1 << 22
"""Bytes of the index read at once."""

LENGTHS_AT_ONCE = 4096
"""Length fields read in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotOrder:
    """The live slots, sorted by the offset of their object.

    Attributes:
        slots: Slot numbers, shape `(live,)`.
        offsets: Where the length fields stand, ascending, shape `(live,)`.
        row_sizes: Bytes of the contents by slot; -1 where there is no object; shape `(slots,)`.
        empty_state: What a slot without object is: unused or deleted.
        zero_offsets: Slots of the older writer, unused with offset 0.
    """

    slots: I64
    offsets: I64
    row_sizes: I64
    empty_state: State
    zero_offsets: int

    @property
    def sizes(self) -> I64:
        """Bytes of the contents, in the order of their offsets, shape `(live,)`; made for the caller."""
        return self.row_sizes[self.slots]

    @property
    def stops(self) -> I64:
        """One past the last byte of each object."""
        return self.offsets + OBJECT.size + self.sizes


def load_order(source: Source, geometry: SwhGeometry, progress: Progress) -> SlotOrder:
    """Read all offsets of the index, and the lengths where the offsets alone do not tell them.

    Raises:
        SourceError: The bytes cannot be read.
    """
    charge_items(geometry.slots, source)
    offsets = np.empty(geometry.slots, np.uint64)
    rows_at_once = WINDOW // SLOT.size
    for first in range(0, geometry.slots, rows_at_once):
        progress(first, geometry.slots)
        last = min(first + rows_at_once, geometry.slots)
        offsets[first:last] = read_slots(source, geometry, first, last)["offset"]
    live = np.flatnonzero(geometry.states(offsets) == State.LIVE)
    zeros = int(np.count_nonzero(offsets == 0))
    starts = offsets[live].view(np.int64)
    # What is not needed any more goes: each of these has an entry for every slot.
    del offsets
    by_offset = np.argsort(starts, kind="stable")
    slots, starts = live[by_offset], starts[by_offset]
    del live, by_offset
    row_sizes = np.full(geometry.slots, -1, np.int64)
    row_sizes[slots] = _sizes(source, geometry, starts, progress)
    empty = geometry.slots - len(slots)
    deleted = geometry.declared - len(slots)
    # An older writer marks unused slots by offset 0, so others without object were deleted. Else they look alike,
    # and only the counts tell, when all are of one kind.
    all_deleted = deleted > 0 and (zeros > 0 or deleted == empty)
    progress(geometry.slots, geometry.slots)
    return SlotOrder(slots, starts, row_sizes, State.DELETED if all_deleted else State.UNUSED, zeros)


def _sizes(source: Source, geometry: SwhGeometry, starts: I64, progress: Progress) -> I64:
    """From the offsets, where nothing was deleted and the objects therefore touch; else from the length fields."""
    if not len(starts):
        return np.empty(0, np.int64)
    room = np.append(starts[1:], geometry.index_start) - starts - OBJECT.size
    if len(starts) == geometry.declared and starts[0] == geometry.objects_start and (room >= 0).all():
        return room
    sizes = np.empty(len(starts), np.int64)
    for first in range(0, len(starts), LENGTHS_AT_ONCE):
        progress(first, max(len(starts), 1))
        part = starts[first : first + LENGTHS_AT_ONCE]
        sizes[first : first + len(part)] = read_lengths(source, geometry, part)
    return sizes


def read_slots(source: Source, geometry: SwhGeometry, first: int, last: int) -> NDArray[Any]:
    """Return the slots `[first, last)`, as an array of `SLOT` rows."""
    start, stop = geometry.slot_start(first), geometry.slot_start(last)
    return SLOT.read(source.read(start, stop), count=last - first, place=Span("", start, stop))


def read_slots_at(source: Source, geometry: SwhGeometry, rows: I64) -> NDArray[Any]:
    """Any slots, in the order requested; neighbours are read at once."""
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
                got[here] = read_slots(source, geometry, start, stop)[rows[here] - start]
        return got
    starts = (geometry.index_start + SLOT.size * rows).tolist()
    data = b"".join(source.read_many([(start, start + SLOT.size) for start in starts]))
    return SLOT.read(data, count=len(rows))


def read_lengths(source: Source, geometry: SwhGeometry, starts: I64) -> I64:
    """Return the length fields at some places; where one does not fit the objects section it is cut to what does."""
    places = starts.tolist()
    data = b"".join(source.read_many([(start, start + OBJECT.size) for start in places]))
    lengths = OBJECT.read(data, count=len(places))["size"]
    rooms = (geometry.index_start - OBJECT.size - starts).astype(np.uint64)
    cut: I64 = np.minimum(lengths, rooms).astype(np.int64)
    return cut
