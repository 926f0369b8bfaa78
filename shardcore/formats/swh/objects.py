"""The objects of a Read Shard, as columns: one row for each slot of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, UsageError
from shardcore.formats.swh.file import SwhFile
from shardcore.formats.swh.layout import NO_OBJECT, OBJECT, length_span
from shardcore.formats.swh.slots import read_lengths, read_slots, read_slots_at
from shardcore.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.span import Span
from shardcore.text import short

I64 = NDArray[np.int64]


class SwhObjects(Objects):
    """One row for each slot of the index.

    Args:
        file: The file.
    """

    hashed_rows = True

    def __init__(self, file: SwhFile) -> None:
        self._file = file
        self._geometry = file.geometry
        self._by_size: I64 | None = None

    def __len__(self) -> int:
        return self._geometry.slots

    def columns(self, rows: I64, *, sizes: bool = False) -> ObjectColumns:
        """The columns of some slots; see `Objects.columns`."""
        slots = read_slots_at(self._file.source, self._geometry, rows)
        states = self._states(slots)
        live = states == State.LIVE
        starts = np.where(live, slots["offset"].astype(np.int64) + OBJECT.size, -1)
        if (order := self._file.order) is not None:
            known = order.row_sizes[rows]
        else:
            known = np.full(len(rows), -1, np.int64)
            if sizes and live.any():
                known[live] = read_lengths(self._file.source, self._geometry, starts[live] - OBJECT.size)
        stops = np.where(live & (known >= 0), starts + known, -1)
        return ObjectColumns.of(rows, starts, stops, known, state=states)

    def known(self, first: int, last: int) -> ObjectColumns:
        """What the loaded index knows of slots: places and sizes, without reading the slots again."""
        order = self._file.order
        if order is None:
            return super().known(first, last)
        sizes = order.row_sizes[first:last]
        mine = (order.slots >= first) & (order.slots < last)
        starts = np.full(last - first, -1, np.int64)
        starts[order.slots[mine] - first] = order.offsets[mine] + OBJECT.size
        state = np.where(sizes >= 0, State.LIVE, order.empty_state)
        return ObjectColumns.of(
            np.arange(first, last), starts, np.where(sizes >= 0, starts + sizes, -1), sizes, state=state
        )

    def key_texts(self, rows: I64) -> list[str | None]:
        """The keys of some slots in hex; None for slots without object."""
        slots = read_slots_at(self._file.source, self._geometry, rows)
        text = slots["key"].tobytes().hex()
        filled = np.isin(self._states(slots), [State.LIVE, State.DAMAGED]).tolist()
        return [text[at : at + 64] if full else None for at, full in zip(range(0, len(text), 64), filled, strict=True)]

    def ref(self, row: int) -> ObjectRef:
        """One slot as an object."""
        if not 0 <= row < len(self):
            raise IndexError(row)
        slots = read_slots(self._file.source, self._geometry, row, row + 1)
        offset = int(slots["offset"][0])
        state = State(int(self._states(slots)[0]))
        key = slots["key"][0].tobytes().hex()
        record = self._geometry.slot_span(row)
        if state is State.DAMAGED:
            error = str(self._geometry.outside(row, offset))
            return ObjectRef(
                key, row, (), state=state, error=error, extras={"slot": row, "offset": offset}, record=record
            )
        if state is not State.LIVE:
            return ObjectRef(None, row, (), state=state, extras={"slot": row}, record=record)
        if (order := self._file.order) is not None:
            size = int(order.row_sizes[row])
        else:
            size = int(read_lengths(self._file.source, self._geometry, np.array([offset], np.int64))[0])
        return live_ref(key, row, offset, size)

    @property
    def orders(self) -> tuple[str, ...]:
        """`slot`, and after `load_index` `offset` (of writing) and `size`."""
        return ("slot", "offset", "size") if self._file.order is not None else ("slot",)

    def order(self, name: str) -> I64 | None:
        """Row numbers in an order; `offset` and `size` hold the live slots only."""
        order = self._file.order
        if order is None or name not in ("offset", "size"):
            return super().order(name)
        if name == "offset":
            return order.slots
        if self._by_size is None:
            self._by_size = order.slots[np.argsort(order.sizes, kind="stable")]
        return self._by_size

    def content_of(self, ref: ObjectRef) -> Span:
        """The bytes of an object's content.

        Raises:
            FormatError: The row holds no object, or a damaged one.
        """
        if ref.state is not State.LIVE or not ref.spans:
            span = self._geometry.slot_span(ref.row)
            raise FormatError(
                ref.error or f"slot {ref.row} holds no object: it is unused, or its object was deleted", span=span
            )
        return ref.spans[0]

    def _states(self, slots: NDArray[Any]) -> NDArray[np.uint8]:
        states = self._geometry.states(slots["offset"])
        order = self._file.order
        if order is not None and order.empty_state is State.DELETED:
            # In a file of the older writer, offset 0 is unused for certain.
            states[(states == State.UNUSED) & (slots["offset"] == np.uint64(NO_OBJECT))] = State.DELETED
        return states


def live_ref(key: str, slot: int, offset: int, size: int) -> ObjectRef:
    """A live object whose length field stands at `offset`."""
    start = offset + OBJECT.size
    return ObjectRef(
        key,
        slot,
        (Span("", start, start + size), length_span(offset)),
        size=size,
        stored_size=size,
        extras={"slot": slot, "offset": offset},
    )


def key_bytes(key: str) -> bytes:
    """The 32 bytes of a key in hex; blanks, which `fromhex` skips, are no digits.

    Raises:
        UsageError: It is not 64 hex digits.
    """
    try:
        raw = bytes.fromhex(key) if len(key) == 64 else b""
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise UsageError(f"a key of a swh shard is 64 hex digits, not {short(key)}")
    return raw


def checked_key(key: str) -> str:
    """A key in its usual form, small letters.

    Raises:
        UsageError: It is not 64 hex digits.
    """
    return key_bytes(key).hex()


def many_key_bytes(keys: Sequence[str]) -> bytes:
    """The same for many keys: 32 bytes for each.

    Raises:
        UsageError: One is not 64 hex digits.
    """
    try:
        raw = bytes.fromhex("".join(keys)) if set(map(len, keys)) <= {64} else b""
    except ValueError:
        raw = b""
    return raw if len(raw) == 32 * len(keys) else b"".join(map(key_bytes, keys))
