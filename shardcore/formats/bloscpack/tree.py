"""Sections and nodes: every byte of a Bloscpack file, and what it is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError
from shardcore.formats.bloscpack.chunk_nodes import chunk_nodes
from shardcore.formats.bloscpack.chunks import ChunkTable, stops
from shardcore.formats.bloscpack.header import Header
from shardcore.formats.bloscpack.json_tree import JsonTree
from shardcore.formats.bloscpack.layout import CHUNK_HEADER, METADATA_HEADER, OFFSET, UNKNOWN, Option
from shardcore.formats.bloscpack.metadata import MetadataSection, check_digest, decode_metadata, parse_metadata
from shardcore.nodes.children import Deferred, Extents, Table, field_nodes, grouped
from shardcore.nodes.node import Children, Node
from shardcore.nodes.sections import Section, SectionRole, tile
from shardcore.record import FieldRole
from shardcore.sources.base import Source
from shardcore.span import Span

KEPT = 64
"""Chunks whose nodes are kept."""
DETAIL_LIMIT = 2**28
"""Stored bytes of a chunk that is read to show its blocks."""

_DOCS = {
    "header": "Version, options, sizes and counts.",
    "metadata": "A JSON text about the content, with room to grow and a digest of its own.",
    "offsets": "Where each chunk begins; spare slots, -1, wait for chunks to be appended.",
    "chunks": "The content: compressed chunks, each followed by its digest.",
    "trailing": "Bytes behind the last chunk. Appending can leave some; readers ignore them.",
    "unknown": "These bytes belong to no chunk that can be found.",
}
_ROLES = {
    "header": SectionRole.HEADER,
    "metadata": SectionRole.METADATA,
    "offsets": SectionRole.INDEX,
    "chunks": SectionRole.DATA,
    "trailing": SectionRole.TRAILING,
    "unknown": SectionRole.UNKNOWN,
}


def section(name: str, start: int, stop: int) -> Section:
    """A section of that name."""
    return Section(name, _ROLES[name], start, stop, _DOCS[name])


def header_node(header_record: Any, values: dict[str, Any], size: int, errors: dict[str, str] | None = None) -> Node:
    """The node of the header; `size` is what the file has of it."""
    texts = {}
    if "options" in values:
        options = [str(option.name).lower() for option in Option if values["options"] & option]
        texts["options"] = f"{values['options']:#04x} {', '.join(options)}".rstrip()
    kids = field_nodes(header_record, values, 0, texts=texts, errors=errors)
    return Node("header", Span("", 0, size), doc=_DOCS["header"], children=kids)


class FileTree:
    """Makes the sections and the nodes of one file.

    Args:
        source: The file.
        header: Its header.
        metadata: Its metadata section, or None.
        table: Its chunks.
        slots_start: First byte of the offsets.
        slots: Number of offset slots that there is room for.
    """

    def __init__(
        self,
        source: Source,
        header: Header,
        metadata: MetadataSection | None,
        table: ChunkTable,
        slots_start: int,
        slots: int,
    ) -> None:
        self._source = source
        self._header = header
        self._metadata = metadata
        self._table = table
        self._slots_start = slots_start
        self._slots = slots
        self._kept: OrderedDict[int, Sequence[Node]] = OrderedDict()
        self._lock = threading.Lock()

    def sections(self) -> tuple[Section, ...]:
        """The sections; before the chunks are loaded, they reach to the end of the file."""
        size, first = self._source.size, self._table.geometry.first
        claims = [section("header", 0, self._header.size)]
        if self._metadata is not None:
            claims.append(section("metadata", self._metadata.start, self._metadata.stop))
        if self._slots:
            claims.append(section("offsets", self._slots_start, self._slots_start + self._slots * OFFSET.size))
        end = self._end()
        claims.append(section("chunks", first, end))
        if end < size:
            claims.append(section("trailing" if self._complete() else "unknown", end, size))
        return tile(claims, size)[0]

    def root(self, sections: Sequence[Section]) -> Node:
        """The root of the tree, one child for each section."""
        makers = {
            "header": lambda s: header_node(self._header.record, self._header.values, s.stop),
            "metadata": self._metadata_node,
            "offsets": self._offsets_node,
            "chunks": self._chunks_node,
        }
        kids = [makers[s.name](s) if s.name in makers else _rest_node(s) for s in sections]
        return Node(self._source.name, Span("", 0, self._source.size), children=tuple(kids))

    def metadata_text(self) -> bytes:
        """The plain metadata text.

        Raises:
            FormatError: It cannot be had from the stored bytes.
        """
        assert self._metadata is not None
        stored = self._metadata.stored
        return decode_metadata(self._metadata, self._source.read(stored.start, stored.stop))

    def metadata_tree(self) -> Node:
        """The root of the tree of the decoded metadata."""
        assert self._metadata is not None
        text, name = self.metadata_text(), self._metadata.decoded
        return Node(name, Span(name, 0, len(text)), role=FieldRole.TEXT, children=self._json(text, name, 0))

    def metadata_problem(self) -> str:
        """What is wrong with the digest of the metadata, or empty."""
        if self._metadata is None:
            return ""
        stored, digest = self._metadata.stored, self._metadata.digest
        data = self._source.read(stored.start, digest.stop)
        return check_digest(self._metadata, data[: stored.size], data[digest.start - stored.start :])

    def _end(self) -> int:
        """Where the last chunk and its digest end, as far as is known."""
        geometry = self._table.geometry
        if not self._table.loaded:
            return geometry.size
        if not len(self._table.places):
            return geometry.first
        ends = stops(self._table.places, self._table.headers, geometry)
        return min(max(int(ends.max()) + geometry.digest, geometry.first), geometry.size)

    def _complete(self) -> bool:
        return bool((self._table.places != UNKNOWN).all())

    def _metadata_node(self, part: Section) -> Node:
        metadata = self._metadata
        assert metadata is not None
        kids = Deferred(lambda: self._metadata_parts(metadata))
        return Node("metadata", Span("", part.start, part.stop), doc=part.doc, children=kids)

    def _metadata_parts(self, metadata: MetadataSection) -> list[Node]:
        errors = dict(metadata.problems())
        texts = {"meta_checksum": f"{metadata.checksum.number} {metadata.checksum.name}", "meta_codec": metadata.codec}
        fields = field_nodes(METADATA_HEADER, metadata.values, metadata.start, texts=texts, errors=errors)
        problem = self.metadata_problem()
        kids = [Node("metadata header", metadata.header, children=fields), self._stored_node(metadata)]
        if metadata.padding.size:
            kids.append(Node("room", metadata.padding, role=FieldRole.PADDING, doc="Zeros, for longer metadata."))
        if metadata.digest.size:
            kids.append(Node("checksum", metadata.digest, role=FieldRole.HASH, doc=_DIGEST_DOC, error=problem))
        return kids

    def _stored_node(self, metadata: MetadataSection) -> Node:
        """The stored text: as JSON where it is plain, else with the name of what it decodes to."""
        doc, error = "The metadata text as stored.", ""
        kids: Sequence[Node] = ()
        try:
            text = self.metadata_text()
            parse_metadata(metadata, text)
            if not metadata.decoded:
                kids = self._json(text, "", metadata.stored.start)
        except ShardError as problem:
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
        """The JSON value, where the text is one."""
        assert self._metadata is not None
        try:
            parse_metadata(self._metadata, text)
        except ShardError as problem:
            return (Node("text", Span(source, base, base + len(text)), role=FieldRole.TEXT, error=str(problem)),)
        return (JsonTree(text, source, base).root(),)

    def _offsets_node(self, part: Section) -> Node:
        def read(first: int, last: int) -> NDArray[Any]:
            start = self._slots_start + first * OFFSET.size
            data = self._source.read(start, start + (last - first) * OFFSET.size)
            return OFFSET.read(data, count=last - first)

        def describe(number: int, row: Any) -> Node:
            start = self._slots_start + number * OFFSET.size
            place = int(row["offset"])
            spare = "spare, " if number >= self._header.nchunks else ""
            text = f"{place}" if place != UNKNOWN else f"{spare}unused"
            fine = 0 <= place <= self._source.size - CHUNK_HEADER.size
            error = "" if fine or place == UNKNOWN else "outside the file"
            return Node(
                f"[{number}]",
                Span("", start, start + OFFSET.size),
                value=place,
                text=text,
                role=FieldRole.UNUSED if place == UNKNOWN else FieldRole.OFFSET,
                doc=OFFSET.fields[0].doc,
                error=error,
                target=Span("", place, place + CHUNK_HEADER.size) if fine else None,
            )

        def paint(rows: NDArray[Any]) -> NDArray[np.uint8]:
            roles = np.where(rows["offset"] == UNKNOWN, FieldRole.UNUSED, FieldRole.OFFSET)
            return roles.astype(np.uint8)[:, None]

        rows = Table(OFFSET, self._slots_start, self._slots, read, describe=describe, paint=paint)
        return Node("offsets", Span("", part.start, part.stop), doc=part.doc, children=grouped(rows))

    def _chunks_node(self, part: Section) -> Node:
        span = Span("", part.start, part.stop)
        if not self._table.loaded:
            return Node("chunks", span, text="not read yet", doc=part.doc)
        return Node("chunks", span, text=f"{len(self._table)} chunks", doc=part.doc, children=self._chunk_rows(part))

    def _chunk_rows(self, part: Section) -> Children:
        """The chunks by place, and between them what belongs to none."""
        table, geometry = self._table, self._table.geometry
        found = np.flatnonzero(table.places != UNKNOWN)
        found = found[np.argsort(table.places[found], kind="stable")]
        starts = table.places[found]
        ends = np.minimum(stops(starts, table.headers[found], geometry) + geometry.digest, part.stop)
        reach = np.maximum.accumulate(np.append(part.start, ends))
        following = np.append(starts, part.stop)
        holes = np.flatnonzero(following > reach)
        numbers = np.concatenate([found, np.full(len(holes), -1, np.int64)])
        all_starts = np.concatenate([starts, reach[holes]])
        all_stops = np.concatenate([ends, following[holes]])
        order = np.argsort(all_starts, kind="stable")
        numbers, all_starts, all_stops = numbers[order], all_starts[order], all_stops[order]

        def describe(first: int, last: int) -> list[Node]:
            rows = zip(numbers[first:last], all_starts[first:last], all_stops[first:last], strict=True)
            return [self._chunk_node(int(n), Span("", int(a), int(b))) for n, a, b in rows]

        return grouped(Extents(all_starts, all_stops, describe))

    def _chunk_node(self, number: int, span: Span) -> Node:
        if number < 0:
            return Node("unclaimed", span, role=FieldRole.UNKNOWN, doc=_DOCS["unknown"])
        header = self._table.header(number)
        text = f"{header.nbytes} bytes in {header.ctbytes}, {header.codec_name}, {header.filter_name}"
        kids = Deferred(lambda: self._chunk_kids(number, span))
        doc = "A Blosc buffer and the digest over it."
        return Node(f"chunk {number}", span, text=text, role=FieldRole.DATA, doc=doc, children=kids)

    def _chunk_kids(self, number: int, span: Span) -> Sequence[Node]:
        """What a chunk is made of; the last few are kept."""
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        data = self._source.read(span.start, span.stop if span.size <= DETAIL_LIMIT else span.start + CHUNK_HEADER.size)
        nodes = chunk_nodes(data, span, self._header.checksum)
        with self._lock:
            self._kept[number] = nodes
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return nodes


_DIGEST_DOC = "The digest over the stored metadata, without the room."


def _rest_node(part: Section) -> Node:
    role = FieldRole.UNUSED if part.role is SectionRole.TRAILING else FieldRole.UNKNOWN
    return Node(part.name, Span("", part.start, part.stop), role=role, doc=part.doc)
