"""Sections and nodes of a Bloscpack file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError, source_lost
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap, map_chunk, read_chunk_header
from shardcore.formats.bloscpack.checksums import CHECKSUMS, Checksum
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.json_nodes import JsonNodes
from shardcore.formats.bloscpack.layout import (
    BLOCK_START,
    CHUNK_HEADER,
    METADATA_HEADER,
    SENTENCES,
    STREAM_LENGTH,
    UNKNOWN,
    Flag,
    HeaderOption,
    section,
)
from shardcore.formats.bloscpack.metadata import MetadataSection
from shardcore.model.computed_children import Deferred, Extents, RecordTable, field_nodes, grouped
from shardcore.model.node import Children, Node
from shardcore.model.number_text import grouped_digits, plural, product_text
from shardcore.model.record import FieldRole, Record
from shardcore.model.section import Section, SectionRole
from shardcore.model.source_name import SourceName
from shardcore.model.span import Span
from shardcore.shards.cache import LruCache, Once
from shardcore.shards.shard import SourcePart
from shardcore.sources.memory import BytesSource

_FLAG_DOCS = {
    Flag.BYTE_SHUFFLE: "In each block, bytes are grouped by position in the element, so similar bytes are neighbours.",
    Flag.MEMCPYED: "Not compressed: the uncompressed bytes follow the header.",
    Flag.BIT_SHUFFLE: "In each block, bits are grouped by position in the element, so similar bits are neighbours.",
    Flag.RESERVED: "Always 0 in Blosc-1 chunks.",
    Flag.NOT_SPLIT: "Each block is one stream; if clear, it may be one stream per byte of the element.",
}
_STREAM_DOC = "The stored bytes of the stream."


def chunk_nodes(data: bytes, span: Span, checksum: Checksum) -> tuple[Node, ...]:
    """Return the nodes of a chunk; `data` is only the Blosc header if the chunk is too long to be shown in detail."""
    if len(data) < HEADER_SIZE:
        return (
            Node(
                "cut chunk",
                span,
                role=FieldRole.UNKNOWN,
                error=f"{plural(len(data), 'byte')}: too short for a Blosc header, which has 16",
            ),
        )
    header = read_chunk_header(data)
    stop = min(max(span.start + header.ctbytes, span.start + HEADER_SIZE), span.stop)
    body = Span("", span.start + HEADER_SIZE, stop)
    nodes = [_header_node(header, span.start)]
    if body.size and len(data) < span.size:
        doc = "The blocks of the chunk, which is too long to be shown block by block."
        nodes.append(Node("blocks", body, role=FieldRole.DATA, doc=doc))
    elif body.size:
        nodes += _body_nodes(data[: stop - span.start], header, body)
    if stop < span.stop:
        nodes.append(_digest_node(data, Span("", stop, span.stop), span.start, checksum))
    return tuple(nodes)


def flag_nodes(header: ChunkHeader, at: Span) -> tuple[Node, ...]:
    bits = [
        Node(
            str(flag.name).lower().replace("_", " "),
            at,
            value=bool(header.flags & flag),
            text="set" if header.flags & flag else "clear",
            role=FieldRole.FLAGS,
            doc=doc,
            bits=(flag.bit_length() - 1, flag.bit_length()),
        )
        for flag, doc in _FLAG_DOCS.items()
    ]
    codec = Node(
        "codec",
        at,
        value=header.codec,
        text=header.codec_name,
        role=FieldRole.CODEC,
        doc="Codec of the streams.",
        bits=(5, 8),
    )
    return (*bits, codec)


def _header_node(header: ChunkHeader, start: int) -> Node:
    values = {field.name: getattr(header, field.name) for field in CHUNK_HEADER.fields}
    texts = {"flags": f"{header.flags:#04x} {', '.join(header.flag_names())}"}
    fields = list(field_nodes(CHUNK_HEADER, values, start, texts=texts))
    at = [field.name for field in CHUNK_HEADER.fields].index("flags")
    plain = fields[at]
    fields[at] = Node(
        plain.name,
        plain.span,
        value=plain.value,
        text=plain.text,
        role=plain.role,
        doc=plain.doc,
        children=flag_nodes(header, plain.span),
    )
    return Node("Blosc header", Span("", start, start + HEADER_SIZE), children=tuple(fields))


def _body_nodes(chunk: bytes, header: ChunkHeader, body: Span) -> list[Node]:
    start = body.start - HEADER_SIZE
    try:
        found = map_chunk(chunk, limit=2**32, place=Span("", start, body.stop))
    except ShardError as error:
        return [Node("damaged blocks", body, role=FieldRole.DATA, error=str(error))]
    if header.memcpyed or header.nbytes == 0:
        doc = "The uncompressed bytes of the chunk."
        return [Node("uncompressed bytes", body, role=FieldRole.DATA, doc=doc)]
    table = Span("", body.start, body.start + header.nblocks * BLOCK_START.size)
    starts = Node("block starts", table, text=plural(header.nblocks, "block"), children=_starts(chunk, found, table))
    blocks = Span("", table.stop, body.stop)
    doc = "Blocks may be in any order, because several threads may have written them."
    return [starts, Node("blocks", blocks, role=FieldRole.DATA, doc=doc, children=grouped(_blocks(found, start)))]


def _starts(chunk: bytes, found: ChunkMap, table: Span) -> Any:
    rows = BLOCK_START.read(chunk, HEADER_SIZE, found.header.nblocks)
    base = table.start - HEADER_SIZE

    def describe(number: int, row: Any) -> Node:
        at = table.start + number * BLOCK_START.size
        place = int(row["start"])
        return Node(
            f"block {number}",
            Span("", at, at + BLOCK_START.size),
            value=place,
            text=f"{place:#x}",
            role=FieldRole.OFFSET,
            doc=BLOCK_START.fields[0].doc,
            target=Span("", base + place, base + found.block_stop(number)),
        )

    return grouped(RecordTable(BLOCK_START, table.start, len(rows), lambda a, b: rows[a:b], describe=describe))


def _blocks(found: ChunkMap, base: int) -> Extents:
    order: NDArray[np.int64] = np.argsort(found.starts, kind="stable")
    ends = (found.stream_at + STREAM_LENGTH.size + found.stream_size).max(axis=1)

    def describe(first: int, last: int) -> list[Node]:
        return [_block_node(found, int(number), base) for number in order[first:last]]

    return Extents(base + found.starts[order], base + ends[order], describe)


def _block_node(found: ChunkMap, number: int, base: int) -> Node:
    header = found.header
    plain = found.block_plain(number)
    places = [
        (int(a), int(n)) for a, n in zip(found.stream_at[number], found.stream_size[number], strict=True) if a >= 0
    ]
    part = plain // len(places)
    nodes = []
    for stream, (at, size) in enumerate(places):
        name = f"stream {stream} " if len(places) > 1 else ""
        data = base + at + STREAM_LENGTH.size
        how = "stored uncompressed" if size == part else header.codec_name
        nodes += [
            Node(
                f"{name}length",
                Span("", base + at, data),
                value=size,
                text=str(size),
                role=FieldRole.SIZE,
                doc=STREAM_LENGTH.fields[0].doc,
            ),
            Node(f"{name}data", Span("", data, data + size), text=how, role=FieldRole.DATA, doc=_STREAM_DOC),
        ]
    span = Span("", base + places[0][0], base + found.block_stop(number))
    text = plural(plain, "uncompressed byte") + (f" in {plural(len(places), 'stream')}" if len(places) > 1 else "")
    return Node(f"block {number}", span, text=text, role=FieldRole.DATA, children=tuple(nodes))


def _digest_node(data: bytes, span: Span, start: int, checksum: Checksum) -> Node:
    stored = data[span.start - start :]
    error = ""
    if len(data) == span.stop - start:
        try:
            checksum.check(data[: span.start - start], stored, span, "chunk")
        except ShardError as problem:
            error = problem.message
    return Node(
        f"checksum ({checksum.name})",
        span,
        value=stored if len(stored) == checksum.size else None,
        text=stored.hex(),
        role=FieldRole.HASH,
        doc="The checksum of the stored chunk with its Blosc header, which detects damage.",
        error=error,
    )


KEPT = 64
"""Chunks whose nodes are cached."""
DETAIL_LIMIT = 2**28
"""Largest chunk whose blocks are shown, in stored bytes."""


def header_node(record: Record, values: dict[str, Any]) -> Node:
    texts = {}
    if "options" in values:
        options = [str(option.name).lower() for option in HeaderOption if values["options"] & option]
        texts["options"] = f"{values['options']:#04x} {', '.join(options)}".rstrip()
    if values.get("checksum", len(CHECKSUMS)) < len(CHECKSUMS):
        texts["checksum"] = f"{values['checksum']} {CHECKSUMS[values['checksum']].name}"
    each = values.get("typesize", 0)
    sums = {
        name: product_text(values[name] // each, "item", each)
        for name in ("chunk_size", "last_chunk")
        if each > 0 and values.get(name, -1) > 0 and values[name] % each == 0
    }
    kids = field_nodes(record, values, 0, texts=texts, sums=sums)
    return Node("header", Span("", 0, record.size), doc=SENTENCES["header"], children=kids)


class BloscpackTree:
    def __init__(self, file: BloscpackFile) -> None:
        self._file = file
        self._table = file.table
        self._kept: LruCache[int, Sequence[Node]] = LruCache(KEPT)
        self._rows: Once[Children] = Once()

    def root(self) -> Node:
        file = self._file
        makers = {
            "header": lambda part: header_node(file.header.record, file.header.values),
            "metadata": self._metadata_node,
            "offsets": self._offsets_node,
            "chunks": self._chunks_node,
        }
        kids = tuple(makers.get(part.name, _rest_node)(part) for part in file.sections)
        text = f"Bloscpack, version {file.header.version}"
        return Node(file.source.name, Span("", 0, file.source.size), text=text, children=kids)

    def part(self, name: SourceName) -> SourcePart | None:
        """Return the source of the uncompressed metadata; None for another name."""
        metadata, text_name = self._file.metadata, str(name)
        if metadata is None or text_name != metadata.decoded:
            return None
        text = self._file.metadata_text()

        def root() -> Node:
            kids = self._json(text, text_name, 0)
            return Node(text_name, Span(text_name, 0, len(text)), role=FieldRole.TEXT, children=kids)

        return SourcePart(BytesSource(text, text_name), (section("metadata", 0, len(text)),), root)

    def _metadata_node(self, part: Section) -> Node:
        metadata = self._file.metadata
        assert metadata is not None
        kids = Deferred(lambda: self._metadata_parts(metadata))
        return Node("metadata", Span("", part.start, part.stop), doc=part.doc, children=kids)

    def _metadata_parts(self, metadata: MetadataSection) -> list[Node]:
        errors = dict(metadata.problems())
        texts = {"meta_checksum": f"{metadata.checksum.number} {metadata.checksum.name}", "meta_codec": metadata.codec}
        fields = field_nodes(METADATA_HEADER, metadata.values, metadata.start, texts=texts, errors=errors)
        problem = self._file.metadata_problem()
        kids = [Node("metadata header", metadata.header, children=fields), self._stored_node(metadata)]
        if metadata.padding.size:
            kids.append(
                Node("room", metadata.padding, role=FieldRole.PADDING, doc="Zeros, reserved for longer metadata.")
            )
        if metadata.digest.size:
            kids.append(Node("checksum", metadata.digest, role=FieldRole.HASH, doc=_DIGEST_DOC, error=problem))
        return kids

    def _stored_node(self, metadata: MetadataSection) -> Node:
        doc, error = "The metadata text as stored.", ""
        kids: Sequence[Node] = ()
        try:
            self._file.metadata_value()
            if not metadata.decoded:
                kids = self._json(self._file.metadata_text(), "", metadata.stored.start)
        except ShardError as problem:
            if source_lost(problem):
                raise
            error = str(problem)
        decoded = metadata.decoded if not error else ""
        return Node(
            "stored metadata",
            metadata.stored,
            role=FieldRole.TEXT,
            doc=doc,
            error=error,
            children=kids,
            decoded=decoded,
        )

    def _json(self, text: bytes, source: str, base: int) -> Sequence[Node]:
        try:
            self._file.metadata_value()
        except ShardError as problem:
            if source_lost(problem):
                raise
            return (Node("text", Span(source, base, base + len(text)), role=FieldRole.TEXT, error=str(problem)),)
        return (JsonNodes(text, source, base).root(),)

    def _offsets_node(self, part: Section) -> Node:
        rows = grouped(self._file.offset_table)
        return Node("offsets", Span("", part.start, part.stop), doc=part.doc, children=rows)

    def _chunks_node(self, part: Section) -> Node:
        span = Span("", part.start, part.stop)
        if not self._table.loaded:
            return Node("chunks", span, text="load the index to list the chunks", doc=part.doc)
        rows = self._rows.get(lambda: self._chunk_rows(part))
        return Node("chunks", span, text=plural(len(self._table), "chunk"), doc=part.doc, children=rows)

    def _chunk_rows(self, part: Section) -> Children:
        table, area = self._table, self._table.area
        found = np.flatnonzero(table.places != UNKNOWN)
        found = found[np.argsort(table.places[found], kind="stable")]
        starts = table.places[found]
        ends = np.minimum(area.stops(starts, table.headers[found]) + area.digest, part.stop)
        reach = np.maximum.accumulate(np.append(part.start, ends))
        following = np.append(starts, part.stop)
        holes = np.flatnonzero(following > reach)
        numbers = np.concatenate([found, np.full(len(holes), -1, np.int64)])
        all_starts = np.concatenate([starts, reach[holes]])
        all_stops = np.concatenate([ends, following[holes]])
        order = np.argsort(all_starts, kind="stable")
        numbers, all_starts, all_stops = numbers[order], all_starts[order], all_stops[order]

        room = np.append(all_starts[1:], part.stop) - all_starts

        def describe(first: int, last: int) -> list[Node]:
            columns = (column[first:last] for column in (numbers, all_starts, all_stops, room))
            rows = zip(*columns, strict=True)
            return [self._chunk_node(int(n), Span("", int(a), int(b)), int(own)) for n, a, b, own in rows]

        return grouped(Extents(all_starts, all_stops, describe))

    def _chunk_node(self, number: int, span: Span, own: int) -> Node:
        """Return the node of a chunk; `own` is the number of bytes up to the next chunk."""
        if number < 0:
            return Node("unclaimed", span, role=FieldRole.UNKNOWN, doc=SENTENCES["unknown"])
        header = self._table.header(number)
        how = "a memcpy" if header.memcpyed else f"{header.codec_name}, filter {header.filter_name}"
        text = f"{plural(header.nbytes, 'uncompressed byte')} stored in {grouped_digits(header.ctbytes)}, {how}"
        # Damage can make a chunk overlap the next by more than its header, up to one chunk per byte: no children then.
        kids = Deferred(lambda: self._chunk_kids(number, span)) if own >= CHUNK_HEADER.size else ()
        doc = "A Blosc-1 buffer, which can be decompressed separately, and its checksum, if any."
        return Node(f"chunk {number}", span, text=text, role=FieldRole.DATA, doc=doc, children=kids, row=number)

    def _chunk_kids(self, number: int, span: Span) -> Sequence[Node]:
        if (kept := self._kept.get(number)) is not None:
            return kept
        stop = span.stop if span.size <= DETAIL_LIMIT else span.start + CHUNK_HEADER.size
        stored = self._file.source.read(span.start, stop)
        return self._kept.put(number, chunk_nodes(stored, span, self._file.header.checksum))


_DIGEST_DOC = "The checksum of the stored metadata, without the zeros after it, which detects damage."


def _rest_node(part: Section) -> Node:
    role = FieldRole.UNUSED if part.role is SectionRole.TRAILING else FieldRole.UNKNOWN
    return Node(part.name, Span("", part.start, part.stop), role=role, doc=part.doc)
