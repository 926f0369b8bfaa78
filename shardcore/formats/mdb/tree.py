"""Node tree of a shard: header, records, lookup tables, footer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntFlag
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, ZERO, to_text
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    CHUNK,
    FILE,
    FILE_ENTRY,
    FILE_HEADER,
    FILE_INFO,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    NO_EXPIRY,
    RECORD,
    RECORD_SIZE,
    SENTENCES,
    XORB,
    XORB_INFO,
    ChunkFlag,
    FileFlag,
    LookupTable,
    MdbLayout,
)
from shardcore.formats.mdb.walk_sections import RECORDS, RecordKind, WalkedSection
from shardcore.formats.mdb.xorbs import Xorbs
from shardcore.model.computed_children import Extents, RecordTable, field_nodes, grouped, section_nodes
from shardcore.model.node import Children, ExternalBytes, Node
from shardcore.model.number_text import plural, product_text
from shardcore.model.record import FieldRole, Record
from shardcore.model.role_runs import Runs
from shardcore.model.section import Section
from shardcore.model.span import Span


class Blocks(Extents):
    """The blocks of a walked section, its end mark, and the unread rest up to byte `stop`."""

    def __init__(self, walked: WalkedSection, index: MdbIndex, stop: int, xorbs: Xorbs) -> None:
        self.walked = walked
        self.xorbs = xorbs
        self.shard_index = index
        self.stop = stop
        last = int(walked.ends[-1]) if len(walked.ends) else 0
        firsts = [*walked.headers.tolist(), *([] if walked.problem else [last])]
        starts = walked.start + np.array(firsts, np.int64) * RECORD_SIZE
        self._has_rest = walked.stop_byte < stop
        if self._has_rest:
            starts = np.append(starts, walked.stop_byte)
        stops = np.append(starts[1:], stop)[: len(starts)]
        super().__init__(starts, stops, lambda first, last: [self._node(number) for number in range(first, last)])

    def _node(self, number: int) -> Node:
        span = Span("", int(self.starts[number]), int(self.stops[number]))
        blocks = len(self.walked.headers)
        if number < blocks:
            return file_node(self, number) if self.walked.files else xorb_node(self, number)
        if number == blocks and not self.walked.problem:
            record = RECORDS[RecordKind.BOOKEND]
            row = self.walked.rows(record)[self.walked.stop - 1]
            mark = Span("", span.start, span.start + RECORD_SIZE)
            return Node(
                "end mark",
                mark,
                doc="No record follows: the section ends here.",
                children=field_nodes(record, row, span.start),
            )
        doc = (
            "Unreadable after a damaged record."
            if self.walked.problem
            else "Bytes after the end mark are not part of any known structure."
        )
        problem = self.walked.problem or "the section continues after its end mark"
        return Node("unread", span, role=FieldRole.UNKNOWN, error=problem, doc=doc)

    def runs(self, start: int, stop: int) -> Runs:
        """Return the fields of all records in `[start, stop)`, by record kind: one block can be most of a file."""
        inside = self.overlap(start, stop)
        if not inside:
            return Runs.of([], [], [], [])
        first = max(start - (start - self.walked.start) % RECORD_SIZE, int(self.starts[inside.start]))
        last = min(stop + -(stop - self.walked.start) % RECORD_SIZE, int(self.stops[inside.stop - 1]))
        return self._painted(first, last).clip(start, stop)

    def _painted(self, start: int, stop: int) -> Runs:
        first, last = (start - self.walked.start) // RECORD_SIZE, -(-(stop - self.walked.start) // RECORD_SIZE)
        records = np.arange(first, min(last, self.walked.stop))
        kinds = self.walked.kinds[records]
        parts = []
        for kind in np.unique(kinds).tolist():
            record = RECORDS[RecordKind(kind)]
            numbers = records[kinds == kind][:, None]
            offsets = np.fromiter(record.offsets.values(), np.int64)
            sizes = np.fromiter(record.sizes.values(), np.int64)
            at = self.walked.start + numbers * RECORD_SIZE + offsets
            roles = np.broadcast_to(np.array([f.role for f in record.fields], np.uint8), at.shape)
            parts.append(Runs.of(at, at + sizes, roles, (numbers * 5 + np.arange(len(offsets))) & 1))
        if self._has_rest and stop > self.walked.stop_byte:
            parts.append(Runs.of([self.walked.stop_byte], [stop], FieldRole.UNKNOWN, 0))
        return Runs.join(parts).sorted()


def _record_node(name: str, record: Record, stored: Any, start: int, **more: Any) -> Node:
    values = record.values(stored)
    texts = {n: to_text(v) for n, v in values.items() if isinstance(v, bytes) and len(v) == SIZE}
    if "file_flags" in values:
        texts["file_flags"] = flags_text(values["file_flags"], FileFlag)
    if "flags" in values:
        texts["flags"] = flags_text(values["flags"], ChunkFlag)
    children = field_nodes(record, values, start, texts=texts, targets=more.pop("targets", None))
    return Node(name, Span("", start, start + RECORD_SIZE), children=children, **more)


def file_node(blocks: Blocks, number: int) -> Node:
    walked, index = blocks.walked, blocks.shard_index
    first, last = int(walked.headers[number]), int(walked.ends[number])
    header = walked.rows(FILE_HEADER)[first]
    count = int(walked.counts[number])
    text = to_text(header["file_hash"].tobytes())
    kids = [_record_node("header", FILE_HEADER, header, walked.byte_of(first))]

    def segment(at: int, entry: Any) -> Node:
        place = int(walked.bounds[number]) + at
        xorb = int(index.segment_xorbs[place])
        targets = {}
        if xorb >= 0:
            there, end = int(index.xorbs.headers[xorb]), int(index.xorbs.ends[xorb])
            targets["cas_hash"] = Span("", index.xorbs.byte_of(there), index.xorbs.byte_of(end))
            if not index.segment_faults[place]:
                low, high = (there + 1 + int(entry[f"chunk_index_{edge}"]) for edge in ("start", "end"))
                targets["chunk_index_start"] = Span("", index.xorbs.byte_of(low), index.xorbs.byte_of(high))
        chunks = f"chunks {entry['chunk_index_start']}..{entry['chunk_index_end']}"
        size = plural(entry["unpacked_segment_bytes"], "uncompressed byte")
        xorb_hash = to_text(entry["cas_hash"].tobytes())
        what = f"{size}: {chunks} of xorb {xorb_hash[:16]}…"
        edges = int(entry["chunk_index_start"]), int(entry["chunk_index_end"])
        return _record_node(
            f"segment {at}",
            FILE_ENTRY,
            entry,
            walked.byte_of(first + 1 + at),
            text=what,
            targets=targets,
            target=targets.get("chunk_index_start"),
            error=index.segment_fault(place) if index.wrong_segments[place] else "",
            elsewhere=ExternalBytes(
                f"{chunks} of xorb {xorb_hash[:16]}…", lambda: blocks.xorbs.stored_span(xorb_hash, *edges)
            ),
        )

    if count:
        kids.append(_list_node("segments", walked, RecordKind.FILE_ENTRY, first + 1, count, segment))
    if header["file_flags"] & FileFlag.WITH_VERIFICATION and count:
        kids.append(_list_node("verification", walked, RecordKind.FILE_VERIFICATION, first + 1 + count, count))
    if header["file_flags"] & FileFlag.WITH_METADATA_EXT:
        record = RECORDS[RecordKind.FILE_METADATA]
        kids.append(_record_node("metadata", record, walked.rows(record)[last - 1], walked.byte_of(last - 1)))
    span = Span("", walked.byte_of(first), walked.byte_of(last))
    what = f"{plural(index.file_sizes[number], 'byte')} in {plural(count, 'segment')}"
    row = index.first_row(FILE) + number
    return Node(f"file {text}", span, text=what, error=index.file_fault(number), children=tuple(kids), row=row)


def xorb_node(blocks: Blocks, number: int) -> Node:
    walked, index = blocks.walked, blocks.shard_index
    first, last = int(walked.headers[number]), int(walked.ends[number])
    first_chunk = index.first_row(CHUNK) + int(walked.bounds[number])
    record = RECORDS[RecordKind.CAS_HEADER]
    row = walked.rows(record)[first]
    kids = [_record_node("header", record, row, walked.byte_of(first))]

    def chunk(at: int, entry: Any) -> Node:
        text = to_text(entry["chunk_hash"].tobytes())
        return _record_node(
            f"chunk {at}", CAS_ENTRY, entry, walked.byte_of(first + 1 + at), text=text, row=first_chunk + at
        )

    count = int(walked.counts[number])
    if count:
        kids.append(_list_node("chunks", walked, RecordKind.CAS_ENTRY, first + 1, count, chunk))
    span = Span("", walked.byte_of(first), walked.byte_of(last))
    text = f"{plural(row['num_bytes_in_cas'], 'uncompressed byte')} in {plural(count, 'chunk')}"
    return Node(
        f"xorb {to_text(row['cas_hash'].tobytes())}",
        span,
        text=text,
        children=tuple(kids),
        row=index.first_row(XORB) + number,
    )


def _list_node(
    name: str,
    walked: WalkedSection,
    kind: RecordKind,
    first: int,
    count: int,
    describe: Callable[[int, Any], Node] | None = None,
) -> Node:
    record = RECORDS[kind]
    start = walked.byte_of(first)

    def read(low: int, high: int) -> NDArray[Any]:
        return walked.rows(record)[first + low : first + high]

    def plain(at: int, row: Any) -> Node:
        return _record_node(f"[{at}]", record, row, start + at * RECORD_SIZE)

    rows: Children = RecordTable(record, start, count, read, describe=describe or plain)
    span = Span("", start, start + count * RECORD_SIZE)
    return Node(name, span, text=plural(count, "record"), children=grouped(rows))


def flags_text(value: int, flags: type[IntFlag]) -> str:
    names = [flag.name for flag in flags if value & flag and flag.name]
    rest = value & ~sum(flags)
    return " | ".join([*names, *([f"0x{rest:08x}"] if rest or not names else [])])


class MdbTree:
    def __init__(self, file: MdbFile) -> None:
        self.file = file

    def root(self) -> Node:
        file, layout, index = self.file, self.file.layout, self.file.index
        makers: dict[str, Callable[[Section], Node]] = {
            "header": lambda s: header_node(layout.header),
            "footer": lambda s: footer_node(file.footer_fields, layout),
            FILE_INFO: lambda s: _records_node(s, file, index.files if index else None, index),
            XORB_INFO: lambda s: _records_node(s, file, index.xorbs if index else None, index),
        }
        for kind, table in layout.tables.items():
            makers[f"{kind} lookup"] = partial(_lookup_node, file, table)
        error = str(file.footer_damage) if file.footer_damage else ""
        span, kids = Span("", 0, layout.size), section_nodes(file.sections, makers)
        return Node(file.source.name, span, text=f"Xet MDB shard, {file.flavour}", error=error, children=kids)


def header_node(header: dict[str, Any]) -> Node:
    span = Span("", 0, HEADER.size)
    texts = {"tag": "HFRepoMetaData…"}
    return Node("header", span, doc=SENTENCES["header"], children=field_nodes(HEADER, header, 0, texts=texts))


def footer_node(footer: dict[str, Any], layout: MdbLayout) -> Node:
    start = layout.size - FOOTER_SIZE
    targets = {
        "file_info_offset": Span("", *layout.file_info),
        "cas_info_offset": Span("", *layout.cas_info),
        "footer_offset": Span("", start, layout.size),
    }
    for kind, table in layout.tables.items():
        targets[f"{kind}_lookup_offset"] = Span("", table.start, table.stop)
    texts = {
        "chunk_hash_hmac_key": "none" if footer["chunk_hash_hmac_key"] == ZERO else footer["chunk_hash_hmac_key"].hex(),
        "shard_creation_timestamp": date_text(footer["shard_creation_timestamp"]),
        "shard_key_expiry": expiry_text(footer["shard_key_expiry"]),
    }
    sums = {
        f"{kind}_lookup_num_entry": f"{product_text(table.count, 'entry', table.record.size)}"
        f" = {plural(table.count * table.record.size, 'byte')}"
        for kind, table in layout.tables.items()
    }
    fields = field_nodes(FOOTER, footer, start, texts=texts, targets=targets if layout.footer else None, sums=sums)
    return Node("footer", Span("", start, layout.size), doc=SENTENCES["footer"], children=fields)


def date_text(seconds: int) -> str:
    if seconds == 0:
        return "not recorded"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s after 1970, after the year 9999"


def expiry_text(seconds: int, now: datetime | None = None) -> str:
    """Return a key expiry as text ("Shard Key Expiry"); `now` defaults to the clock."""
    if seconds == NO_EXPIRY:
        return "never expires"
    if seconds == 0:
        return "not recorded"
    date = date_text(seconds)
    expired = (now or datetime.now(UTC)).timestamp() > seconds
    return f"expired since {date}" if expired else f"valid until {date}"


def _lookup_node(file: MdbFile, table: LookupTable, section: Section) -> Node:
    def read(first: int, last: int) -> NDArray[Any]:
        span = table.span(first, last)
        return table.record.read(file.read(span.start, span.stop), count=last - first)

    def describe(number: int, row: Any) -> Node:
        values = table.record.values(row)
        places = file.layout.entry_places(table.kind, values["index"], values.get("chunk", -1))
        # For files and xorbs both spans are the header, and there is no field `chunk`.
        targets = dict(zip(("index", "chunk"), places or (), strict=False))
        span = table.span(number, number + 1)
        key = f"{values['key']:016x}"
        texts = {"key": key, "index": str(values["index"])}  # counted in records, not in bytes
        fields = field_nodes(table.record, values, span.start, texts=texts, targets=targets)
        error = "" if places else "refers to a record after the end of its section"
        index = file.index
        row_there = None if index is None else index.entry_row(table.kind, values["index"], values.get("chunk", -1))
        return Node(
            f"[{number}]",
            span,
            text=f"{key}…",
            error=error,
            children=fields,
            target=targets.get("chunk"),
            row=row_there,
        )

    children = grouped(RecordTable(table.record, table.start, table.count, read, describe=describe))
    span = Span("", section.start, section.stop)
    return Node(section.name, span, text=plural(table.count, "entry"), doc=section.doc, children=children)


def _records_node(section: Section, file: MdbFile, walked: WalkedSection | None, index: MdbIndex | None) -> Node:
    span = Span("", section.start, section.stop)
    if walked is None or index is None:

        def read(first: int, last: int) -> NDArray[Any]:
            start, stop = section.start + first * RECORD_SIZE, section.start + last * RECORD_SIZE
            return RECORD.read(file.read(start, stop), count=last - first)

        rows = RecordTable(RECORD, section.start, section.size // RECORD_SIZE, read)
        doc = f"{section.doc} Load the index to see each record."
        return Node(section.name, span, text=plural(len(rows), "record"), doc=doc, children=grouped(rows))
    blocks = Blocks(walked, index, section.stop, file.xorbs)
    text = plural(len(walked.headers), "file" if walked.files else "xorb")
    return Node(section.name, span, text=text, doc=section.doc, error=walked.problem, children=grouped(blocks))
