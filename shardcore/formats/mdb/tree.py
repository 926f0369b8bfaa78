"""Node tree of a shard: header, records, lookup tables, footer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntFlag
from functools import partial
from typing import Any

import numpy as np

from shardcore.codecs.xet.hashes import SIZE, ZERO, to_text
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex, WalkedSection
from shardcore.formats.mdb.layout import (
    BLOCKS,
    CHUNK,
    FILE,
    FILE_INFO,
    FOOTER,
    HEADER,
    HEADER_SECTION,
    NO_EXPIRY,
    RECORD,
    RECORD_SIZE,
    RECORDS,
    XORB,
    XORB_INFO,
    ChunkFlag,
    FileFlag,
    LookupTable,
    RecordKind,
)
from shardcore.formats.mdb.xorbs import Xorbs
from shardcore.model.computed_children import Extents, RecordTable, field_nodes, grouped, section_nodes
from shardcore.model.node import ExternalBytes, Node, Runs
from shardcore.model.record import FieldRole, Record
from shardcore.model.section import Section
from shardcore.model.span import Span
from shardcore.model.text import iso_text, plural, product_text


class MdbTree:
    def __init__(self, file: MdbFile) -> None:
        self.file = file

    def root(self) -> Node:
        file = self.file
        makers: dict[str, Callable[[Section], Node]] = {
            "header": lambda _: header_node(file.layout.header),
            "footer": partial(_footer_node, file),
            FILE_INFO: partial(_records_node, file, FILE),
            XORB_INFO: partial(_records_node, file, XORB),
        }
        for kind, table in file.layout.tables.items():
            makers[f"{kind} lookup"] = partial(_lookup_node, file, table)
        error = str(file.footer_damage) if file.footer_damage else ""
        span, kids = Span("", 0, file.layout.size), section_nodes(file.sections, makers)
        return Node(file.source.name, span, text=f"Xet MDB shard, {file.flavour}", error=error, children=kids)


def header_node(header: dict[str, Any]) -> Node:
    fields = field_nodes(HEADER, header, 0, texts={"tag": "HFRepoMetaData…"})
    return Node("header", HEADER.span(""), doc=HEADER_SECTION.doc, children=fields)


def _footer_node(file: MdbFile, section: Section) -> Node:
    footer, layout = file.footer_fields, file.layout
    span = Span("", section.start, section.stop)
    targets = {
        "file_info_offset": Span("", *layout.file_info),
        "cas_info_offset": Span("", *layout.cas_info),
        "footer_offset": span,
    }
    sums = {}
    for kind, table in layout.tables.items():
        targets[f"{kind}_lookup_offset"] = table.span(0, table.count)
        product = product_text(table.count, "entry", table.record.size)
        sums[f"{kind}_lookup_num_entry"] = f"{product} = {plural(table.count * table.record.size, 'byte')}"
    key = footer["chunk_hash_hmac_key"]
    texts = {
        "chunk_hash_hmac_key": "none" if key == ZERO else key.hex(),
        "shard_creation_timestamp": date_text(footer["shard_creation_timestamp"]),
        "shard_key_expiry": expiry_text(footer["shard_key_expiry"]),
    }
    known = targets if layout.footer else None
    fields = field_nodes(FOOTER, footer, span.start, texts=texts, targets=known, sums=sums)
    return Node("footer", span, doc=section.doc, children=fields)


def date_text(seconds: int) -> str:
    if seconds == 0:
        return "not recorded"
    try:
        return iso_text(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s after 1970, after the year 9999"


def expiry_text(seconds: int) -> str:
    """Return a key expiry as text ("Shard Key Expiry")."""
    if seconds == NO_EXPIRY:
        return "never expires"
    if seconds == 0:
        return "not recorded"
    date = date_text(seconds)
    return f"expired since {date}" if datetime.now(UTC).timestamp() > seconds else f"valid until {date}"


def _lookup_node(file: MdbFile, table: LookupTable, section: Section) -> Node:
    def describe(number: int, row: Any) -> Node:
        values, span = table.record.values(row), table.span(number, number + 1)
        entry = table.kind, values["index"], values.get("chunk", -1)
        places = file.layout.entry_places(*entry)
        # For files and xorbs both spans are the header, and there is no field `chunk`.
        targets = dict(zip(("index", "chunk"), places or (), strict=False))
        key = f"{values['key']:016x}"
        texts = {"key": key, "index": str(values["index"])}  # counted in records, not in bytes
        object_row = -1 if file.index is None else file.index.row_of(*entry)
        return Node(
            f"[{number}]",
            span,
            text=f"{key}…",
            error="" if places else "refers to a record after the end of its section",
            children=field_nodes(table.record, values, span.start, texts=texts, targets=targets),
            target=targets.get("chunk"),
            row=object_row if object_row >= 0 else None,
        )

    rows = _file_rows(file, table.record, table.start, table.count, describe)
    span = Span("", section.start, section.stop)
    return Node(section.name, span, text=plural(table.count, "entry"), doc=section.doc, children=grouped(rows))


def _file_rows(
    file: MdbFile, record: Record, start: int, count: int, describe: Callable[[int, Any], Node] | None = None
) -> RecordTable:
    """Return a table whose rows are read from the file when they are shown."""

    def read(first: int, last: int) -> Any:
        return record.read(file.read(start + first * record.size, start + last * record.size), count=last - first)

    return RecordTable(record, start, count, read, describe=describe)


def _records_node(file: MdbFile, kind: str, section: Section) -> Node:
    index, span = file.index, Span("", section.start, section.stop)
    if index is None:
        rows = _file_rows(file, RECORD, section.start, section.size // RECORD_SIZE)
        doc = f"{section.doc} Load the index to see each record."
        return Node(section.name, span, text=plural(len(rows), "record"), doc=doc, children=grouped(rows))
    walked = index.section(kind)
    kids = grouped(Blocks(walked, index, section.stop, file.xorbs))
    text = plural(len(walked.headers), kind)
    return Node(section.name, span, text=text, doc=section.doc, error=walked.problem, children=kids)


class Blocks(Extents):
    """Nodes of a section: its blocks, its end mark, and the unread bytes up to offset `stop`."""

    def __init__(self, walked: WalkedSection, index: MdbIndex, stop: int, xorbs: Xorbs) -> None:
        self.walked = walked
        self.xorbs = xorbs
        self.shard_index = index
        self._has_rest = walked.stop_byte < stop
        marks = [] if walked.problem else [walked.byte_of(walked.stop - 1)]
        rest = [walked.stop_byte] if self._has_rest else []
        starts = np.concatenate([walked.byte_of(walked.headers), np.array(marks + rest, np.int64)])
        stops = np.append(starts[1:], stop)[: len(starts)]
        super().__init__(starts, stops, lambda first, last: [self._node(number) for number in range(first, last)])

    def _node(self, number: int) -> Node:
        walked, blocks = self.walked, len(self.walked.headers)
        if number < blocks:
            return self._block(number)
        if number == blocks and not walked.problem:
            doc = "No record follows: the section ends here."
            return self._record("end mark", RecordKind.BOOKEND, walked.stop - 1, doc=doc)
        doc = "Bytes after the end mark are not part of any known structure."
        if walked.problem:
            doc = "Unreadable after a damaged record."
        problem = walked.problem or "the section continues after its end mark"
        return Node("unread", self.span_of(number), role=FieldRole.UNKNOWN, error=problem, doc=doc)

    def _block(self, number: int) -> Node:
        walked, index = self.walked, self.shard_index
        kind, (header, entry) = walked.kind, BLOCKS[walked.kind]
        name, unit, describe = "chunk", "uncompressed byte", self._chunk
        if kind == FILE:
            name, unit, describe = "segment", "byte", self._segment
        first, last, count = int(walked.headers[number]), int(walked.ends[number]), int(walked.counts[number])
        kids = [self._record("header", header, first)]
        if count:
            kids.append(self._list(f"{name}s", entry, first + 1, count, partial(describe, number)))
        flags = int(walked.flags[number]) if kind == FILE else 0
        if flags & FileFlag.WITH_VERIFICATION and count:
            kids.append(self._list("verification", RecordKind.FILE_VERIFICATION, first + 1 + count, count))
        if flags & FileFlag.WITH_METADATA_EXT:
            kids.append(self._record("metadata", RecordKind.FILE_METADATA, last - 1))
        return Node(
            f"{kind} {walked.hash_text(number)}",
            walked.span(first, last - first),
            text=f"{plural(index.sizes(kind)[number], unit)} in {plural(count, name)}",
            error=index.file_fault(number) if kind == FILE else "",
            children=tuple(kids),
            row=index.first_rows[kind] + number,
        )

    def _segment(self, block: int, at: int) -> Node:
        walked, index = self.walked, self.shard_index
        number = int(walked.bounds[block]) + at
        first, last = (int(edge[number]) for edge in index.segment_edges)
        entry, xorb = index.segments[number], int(index.segment_xorbs[number])
        text, targets = to_text(entry["cas_hash"].tobytes()), {}
        if xorb >= 0:
            header, end = int(index.xorbs.headers[xorb]), int(index.xorbs.ends[xorb])
            targets["cas_hash"] = index.xorbs.span(header, end - header)
            if not index.segment_faults[number]:
                targets["chunk_index_start"] = index.xorbs.span(header + 1 + first, last - first)
        chunks = f"chunks {first}..{last} of xorb {text[:16]}…"
        return self._record(
            f"segment {at}",
            RecordKind.FILE_ENTRY,
            int(walked.entries[number]),
            targets,
            text=f"{plural(entry['unpacked_segment_bytes'], 'uncompressed byte')}: {chunks}",
            target=targets.get("chunk_index_start"),
            error=index.segment_fault(number) if index.wrong_segments[number] else "",
            elsewhere=ExternalBytes(chunks, lambda: self.xorbs.stored_span(text, first, last)),
        )

    def _chunk(self, block: int, at: int) -> Node:
        number = int(self.walked.bounds[block]) + at
        text = to_text(self.shard_index.chunks["chunk_hash"][number].tobytes())
        record, row = int(self.walked.entries[number]), self.shard_index.first_rows[CHUNK] + number
        return self._record(f"chunk {at}", RecordKind.CAS_ENTRY, record, text=text, row=row)

    def _record(
        self, name: str, kind: RecordKind, number: int, targets: dict[str, Span] | None = None, **more: Any
    ) -> Node:
        record, span = RECORDS[kind], self.walked.span(number)
        values = record.values(self.walked.rows(record)[number])
        texts = {n: to_text(v) for n, v in values.items() if isinstance(v, bytes) and len(v) == SIZE}
        texts |= {n: flags_text(values[n], flags) for n, flags in _FLAGS.items() if n in values}
        children = field_nodes(record, values, span.start, texts=texts, targets=targets)
        return Node(name, span, children=children, **more)

    def _list(
        self, name: str, kind: RecordKind, first: int, count: int, describe: Callable[[int], Node] | None = None
    ) -> Node:
        record, span = RECORDS[kind], self.walked.span(first, count)

        def node(at: int, _: Any) -> Node:
            return describe(at) if describe else self._record(f"[{at}]", kind, first + at)

        def read(low: int, high: int) -> Any:
            return self.walked.rows(record)[first + low : first + high]

        rows = RecordTable(record, span.start, count, read, describe=node)
        return Node(name, span, text=plural(count, "record"), children=grouped(rows))

    def runs(self, start: int, stop: int) -> Runs:
        """Return the fields in the bytes `[start, stop)`, without nodes, since one block can be most of a file."""
        if not self.overlap(start, stop):
            return Runs.of([], [], [], [])
        walked = self.walked
        first = max(start - walked.start, 0) // RECORD_SIZE
        records = np.arange(first, min(-(-(stop - walked.start) // RECORD_SIZE), walked.stop))
        kinds = walked.kinds[records]
        parts = []
        for kind in np.flatnonzero(np.bincount(kinds)).tolist():
            record = RECORDS[kind]
            numbers = records[kinds == kind][:, None]
            offsets = np.fromiter(record.offsets.values(), np.int64)
            sizes = np.fromiter(record.sizes.values(), np.int64)
            at = walked.byte_of(numbers) + offsets
            roles = np.broadcast_to(np.array([f.role for f in record.fields], np.uint8), at.shape)
            parts.append(Runs.of(at, at + sizes, roles, (numbers * 5 + np.arange(len(offsets))) & 1))
        if self._has_rest and stop > walked.stop_byte:
            parts.append(Runs.of([walked.stop_byte], [self.stops[-1]], FieldRole.UNKNOWN, 0))
        return Runs.join(parts).sorted().clip(start, stop)


_FLAGS: dict[str, type[IntFlag]] = {"file_flags": FileFlag, "flags": ChunkFlag}


def flags_text(value: int, flags: type[IntFlag]) -> str:
    names = [flag.name for flag in flags if value & flag and flag.name]
    rest = value & ~sum(flags)
    return " | ".join([*names, *([f"0x{rest:08x}"] if rest or not names else [])])
