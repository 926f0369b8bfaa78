"""The objects of a Read Shard: slots as columns, and what sorting them by offset tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, UsageError
from shardcore.formats.swh.layout import NO_OBJECT, OBJECT, SLOT
from shardcore.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.progress import Progress
from shardcore.sources.base import Source
from shardcore.span import Span

I64 = NDArray[np.int64]

WINDOW = 1 << 22
"""Bytes of the index read at once."""

LENGTHS_AT_ONCE = 4096
"""Length fields read in one go."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where the parts of a shard lie.

    Attributes:
        objects_start: First byte of the objects.
        index_start: First byte of the index, and one past the last of the objects.
        slots: Number of slots.
        declared: Objects written, as the header says.
    """

    objects_start: int
    index_start: int
    slots: int
    declared: int

    def slot_start(self, slot: int) -> int:
        """First byte of a slot."""
        return self.index_start + SLOT.size * slot

    def states(self, offsets: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """What the offsets of slots say: live, unused, or damaged; the key says nothing."""
        states = np.full(len(offsets), State.DAMAGED, np.uint8)
        inside = (offsets >= np.uint64(self.objects_start)) & (offsets <= np.uint64(max(self.index_start - 8, 0)))
        states[inside & np.bool_(self.index_start - 8 >= self.objects_start)] = State.LIVE
        states[(offsets == np.uint64(NO_OBJECT)) | (offsets == np.uint64(0))] = State.UNUSED
        return states


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The live slots, sorted by the offset of their object.

    Attributes:
        slots: Slot numbers, shape `(live,)`.
        offsets: Where the length fields stand, ascending, shape `(live,)`.
        sizes: Bytes of the contents, shape `(live,)`.
        row_sizes: The same by slot; -1 where there is no object; shape `(slots,)`.
        empty_state: What a slot without object is: unused or deleted.
        zero_offsets: Slots of the older writer, unused with offset 0.
    """

    slots: I64
    offsets: I64
    sizes: I64
    row_sizes: I64
    empty_state: State
    zero_offsets: int

    @property
    def stops(self) -> I64:
        """One past the last byte of each object."""
        return self.offsets + 8 + self.sizes


def load_order(source: Source, geometry: Geometry, progress: Progress) -> Order:
    """Reads all offsets of the index, and the lengths where the offsets alone do not tell them.

    Raises:
        SourceError: The bytes cannot be had.
    """
    offsets = np.empty(geometry.slots, np.uint64)
    rows_at_once = WINDOW // SLOT.size
    for first in range(0, geometry.slots, rows_at_once):
        progress(first, geometry.slots)
        last = min(first + rows_at_once, geometry.slots)
        offsets[first:last] = read_slots(source, geometry, first, last)["offset"]
    live = np.flatnonzero(geometry.states(offsets) == State.LIVE)
    starts = offsets[live].astype(np.int64)
    by_offset = np.argsort(starts, kind="stable")
    slots, starts = live[by_offset], starts[by_offset]
    sizes = _sizes(source, geometry, starts, progress)
    row_sizes = np.full(geometry.slots, -1, np.int64)
    row_sizes[slots] = sizes
    zeros = int(np.count_nonzero(offsets == 0))
    empty = geometry.slots - len(live)
    deleted = geometry.declared - len(live)
    # An older writer marks unused slots by offset 0, so others without object were deleted. Else they look alike,
    # and only the counts tell, when all are of one kind.
    all_deleted = deleted > 0 and (zeros > 0 or deleted == empty)
    progress(geometry.slots, geometry.slots)
    return Order(slots, starts, sizes, row_sizes, State.DELETED if all_deleted else State.UNUSED, zeros)


def _sizes(source: Source, geometry: Geometry, starts: I64, progress: Progress) -> I64:
    """From the offsets, where nothing was deleted and the objects therefore touch; else from the length fields."""
    if not len(starts):
        return np.empty(0, np.int64)
    room = np.append(starts[1:], geometry.index_start) - starts - 8
    if len(starts) == geometry.declared and starts[0] == geometry.objects_start and (room >= 0).all():
        return room
    sizes = np.empty(len(starts), np.int64)
    for first in range(0, len(starts), LENGTHS_AT_ONCE):
        progress(first, max(len(starts), 1))
        part = starts[first : first + LENGTHS_AT_ONCE]
        sizes[first : first + len(part)] = read_lengths(source, geometry, part)
    return sizes


def read_slots(source: Source, geometry: Geometry, first: int, last: int) -> NDArray[Any]:
    """The slots `[first, last)`, as an array of `SLOT` rows."""
    start, stop = geometry.slot_start(first), geometry.slot_start(last)
    return SLOT.read(source.read(start, stop), count=last - first, place=Span("", start, stop))


def read_slots_at(source: Source, geometry: Geometry, rows: I64) -> NDArray[Any]:
    """Any slots, in the order asked for; neighbours are read at once."""
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


def read_lengths(source: Source, geometry: Geometry, starts: I64) -> I64:
    """The length fields at some places; where one does not fit the objects section it is cut to what does."""
    places = starts.tolist()
    data = b"".join(source.read_many([(start, start + OBJECT.size) for start in places]))
    lengths = OBJECT.read(data, count=len(places))["size"]
    room = (geometry.index_start - 8 - starts).astype(np.uint64)
    cut: I64 = np.minimum(lengths, room).astype(np.int64)
    return cut


class SwhObjects(Objects):
    """One row for each slot of the index."""

    def __init__(self, source: Source, geometry: Geometry) -> None:
        self._source = source
        self._geometry = geometry
        self.by_offset: Order | None = None
        self._by_size: I64 | None = None

    def __len__(self) -> int:
        return self._geometry.slots

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        """The columns of some slots; see `Objects.columns`."""
        slots = read_slots_at(self._source, self._geometry, rows)
        states = self._states(slots)
        live = states == State.LIVE
        starts = np.where(live, slots["offset"].astype(np.int64) + 8, -1)
        if self.by_offset is not None:
            known = self.by_offset.row_sizes[rows]
        else:
            known = np.full(len(rows), -1, np.int64)
            if sizes and live.any():
                known[live] = read_lengths(self._source, self._geometry, starts[live] - 8)
        stops = np.where(live & (known >= 0), starts + known, -1)
        return ObjectColumns.of(rows, starts, stops, known, state=states)

    def key_texts(self, rows: I64) -> list[str | None]:
        """The keys of some slots in hex; None for slots without object."""
        slots = read_slots_at(self._source, self._geometry, rows)
        text = slots["key"].tobytes().hex()
        filled = np.isin(self._states(slots), [State.LIVE, State.DAMAGED]).tolist()
        return [text[at : at + 64] if full else None for at, full in zip(range(0, len(text), 64), filled, strict=True)]

    def ref(self, row: int) -> ObjectRef:
        """One slot as an object."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        slots = read_slots(self._source, self._geometry, row, row + 1)
        offset = int(slots["offset"][0])
        state = State(int(self._states(slots)[0]))
        key = slots["key"][0].tobytes().hex()
        if state is State.DAMAGED:
            span = Span("", self._geometry.slot_start(row) + 32, self._geometry.slot_start(row) + 40)
            error = FormatError(f"the slot points to {offset}, outside the objects", span=span)
            return ObjectRef(key, row, (), state=state, error=str(error), extras={"slot": row, "offset": offset})
        if state is not State.LIVE:
            return ObjectRef(None, row, (), state=state, extras={"slot": row})
        if self.by_offset is not None:
            size = int(self.by_offset.row_sizes[row])
        else:
            size = int(read_lengths(self._source, self._geometry, np.array([offset], np.int64))[0])
        return live_ref(key, row, offset, size)

    @property
    def orders(self) -> tuple[str, ...]:
        """`slot`, and after `load_index` `offset` (of writing) and `size`."""
        return ("slot", "offset", "size") if self.by_offset is not None else ("slot",)

    def order(self, name: str) -> I64 | None:
        """Row numbers in an order; `offset` and `size` hold the live slots only."""
        if self.by_offset is None or name not in ("offset", "size"):
            return super().order(name)
        if name == "offset":
            return self.by_offset.slots
        if self._by_size is None:
            self._by_size = self.by_offset.slots[np.argsort(self.by_offset.sizes, kind="stable")]
        return self._by_size

    def _states(self, slots: NDArray[Any]) -> NDArray[np.uint8]:
        states = self._geometry.states(slots["offset"])
        if self.by_offset is not None and self.by_offset.empty_state is State.DELETED:
            # In a file of the older writer, offset 0 is unused for certain.
            states[(states == State.UNUSED) & (slots["offset"] == np.uint64(NO_OBJECT))] = State.DELETED
        return states


def live_ref(key: str, slot: int, offset: int, size: int) -> ObjectRef:
    """A live object whose length field stands at `offset`."""
    start = offset + OBJECT.size
    return ObjectRef(
        key,
        slot,
        (Span("", start, start + size), Span("", offset, start)),
        size=size,
        stored_size=size,
        extras={"slot": slot, "offset": offset},
    )


def key_bytes(keys: str) -> bytes:
    """The 32 bytes of a key in hex.

    Raises:
        UsageError: It is not 64 hex digits.
    """
    try:
        raw = bytes.fromhex(keys) if len(keys) == 64 else b""
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise UsageError(f"a key of a swh shard is 64 hex digits, not {keys!r}")
    return raw
