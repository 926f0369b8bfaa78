"""zstd files: frames with header, blocks and optional checksum; skippable frames may be between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shardcore.codecs.decompress import ZSTD_MAGIC, rest_of_header
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
from shardcore.errors import BadMagic, FormatError, Truncated
from shardcore.model.budget import charge_items
from shardcore.model.computed_children import Deferred, field_nodes
from shardcore.model.node import Node
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.open_context import OpenContext
from shardcore.sources.base import Source
from shardcore.sources.prefetched_source import PrefetchedSource

PAGE = "RFC 8878, Zstandard Compression"

FRAME = Record(
    "frame header",
    source=PAGE,
    fields=(
        Field("magic", ("u1", 4), FieldRole.MAGIC, "The bytes 28 b5 2f fd (hex).", ZSTD_MAGIC),
        Field("descriptor", "u1", FieldRole.FLAGS, "Flags: presence of window, dictionary, content size, checksum."),
    ),
)
SKIPPED = Record(
    "skippable frame",
    source=PAGE,
    fields=(
        Field("magic", ("u1", 4), FieldRole.MAGIC, "The bytes 50 to 5f, then 2a 4d 18 (hex)."),
        Field("frame_size", "<u4", FieldRole.SIZE, "Number of bytes that follow, which decoders skip."),
    ),
)
BLOCK = Record(
    "block header",
    source=PAGE,
    fields=(
        Field("block", ("u1", 3), FieldRole.BITS, "Bit 0: last block; bits 1 and 2: type; other bits: size in bytes."),
    ),
)

KINDS = ("raw", "one byte repeated", "compressed", "reserved")
LARGEST_BLOCK = 1 << 17
MOST_BLOCKS = 1 << 16
"""Maximum number of blocks per frame, because a hostile frame may have any number of empty blocks."""

NEAR = 1 << 12
"""Number of bytes read from a block header on, to include the headers of small blocks that follow."""

MOST_NODES = 100_000
"""Maximum number of blocks shown per frame."""


@dataclass(frozen=True, slots=True)
class ZstdHeader:
    """Header of a frame; `fields` after the descriptor as (name, start, stop, value), content size -1 if not stored."""

    fields: tuple[tuple[str, int, int, int], ...]
    descriptor: int
    stop: int
    content_size: int

    @property
    def checksum_size(self) -> int:
        return 4 if self.descriptor & 4 else 0


def read_frame(data: bytes, at: int) -> ZstdHeader:
    """Return the frame header at the start of `data`; `at` is its offset in the file."""
    values = FRAME.read_one(data, place=Span("", at, at + len(data)))
    if values["magic"] != ZSTD_MAGIC:
        raise BadMagic("not a zstd frame: does not begin with 28 b5 2f fd", span=Span("", at, at + 4))
    descriptor, end, fields, size = values["descriptor"], FRAME.size, list[tuple[str, int, int, int]](), -1
    names = ("window", "dictionary", "content size")
    for name, width in zip(names, rest_of_header(descriptor), strict=True):
        if end + width > len(data):
            raise Truncated("the header of the zstd frame is truncated", span=Span("", at, at + len(data)))
        if width:
            value = int.from_bytes(data[end : end + width], "little")
            if name == "content size":
                size = value = value + 256 if width == 2 else value
            fields.append((name, at + end, at + end + width, value))
            end += width
    return ZstdHeader(tuple(fields), descriptor, at + end, size)


class ZstdFile(SequentialFile):
    """zstd file. Opening reads the first frame header; finding the frames reads all block headers."""

    title = "zstd file"
    kind = "frame"
    suffix = ".zst"

    def __init__(self, probe: PrefetchedSource, context: OpenContext) -> None:
        super().__init__(probe.base)
        head = probe.head(min(32, probe.size))
        if head.startswith(ZSTD_MAGIC):
            first = read_frame(head, 0)
            self.header["descriptor"] = first.descriptor
            self.header |= {name: value for name, _, _, value in first.fields}
        claims = [Section("frames", SectionRole.DATA, 0, probe.size, "Frames, one after the other.")]
        self.sections, _ = tile(claims, probe.size)
        self.objects = ScannedObjects(self._find, self.kind, "zstd")
        self._skipped: list[tuple[int, int]] = []
        self.first_step = (
            "First frame",
            "The file begins with the magic number of a frame.",
            Span("", 0, min(4, probe.size)),
            "A zstd file has no list of frames; each begins at the end of the previous one.",
        )

    @property
    def index_bytes(self) -> int:
        return 3 * (self.source.size // LARGEST_BLOCK + 1)

    def _find(self) -> PartObjects:
        parts, at, size = list[ContainerPart](), 0, self.source.size
        skipped: list[tuple[int, int]] = []
        while at < size:
            charge_items(1)
            head = self.source.read(at, min(at + 32, size))
            place = Span("", at, size)
            if len(head) >= SKIPPED.size and head[0] & 0xF0 == 0x50 and head[1:4] == b"\x2a\x4d\x18":
                stop = at + SKIPPED.size + SKIPPED.read_one(head)["frame_size"]
                if stop > size:
                    self.faults.append(Fault("truncated", "the last skippable frame is truncated", place))
                skipped.append((at, min(stop, size)))
                at = stop
                continue
            try:
                header = read_frame(head, at)
                *_, stop = _edges(self.source, header)
                if stop > size:
                    raise Truncated("the zstd frame is truncated", span=place)
            except FormatError as error:
                if isinstance(error, BadMagic) and parts:
                    self.faults.append(Fault("trailing", "trailing bytes after the last frame", place, is_error=False))
                else:
                    parts.append(ContainerPart(str(len(parts)), at, size, -1, "zstd", place, error=error.message))
                break
            record = Span("", at, header.stop)
            extras = {"checksum": header.checksum_size > 0}
            parts.append(ContainerPart(str(len(parts)), at, stop, header.content_size, "zstd", record, extras=extras))
            at = stop
        self._skipped = skipped
        return PartObjects(parts, self.kind)

    def makers(self) -> Mapping[str, Callable[[Section], Node]]:
        return {"frames": self._frames_node}

    def _frames_node(self, section: Section) -> Node:
        if not self.loaded:
            return section_node(section, role=FieldRole.DATA)
        parts = self.objects.found.parts
        rows = [(part.start, part.stop, row) for row, part in enumerate(parts)]
        rows += [(start, stop, -1) for start, stop in self._skipped]
        rows.sort()

        def node(number: int) -> Node:
            start, stop, row = rows[number]
            if row < 0:
                return self._skipped_node(start, stop)
            kids = () if parts[row].error else Deferred(lambda: self._frame_kids(parts[row]))
            return self.part_node(row, parts[row], Span("", start, stop), kids)

        extents = [row[:2] for row in rows]
        return listed_node(section, plural(len(parts), "frame"), FieldRole.UNKNOWN, extents, node)

    def _skipped_node(self, start: int, stop: int) -> Node:
        head = self.source.read(start, min(start + SKIPPED.size, stop))
        span = Span("", start, stop)
        kids = field_nodes(SKIPPED, SKIPPED.read_one(head), start)
        return Node("skippable frame", span, role=FieldRole.UNUSED, doc="Bytes that decoders skip.", children=kids)

    def _frame_kids(self, part: ContainerPart) -> list[Node]:
        head = self.source.read(part.start, min(part.start + 32, part.stop))
        header, edges = read_frame(head, part.start), list[int]()
        for edge in _edges(self.source, header):
            edges.append(edge)
            if len(edges) > MOST_NODES:
                break
        kids = [*field_nodes(FRAME, FRAME.read_one(head), part.start)]
        roles = {"content size": FieldRole.SIZE, "dictionary": FieldRole.KEY}
        for name, start, stop, value in header.fields:
            role = roles.get(name, FieldRole.NUMBER)
            kids.append(Node(name, Span("", start, stop), value=value, text=f"{value}", role=role))
        last = part.stop - header.checksum_size
        places = [edge for edge in edges if edge < last]
        heads = self.source.read_many([(start, start + BLOCK.size) for start in places])
        for number, (start, stop, raw) in enumerate(zip(places, [*places[1:], last], heads, strict=True)):
            kids.append(_block_node(number, start, stop, raw))
        if header.checksum_size:
            doc = "The low four bytes of the XXH64 of the uncompressed content."
            kids.append(Node("checksum", Span("", last, part.stop), role=FieldRole.HASH, doc=doc))
        return kids


def _block_node(number: int, start: int, stop: int, raw: bytes) -> Node:
    value = int.from_bytes(raw, "little")
    kind, data = KINDS[value >> 1 & 3], Span("", start + BLOCK.size, max(stop, start + BLOCK.size))
    text = f"{kind}, {plural(value >> 3, 'byte')}" + (", the last" if value & 1 else "")
    kids = (
        *field_nodes(BLOCK, {"block": raw}, start, texts={"block": text}),
        Node("data", data, text=plural(data.size, "byte"), role=FieldRole.DATA, doc="The stored block."),
    )
    return Node(f"block {number}", Span("", start, max(stop, start + BLOCK.size)), text=text, children=kids)


def _edges(source: Source, header: ZstdHeader) -> Iterator[int]:
    """Yield the offset of each block of a zstd frame, then the end of the frame."""
    at, size = header.stop, source.size
    kept, first = b"", at  # one read covers several small blocks
    for _ in range(MOST_BLOCKS):
        if at + BLOCK.size > size:
            raise Truncated("the zstd frame is truncated", span=Span("", at, max(size, at)))
        yield at
        if not first <= at <= first + len(kept) - BLOCK.size:
            charge_items(1)
            kept, first = source.read(at, min(at + NEAR, size)), at
        value = int.from_bytes(kept[at - first : at - first + BLOCK.size], "little")
        kind, length = value >> 1 & 3, value >> 3
        if kind == 3 or length > LARGEST_BLOCK:
            raise FormatError(f"invalid zstd block: type {kind}, {length:,} bytes", span=Span("", at, at + BLOCK.size))
        at += BLOCK.size + (1 if kind == 1 else length)
        if value & 1:
            yield at + header.checksum_size
            return
    raise FormatError(f"the zstd frame has more than {plural(MOST_BLOCKS, 'block')}", span=Span("", header.stop, at))


def open_shard(probe: PrefetchedSource, context: OpenContext) -> SequentialShard:
    file = ZstdFile(probe, context)
    return SequentialShard("zstd", file, file.objects)
