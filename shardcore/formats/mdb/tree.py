"""Node tree of a shard: header, records, lookup tables, footer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import ZERO
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.index import MdbIndex
from shardcore.formats.mdb.layout import (
    FILE_INFO,
    FOOTER,
    FOOTER_SIZE,
    HEADER,
    NO_EXPIRY,
    RECORD,
    RECORD_SIZE,
    SENTENCES,
    XORB_INFO,
    LookupTable,
    MdbLayout,
)
from shardcore.formats.mdb.record_nodes import Blocks
from shardcore.formats.mdb.walk_sections import WalkedSection
from shardcore.model.computed_children import RecordTable, field_nodes, grouped, section_nodes
from shardcore.model.node import Node
from shardcore.model.number_text import plural, product_text
from shardcore.model.section import Section
from shardcore.model.span import Span


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
