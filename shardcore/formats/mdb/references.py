"""References to records of a shard, from tables and segments; and to bytes of a xorb, from their descriptions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import from_text
from shardcore.errors import ShardError
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.geometry import CHUNK, FILE, XORB
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import RECORD_SIZE
from shardcore.formats.mdb.xorbs import SPAN_PREFIX
from shardcore.model.references import Pointing, ReferenceCollector
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span


def gather(file: MdbFile, into: ReferenceCollector) -> None:
    """Gathers what leads to bytes of the file, or of a xorb that it describes, from what is in memory."""
    index, span = file.index, into.span
    if index is None:
        return
    name = SourceName.parse(span.source)
    if name.path.startswith(SPAN_PREFIX) and not name.stretches:
        _gather_xorb(file, index, name.path.removeprefix(SPAN_PREFIX), into)
    elif name.is_file:
        for section in (index.files, index.xorbs):
            first = max((span.start - section.start) // RECORD_SIZE, 0)
            last = min(-(-(span.stop - section.start) // RECORD_SIZE), section.stop)
            if first < last:
                _gather_records(index, into, first, last, files=section.files)


def _gather_records(index: MdbIndex, into: ReferenceCollector, first: int, last: int, *, files: bool) -> None:
    """Collect references to the records number `first` to `last` of a section, or to parts of them."""
    if files:
        _gather_entries(index, FILE, into, _headers_of(index, FILE, first, last))
        return
    _gather_segments(index, into, first, last)
    _gather_entries(index, XORB, into, np.arange(first, last))
    _gather_entries(index, CHUNK, into, np.arange(first, last))


def _headers_of(index: MdbIndex, kind: str, first: int, last: int) -> NDArray[np.int64]:
    """The headers of the blocks that have any of some records."""
    section = index.section(kind)
    return section.headers[(section.headers < last) & (section.ends > first)]


def _gather_segments(index: MdbIndex, into: ReferenceCollector, first: int, last: int) -> None:
    """The segments of all files whose chunks are among some records of the xorb info section."""
    xorbs, segments = index.segment_xorbs, index.segments
    low = np.full(len(segments), -1, np.int64)
    known = (xorbs >= 0) & ~index.segment_faults
    low[known] = index.xorbs.headers[xorbs[known]] + 1
    high = low + segments["chunk_index_end"].astype(np.int64)
    low = low + segments["chunk_index_start"].astype(np.int64)
    there = np.flatnonzero(known & (low < last) & (high > first))

    def segment_to(number: int) -> Pointing:
        at = index.files.byte_of(int(index.files.entries[number]))
        target = Span("", index.xorbs.byte_of(int(low[number])), index.xorbs.byte_of(int(high[number])))
        start, stop = (int(segments[number][f"chunk_index_{edge}"]) for edge in ("start", "end"))
        chunks = f"chunk {start}" if stop == start + 1 else f"chunks {start} to {stop - 1}"
        return Pointing(Span("", at, at + RECORD_SIZE), target, f"A file uses {chunks} of this xorb in this segment.")

    into.add_rows(there.tolist(), segment_to)


def _gather_entries(index: MdbIndex, kind: str, into: ReferenceCollector, records: NDArray[np.int64]) -> None:
    """The entries of a lookup table that lead to some records."""
    table, rows = index.geometry.tables.get(kind), index.table_rows(kind)
    if table is None or not len(records):
        return
    there = _leading(rows, kind, records)

    def entry_to(number: int) -> Pointing:
        section = index.section(kind)
        record = int(rows[number]["index"]) + (1 + int(rows[number]["chunk"]) if kind == CHUNK else 0)
        block = section.block_of(int(rows[number]["index"]))
        start, stop = section.byte_of(record), section.byte_of(record + 1)
        if kind != CHUNK and block >= 0:
            stop = section.byte_of(int(section.ends[block]))
        why = f"Entry {number} of the {kind} lookup table refers to this record."
        return Pointing(table.span(number, number + 1), Span("", start, stop), why)

    into.add_rows(there.tolist(), entry_to)


def _leading(rows: NDArray[Any], kind: str, records: NDArray[np.int64]) -> NDArray[np.int64]:
    places = rows["index"].astype(np.int64)
    if kind == CHUNK:
        places = places + 1 + rows["chunk"].astype(np.int64)
    return np.flatnonzero((places >= records[0]) & (places <= records[-1]) & np.isin(places, records))


def _gather_xorb(file: MdbFile, index: MdbIndex, text: str, into: ReferenceCollector) -> None:
    """Collect descriptions of chunks of a xorb: their records in this shard, and the segments of files."""
    try:
        xorb, wanted = file.xorbs.get(text), np.frombuffer(from_text(text), np.uint8).reshape(1, 32)
    except ShardError:
        return  # nothing is known of the chunks of a xorb that cannot be opened
    row = int(index.rows_of(XORB, wanted)[0]) - index.first_row(XORB)
    if row < 0:
        return
    numbers = [
        number
        for number in range(min(xorb.chunk_count, int(index.xorbs.counts[row])))
        if into.wants(Span(into.span.source, *_edges(xorb.record_span(number))))
    ]
    header = int(index.xorbs.headers[row])

    def record_to(number: int) -> Pointing:
        at = index.xorbs.byte_of(header + 1 + number)
        target = Span(into.span.source, *_edges(xorb.record_span(number)))
        return Pointing(Span("", at, at + RECORD_SIZE), target, f"This record describes chunk {number} of the xorb.")

    into.add_rows(numbers, record_to)
    if numbers:
        _gather_segments(index, into, header + 1 + numbers[0], header + 2 + numbers[-1])


def _edges(span: Span) -> tuple[int, int]:
    return span.start, span.stop
