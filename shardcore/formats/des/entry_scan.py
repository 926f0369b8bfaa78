"""Searching a damaged DES index for single entries.

An inline entry has its stored size twice (`length` and `compressed_size`), follows its uid, whose length is
before it, and its payload ends before the index. Random bytes almost never satisfy all three.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shardcore.errors import FormatError
from shardcore.formats.des.layout import (
    CODECS,
    HEADER,
    INDEX_HEAD,
    INLINE,
    MAGIC,
    PLACE_V1,
    UID_HEAD,
    read_meta,
    read_uid,
)
from shardcore.formats.des.sidecar import created_at_of
from shardcore.model.record import Record
from shardcore.model.span import Span
from shardcore.shards.salvage import Damaged, Near
from shardcore.sources.base import Source

_WINDOW = 1 << 18
_USUAL_UID, _MOST_UID = 4096, 0xFFFF
_MOST_META = 1 << 20
_WORD = 8


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """Entry found by its structure, with start and stop of its payload and the declared uncompressed size."""

    uid: str
    created_at: str
    span: Span
    start: int
    stop: int
    codec: str
    size: int


def find_entries(damaged: Damaged, gaps: list[tuple[int, int]], version: int | None) -> list[FoundEntry]:
    """Return the entries in `gaps`, ascending; version None tries 2, then 1."""
    found: list[FoundEntry] = []
    for one in (2, 1) if version is None else (version,):
        near = Near(damaged.source)
        for start, stop in gaps:
            found += _inside(damaged, near, start, stop, one)
        if found:
            break
    return _of_one_index(damaged, found)


def _inside(damaged: Damaged, near: Near, start: int, stop: int, version: int) -> Iterator[FoundEntry]:
    record, flags = (INLINE, 1) if version == 2 else (PLACE_V1, 0)
    end = start
    for first in range(start, stop - record.size + 1, _WINDOW):
        damaged.progress(first, stop)
        raw = np.frombuffer(damaged.source.read(first, min(first + _WINDOW + record.size - 1, stop)), np.uint8)
        if len(raw) < record.size:
            return
        words = np.ascontiguousarray(sliding_window_view(raw, _WORD)).view("<u8").ravel()
        count = len(raw) - record.size + 1

        def column(name: str, words: np.ndarray = words, count: int = count) -> np.ndarray:
            return words[record.offsets[name] : record.offsets[name] + count]

        codec = raw[record.offsets["codec"] : record.offsets["codec"] + count]
        length, size, offset = column("length"), column("uncompressed_size"), column("offset")
        here = np.uint64(first) + np.arange(count, dtype=np.uint64)
        fits = (column("compressed_size") == length) & (codec < len(CODECS)) & (offset >= HEADER.size)
        fits &= (offset < here) & (length <= here - np.minimum(offset, here)) & ((codec > 0) | (size == length))
        if flags:
            fits &= raw[:count] == 0
        for place in (first + np.flatnonzero(fits)).tolist():
            if place < end or place - UID_HEAD.size <= start:
                continue
            if not damaged.affords(place):
                return
            entry = _entry(damaged, near, (start, stop), place, record)
            if entry is not None:
                end = entry.span.stop
                yield entry


def _entry(damaged: Damaged, near: Near, gap: tuple[int, int], place: int, record: Record) -> FoundEntry | None:
    start, stop = gap
    values = record.read_one(near(place, place + record.size))
    begins = _uid_before(near, start, place, _USUAL_UID)
    if begins is None and damaged.affords(place, _MOST_UID):
        begins = _uid_before(near, start, place, _MOST_UID)
    if begins is None:
        return None
    uid = read_uid(near(begins + UID_HEAD.size, place))
    if uid is None:
        return None
    end = place + record.size
    meta: dict[str, object] = {}
    length = int(values.get("meta_length", 0))
    if length:
        if length > min(_MOST_META, stop - end) or not damaged.affords(place, length):
            return None
        try:
            meta = read_meta(near(end, end + length), place=Span("", end, end + length))
        except FormatError:
            return None
    first = int(values["offset"])
    span = Span("", begins, end + length)
    codec, size = CODECS[int(values["codec"])], int(values["uncompressed_size"])
    return FoundEntry(uid, created_at_of(meta), span, first, first + int(values["length"]), codec, size)


def _uid_before(near: Near, start: int, place: int, longest: int) -> int | None:
    """Return the offset of the length field of a uid that ends at `place`; None if no length fits."""
    first = max(start, place - UID_HEAD.size - longest)
    raw = np.frombuffer(near(first, place), np.uint8).astype(np.int64)
    most = len(raw) - UID_HEAD.size
    lengths = np.arange(1, most + 1)
    at = most - lengths
    fits = np.flatnonzero(raw[at] | raw[at + 1] << 8 == lengths)
    return first + most - int(lengths[fits[0]]) if len(fits) else None


def _of_one_index(damaged: Damaged, found: list[FoundEntry]) -> list[FoundEntry]:
    kept: list[FoundEntry] = []
    last = 0
    for entry in reversed(found):
        if entry.span.start < last:
            break
        last = max(last, entry.stop)
        kept.append(entry)
    kept.reverse()
    return [] if kept and is_nested(damaged.source, kept[0].span.start - INDEX_HEAD.size, last) else kept


def is_nested(source: Source, index: int, last: int) -> bool:
    """Return True if the index at `index`, whose payloads end at `last`, belongs to a shard stored inside this one."""
    begins = index - last
    return begins > 0 and source.read(begins, begins + len(MAGIC)) == MAGIC
