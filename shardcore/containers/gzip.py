"""gzip files: members (usually one), each with a header, deflate data and a trailer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shardcore.codecs.decompress import GZIP_MAGIC, deflate_end
from shardcore.containers.container_shard import (
    ContainerPart,
    Fault,
    PartObjects,
    ScannedObjects,
    SequentialFile,
    SequentialShard,
    listed_node,
    section_node,
)
from shardcore.dataclasses import dataclass
from shardcore.errors import DEFAULT_LIMIT, BadMagic, FormatError, Truncated
from shardcore.model.budget import charge_items
from shardcore.model.computed_children import field_nodes
from shardcore.model.node import Node
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import Source
from shardcore.sources.prefetched_source import PrefetchedSource

PAGE = "RFC 1952, GZIP file format specification"

HEADER = Record(
    "member header",
    source=PAGE,
    fields=(
        Field("id", ("u1", 2), FieldRole.MAGIC, "The bytes 1f and 8b (hex).", GZIP_MAGIC[:2]),
        Field("method", "u1", FieldRole.CODEC, "Compression method: 8 is deflate."),
        Field("flags", "u1", FieldRole.FLAGS, "Bits: text, header CRC, extra field, name, comment."),
        Field("mtime", "<u4", FieldRole.TIME, "Modification time in Unix seconds; 0 if not available."),
        Field("xfl", "u1", FieldRole.FLAGS, "Compression level: 2 slowest, 4 fastest."),
        Field("os", "u1", FieldRole.NUMBER, "Operating system of the writer: 3 Unix, 255 unknown."),
    ),
)
TRAILER = Record(
    "member trailer",
    source=PAGE,
    fields=(
        Field("crc32", "<u4", FieldRole.HASH, "CRC-32 of the uncompressed content."),
        Field("isize", "<u4", FieldRole.SIZE, "Uncompressed size in bytes, modulo 2^32."),
    ),
)

HEADER_CRC, EXTRA, NAME, COMMENT = 2, 4, 8, 16
MOST_HEADER = 1 << 17
"""Maximum size of a gzip member header, including extra field, name and comment, in bytes."""

FEED = 1 << 18


@dataclass(frozen=True, slots=True)
class GzipHeader:
    """Header of a member; `parts` has the fields of variable length, each as name, start, stop and text."""

    fields: dict[str, Any]
    parts: tuple[tuple[str, int, int, str], ...]
    stop: int

    @property
    def name(self) -> str:
        return next((text for part, _, _, text in self.parts if part == "name"), "")


def read_header(data: bytes, at: int) -> GzipHeader:
    """Return the member header at the start of `data`; `at` is its offset in the file."""
    place = Span("", at, at + len(data))
    fields, end = HEADER.read_one(data, place=place), HEADER.size
    if fields["id"] != HEADER.fields[0].default or fields["method"] != 8:
        raise BadMagic("not a gzip member: does not begin with 1f 8b 08", span=Span("", at, at + 3))
    parts: list[tuple[str, int, int, str]] = []

    def add(name: str, stop: int, text: str = "") -> None:
        nonlocal end
        if stop > len(data):
            raise Truncated("the header of the gzip member is truncated", span=place)
        parts.append((name, at + end, at + stop, text))
        end = stop

    if fields["flags"] & EXTRA:
        add("extra", end + 2 + int.from_bytes(data[end : end + 2], "little"))
    for flag, name in ((NAME, "name"), (COMMENT, "comment")):
        if fields["flags"] & flag:
            stop = data.find(b"\0", end) + 1 or len(data) + 1
            add(name, stop, data[end : stop - 1].decode("latin-1"))
    if fields["flags"] & HEADER_CRC:
        add("header crc", end + 2)
    return GzipHeader(fields, tuple(parts), at + end)


class GzipFile(SequentialFile):
    """gzip file. Opening reads the first header; finding the members decompresses the whole file."""

    title = "gzip file"
    suffix = ".gz"

    def __init__(self, probe: PrefetchedSource, context: OpenContext) -> None:
        super().__init__(probe.base)
        size = probe.size
        self.first = read_header(_head(probe), 0)
        self.header = {name: value for name, value in self.first.fields.items() if name != "id"}
        self.header |= {name: text for name, _, _, text in self.first.parts if text}
        trailer = max(size - TRAILER.size, self.first.stop)
        claims = [
            Section("header", SectionRole.HEADER, 0, self.first.stop, "Header of the first member."),
            Section("members", SectionRole.DATA, self.first.stop, trailer, "Deflate data; further members, if any."),
            Section("trailer", SectionRole.FOOTER, trailer, size, "CRC-32 and size of the last member."),
        ]
        self.sections, _ = tile(claims, size)
        self.objects = ScannedObjects(self._find, self.kind, "gzip")
        self.first_step = (
            "Header",
            "The first member begins with its header.",
            Span("", 0, self.first.stop),
            "A gzip file has no list of members; each begins at the end of the previous one.",
        )

    @property
    def index_bytes(self) -> int:
        return self.source.size

    def _find(self) -> PartObjects:
        parts, at, size = list[ContainerPart](), 0, self.source.size
        while at < size:
            charge_items(1)
            head = self.source.read(at, min(at + MOST_HEADER, size))
            if parts and not head.strip(b"\0") and _only_zeros(self.source, at):
                break  # zero padding, as on tapes, which every reader skips
            try:
                header = read_header(head, at)
                stop, expanded = _member_end(self.source, header)
            except FormatError as error:
                rest = Span("", at, size)
                if parts and isinstance(error, BadMagic):
                    self.faults.append(Fault("trailing", "trailing bytes after the last member", rest, is_error=False))
                else:
                    parts.append(ContainerPart(str(len(parts)), at, size, -1, "gzip", rest, error=error.message))
                break
            trailer = TRAILER.read_one(self.source.read(stop - TRAILER.size, stop))
            extras = {"crc32": f"{trailer['crc32']:08x}"} | ({"name": header.name} if header.name else {})
            record = Span("", at, header.stop)
            parts.append(ContainerPart(str(len(parts)), at, stop, expanded, "gzip", record, extras=extras))
            at = stop
        return PartObjects(parts, self.kind)

    def makers(self) -> Mapping[str, Callable[[Section], Node]]:
        return {"header": self._header_node, "members": self._members_node, "trailer": self._trailer_node}

    def _header_node(self, section: Section) -> Node:
        return section_node(section, children=header_nodes(self.first, 0), row=0 if self.loaded else None)

    def _members_node(self, section: Section) -> Node:
        if not self.loaded:
            return section_node(section, role=FieldRole.DATA)
        parts = [part for part in self.objects.found.parts if part.start < section.stop or not part.start]

        def node(row: int) -> Node:
            return self._member_node(row, parts[row], section)

        clipped = ((max(part.start, section.start), min(part.stop, section.stop)) for part in parts)
        extents = [(start, max(start, stop)) for start, stop in clipped]
        return listed_node(section, plural(len(parts), "member"), FieldRole.DATA, extents, node)

    def _member_node(self, row: int, part: ContainerPart, section: Section) -> Node:
        """Return the node of a member, without the bytes that are in the header and trailer sections."""
        start, stop = max(part.start, section.start), max(min(part.stop, section.stop), section.start)
        kids: list[Node] = []
        data = self.first.stop
        if row and not part.error:
            header = read_header(self.source.read(part.start, min(part.start + MOST_HEADER, part.stop)), part.start)
            kids, data = list(header_nodes(header, part.start)), header.stop
        data_stop = part.stop if part.error else min(part.stop - TRAILER.size, stop)
        kids.append(
            Node(
                "deflate data",
                Span("", min(data, stop), max(min(data_stop, stop), min(data, stop))),
                role=FieldRole.DATA,
                doc="The compressed content.",
                error=part.error,
            )
        )
        if not part.error and data_stop < stop:
            kids += trailer_nodes(self.source, data_stop)
        return self.part_node(row, part, Span("", start, stop), tuple(kids))

    def _trailer_node(self, section: Section) -> Node:
        span, found = Span("", section.start, section.stop), self.objects.found.parts if self.loaded else ()
        if section.size < TRAILER.size or (found and (found[-1].error or found[-1].stop != section.stop)):
            return Node("trailer", span, role=FieldRole.UNKNOWN, doc="No trailer: the last member is truncated.")
        row = len(found) - 1 if found else None
        return section_node(section, children=trailer_nodes(self.source, section.start), row=row)


def header_nodes(header: GzipHeader, at: int) -> tuple[Node, ...]:
    docs = {
        "extra": "Extra field: its length and its bytes.",
        "name": "Name of the file that was compressed, terminated by a zero byte.",
        "comment": "A comment, terminated by a zero byte.",
        "header crc": "The low two bytes of the CRC-32 of the header.",
    }
    roles = {"extra": FieldRole.UNUSED, "header crc": FieldRole.HASH}
    more = (
        Node(name, Span("", start, stop), value=text, text=text, role=roles.get(name, FieldRole.TEXT), doc=docs[name])
        for name, start, stop, text in header.parts
    )
    return (*field_nodes(HEADER, header.fields, at), *more)


def trailer_nodes(source: Source, at: int) -> tuple[Node, ...]:
    return field_nodes(TRAILER, TRAILER.read_one(source.read(at, at + TRAILER.size)), at)


def _head(probe: PrefetchedSource) -> bytes:
    """Return enough bytes for the first header: 4 KiB, more if it has long texts."""
    head = probe.head(1 << 12)
    try:
        read_header(head, 0)
    except Truncated:
        return probe.head(min(MOST_HEADER, probe.size))
    return head


def _only_zeros(source: Source, at: int) -> bool:
    return all(not source.read(one, min(one + FEED, source.size)).strip(b"\0") for one in range(at, source.size, FEED))


def _member_end(source: Source, header: GzipHeader) -> tuple[int, int]:
    """Return end and uncompressed size of a member; decompresses it."""
    end, expanded = deflate_end(source.read, header.stop, source.size, DEFAULT_LIMIT)
    if end + TRAILER.size > source.size:
        raise Truncated("the gzip member is truncated")
    return end + TRAILER.size, expanded


def open_shard(probe: PrefetchedSource, context: OpenContext) -> SequentialShard:
    file = GzipFile(probe, context)
    return SequentialShard("gzip", file, file.objects)
