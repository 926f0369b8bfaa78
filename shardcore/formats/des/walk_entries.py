"""Finding the start of each entry of an index, with NumPy for many entries at a time.

The length of an entry depends on its bytes, so entry n + 1 can be located only after entry n. To avoid a slow loop,
the index is cut into parts (lanes), the first entry of each lane is guessed, and all lanes are walked in parallel.
A lane is used only if the walk before it arrives exactly at its guessed entry; otherwise entries are walked one by
one up to the next such lane. For any bytes, the result equals that of a walk entry by entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.formats.des import layout
from shardcore.model.record import Record
from shardcore.model.text import plural

Positions = NDArray[np.int64]

MAX_LANES = 512
MIN_PER_LANE = 64
_LONGEST_GUESS = 1000  # longest uid of a guessed entry

_LONGEST_LANE = 4
"""Maximum number of entries of a lane, as a multiple of the average. The rest of a longer lane is walked one by one;
otherwise one long lane would lengthen the arrays of all lanes."""

_FOLLOWERS = 2  # entries after a guessed one that must also look like entries

BIGFILE_FLAG = layout.BIGFILE_FLAG
_INDEX_HEAD, _UID_HEAD, _INLINE, _BIGFILE_HEAD, _BIGFILE_TAIL = (
    record.size
    for record in (layout.INDEX_HEAD, layout.UID_HEAD, layout.INLINE, layout.BIGFILE_HEAD, layout.BIGFILE_TAIL)
)


class EntryShape(ABC):
    """Layout of the entries in one version of the format; `place` is the record with offset and sizes of an object."""

    name: str
    inline: layout.EntryParts
    place: Record
    bigfile: layout.EntryParts | None = None
    fixed: int
    """Smallest size of an entry, in bytes."""

    def __init__(self, index: bytes) -> None:
        self.index = index
        self.end = len(index)
        self.bytes = np.frombuffer(index, np.uint8)
        self._anywhere: dict[str, NDArray[Any]] = {}

    @abstractmethod
    def after(self, start: int) -> int:
        """Return the end of the entry at `start`; -1 if the entry is cut by the end of the index."""

    @abstractmethod
    def after_many(self, starts: Positions) -> Positions:
        """Return the ends of the entries at `starts`; -1 for an entry that is cut by the end of the index."""

    def likely(self, starts: Positions) -> NDArray[np.bool_]:
        """Return a mask of the offsets at which an entry probably starts, because its fields have usual values."""
        lengths = self.number(starts, "<u2")
        good: NDArray[np.bool_] = (lengths > 0) & (lengths <= _LONGEST_GUESS)
        good[good] = self._likely_after_uid(starts[good] + _UID_HEAD + lengths[good])
        return good

    def _likely_after_uid(self, at: Positions) -> NDArray[np.bool_]:
        sizes = [self.number(at + self.place.offsets[name], "<i8") for name in ("length", "compressed_size")]
        return np.asarray(sizes[0] == sizes[1])

    def why_cut(self, start: int) -> str:
        """Return the error text for the entry at `start`, which does not end within the index."""
        if start + _UID_HEAD > self.end:
            return "the index ends before this entry"
        length = self._u16(start)
        if start + _UID_HEAD + length > self.end:
            return f"its uid of {plural(length, 'byte')} ends after the index"
        return "the index ends inside this entry"

    def number(self, starts: Positions, dtype: str) -> NDArray[np.int64]:
        """Return integers of type `dtype` at any offsets; after the end of the index the values are undefined."""
        numbers = self._anywhere.get(dtype)
        if numbers is None:
            room = max(self.end - np.dtype(dtype).itemsize + 1, 0)
            numbers = np.ndarray((room,), dtype, self.index, strides=(1,)) if room else np.zeros(1, dtype)
            self._anywhere[dtype] = numbers
        return numbers[np.minimum(starts, len(numbers) - 1)].astype(np.int64)

    def _u16(self, at: int) -> int:
        return self.index[at] | self.index[at + 1] << 8


class ShapeV2(EntryShape):
    name = "2"
    inline, bigfile, place = layout.ENTRY_INLINE, layout.ENTRY_BIGFILE, layout.INLINE
    fixed = _UID_HEAD + _BIGFILE_HEAD + _BIGFILE_TAIL

    def after(self, start: int) -> int:
        index, end = self.index, self.end
        if start + _UID_HEAD > end:
            return -1
        flags = start + _UID_HEAD + (index[start] | index[start + 1] << 8)
        if flags >= end:
            return -1
        if index[flags] & BIGFILE_FLAG:
            if flags + _BIGFILE_HEAD > end:
                return -1
            body = flags + _BIGFILE_HEAD + self._u16(flags + 1) + _BIGFILE_TAIL
        else:
            body = flags + _INLINE
        if body > end:
            return -1
        stop = body + int.from_bytes(index[body - 4 : body], "little")
        return stop if stop <= end else -1

    def after_many(self, starts: Positions) -> Positions:
        flags = starts + _UID_HEAD + self.number(starts, "<u2")
        body = flags + _INLINE
        big = self.bytes.take(flags, mode="clip") & BIGFILE_FLAG
        if big.any():
            hashes = self.number(flags + 1, "<u2")
            body = np.where(big, flags + _BIGFILE_HEAD + hashes + _BIGFILE_TAIL, body)
        stops = body + self.number(body - 4, "<u4")
        # Values read past the end do not matter: such an entry ends after `end` in any case.
        return np.where((body <= self.end) & (stops <= self.end), stops, -1)

    def _likely_after_uid(self, at: Positions) -> NDArray[np.bool_]:
        flags = self.bytes.take(at, mode="clip")
        codec = self.bytes.take(at + layout.INLINE.offsets["codec"], mode="clip")
        inline = (flags == 0) & (codec <= 2) & super()._likely_after_uid(at)
        return np.asarray(inline | (flags == BIGFILE_FLAG) & (self.number(at + 1, "<u2") == layout.HASH_LENGTH))


class ShapeV1(EntryShape):
    name = "1"
    inline, place = layout.ENTRY_V1, layout.PLACE_V1
    fixed = _UID_HEAD + layout.PLACE_V1.size

    def after(self, start: int) -> int:
        if start + _UID_HEAD > self.end:
            return -1
        stop = start + self.fixed + self._u16(start)
        return stop if stop <= self.end else -1

    def after_many(self, starts: Positions) -> Positions:
        stops = starts + self.fixed + self.number(starts, "<u2")
        return np.where(stops <= self.end, stops, -1)


class ShapeV1Short(ShapeV1):
    name = "1 (first layout)"
    inline, place = layout.ENTRY_V1_SHORT, layout.PLACE_V1_SHORT
    fixed = _UID_HEAD + layout.PLACE_V1_SHORT.size

    def _likely_after_uid(self, at: Positions) -> NDArray[np.bool_]:
        # The upper three bytes of offset and length are zero.
        return np.asarray(((self.number(at + 4, "<u4") | self.number(at + 12, "<u4")) >> 8) == 0)


@dataclass(frozen=True, slots=True)
class EntryWalk:
    """Result of a walk.

    Attributes:
        starts: Offset of each complete entry from the start of the index.
        stops: End of each complete entry, exclusive.
        error: Error message if fewer entries are complete than the index declares; "" otherwise.
    """

    starts: Positions
    stops: Positions
    error: str

    @property
    def end(self) -> int:
        return int(self.stops[-1]) if len(self.stops) else _INDEX_HEAD


def walk(shape: EntryShape, count: int) -> EntryWalk:
    """Find the complete entries of an index, at most `count`."""
    lanes = _lanes(shape, min(count, max(shape.end - _INDEX_HEAD, 0) // shape.fixed))
    parts: list[Positions] = []
    at, left = _INDEX_HEAD, count
    while left > 0 and at >= 0:
        part, at = lanes[at] if at in lanes else _one_by_one(shape, at, left, lanes)
        parts.append(part)
        left -= len(part)
    bounds = np.concatenate([*parts, np.array([at], np.int64)])
    if left < 0 or at < 0:
        bounds = bounds[: count + 1 if left < 0 else -1]
    whole, error = len(bounds) - 1, ""
    if whole < count:
        error = f"{whole:,} of {plural(count, 'entry')} can be read; entry {whole}: {shape.why_cut(int(bounds[-1]))}"
    return EntryWalk(bounds[:-1], bounds[1:], error)


Lanes = dict[int, tuple[Positions, int]]
"""For each lane, by the offset of its first entry: the offsets of its entries, and the end of the last one."""


def _one_by_one(shape: EntryShape, at: int, left: int, lanes: Lanes) -> tuple[Positions, int]:
    found = array("q")
    after = shape.after
    while left > len(found) and at >= 0:
        found.append(at)
        at = after(at)
        if at in lanes:
            break
    return np.frombuffer(found, np.int64), at


def _lanes(shape: EntryShape, entries: int) -> Lanes:
    count = min(MAX_LANES, entries // MIN_PER_LANE)
    starts = _guess(shape, count, entries) if count > 1 else np.zeros(0, np.int64)
    limits = np.append(starts[1:], shape.end)
    steps: list[Positions] = []
    at = starts
    going = np.ones(len(starts), bool)
    while going.any() and len(steps) < _LONGEST_LANE * entries // count:
        steps.append(at)
        at = np.where(going, shape.after_many(at), at)
        going = (at >= 0) & (at < limits)
    # A finished lane repeats its last offset while others continue: that is not an entry.
    rows = np.stack(steps, axis=1) if steps else starts[:, None]
    there = (rows >= 0) & (rows < limits[:, None])
    each = zip(starts.tolist(), rows, there, at.tolist(), strict=True)
    return {start: (row[entry], end) for start, row, entry, end in each}


def _guess(shape: EntryShape, count: int, entries: int) -> Positions:
    """Return probable starts of entries: the first after each of `count` evenly spaced offsets, if one is found."""
    body = shape.end - _INDEX_HEAD
    window = min(max(4 * body // entries, 128), 4096)
    places = _INDEX_HEAD + np.arange(count, dtype=np.int64) * body // count
    candidates = np.minimum(places[:, None] + np.arange(window), shape.end)
    likely = shape.likely(candidates.ravel())
    hits = np.flatnonzero(likely)
    followers = candidates.ravel()[hits]
    for _ in range(_FOLLOWERS):
        followers = shape.after_many(followers)
        good = followers >= 0
        good[good] = shape.likely(followers[good]) | (followers[good] == shape.end)
        hits, followers = hits[good], np.minimum(followers[good], shape.end)
    # The first hit of each window; windows may overlap.
    starts: Positions = candidates.ravel()[hits[np.diff(hits // window, prepend=-1) > 0]]
    return np.asarray(starts[np.diff(starts, prepend=-1) > 0])
