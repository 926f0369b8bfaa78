"""Node tree of a xorb: chunk records, and the parts of the info block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shardcore.codecs.xet.hashes import to_text
from shardcore.codecs.xet.xorb_info import InfoPart, XorbInfo, info_parts
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    CHUNKS,
    HEADER_SIZE,
    INFO_BLOCK,
    INFO_LENGTH,
    Scheme,
    read_u24,
)
from shardcore.formats.xorb.file import TAIL, TAIL_FAULT, InfoList, ReadMany, Records, XorbFile, read_headers, unpack
from shardcore.model.computed_children import Extents, field_nodes, grouped, section_leaf, section_nodes
from shardcore.model.node import Children, Node
from shardcore.model.number_text import plural
from shardcore.model.record import FieldRole
from shardcore.model.role_runs import Runs
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName, decoded_name
from shardcore.model.span import Span
from shardcore.shards.shard import SourcePart
from shardcore.sources.memory import BytesSource

_OFFSETS = np.fromiter((*CHUNK_HEADER.offsets.values(), HEADER_SIZE), np.int64)
_ROLES = np.array([*(field.role for field in CHUNK_HEADER.fields), FieldRole.DATA], np.uint8)


class XorbTree:
    def __init__(self, file: XorbFile) -> None:
        self.file = file

    def root(self) -> Node:
        damage = self.file.damage
        makers = {
            CHUNKS: self._chunks_node,
            INFO_BLOCK: self._info_node,
            TAIL: lambda section: replace(section_leaf(section, FieldRole.UNKNOWN), error=TAIL_FAULT),
        }
        if damage is not None:
            # Bytes after the last readable record belong to no section because of the damage.
            makers["unknown"] = lambda section: replace(section_leaf(section), error=damage.message)
        span = Span("", 0, self.file.source.size)
        return Node(
            self.file.source.name,
            span,
            text=f"Xet xorb, {plural(self.file.records.count, 'chunk')}",
            children=section_nodes(self.file.sections, makers),
        )

    def part(self, name: SourceName) -> SourcePart | None:
        """Return a decompressed chunk as a source; None if no chunk is stored exactly there."""
        number, records = self._number(name), self.file.records
        if number is None:
            return None
        span = records.span(number)
        data = unpack(self.file.source.read(span.start, span.stop), records, number)
        section = Section("chunk", SectionRole.DATA, 0, len(data), "A chunk, decompressed.")
        return SourcePart(BytesSource(data, str(name)), (section,), lambda: _chunk_root(str(name), len(data), number))

    def _chunks_node(self, section: Section) -> Node:
        records = self.file.records
        return Node(
            section.name,
            Span("", section.start, section.stop),
            text=plural(records.count, "chunk"),
            doc=section.doc,
            children=chunk_children(self.file.source.read_many, records),
        )

    def _info_node(self, section: Section) -> Node:
        info = self.file.info
        if info is None:
            return section_leaf(section)
        data = self.file.source.read(section.start, section.stop)
        return Node(
            section.name,
            Span("", section.start, section.stop),
            text=f"version {info.version}",
            doc=section.doc,
            children=info_children(data, section.start, info, self.file.records),
        )

    def _number(self, name: SourceName) -> int | None:
        if name.path or len(name.stretches) != 1:
            return None
        records, (start, stop) = self.file.records, name.stretches[0]
        number = int(np.searchsorted(records.ends, stop)) if stop < 1 << 62 else records.count
        if number < records.count and records.stored_span(number) == Span("", min(start, stop), stop):
            return number
        return None


def _chunk_root(name: str, size: int, number: int) -> Node:
    span = Span(name, 0, size)
    text = f"chunk {number}, {plural(size, 'byte')}"
    kid = Node("chunk", span, text=text, role=FieldRole.DATA, doc="The uncompressed bytes of the chunk.")
    return Node(name, span, children=(kid,), row=number)


def chunk_children(read_many: ReadMany, records: Records) -> Children:
    def describe(first: int, last: int) -> list[Node]:
        heads = read_headers(read_many, records, first, last)
        return [chunk_node(head, records, number) for number, head in enumerate(heads, first)]

    def paint(first: int, last: int) -> Runs:
        starts = records.starts[first:last, None] + _OFFSETS
        stops = np.concatenate([starts[:, 1:], records.ends[first:last, None]], axis=1)
        parity = (np.arange(first, last)[:, None] * len(_OFFSETS) + np.arange(len(_OFFSETS))) & 1
        return Runs.of(starts, stops, np.broadcast_to(_ROLES, starts.shape), parity)

    return grouped(Extents(records.starts, records.ends, describe, paint=paint))


def chunk_node(head: bytes, records: Records, number: int) -> Node:
    span, stored = records.span(number), records.stored_span(number)
    header = CHUNK_HEADER.read_one(head, place=span)
    fault = records.fault(header, number)
    scheme = header["compression_type"]
    label = Scheme(scheme).label if scheme in tuple(Scheme) else str(scheme)
    texts = {name: str(read_u24(header[name])) for name in ("compressed_size", "uncompressed_size")}
    fields = field_nodes(CHUNK_HEADER, header, span.start, texts=texts | {"compression_type": f"{scheme} ({label})"})
    packed = scheme in tuple(Scheme) and scheme != Scheme.NONE
    data = Node(
        "data",
        stored,
        text=plural(stored.size, "byte") + ("" if label == "none" else f", {label}"),
        role=FieldRole.DATA,
        doc="The chunk as it is stored.",
        decoded=decoded_name(stored.start, stored.stop) if packed else "",
    )
    text = "" if records.hashes is None else to_text(records.hashes[number].tobytes())
    return Node(f"chunk {number}", span, text=text, error=fault, children=(*fields, data), row=number)


def info_children(data: bytes, start: int, info: XorbInfo, records: Records) -> tuple[Node, ...]:
    """Return the nodes of the info block, which starts at `start`, and of the length after it."""
    parts = [_part_node(data, start, part, records) for part in info_parts(info.version, info.count)]
    at = len(data) - INFO_LENGTH.size
    return (*parts, *field_nodes(INFO_LENGTH, INFO_LENGTH.read_one(data, at), start + at))


def _part_node(data: bytes, start: int, part: InfoPart, records: Records) -> Node:
    span = Span("", start + part.start, start + part.stop)
    if not part.is_list:
        row = part.record.read_one(data, part.start)
        texts = {name: to_text(value) for name, value in row.items() if name == "cas_hash"}
        texts |= {name: value.decode() for name, value in row.items() if name.startswith("ident") and value.isascii()}
        return Node(part.name, span, children=field_nodes(part.record, row, span.start, texts=texts))

    rows = grouped(InfoList(part, start, records, data))
    return Node(part.name, span, text=plural(part.count, "entry"), children=rows)
