"""Nodes of a chunk: Blosc header, block starts, blocks with their streams, checksum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, ChunkHeader, ChunkMap, map_chunk, read_chunk_header
from shardcore.formats.bloscpack.checksums import Checksum
from shardcore.formats.bloscpack.layout import BLOCK_START, CHUNK_HEADER, STREAM_LENGTH, Flag
from shardcore.model.computed_children import Extents, RecordTable, field_nodes, grouped
from shardcore.model.node import Node
from shardcore.model.number_text import plural
from shardcore.model.record import FieldRole
from shardcore.model.span import Span

_FLAG_DOCS = {
    Flag.BYTE_SHUFFLE: "In each block, bytes are grouped by position in the element, so similar bytes are neighbours.",
    Flag.MEMCPYED: "Not compressed: the uncompressed bytes follow the header.",
    Flag.BIT_SHUFFLE: "In each block, bits are grouped by position in the element, so similar bits are neighbours.",
    Flag.RESERVED: "Always 0 in Blosc-1 chunks.",
    Flag.NOT_SPLIT: "Each block is one stream; if clear, it may be one stream per byte of the element.",
}
_STREAM_DOC = "The stored bytes of the stream."
_DIGEST_DOC = "The checksum of the stored chunk with its Blosc header, which detects damage."


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
        doc=_DIGEST_DOC,
        error=error,
    )
