"""Node tree of a xorb: chunk records, and the parts of the info block."""

from __future__ import annotations

import numpy as np

from shardcore.codecs.xet.hashes import to_text
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    CHUNKS,
    HEADER_SIZE,
    INFO_BLOCK,
    INFO_LENGTH,
    InfoPart,
    Scheme,
    read_u24,
)
from shardcore.dataclasses import replace
from shardcore.formats.xorb.file import TAIL, TAIL_FAULT, InfoList, Records, XorbFile, unpack
from shardcore.model.computed_children import Extents, field_nodes, grouped, section_leaf, section_nodes
from shardcore.model.node import Node, Runs
from shardcore.model.record import FieldRole
from shardcore.model.section import Section, SectionRole
from shardcore.model.span import SourceName, Span, decoded_name
from shardcore.model.text import plural
from shardcore.shards.shard import SourcePart
from shardcore.sources.memory import BytesSource

_OFFSETS = np.fromiter((*CHUNK_HEADER.offsets.values(), HEADER_SIZE), np.int64)
_ROLES = np.array([*(field.role for field in CHUNK_HEADER.fields), FieldRole.DATA], np.uint8)


class XorbTree:
    def __init__(self, file: XorbFile) -> None:
        self.file = file

    def root(self) -> Node:
        file, damage = self.file, self.file.damage
        makers = {
            CHUNKS: self._chunks_node,
            INFO_BLOCK: self._info_node,
            TAIL: lambda section: replace(section_leaf(section, FieldRole.UNKNOWN), error=TAIL_FAULT),
        }
        if damage is not None:
            # Bytes after the last readable record belong to no section because of the damage.
            makers["unknown"] = lambda section: replace(section_leaf(section), error=damage.message)
        kids, text = section_nodes(file.sections, makers), f"Xet xorb, {plural(file.records.count, 'chunk')}"
        return Node(file.source.name, Span("", 0, file.source.size), text=text, children=kids)

    def part(self, name: SourceName) -> SourcePart | None:
        """Return a decompressed chunk as a source; None if the range in the name is not exactly a stored chunk."""
        if name.path or len(name.stretches) != 1:
            return None
        records, (start, stop) = self.file.records, name.stretches[0]
        number = int(np.searchsorted(records.ends, stop)) if stop < 1 << 62 else records.count
        if number == records.count or records.stored_span(number) != Span("", min(start, stop), stop):
            return None
        whole = records.span(number)
        data = unpack(self.file.source.read(whole.start, whole.stop), records, number)

        def root() -> Node:
            span, text = Span(str(name), 0, len(data)), f"chunk {number}, {plural(len(data), 'byte')}"
            doc = "The uncompressed bytes of the chunk."
            return Node(
                span.source, span, children=(Node("chunk", span, text=text, role=FieldRole.DATA, doc=doc),), row=number
            )

        section = Section("chunk", SectionRole.DATA, 0, len(data), "A chunk, decompressed.")
        return SourcePart(BytesSource(data, str(name)), (section,), root)

    def _chunks_node(self, section: Section) -> Node:
        records = self.file.records

        def describe(first: int, last: int) -> list[Node]:
            heads = records.read_headers(self.file.source.read_many, first, last)
            return [chunk_node(head, records, number) for number, head in enumerate(heads, first)]

        def paint(first: int, last: int) -> Runs:
            starts = records.starts[first:last, None] + _OFFSETS
            stops = np.concatenate([starts[:, 1:], records.ends[first:last, None]], axis=1)
            parity = (np.arange(first, last)[:, None] * len(_OFFSETS) + np.arange(len(_OFFSETS))) & 1
            return Runs.of(starts, stops, np.broadcast_to(_ROLES, starts.shape), parity)

        kids = grouped(Extents(records.starts, records.ends, describe, paint=paint))
        span = Span("", section.start, section.stop)
        return Node(section.name, span, text=plural(records.count, "chunk"), doc=section.doc, children=kids)

    def _info_node(self, section: Section) -> Node:
        file, span = self.file, Span("", section.start, section.stop)
        if file.info is None:
            return section_leaf(section)
        data = file.source.read(span.start, span.stop)
        parts = (self._part_node(data, part, place) for part, place in file.info_parts.values())
        at = len(data) - INFO_LENGTH.size
        kids = (*parts, *field_nodes(INFO_LENGTH, INFO_LENGTH.read_one(data, at), span.start + at))
        return Node(section.name, span, text=f"version {file.info.version}", doc=section.doc, children=kids)

    def _part_node(self, data: bytes, part: InfoPart, span: Span) -> Node:
        """Return the node of a part of the info block; `data` is the block."""
        if part.is_list:
            rows = InfoList(part, span.start - part.start, self.file.records, data)
            return Node(part.name, span, text=plural(part.count, "entry"), children=grouped(rows))
        row = part.record.read_one(data, part.start)
        texts = {name: to_text(value) for name, value in row.items() if name == "cas_hash"}
        texts |= {name: value.decode() for name, value in row.items() if name.startswith("ident") and value.isascii()}
        return Node(part.name, span, children=field_nodes(part.record, row, span.start, texts=texts))


def chunk_node(head: bytes, records: Records, number: int) -> Node:
    span, stored = records.span(number), records.stored_span(number)
    header = CHUNK_HEADER.read_one(head, place=span)
    scheme = header["compression_type"]
    known = scheme in tuple(Scheme)
    label = Scheme(scheme).label if known else str(scheme)
    texts = {name: str(read_u24(header[name])) for name in ("compressed_size", "uncompressed_size")}
    fields = field_nodes(CHUNK_HEADER, header, span.start, texts=texts | {"compression_type": f"{scheme} ({label})"})
    data = Node(
        "data",
        stored,
        text=plural(stored.size, "byte") + ("" if label == "none" else f", {label}"),
        role=FieldRole.DATA,
        doc="The chunk as it is stored.",
        decoded=decoded_name(stored.start, stored.stop) if known and scheme != Scheme.NONE else "",
    )
    text = "" if records.hashes is None else to_text(records.hashes[number].tobytes())
    fault = records.fault(header, number)
    return Node(f"chunk {number}", span, text=text, error=fault, children=(*fields, data), row=number)
