"""Objects of a Read Shard: one row per slot of the index. Keys as text and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, UsageError
from shardcore.formats.swh.file import LENGTHS_AT_ONCE, SwhFile
from shardcore.formats.swh.layout import NO_OBJECT, OBJECT
from shardcore.model.byte_strings import ByteStrings
from shardcore.model.keys import KeyForm
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State, in_states
from shardcore.model.safe_text import short
from shardcore.model.span import Span
from shardcore.progress import no_progress

I64 = NDArray[np.int64]


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

    def keyed(self, rows: I64) -> tuple[ObjectColumns, ByteStrings]:
        slots = self._file.slots_at(rows)
        return self._columns(rows, slots, sizes=True), self._key_strings(slots)

    def key_texts(self, rows: I64) -> list[str | None]:
        return self._keys(self._file.slots_at(rows))

    def key_bytes(self, rows: I64) -> ByteStrings:
        return self._key_strings(self._file.slots_at(rows))

    def states(self, first: int, last: int) -> NDArray[np.uint8]:
        return self._states(self._file.slots(first, last))

    def with_sizes(self, columns: ObjectColumns) -> ObjectColumns:
        """Return the columns with sizes; reads the length fields, or loads the index for many rows."""
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

    def ref(self, row: int) -> ObjectRef:
        if not 0 <= row < len(self):
            raise IndexError(row)
        return next(self.refs(np.array([row], np.int64)))

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
        """Return the slots sorted by `name`; `offset` and `size` contain live slots only."""
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
        keys = zip(key_rows(slots["key"].tobytes()), self._keyed(slots).tolist(), strict=True)
        return [key if keyed else None for key, keyed in keys]

    def _key_strings(self, slots: NDArray[Any]) -> ByteStrings:
        keyed = self._keyed(slots)
        return ByteStrings(np.frombuffer(slots["key"][keyed].tobytes(), np.uint8), np.where(keyed, 32, 0))

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
    try:
        raw = bytes.fromhex(key) if len(key) == 64 else b""
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise UsageError(f"a key of a swh shard is 64 hex digits, not {short(key)}")
    return raw


KEY_FORM = KeyForm(of_bytes=bytes.hex, to_raw=key_bytes)


def key_rows(raw: bytes) -> list[str]:
    return raw.hex(" ", 32).split()


def checked_key(key: str) -> str:
    return key_bytes(key).hex()


def many_key_bytes(keys: Sequence[str]) -> bytes:
    try:
        # `fromhex` skips blanks, so a key with blanks gives too few bytes.
        raw = bytes.fromhex("".join(keys)) if set(map(len, keys)) <= {64} else b""
    except ValueError:
        raw = b""
    return raw if len(raw) == 32 * len(keys) else b"".join(map(key_bytes, keys))
