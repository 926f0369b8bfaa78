"""Tree of a Bloscpack file: nodes for its sections, fields, chunks and blocks, and for its JSON metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.json_text import JsonSpans, JsonValue
from shardcore.dataclasses import replace
from shardcore.errors import ShardError, raise_if_lost
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap, map_chunk, read_chunk_header
from shardcore.formats.bloscpack.file import BloscpackFile
from shardcore.formats.bloscpack.layout import (
    BLOCK_START,
    CHECKSUMS,
    CHUNK_HEADER,
    METADATA_HEADER,
    PARTS,
    STREAM_LENGTH,
    UNCLAIMED,
    UNKNOWN,
    Checksum,
    Flag,
    HeaderOption,
    blosc_header_span,
    section,
)
from shardcore.formats.bloscpack.metadata import MetadataSection
from shardcore.model.computed_children import Deferred, Extents, RecordTable, field_nodes, gaps, grouped, section_nodes
from shardcore.model.node import Children, Node
from shardcore.model.record import FieldRole, Record
from shardcore.model.section import Section
from shardcore.model.span import SourceName, Span
from shardcore.model.text import plural, product_text
from shardcore.shards.cache import LruCache, Once
from shardcore.shards.shard import SourcePart
from shardcore.sources.memory import BytesSource

KEPT = 64
"""Number of chunks whose nodes are cached."""
DETAIL_LIMIT = 2**28
"""Largest chunk whose blocks are shown, in stored bytes."""

_FLAG_DOCS = {
    Flag.BYTE_SHUFFLE: "In each block, bytes are grouped by position in the element, so similar bytes are neighbours.",
    Flag.MEMCPYED: "Not compressed: the uncompressed bytes follow the header.",
    Flag.BIT_SHUFFLE: "In each block, bits are grouped by position in the element, so similar bits are neighbours.",
    Flag.RESERVED: "Always 0 in Blosc-1 chunks.",
    Flag.NOT_SPLIT: "Each block is one stream; if clear, it may be one stream per byte of the element.",
}

I64 = NDArray[np.int64]


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
    return Node("header", record.span(""), doc=PARTS[0].doc, children=kids)


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
            "offsets": lambda part: _part_node(part, grouped(file.offset_table)),
            "chunks": self._chunks_node,
            "trailing": lambda part: _part_node(part, (), role=FieldRole.UNUSED),
            "unknown": lambda part: _part_node(part, (), role=FieldRole.UNKNOWN),
        }
        kids = section_nodes(file.sections, makers)
        text = f"Bloscpack, version {file.header.version}"
        return Node(file.source.name, Span("", 0, file.source.size), text=text, children=kids)

    def part(self, name: SourceName) -> SourcePart | None:
        """Return the source of the uncompressed metadata; None for another name."""
        metadata, text_name = self._file.metadata, str(name)
        if metadata is None or text_name != metadata.decoded:
            return None
        text = self._file.metadata_text()

        def root() -> Node:
            span = Span(text_name, 0, len(text))
            error = self._metadata_error()
            broken = Node("text", span, role=FieldRole.TEXT, error=error)
            kid = broken if error else json_node(text, text_name)
            return Node(text_name, span, role=FieldRole.TEXT, children=(kid,))

        return SourcePart(BytesSource(text, text_name), (section("metadata", 0, len(text)),), root)

    def _metadata_error(self) -> str:
        try:
            self._file.metadata_value()
        except ShardError as problem:
            raise_if_lost(problem)
            return str(problem)
        return ""

    def _metadata_node(self, part: Section) -> Node:
        metadata = self._file.metadata
        assert metadata is not None
        return _part_node(part, Deferred(lambda: list(self._metadata_parts(metadata))))

    def _metadata_parts(self, metadata: MetadataSection) -> Iterable[Node]:
        texts = {"meta_checksum": f"{metadata.checksum.number} {metadata.checksum.name}", "meta_codec": metadata.codec}
        errors = metadata.problems
        fields = field_nodes(METADATA_HEADER, metadata.values, metadata.start, texts=texts, errors=errors)
        problem, error = self._file.metadata_problem(), self._metadata_error()
        yield Node("metadata header", metadata.header, children=fields)
        inline = not error and not metadata.decoded
        yield Node(
            "stored metadata",
            metadata.stored,
            role=FieldRole.TEXT,
            doc="The metadata text as stored.",
            error=error,
            children=(json_node(self._file.metadata_text(), "", metadata.stored.start),) if inline else (),
            decoded="" if error else metadata.decoded,
        )
        if metadata.padding.size:
            doc = "Zeros, reserved for longer metadata."
            yield Node("room", metadata.padding, role=FieldRole.PADDING, doc=doc)
        if metadata.digest.size:
            doc = "The checksum of the stored metadata without the zeros after it; it detects damage."
            yield Node("checksum", metadata.digest, role=FieldRole.HASH, doc=doc, error=problem)

    def _chunks_node(self, part: Section) -> Node:
        if not self._table.loaded:
            return _part_node(part, (), text="load the index to list the chunks")
        rows = self._rows.get(lambda: self._chunk_rows(part))
        return _part_node(part, rows, text=plural(len(self._table), "chunk"))

    def _chunk_rows(self, part: Section) -> Children:
        """Return nodes for the chunks and for unclaimed bytes between them, in the order of the file."""
        table, area = self._table, self._table.area
        found = np.flatnonzero(table.places != UNKNOWN)
        found = found[np.argsort(table.places[found], kind="stable")]
        starts = table.places[found]
        stops = np.minimum(area.stops(starts, table.headers[found]) + area.digest, part.stop)
        holes = gaps(starts, stops, part.start, part.stop)
        numbers = np.concatenate([found, np.full(len(holes), -1, np.int64)])
        starts, stops = np.concatenate([starts, holes[:, 0]]), np.concatenate([stops, holes[:, 1]])
        order = np.argsort(starts, kind="stable")
        numbers, starts, stops = numbers[order], starts[order], stops[order]
        room = np.append(starts[1:], part.stop) - starts

        def describe(first: int, last: int) -> list[Node]:
            columns = (column[first:last].tolist() for column in (numbers, starts, stops, room))
            return [self._chunk_node(number, Span("", *span), own) for number, *span, own in zip(*columns, strict=True)]

        return grouped(Extents(starts, stops, describe))

    def _chunk_node(self, number: int, span: Span, own: int) -> Node:
        """Return the node of a chunk, or of unclaimed bytes (-1); `own` is the number of bytes up to the next node."""
        if number < 0:
            return Node("unclaimed", span, role=FieldRole.UNKNOWN, doc=UNCLAIMED.doc)
        header = self._table.header(number)
        how = "a memcpy" if header.memcpyed else f"{header.codec_name}, filter {header.filter_name}"
        text = f"{plural(header.nbytes, 'uncompressed byte')} stored in {plural(header.ctbytes, 'byte')}, {how}"

        def kids() -> Sequence[Node]:
            if (kept := self._kept.get(number)) is not None:
                return kept
            stop = span.stop if span.size <= DETAIL_LIMIT else span.start + CHUNK_HEADER.size
            stored = self._file.source.read(span.start, stop)
            return self._kept.put(number, _chunk_parts(stored, span, self._file.header.checksum))

        # Damage can make a chunk overlap the next by more than its header, up to one chunk per byte: no children then.
        children = Deferred(kids) if own >= CHUNK_HEADER.size else ()
        doc = "A Blosc-1 buffer, which can be decompressed separately, and its checksum, if any."
        return Node(f"chunk {number}", span, text=text, role=FieldRole.DATA, doc=doc, children=children, row=number)


def _part_node(part: Section, children: Sequence[Node], **more: Any) -> Node:
    return Node(part.name, Span("", part.start, part.stop), doc=part.doc, children=children, **more)


def _chunk_parts(data: bytes, span: Span, checksum: Checksum) -> tuple[Node, ...]:
    """Return the nodes of a chunk; `data` is only the Blosc header if the chunk is too long to be shown in detail."""
    if len(data) < HEADER_SIZE:
        error = f"{plural(len(data), 'byte')}: too short for a Blosc header, which has 16"
        return (Node("cut chunk", span, role=FieldRole.UNKNOWN, error=error),)
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
        place, stored, error = Span("", stop, span.stop), data[stop - span.start :], ""
        if len(data) == span.size:
            try:
                checksum.check(data[: stop - span.start], stored, place, "chunk")
            except ShardError as problem:
                error = problem.message
        nodes.append(
            Node(
                f"checksum ({checksum.name})",
                place,
                value=stored if len(stored) == checksum.size else None,
                text=stored.hex(),
                role=FieldRole.HASH,
                doc="The checksum of the stored chunk with its Blosc header; it detects damage.",
                error=error,
            )
        )
    return tuple(nodes)


def _header_node(header: ChunkHeader, start: int) -> Node:
    at = CHUNK_HEADER.span("flags", start)
    flags = [
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
    doc = "Codec of the streams."
    codec = Node("codec", at, value=header.codec, text=header.codec_name, role=FieldRole.CODEC, doc=doc, bits=(5, 8))
    values = {name: getattr(header, name) for name in CHUNK_HEADER.offsets}
    texts = {"flags": f"{header.flags:#04x} {', '.join(header.flag_names())}"}
    fields = field_nodes(CHUNK_HEADER, values, start, texts=texts)
    kids = tuple(replace(field, children=(*flags, codec)) if field.name == "flags" else field for field in fields)
    return Node("Blosc header", blosc_header_span(start), children=kids)


def _body_nodes(chunk: bytes, header: ChunkHeader, body: Span) -> list[Node]:
    base = body.start - HEADER_SIZE
    try:
        found = map_chunk(chunk, limit=2**32, place=Span("", base, body.stop))
    except ShardError as error:
        return [Node("damaged blocks", body, role=FieldRole.DATA, error=str(error))]
    if header.memcpyed or header.nbytes == 0:
        doc = "The uncompressed bytes of the chunk."
        return [Node("uncompressed bytes", body, role=FieldRole.DATA, doc=doc)]
    rows = BLOCK_START.read(chunk, HEADER_SIZE, header.nblocks)

    def start_node(number: int, row: Any) -> Node:
        place = int(row["start"])
        return Node(
            f"block {number}",
            BLOCK_START.span("", body.start + number * BLOCK_START.size),
            value=place,
            text=f"{place:#x}",
            role=FieldRole.OFFSET,
            doc=BLOCK_START.fields[0].doc,
            target=found.block_span(number, base),
        )

    table = RecordTable(BLOCK_START, body.start, len(rows), lambda a, b: rows[a:b], describe=start_node)
    order: I64 = np.argsort(found.starts, kind="stable")
    ends = (found.stream_at + STREAM_LENGTH.size + found.stream_size).max(axis=1)
    blocks = Extents(
        base + found.starts[order],
        base + ends[order],
        lambda first, last: [_block_node(found, number, base) for number in order[first:last].tolist()],
    )
    first = body.start + rows.nbytes
    doc = "Blocks may be in any order, because several threads may have written them."
    return [
        Node("block starts", Span("", body.start, first), text=plural(len(rows), "block"), children=grouped(table)),
        Node("blocks", Span("", first, body.stop), role=FieldRole.DATA, doc=doc, children=grouped(blocks)),
    ]


def _block_node(found: ChunkMap, number: int, base: int) -> Node:
    plain, nodes = found.block_plain(number), list[Node]()
    streams = zip(found.stream_at[number].tolist(), found.stream_size[number].tolist(), strict=True)
    places = [(at, size) for at, size in streams if at >= 0]
    for stream, (at, size) in enumerate(places):
        name = f"stream {stream} " if len(places) > 1 else ""
        length = STREAM_LENGTH.span("", base + at)
        how = "stored uncompressed" if size == plain // len(places) else found.header.codec_name
        doc = STREAM_LENGTH.fields[0].doc
        nodes.append(Node(f"{name}length", length, value=size, text=str(size), role=FieldRole.SIZE, doc=doc))
        data, doc = Span("", length.stop, length.stop + size), "The stored bytes of the stream."
        nodes.append(Node(f"{name}data", data, text=how, role=FieldRole.DATA, doc=doc))
    text = plural(plain, "uncompressed byte") + (f" in {plural(len(places), 'stream')}" if len(places) > 1 else "")
    span = found.block_span(number, base)
    return Node(f"block {number}", span, text=text, role=FieldRole.DATA, children=tuple(nodes))


MAX_DEPTH = 64
"""JSON values below this depth are shown as one node."""
TEXT_LETTERS = 200
"""Maximum number of letters shown of a value or a name."""
LONGEST_VALUE = 1 << 16
"""Longest text, in bytes, that is the value of its node; of a longer text only the beginning is shown."""


def json_node(data: bytes, source: str, base: int = 0) -> Node:
    """Return the node of a JSON text that `parse_json` accepts; it begins at byte `base` of the source."""
    spans = JsonSpans(data)

    def node(name: str, value: JsonValue, depth: int) -> Node:
        span = Span(source, base + value.key_start, base + value.stop)
        if value.kind in ("object", "array") and depth < MAX_DEPTH:
            kids = Deferred(lambda: members(value, depth + 1), source)
            return Node(name, span, text=value.kind, role=FieldRole.TEXT, children=kids)
        raw = data[value.start : value.stop]
        parsed = json.loads(raw) if depth < MAX_DEPTH and len(raw) <= LONGEST_VALUE else None
        text = raw[: 4 * TEXT_LETTERS].decode(errors="ignore")[:TEXT_LETTERS]
        plain = isinstance(parsed, (int, float, str))
        return Node(name, span, value=parsed if plain else None, text=text, role=FieldRole.TEXT)

    def members(value: JsonValue, depth: int) -> Sequence[Node]:
        def describe(first: int, last: int) -> list[Node]:
            found = enumerate(spans.members(value, first, last), first)
            return [node(_letters(one.key) if named else f"[{number}]", one, depth) for number, one in found]

        named, edges = value.kind == "object", spans.edges(value, 0, value.count) + base
        return list(grouped(_Members(edges[:-1] + 1, edges[1:], describe, source=source)))

    return node("JSON", spans.root, 0)


class _Members(Extents):
    """Members of a JSON value; the span of a member excludes the white space around it."""

    span_of = Children.span_of


def _letters(name: str) -> str:
    return name if len(name) <= TEXT_LETTERS else name[:TEXT_LETTERS] + "…"
