"""An open Read Shard: its header, hash function, index and objects, read on request and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import FormatError, ShardError, UsageError
from shardcore.formats.swh import chd, hash_section
from shardcore.formats.swh.hash_section import HashLayout
from shardcore.formats.swh.layout import HASH_TAIL, NO_OBJECT, OBJECT, SLOT, ShardLayout, SlotTable, sections_of
from shardcore.model.budget import charge_items
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.keys import KeyForm
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State, in_states
from shardcore.model.pointer_table import Links
from shardcore.model.section import Section, tile
from shardcore.model.span import Span
from shardcore.model.text import grouped_digits, plural, short
from shardcore.progress import Progress, no_progress
from shardcore.shards.cache import Once
from shardcore.sources.base import Source, read_pieces

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

WINDOW = 1 << 22
"""Maximum number of bytes of the index per read."""

LENGTHS_AT_ONCE = 4096
"""Maximum number of length fields read together."""

_OFFSETS_AT_ONCE = 1 << 20
"""Number of offsets compared at a time, to limit memory."""


class SwhFile:
    """One Read Shard; thread-safe.

    `window` has the first bytes of the hash function section, or all of it. If the section is damaged, `hash_layout` is
    None and `damage` is the error. `last_slots` are the bytes of the last index slots, directly before the section.
    """

    def __init__(
        self,
        source: Source,
        header: dict[str, Any],
        window: bytes,
        hash_layout: HashLayout | None,
        damage: FormatError | None = None,
        last_slots: bytes = b"",
    ) -> None:
        self.source, self.header = source, header
        self.layout = ShardLayout.of(header)
        self.hash_layout, self.damage = hash_layout, damage
        self.misfit: FormatError | None = None
        """Error of a hash function that does not match the keys; set by a lookup or by verification, else None."""
        stop = source.size if hash_layout is None else hash_layout.stop
        self.sections, _ = tile(sections_of(header, stop, source.size), source.size)
        size = 0 if hash_layout is None else hash_layout.stop - hash_layout.start
        self._section = window[:size] if 0 < size <= len(window) else None
        self._function: Once[tuple[hash_section.Encoded, hash_section.Decoded]] = Once()
        self._displacements: Once[NDArray[np.uint32] | None] = Once()
        self._tail: Once[dict[str, Any]] = Once()
        self._order: Once[SlotOrder] = Once()
        self._last_slots, self.last_slots_count = last_slots, len(last_slots) // SLOT.size

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    # --- the index -------------------------------------------------------------------------------------------------

    @property
    def order(self) -> SlotOrder | None:
        return self._order.value

    @property
    def loaded(self) -> bool:
        return self.order is not None

    @property
    def index_bytes(self) -> int:
        return int(self.header["index_size"])

    def load(self, progress: Progress) -> SlotOrder:
        """Read the offsets of all slots; also all length fields, unless objects are adjacent and offsets give sizes."""
        with self.enough_memory():
            return self._order.get(lambda: load_order(self, progress))

    @property
    def table(self) -> SlotTable:
        return SlotTable(self.layout, self.slots)

    def links(self) -> Iterator[Links]:
        if (order := self.order) is not None:
            yield self.table.links(order.slots, order.offsets, order.stops)

    @contextmanager
    def enough_memory(self) -> Iterator[None]:
        """Convert MemoryError to ShardError: a small sparse file may declare billions of slots."""
        try:
            yield
        except MemoryError as error:
            raise ShardError(f"not enough memory for {plural(self.layout.slots, 'slot')}") from error

    def slots(self, first: int, last: int, source: Source | None = None) -> NDArray[Any]:
        start, stop = self.layout.slot_start(first), self.layout.slot_start(last)
        data = (source or self.source).read(start, stop)
        return SLOT.read(data, count=last - first, place=Span("", start, stop))

    def slot_windows(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield (number of the first slot, slots) for all slots, `WINDOW` bytes at a time."""
        at_once = WINDOW // SLOT.size
        for first in range(0, self.layout.slots, at_once):
            yield first, self.slots(first, min(first + at_once, self.layout.slots))

    def slots_at(self, rows: I64) -> NDArray[Any]:
        """Read the slots numbered `rows`, in this order; if they are close together, those between are read too."""
        if not len(rows):
            return np.empty(0, SLOT.dtype)
        first, last = int(rows.min()), int(rows.max()) + 1
        # Copying a local slot costs a hundredth of reading it alone.
        if last - first <= (64 if self.source.near else 4) * len(rows) or (last - first) * SLOT.size <= 65536:
            got = np.empty(len(rows), SLOT.dtype)
            at_once = WINDOW // SLOT.size
            for start in range(first, last, at_once):
                stop = min(start + at_once, last)
                here = (rows >= start) & (rows < stop)
                if here.any():
                    got[here] = self.slots(start, stop).take(rows[here] - start)
            return got
        starts = (self.layout.index_start + SLOT.size * rows).tolist()
        data = b"".join(self.source.read_many([(start, start + SLOT.size) for start in starts]))
        return SLOT.read(data, count=len(rows))

    @cached_property
    def last_keys(self) -> list[tuple[int, bytes]]:
        """(slot number, key) of each live slot among the last slots, which were read at opening."""
        rows = SLOT.read(self._last_slots, count=self.last_slots_count)
        return self.live_keys(self.layout.slots - len(rows), rows)

    def live_keys(self, first: int, rows: NDArray[Any]) -> list[tuple[int, bytes]]:
        """Return (slot number, key) of each live slot in `rows`, which begin with slot number `first`."""
        live = np.flatnonzero(self.layout.states(rows["offset"]) == State.LIVE)
        return [(first + at, rows["key"][at].tobytes()) for at in live.tolist()]

    # --- the hash function -----------------------------------------------------------------------------------------

    def hashing(self) -> HashLayout:
        if self.hash_layout is None:
            raise self.damage or FormatError("the hash function is damaged")
        return self.hash_layout

    def hash_tail(self) -> dict[str, Any]:
        tail, read = self.hashing().tail, self.hash_reader(self.source)
        return self._tail.get(lambda: HASH_TAIL.read_one(read([(tail.start, tail.stop)])[0]))

    @property
    def has_hash_section(self) -> bool:
        """True if the whole section was read at opening, so that a lookup uses it from memory."""
        return self._section is not None

    def hash_reader(self, source: Source) -> Callable[[Sequence[tuple[int, int]]], Sequence[bytes]]:
        """Return a function that reads byte ranges of the hash function section, from memory if it is there."""
        section, start = self._section, self.hashing().start
        if section is None:
            return source.read_many
        return lambda ranges: [section[first - start : last - start] for first, last in ranges]

    def function(self) -> tuple[hash_section.Encoded, hash_section.Decoded]:
        return self._function.get(self._read_function)

    def _read_function(self) -> tuple[hash_section.Encoded, hash_section.Decoded]:
        layout = self.hashing()
        (section,) = self.hash_reader(self.source)([(layout.start, layout.stop)])
        hash_section.read_hash_tail(section[-HASH_TAIL.size :], layout)
        encoded = hash_section.read_encoded(section, layout)
        return encoded, hash_section.decode(encoded, layout.buckets, layout.where)

    def displacements(self) -> NDArray[np.uint32] | None:
        """Return the displacements of all buckets, which are cached; None if any part of the section is damaged."""

        def decoded() -> NDArray[np.uint32] | None:
            with suppress(FormatError):
                encoded, found = self._read_function()
                if np.array_equal(encoded.directory, hash_section.directory_of(found.positions)):
                    return found.displacements
            return None

        return self._displacements.get(decoded)

    def slots_of(self, keys: NDArray[np.uint8], *, signed: bool = False) -> I64:
        """Return the slots that keys hash to; `signed`: with signed key bytes, as in an old version of the library."""
        layout, (_, decoded) = self.hashing(), self.function()
        return chd.Function(layout.seed, layout.slots, decoded.displacements, signed).slots_of(keys)

    def misfit_of(self, missed: int, keys: int) -> FormatError:
        layout = self.hashing()
        text = f"the hash function does not match the keys: {missed} of {keys} do not hash to their slots"
        return FormatError(text, span=Span("", layout.start, layout.stop))

    # --- the objects -----------------------------------------------------------------------------------------------

    def lengths(self, starts: I64) -> I64:
        """Return the lengths stored at offsets `starts`; one that exceeds the objects section is cut to its end."""
        data = b"".join(self.source.read_many([(start, start + OBJECT.size) for start in starts.tolist()]))
        lengths = OBJECT.read(data, count=len(starts))["size"]
        most = (self.layout.index_start - OBJECT.size - starts).astype(np.uint64)
        cut: I64 = np.minimum(lengths, most).astype(np.int64)
        return cut

    def pieces(self, content: Span) -> Iterator[bytes]:
        """Yield an object's content in pieces; raise FormatError if its length field is not the size of `content`."""
        lead = OBJECT.size
        for piece in read_pieces(self.source, content.start - lead, content.stop):
            if lead:
                check_length(piece, content)
            yield piece[lead:]
            lead = 0


def check_length(piece: bytes, content: Span) -> None:
    """Raise FormatError if the length field at the start of `piece` is not the size of `content`, from the index."""
    place = OBJECT.span("size", content.start - OBJECT.size)
    size = OBJECT.read_one(piece, place=place)["size"]
    if size != content.size:
        expected = grouped_digits(content.size)
        message = f"the length of the object is {plural(size, 'byte')}; the offsets in the index give {expected}"
        raise FormatError(message, span=place)


# --- the live slots by offset -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SlotOrder:
    """Live slots sorted by offset: one number per slot, from which slot number, offset and size are computed.

    The numbers take 370 MB for 46 million slots; each array of computed values would take as much again.

    Attributes:
        ranked: Offset of the length field shifted left by `bits`, plus the slot number; ascending, shape `(live,)`.
        bits: Low bits of `ranked` for the slot number; 0 if offsets are so large that both exceed 64 bits.
        apart: The slot numbers if `bits` is 0, else None.
        lengths: Sizes of the contents in this order; None if objects are adjacent, so that offsets give the sizes.
        layout: Locations of the sections.
        damaged: Number of slots that point outside the objects.
        empty_state: State of a slot with offset 2^64 - 1: DELETED if all such slots had an object, else UNUSED.
    """

    ranked: U64
    bits: int
    apart: I64 | None
    lengths: I64 | None
    layout: ShardLayout
    damaged: int
    empty_state: State

    def __len__(self) -> int:
        return len(self.ranked)

    @property
    def slots(self) -> I64:
        """Slot numbers in order of offset; computed at each access, as are `offsets` and `sizes`."""
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
        found = np.zeros(self.layout.slots, np.bool_)
        found[self.slots] = True
        return found

    def sizes_of(self, slots: I64, offsets: I64) -> I64:
        """Return the content sizes of the live slots numbered `slots`, whose length fields are at `offsets`."""
        wanted = _rank(slots, offsets.astype(np.uint64), self.bits)
        # Searching in ascending order is faster, because it uses the cache.
        order = np.argsort(wanted)
        sizes = np.empty(len(slots), np.int64)
        sizes[order] = self.sizes_at(np.searchsorted(self.ranked, wanted[order]))
        return sizes

    def size_of(self, slot: int, offset: int) -> int:
        at = int(self.ranked.searchsorted(np.uint64(offset << self.bits | (slot if self.bits else 0))))
        if self.lengths is not None:
            return int(self.lengths[at])
        after = int(self.ranked[at + 1]) >> self.bits if at + 1 < len(self) else self.layout.index_start
        return after - offset - OBJECT.size

    def sizes_at(self, at: I64) -> I64:
        if self.lengths is not None:
            return self.lengths[at]
        after = np.full(len(at), self.layout.index_start, np.int64)
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
    """Return the indices that sort `offsets`; stable. Offset and index are sorted as one number, which is faster."""
    bits = len(offsets).bit_length()
    if bits + int(offsets.max(initial=0)).bit_length() > 64:
        return np.argsort(offsets, kind="stable")
    return _slots_in(np.sort(_rank(np.arange(len(offsets)), offsets.view(np.uint64), bits)), bits)


def load_order(file: SwhFile, progress: Progress) -> SlotOrder:
    layout = file.layout
    charge_items(layout.slots, file.source)
    bits = layout.slots.bit_length()
    if bits + layout.index_start.bit_length() > 64:
        bits = 0
    ranked = np.empty(layout.slots, np.uint64)
    slots = None if bits else np.empty(layout.slots, np.int64)
    live = zeros = damaged = 0
    for first, window in file.slot_windows():
        progress(first, layout.slots)
        offsets = window["offset"].astype(np.uint64)
        states = layout.states(offsets)
        rows = np.flatnonzero(states == State.LIVE)
        damaged += int(np.count_nonzero(states == State.DAMAGED))
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
    lengths = None if _touching(ranked, bits, layout) else _read_all_lengths(file, ranked, bits, progress)
    empty = layout.slots - live - damaged
    deleted = layout.deleted(live, damaged)
    # The older writer marks unused slots by offset 0, so other empty slots were deleted. Otherwise both look alike,
    # and the counts decide only if all empty slots are of one kind.
    all_deleted = deleted > 0 and (zeros > 0 or deleted == empty)
    progress(layout.slots, layout.slots)
    return SlotOrder(ranked, bits, slots, lengths, layout, damaged, State.DELETED if all_deleted else State.UNUSED)


def _touching(ranked: U64, bits: int, layout: ShardLayout) -> bool:
    """Return True if nothing was deleted and the offsets allow objects without gaps between them."""
    if len(ranked) != layout.declared or not len(ranked):
        return False
    starts = _offsets_in(ranked[:1], bits)
    if starts[0] != layout.objects_start:
        return False
    for at in range(0, len(ranked), _OFFSETS_AT_ONCE):
        starts = _offsets_in(ranked[at : at + _OFFSETS_AT_ONCE + 1], bits)
        if (np.diff(starts) < OBJECT.size).any():
            return False
    return int(starts[-1]) + OBJECT.size <= layout.index_start


def _read_all_lengths(file: SwhFile, ranked: U64, bits: int, progress: Progress) -> I64:
    sizes = np.empty(len(ranked), np.int64)
    for first in range(0, len(ranked), LENGTHS_AT_ONCE):
        progress(first, max(len(ranked), 1))
        part = _offsets_in(ranked[first : first + LENGTHS_AT_ONCE], bits)
        sizes[first : first + len(part)] = file.lengths(part)
    return sizes


# --- the objects: one row per slot -----------------------------------------------------------------------------------


class SwhObjects(Objects):
    hashed_rows = True
    key_encoding = "hash"

    def __init__(self, file: SwhFile) -> None:
        self._file = file
        self._layout = file.layout
        self._by_size: I64 | None = None

    def __len__(self) -> int:
        return self._layout.slots

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        return self._columns(rows, self._file.slots_at(rows), sizes=sizes)

    def page(self, rows: I64, *, sizes: bool = False) -> tuple[ObjectColumns, list[str | None]]:
        slots = self._file.slots_at(rows)
        return self._columns(rows, slots, sizes=sizes), self._keys(slots)

    def key_texts(self, rows: I64) -> list[str | None]:
        return self._keys(self._file.slots_at(rows))

    def key_bytes(self, rows: I64) -> ByteStrings:
        slots = self._file.slots_at(rows)
        keyed = self._keyed(slots)
        return ByteStrings(np.frombuffer(slots["key"][keyed].tobytes(), np.uint8), np.where(keyed, 32, 0))

    def with_sizes(self, columns: ObjectColumns) -> ObjectColumns:
        """Return the columns with sizes. Reads length fields, or loads the index for over `LENGTHS_AT_ONCE` rows."""
        live = columns.state == State.LIVE
        sizes = self._sizes(columns.row, columns.start - OBJECT.size, live)
        stops = np.where(live & (sizes >= 0), columns.start + sizes, -1)
        return ObjectColumns.of(columns.row, columns.start, stops, sizes, state=columns.state)

    def known(self, first: int, last: int) -> ObjectColumns:
        """Return offsets and sizes of slots `[first, last)` from the loaded index, without reading the slots again."""
        order = self._file.order
        if order is None:
            return super().known(first, last)
        slots, starts = order.slots, np.full(last - first, -1, np.int64)
        mine = np.flatnonzero((slots >= first) & (slots < last))
        rows = slots[mine] - first
        starts[rows] = order.offsets[mine] + OBJECT.size
        sizes = np.full(last - first, -1, np.int64)
        sizes[rows] = order.sizes_at(mine)
        state = np.where(sizes >= 0, State.LIVE, order.empty_state)
        stops = np.where(sizes >= 0, starts + sizes, -1)
        return ObjectColumns.of(np.arange(first, last), starts, stops, sizes, state=state)

    def refs(self, rows: I64) -> Iterator[ObjectRef]:
        slots = self._file.slots_at(rows)
        states = self._states(slots)
        sizes = self._sizes(rows, slots["offset"].astype(np.int64), states == State.LIVE)
        columns = zip(rows.tolist(), slots["offset"].tolist(), states.tolist(), sizes.tolist(), strict=True)
        for key, (row, offset, code, size) in zip(key_rows(slots["key"].tobytes()), columns, strict=True):
            if code == State.LIVE:
                yield live_ref(key, row, offset, size)
                continue
            damaged = code == State.DAMAGED
            yield ObjectRef(
                key if damaged else None,
                row,
                (),
                state=State(code),
                error=str(self._layout.outside(row, offset)) if damaged else "",
                extras={"slot": row, "offset": offset} if damaged else {"slot": row},
                record=self._layout.slot_span(row),
            )

    @property
    def orders(self) -> tuple[str, ...]:
        return ("slot", "offset", "size") if self._file.order is not None else ("slot",)

    def order(self, name: str) -> I64 | None:
        """Return the slots sorted by `name`: slot, offset or size; the last two contain live slots only."""
        order = self._file.order
        if order is None or name not in ("offset", "size"):
            return super().order(name)
        if name == "offset":
            return order.slots
        if self._by_size is None:
            self._by_size = order.slots[np.argsort(order.sizes, kind="stable")]
        return self._by_size

    def content_of(self, ref: ObjectRef) -> Span:
        if ref.state is not State.LIVE or not ref.spans:
            message = ref.error or f"slot {ref.row} has no object: it is unused, or its object was deleted"
            raise FormatError(message, span=self._layout.slot_span(ref.row))
        return ref.spans[0]

    def _columns(self, rows: I64, slots: NDArray[Any], *, sizes: bool) -> ObjectColumns:
        states = self._states(slots)
        starts = np.where(states == State.LIVE, slots["offset"].astype(np.int64) + OBJECT.size, -1)
        unknown = np.full(len(rows), -1, np.int64)
        columns = ObjectColumns.of(rows, starts, unknown, unknown, state=states)
        return self.with_sizes(columns) if sizes or self._file.order is not None else columns

    def _keys(self, slots: NDArray[Any]) -> list[str | None]:
        keys: list[str | None] = [*key_rows(slots["key"].tobytes())]
        for at in np.flatnonzero(~self._keyed(slots)).tolist():
            keys[at] = None
        return keys

    def _keyed(self, slots: NDArray[Any]) -> NDArray[np.bool_]:
        return in_states(self._layout.states(slots["offset"]), (State.LIVE, State.DAMAGED))

    def _sizes(self, rows: I64, offsets: I64, live: NDArray[np.bool_]) -> I64:
        if len(rows) > LENGTHS_AT_ONCE:
            self._file.load(no_progress)
        known = np.full(len(rows), -1, np.int64)
        if (order := self._file.order) is not None:
            known[live] = order.sizes_of(rows[live], offsets[live])
        elif live.any():
            known[live] = self._file.lengths(offsets[live])
        return known

    def _states(self, slots: NDArray[Any]) -> NDArray[np.uint8]:
        states = self._layout.states(slots["offset"])
        order = self._file.order
        if order is not None and order.empty_state is State.DELETED:
            # In a file of the older writer, unused slots have offset 0, so other empty slots are deleted.
            states[(states == State.UNUSED) & (slots["offset"] == np.uint64(NO_OBJECT))] = State.DELETED
        return states


def live_ref(key: str, slot: int, offset: int, size: int) -> ObjectRef:
    start = offset + OBJECT.size
    return ObjectRef(
        key,
        slot,
        (Span("", start, start + size), Span("", offset, start)),
        size=size,
        stored_size=size,
        extras={"slot": slot, "offset": offset},
    )


def key_bytes(key: str) -> bytes:
    """Return the 32 bytes of a key; raise UsageError if it is not exactly 64 hex digits."""
    with suppress(ValueError):
        if len(key) == 64 and len(raw := bytes.fromhex(key)) == 32:
            return raw
    raise UsageError(f"a key of a swh shard is 64 hex digits, not {short(key)}")


KEY_FORM = KeyForm(of_bytes=bytes.hex, to_raw=key_bytes)


def key_rows(raw: bytes) -> list[str]:
    return raw.hex(" ", 32).split()


class HexKeys(Sequence[str]):
    """Keys as hex digits, computed at each access from a buffer of 32-byte keys. A million texts would take 113 MB."""

    def __init__(self, raw: bytes | bytearray, start: int, stop: int) -> None:
        self._raw, self._rows = raw, range(start, stop, 32)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._raw[at : at + 32].hex() for at in self._rows[place]]
        return self._raw[(at := self._rows[place]) : at + 32].hex()

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def checked_key(key: str) -> str:
    return key_bytes(key).hex()


def many_key_bytes(keys: Sequence[str]) -> bytes:
    with suppress(ValueError):
        # `fromhex` skips blanks, so a key with blanks gives too few bytes.
        if set(map(len, keys)) <= {64} and len(raw := bytes.fromhex("".join(keys))) == 32 * len(keys):
            return raw
    return b"".join(map(key_bytes, keys))
