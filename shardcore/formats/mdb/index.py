"""Index of a shard held in memory: both sections walked, lookup tables, and columns derived from them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO, HashArray
from shardcore.errors import FormatError
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    CAS_HEADER,
    CHUNK,
    FILE,
    FILE_ENTRY,
    KINDS,
    RECORD_SIZE,
    SECTIONS_START,
    XORB,
    LookupTable,
    MdbLayout,
    range_fault,
    size_fault,
)
from shardcore.formats.mdb.walk_sections import KeyMap, WalkedSection, chunk_map, header_map, table_map, walk
from shardcore.model.pointer_table import Links
from shardcore.model.span import Span

MISNAMED = "its hash contradicts its segments: only a file without segments has the zero hash"
"""Error text of `MdbIndex.misnamed_files`."""


def block_sums(values: NDArray[Any], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of `values[bounds[i]:bounds[i + 1]]` for each i; `bounds` ascend."""
    totals = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    sums: NDArray[np.int64] = totals[bounds[1:]] - totals[bounds[:-1]]
    return sums


class MdbIndex:
    """Index of a shard that is completely in memory; derived columns are computed on first use and cached."""

    def __init__(self, data: bytes, layout: MdbLayout, files: WalkedSection, xorbs: WalkedSection) -> None:
        self.data = data
        self.layout = layout
        self.files = files
        self.xorbs = xorbs

    @property
    def damage(self) -> FormatError | None:
        return self.files.damage or self.xorbs.damage

    def section(self, kind: str) -> WalkedSection:
        return self.files if kind == FILE else self.xorbs

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of files, xorbs and chunks."""
        return len(self.files.headers), len(self.xorbs.headers), len(self.xorbs.entries)

    def first_row(self, kind: str) -> int:
        files, xorbs, _ = self.counts
        return {FILE: 0, XORB: files, CHUNK: files + xorbs}[kind]

    def row_of(self, kind: str, record: int, chunk: int = -1) -> int:
        if kind == CHUNK:
            block = self.xorbs.block_of(record)
            return self.first_row(CHUNK) + int(self.xorbs.bounds[block]) + chunk
        return self.first_row(kind) + self.section(kind).block_of(record)

    def entry_row(self, kind: str, record: int, chunk: int = -1) -> int | None:
        """Return the row of the object that a lookup table entry refers to; None if the entry is invalid."""
        block = self.section(kind).block_of(record)
        if block < 0 or chunk >= self.section(kind).counts[block]:
            return None
        return self.row_of(kind, record, chunk)

    def rows_of(self, kind: str, wanted: HashArray) -> NDArray[np.int64]:
        """Return the rows of stored hashes, shape `(m, 32)`; -1 if not found."""
        known, section = self.maps[kind], self.section(kind)
        at = known.find(section, wanted)
        if not len(known.records):
            return at
        block = np.searchsorted(section.headers, known.records[at])
        rows = block if kind != CHUNK else section.bounds[block] + known.chunks[at]
        return np.where(at >= 0, self.first_row(kind) + rows, -1)

    @cached_property
    def segments(self) -> NDArray[Any]:
        return self.files.rows(FILE_ENTRY)[self.files.entries]

    @cached_property
    def chunks(self) -> NDArray[Any]:
        return self.xorbs.rows(CAS_ENTRY)[self.xorbs.entries]

    @cached_property
    def xorb_headers(self) -> NDArray[Any]:
        return self.xorbs.rows(CAS_HEADER)[self.xorbs.headers]

    @cached_property
    def file_sizes(self) -> NDArray[np.int64]:
        return block_sums(self.segments["unpacked_segment_bytes"], self.files.bounds)

    @cached_property
    def xorb_sums(self) -> NDArray[np.int64]:
        return block_sums(self.chunks["unpacked_segment_bytes"], self.xorbs.bounds)

    @cached_property
    def segment_xorbs(self) -> NDArray[np.int64]:
        """Number of the xorb per segment; -1 if this shard does not describe it."""
        known = header_map(self.xorbs)
        at = known.find(self.xorbs, self.segments["cas_hash"])
        if not len(known.records):
            return at
        numbers = np.searchsorted(self.xorbs.headers, known.records)
        return np.where(at >= 0, numbers[at], -1)

    @cached_property
    def segment_lengths(self) -> NDArray[np.int64]:
        stops, starts = (self.segments[name].astype(np.int64) for name in ("chunk_index_end", "chunk_index_start"))
        return stops - starts

    @cached_property
    def segment_sums(self) -> NDArray[np.int64]:
        """Sum of the chunk sizes per segment; -1 if unknown or the range is invalid."""
        sums = np.full(len(self.segments), -1, np.int64)
        sure = (self.segment_xorbs >= 0) & ~self.segment_faults
        first = self.xorbs.bounds[self.segment_xorbs[sure]]
        totals = np.concatenate([[0], np.cumsum(self.chunks["unpacked_segment_bytes"], dtype=np.int64)])
        ends = first + self.segments["chunk_index_end"][sure].astype(np.int64)
        sums[sure] = totals[ends] - totals[first + self.segments["chunk_index_start"][sure].astype(np.int64)]
        return sums

    @cached_property
    def segment_faults(self) -> NDArray[np.bool_]:
        """Mask of segments with an invalid range; in an unlisted xorb only the order can be checked."""
        start, stop = self.segments["chunk_index_start"], self.segments["chunk_index_end"]
        known = self.segment_xorbs >= 0
        limits = np.full(len(start), 1 << 32, np.int64)
        limits[known] = self.xorbs.counts[self.segment_xorbs[known]]
        faults: NDArray[np.bool_] = (start >= stop) | (stop.astype(np.int64) > limits)
        return faults

    @cached_property
    def wrong_segments(self) -> NDArray[np.bool_]:
        """Mask of invalid segments: the range is invalid, or the size differs from that of its chunks."""
        sums = self.segment_sums
        wrong: NDArray[np.bool_] = (sums >= 0) & (sums != self.segments["unpacked_segment_bytes"])
        return wrong | self.segment_faults

    @cached_property
    def misnamed_files(self) -> NDArray[np.bool_]:
        """Mask of files whose hash is zero although they have segments, or not zero although they have none."""
        named = self.files.hashes[self.files.headers].any(axis=1)
        misnamed: NDArray[np.bool_] = named != (self.files.counts > 0)
        return misnamed

    @cached_property
    def damaged_files(self) -> NDArray[np.bool_]:
        unread: NDArray[np.bool_] = block_sums(self.wrong_segments, self.files.bounds) > 0
        return unread | self.misnamed_files

    @property
    def keyed(self) -> bool:
        return self.layout.key != ZERO

    def file_fault(self, number: int) -> str:
        first, last = self.files.bounds[number : number + 2].tolist()
        wrong = np.flatnonzero(self.wrong_segments[first:last])
        if len(wrong):
            return f"segment {wrong[0]}: {self.segment_fault(first + int(wrong[0]))}"
        return MISNAMED if self.misnamed_files[number] else ""

    def segment_fault(self, number: int) -> str:
        segment = FILE_ENTRY.values(self.segments[number])
        xorb, total = int(self.segment_xorbs[number]), int(self.segment_sums[number])
        count = int(self.xorbs.counts[xorb]) if xorb >= 0 else -1
        fault = range_fault(segment["chunk_index_start"], segment["chunk_index_end"], count)
        return fault or (size_fault(segment["unpacked_segment_bytes"], total) if total >= 0 else "")

    def table_rows(self, kind: str) -> NDArray[Any]:
        table = self.layout.tables.get(kind)
        if table is None:
            return np.zeros(0, _EMPTY[kind])
        return table.record.read(self.data, table.start, table.count)

    @property
    def segment_links(self) -> Links:
        xorbs, segments = self.segment_xorbs, self.segments
        known = np.flatnonzero((xorbs >= 0) & ~self.segment_faults)
        first = self.xorbs.headers[xorbs[known]] + 1
        starts, stops = (
            self.xorbs.start + RECORD_SIZE * (first + segments[f"chunk_index_{edge}"][known])
            for edge in ("start", "end")
        )

        def pointer(at: int) -> tuple[Span, str]:
            number = int(known[at])
            place = self.files.byte_of(int(self.files.entries[number]))
            start, stop = (int(segments[number][f"chunk_index_{edge}"]) for edge in ("start", "end"))
            chunks = f"chunk {start}" if stop == start + 1 else f"chunks {start} to {stop - 1}"
            return Span("", place, place + RECORD_SIZE), f"A file uses {chunks} of this xorb in this segment."

        return Links(starts, stops, pointer)

    def entry_links(self, table: LookupTable) -> Links:
        """Return the references of a lookup table: to all records of a file or xorb, or to a single chunk record."""
        rows, section = self.table_rows(table.kind), self.section(table.kind)
        first = rows["index"].astype(np.int64)
        if table.kind == CHUNK:
            first = first + 1 + rows["chunk"]
        last = first + 1
        block = np.searchsorted(section.headers, first)
        if table.kind != CHUNK and len(section.headers):
            block = np.minimum(block, len(section.headers) - 1)
            last = np.where(section.headers[block] == first, section.ends[block], last)
        fine = np.flatnonzero(last <= section.stop)

        def pointer(at: int) -> tuple[Span, str]:
            number = int(fine[at])
            why = f"Entry {number} of the {table.kind} lookup table refers to this record."
            return table.span(number, number + 1), why

        start = section.start
        return Links(start + RECORD_SIZE * first[fine], start + RECORD_SIZE * last[fine], pointer)

    @cached_property
    def tables(self) -> dict[str, tuple[KeyMap, NDArray[np.int64]]]:
        return {kind: table_map(self.table_rows(kind), self.section(kind)) for kind in self.layout.tables}

    @cached_property
    def maps(self) -> dict[str, KeyMap]:
        """Key map per kind of object, from the lookup table or, if there is none, computed from the section."""
        maps = {kind: found for kind, (found, _) in self.tables.items()}
        for kind in set(KINDS) - maps.keys():
            maps[kind] = chunk_map(self.xorbs) if kind == CHUNK else header_map(self.section(kind))
        return maps


_EMPTY = {FILE: [("key", "<u8")], XORB: [("key", "<u8")], CHUNK: [("key", "<u8")]}


def load(data: bytes, layout: MdbLayout) -> MdbIndex:
    """Walk both sections at the offsets in the footer; O(n) in the size of the shard."""
    view = memoryview(data)
    files = walk(view[slice(*layout.file_info)], layout.file_info[0], files=True)
    xorbs = walk(view[slice(*layout.cas_info)], layout.cas_info[0], files=False)
    return MdbIndex(data, layout, files, xorbs)


def discover(data: bytes, header: dict[str, Any], stop: int) -> MdbIndex:
    """Walk the sections of a shard without a footer; they end with their end marks, at most at `stop`."""
    last = max(stop, min(SECTIONS_START, len(data)))
    view = memoryview(data)[:last]
    files = walk(view[SECTIONS_START:], SECTIONS_START, files=True)
    middle = last if files.problem else files.stop_byte
    xorbs = walk(view[middle:], middle, files=False)
    end = last if xorbs.problem else xorbs.stop_byte
    files = replace(files, data=files.data[: _whole(middle - SECTIONS_START)])
    xorbs = replace(xorbs, data=xorbs.data[: _whole(end - middle)])
    layout = MdbLayout(len(data), header, None, (min(SECTIONS_START, last), middle), (middle, end), {})
    return MdbIndex(data, layout, files, xorbs)


def _whole(size: int) -> int:
    return max(size, 0) // RECORD_SIZE * RECORD_SIZE
