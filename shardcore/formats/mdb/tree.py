"""The node tree of a shard: header, records, lookup tables whose every row is a link, footer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.formats.mdb.geometry import CHUNK, FILE, KINDS, Geometry
from shardcore.formats.mdb.geometry import Table as LookupTable
from shardcore.formats.mdb.index import RECORDS, Kind
from shardcore.formats.mdb.index import Section as Walked
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    FILE_ENTRY,
    FILE_HEADER,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    NO_EXPIRY,
    RECORD,
    RECORD_SIZE,
    ChunkFlag,
    FileFlag,
)
from shardcore.formats.mdb.loaded import Index
from shardcore.nodes.children import Extents, Table, field_nodes, grouped
from shardcore.nodes.node import Children, Node
from shardcore.nodes.runs import Runs
from shardcore.nodes.sections import Section, SectionRole
from shardcore.record import FieldRole, Record
from shardcore.span import Span
from shardcore.xet_hashes import SIZE, ZERO, to_text

if TYPE_CHECKING:
    from shardcore.formats.mdb.reader import MdbShard

SENTENCES = {
    "header": "Says that this is a shard, and whether it has a footer.",
    "file info": "For every file the segments it is rebuilt from: ranges of chunks of xorbs.",
    "cas info": "For every xorb the chunks it holds.",
    "file lookup": "The first word of every file hash, sorted, and where the file's records begin.",
    "xorb lookup": "The first word of every xorb hash, sorted, and where the xorb's records begin.",
    "chunk lookup": "The first word of every chunk hash, sorted, and its xorb and number there.",
    "footer": "Says where the parts lie, under which key chunk hashes are stored, and until when the shard is used.",
}


def sections_of(geometry: Geometry, *, with_footer: bool) -> list[Section]:
    """The parts that a shard claims."""
    claims = [
        Section("header", SectionRole.HEADER, 0, HEADER.size, SENTENCES["header"]),
        Section("file info", SectionRole.INDEX, *geometry.file_info, SENTENCES["file info"]),
        Section("cas info", SectionRole.INDEX, *geometry.cas_info, SENTENCES["cas info"]),
    ]
    for kind, table in geometry.tables.items():
        name = f"{kind} lookup"
        claims.append(Section(name, SectionRole.LOOKUP, table.start, table.stop, SENTENCES[name]))
    if with_footer:
        start = max(geometry.size - FOOTER_SIZE, 0)
        claims.append(Section("footer", SectionRole.FOOTER, start, geometry.size, SENTENCES["footer"]))
    return [claim for claim in claims if claim.size]


def tree(shard: MdbShard) -> Node:
    """The root of the node tree."""
    geometry, index = shard.geometry, shard.index
    makers: dict[str, Callable[[Section], Node]] = {
        "header": lambda s: header_node(geometry.header),
        "footer": lambda s: footer_node(shard.footer_fields, geometry),
        "file info": lambda s: _records_node(s, shard, index.files if index else None, index),
        "cas info": lambda s: _records_node(s, shard, index.xorbs if index else None, index),
    }
    for kind in KINDS:
        makers[f"{kind} lookup"] = lambda s, kind=kind: _lookup_node(s, shard, geometry.tables[kind])  # type: ignore[misc]
    kids = []
    for section in shard.sections:
        make = makers.get(section.name)
        span = Span("", section.start, section.stop)
        kids.append(make(section) if make else Node(section.name, span, role=FieldRole.UNKNOWN, doc=section.doc))
    error = str(shard.footer_damage) if shard.footer_damage else ""
    return Node(shard.source.name, Span("", 0, geometry.size), text=geometry.flavour, error=error, children=tuple(kids))


def header_node(header: dict[str, Any]) -> Node:
    """The header and its fields."""
    span = Span("", 0, HEADER.size)
    texts = {"tag": "HFRepoMetaData…"}
    return Node("header", span, doc=SENTENCES["header"], children=field_nodes(HEADER, header, 0, texts=texts))


def footer_node(footer: dict[str, Any], geometry: Geometry) -> Node:
    """The footer and its fields: offsets point to what they name, times are dates."""
    start = geometry.size - FOOTER_SIZE
    targets = {
        "file_info_offset": Span("", *geometry.file_info),
        "cas_info_offset": Span("", *geometry.cas_info),
        "footer_offset": Span("", start, geometry.size),
    }
    for kind, table in geometry.tables.items():
        targets[f"{kind}_lookup_offset"] = Span("", table.start, table.stop)
    texts = {
        "chunk_hash_hmac_key": "none" if footer["chunk_hash_hmac_key"] == ZERO else footer["chunk_hash_hmac_key"].hex(),
        "shard_creation_timestamp": date_text(footer["shard_creation_timestamp"]),
        "shard_key_expiry": expiry_text(footer["shard_key_expiry"]),
    }
    fields = field_nodes(FOOTER, footer, start, texts=texts, targets=targets if geometry.footer else None)
    return Node("footer", Span("", start, geometry.size), doc=SENTENCES["footer"], children=fields)


def date_text(seconds: int) -> str:
    """A time as a date in UTC; 0 is none."""
    if seconds == 0:
        return "not recorded"
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} (no date)"


def expiry_text(seconds: int, now: datetime | None = None) -> str:
    """A key expiry: until when, or since when not, or that there is none.

    Args:
        seconds: `shard_key_expiry`.
        now: What to compare with; the clock by default.
    """
    if seconds == NO_EXPIRY:
        return "none: valid for ever"
    if seconds == 0:
        return "none recorded"
    date = date_text(seconds)
    expired = (now or datetime.now(UTC)).timestamp() > seconds
    return f"expired since {date}" if expired else f"valid until {date}"


def flags_text(value: int, flags: type[IntFlag]) -> str:
    """A field of flags: its bits by name, and what is left as a number."""
    names = [flag.name for flag in flags if value & flag and flag.name]
    rest = value & ~sum(flags)
    return " | ".join([*names, *([f"0x{rest:08x}"] if rest or not names else [])])


def _lookup_node(section: Section, shard: MdbShard, table: LookupTable) -> Node:
    """A lookup table; every row points to the record it names."""
    base = (shard.geometry.file_info if table.kind == FILE else shard.geometry.cas_info)[0]

    def read(first: int, last: int) -> NDArray[Any]:
        start, stop = table.start + first * table.record.size, table.start + last * table.record.size
        return table.record.read(shard.read_quietly(start, stop), count=last - first)

    def describe(number: int, row: Any) -> Node:
        values = table.record.values(row)
        at = base + values["index"] * RECORD_SIZE
        header = Span("", at, at + RECORD_SIZE)
        targets = {"index": header}
        if table.kind == CHUNK:
            place = at + (1 + values["chunk"]) * RECORD_SIZE
            targets["chunk"] = Span("", place, place + RECORD_SIZE)
        start = table.start + number * table.record.size
        key = f"{values['key']:016x}"
        fields = field_nodes(table.record, values, start, texts={"key": key}, targets=targets)
        span = Span("", start, start + table.record.size)
        return Node(f"[{number}]", span, text=f"{key}…", children=fields, target=targets.get("chunk", header))

    children = grouped(Table(table.record, table.start, table.count, read, describe=describe))
    span = Span("", section.start, section.stop)
    return Node(section.name, span, text=f"{table.count} entries", doc=section.doc, children=children)


def _records_node(section: Section, shard: MdbShard, walked: Walked | None, index: Index | None) -> Node:
    """A section of records: by file or xorb once it was walked, else record by record."""
    span = Span("", section.start, section.stop)
    if walked is None or index is None:

        def read(first: int, last: int) -> NDArray[Any]:
            start, stop = section.start + first * RECORD_SIZE, section.start + last * RECORD_SIZE
            return RECORD.read(shard.read_quietly(start, stop), count=last - first)

        rows = Table(RECORD, section.start, section.size // RECORD_SIZE, read)
        doc = f"{section.doc} What each record is, is known once the index is loaded."
        return Node(section.name, span, text=f"{len(rows)} records", doc=doc, children=grouped(rows))
    blocks = Blocks(walked, index, section.stop)
    text = f"{len(walked.headers)} {'files' if walked.files else 'xorbs'}"
    return Node(section.name, span, text=text, doc=section.doc, error=walked.problem, children=grouped(blocks))


class Blocks(Extents):
    """The blocks of a walked section, its end mark, and what could not be walked.

    Args:
        walked: The section.
        index: The shard it belongs to.
        stop: Where the section ends, in bytes.
    """

    def __init__(self, walked: Walked, index: Index, stop: int) -> None:
        self.walked = walked
        self.whole = index
        self.stop = stop
        last = int(walked.ends[-1]) if len(walked.ends) else 0
        firsts = [*walked.headers.tolist(), *([] if walked.problem else [last])]
        starts = walked.start + np.array(firsts, np.int64) * RECORD_SIZE
        self._has_rest = walked.stop_byte < stop
        if self._has_rest:
            starts = np.append(starts, walked.stop_byte)
        stops = np.append(starts[1:], stop)[: len(starts)]
        super().__init__(starts, stops, self._describe, paint=self._paint)

    def _describe(self, first: int, last: int) -> list[Node]:
        return [self._node(number) for number in range(first, last)]

    def _node(self, number: int) -> Node:
        span = Span("", int(self.starts[number]), int(self.stops[number]))
        blocks = len(self.walked.headers)
        if number < blocks:
            return file_node(self, number) if self.walked.files else xorb_node(self, number)
        if number == blocks and not self.walked.problem:
            record = RECORDS[Kind.BOOKEND]
            row = self.walked.rows(record)[self.walked.stop - 1]
            mark = Span("", span.start, span.start + RECORD_SIZE)
            return Node("end mark", mark, doc="The section ends here.", children=field_nodes(record, row, span.start))
        problem = self.walked.problem or "the section goes on behind its end mark"
        return Node("unread", span, role=FieldRole.UNKNOWN, error=problem, doc="What no rule could follow.")

    def _paint(self, first: int, last: int) -> Runs:
        """Runs of all fields of the records of some blocks, by the kind of each record."""
        if first >= last:
            return Runs.of([], [], [], [])
        start, stop = int(self.starts[first]), int(self.stops[last - 1])
        records = np.arange((start - self.walked.start) // RECORD_SIZE, min(self._record(stop), self.walked.stop))
        kinds = self.walked.kinds[records]
        parts = []
        for kind in np.unique(kinds).tolist():
            record = RECORDS[Kind(kind)]
            numbers = records[kinds == kind][:, None]
            offsets = np.fromiter(record.offsets.values(), np.int64)
            sizes = np.fromiter(record.sizes.values(), np.int64)
            at = self.walked.start + numbers * RECORD_SIZE + offsets
            roles = np.broadcast_to(np.array([f.role for f in record.fields], np.uint8), at.shape)
            parts.append(Runs.of(at, at + sizes, roles, (numbers * 5 + np.arange(len(offsets))) & 1))
        if self._has_rest and stop == self.stop:
            parts.append(Runs.of([self.walked.stop_byte], [stop], FieldRole.UNKNOWN, 0))
        runs = Runs.join(parts)
        order = np.argsort(runs.start, kind="stable")
        return Runs(runs.start[order], runs.stop[order], runs.role[order], runs.parity[order])

    def _record(self, byte: int) -> int:
        return -(-(byte - self.walked.start) // RECORD_SIZE)


def _record_node(name: str, record: Record, row: Any, start: int, **more: Any) -> Node:
    """One record: hashes in their text form, flags by name."""
    values = record.values(row)
    texts = {n: to_text(v) for n, v in values.items() if isinstance(v, bytes) and len(v) == SIZE}
    if "file_flags" in values:
        texts["file_flags"] = flags_text(values["file_flags"], FileFlag)
    if "flags" in values:
        texts["flags"] = flags_text(values["flags"], ChunkFlag)
    children = field_nodes(record, values, start, texts=texts, targets=more.pop("targets", None))
    return Node(name, Span("", start, start + RECORD_SIZE), children=children, **more)


def file_node(blocks: Blocks, number: int) -> Node:
    """One file: header, segments, verification entries, metadata."""
    walked, index = blocks.walked, blocks.whole
    first, last = int(walked.headers[number]), int(walked.ends[number])
    row = walked.rows(FILE_HEADER)[first]
    count = int(walked.counts[number])
    text = to_text(row["file_hash"].tobytes())
    kids = [_record_node("header", FILE_HEADER, row, walked.byte_of(first))]

    def segment(at: int, entry: Any) -> Node:
        place = int(walked.bounds[number]) + at
        xorb = int(index.segment_xorbs[place])
        targets = {}
        if xorb >= 0:
            header = int(index.xorbs.headers[xorb])
            targets["cas_hash"] = Span(
                "", index.xorbs.byte_of(header), index.xorbs.byte_of(int(index.xorbs.ends[xorb]))
            )
            if not index.segment_faults[place]:
                low, high = (header + 1 + int(entry[f"chunk_index_{edge}"]) for edge in ("start", "end"))
                targets["chunk_index_start"] = Span("", index.xorbs.byte_of(low), index.xorbs.byte_of(high))
        chunks = f"chunks {entry['chunk_index_start']}..{entry['chunk_index_end']}"
        what = f"{entry['unpacked_segment_bytes']} bytes: {chunks} of {to_text(entry['cas_hash'].tobytes())[:16]}…"
        return _record_node(
            f"segment {at}",
            FILE_ENTRY,
            entry,
            walked.byte_of(first + 1 + at),
            text=what,
            targets=targets,
            target=targets.get("chunk_index_start"),
            error=index.segment_fault(place) if index.wrong_segments[place] else "",
        )

    if count:
        kids.append(_list_node("segments", walked, Kind.FILE_ENTRY, first + 1, count, segment))
    if row["file_flags"] & FileFlag.WITH_VERIFICATION and count:
        kids.append(_list_node("verification", walked, Kind.FILE_VERIFICATION, first + 1 + count, count))
    if row["file_flags"] & FileFlag.WITH_METADATA_EXT:
        record = RECORDS[Kind.FILE_METADATA]
        kids.append(_record_node("metadata", record, walked.rows(record)[last - 1], walked.byte_of(last - 1)))
    span = Span("", walked.byte_of(first), walked.byte_of(last))
    what = f"{index.file_sizes[number]} bytes in {count} segments"
    return Node(f"file {text}", span, text=what, error=index.file_fault(number), children=tuple(kids))


def xorb_node(blocks: Blocks, number: int) -> Node:
    """One xorb: header, chunks."""
    walked = blocks.walked
    first, last = int(walked.headers[number]), int(walked.ends[number])
    record = RECORDS[Kind.CAS_HEADER]
    row = walked.rows(record)[first]
    kids = [_record_node("header", record, row, walked.byte_of(first))]

    def chunk(at: int, entry: Any) -> Node:
        text = to_text(entry["chunk_hash"].tobytes())
        return _record_node(f"chunk {at}", CAS_ENTRY, entry, walked.byte_of(first + 1 + at), text=text)

    count = int(walked.counts[number])
    if count:
        kids.append(_list_node("chunks", walked, Kind.CAS_ENTRY, first + 1, count, chunk))
    span = Span("", walked.byte_of(first), walked.byte_of(last))
    text = f"{row['num_bytes_in_cas']} bytes in {count} chunks"
    return Node(f"xorb {to_text(row['cas_hash'].tobytes())}", span, text=text, children=tuple(kids))


def _list_node(
    name: str,
    walked: Walked,
    kind: Kind,
    first: int,
    count: int,
    describe: Callable[[int, Any], Node] | None = None,
) -> Node:
    """Neighbouring records of one kind."""
    record = RECORDS[kind]
    start = walked.byte_of(first)

    def read(low: int, high: int) -> NDArray[Any]:
        return walked.rows(record)[first + low : first + high]

    def plain(at: int, row: Any) -> Node:
        return _record_node(f"[{at}]", record, row, start + at * RECORD_SIZE)

    rows: Children = Table(record, start, count, read, describe=describe or plain)
    span = Span("", start, start + count * RECORD_SIZE)
    return Node(name, span, text=f"{count} records", children=grouped(rows))
