"""zip archives: members, each with a local header, then the central directory and the end record."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.containers.container_shard import (
    ContainerFile,
    ContainerPart,
    ContainerShard,
    Fault,
    PartObjects,
    listed_node,
    section_node,
)
from shardcore.dataclasses import replace
from shardcore.errors import BadMagic, FormatError, Unsupported
from shardcore.model.budget import charge_items
from shardcore.model.computed_children import Deferred, field_nodes
from shardcore.model.node import Node
from shardcore.model.objects import ObjectColumns, ObjectRef, Objects, State
from shardcore.model.record import Field, FieldRole, Record
from shardcore.model.section import Section, SectionRole, tile
from shardcore.model.span import Span, decoded_name
from shardcore.model.text import plural, short
from shardcore.shards.open_context import OpenContext
from shardcore.sources.prefetched_source import PrefetchedSource

PAGE = "APPNOTE.TXT, .ZIP File Format Specification"
LOCAL_MAGIC, CENTRAL_MAGIC, END_MAGIC = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"

_VERSION = Field("version_needed", "<u2", FieldRole.VERSION, "Version that a reader must support, times 10.")
_SHARED = (
    Field("flags", "<u2", FieldRole.FLAGS, "Bit 0: encrypted; bit 3: sizes are after the content; bit 11: UTF-8 name."),
    Field("method", "<u2", FieldRole.CODEC, "Compression: 0 none, 8 deflate, 93 zstd."),
    Field("time", "<u2", FieldRole.TIME, "Modification time: hours, minutes and seconds / 2 as bit fields."),
    Field("date", "<u2", FieldRole.TIME, "Modification date: years since 1980, month and day as bit fields."),
    Field("crc32", "<u4", FieldRole.HASH, "CRC-32 of the uncompressed content."),
    Field("compressed_size", "<u4", FieldRole.SIZE, "Stored size in bytes; all bits one: see the zip64 field."),
    Field("size", "<u4", FieldRole.SIZE, "Uncompressed size in bytes; all bits one: see the zip64 field."),
    Field("name_length", "<u2", FieldRole.SIZE, "Size of the name in bytes."),
    Field("extra_length", "<u2", FieldRole.SIZE, "Size of the extra fields in bytes."),
)
LOCAL = Record(
    "local file header",
    source=PAGE,
    fields=(
        Field("signature", ("u1", 4), FieldRole.MAGIC, "The letters `PK` and the bytes 3 and 4.", LOCAL_MAGIC),
        _VERSION,
        *_SHARED,
    ),
)
CENTRAL = Record(
    "central directory header",
    source=PAGE,
    fields=(
        Field("signature", ("u1", 4), FieldRole.MAGIC, "The letters `PK` and the bytes 1 and 2.", CENTRAL_MAGIC),
        Field("version_made", "<u2", FieldRole.VERSION, "Version and system of the writer."),
        _VERSION,
        *_SHARED,
        Field("comment_length", "<u2", FieldRole.SIZE, "Size of the member's comment in bytes."),
        Field("disk", "<u2", FieldRole.NUMBER, "Number of the disk on which the member begins."),
        Field("internal", "<u2", FieldRole.FLAGS, "Bit 0: the content is text."),
        Field("external", "<u4", FieldRole.FLAGS, "File attributes in the writer's system."),
        Field("offset", "<u4", FieldRole.OFFSET, "Offset of the local header; all bits one: see the zip64 field."),
    ),
)
END = Record(
    "end of central directory record",
    source=PAGE,
    fields=(
        Field("signature", ("u1", 4), FieldRole.MAGIC, "The letters `PK` and the bytes 5 and 6.", END_MAGIC),
        Field("disk", "<u2", FieldRole.NUMBER, "Number of this disk."),
        Field("directory_disk", "<u2", FieldRole.NUMBER, "Number of the disk on which the central directory begins."),
        Field("disk_entries", "<u2", FieldRole.COUNT, "Number of members on this disk."),
        Field("entries", "<u2", FieldRole.COUNT, "Number of members; all bits one: see the zip64 record."),
        Field("directory_size", "<u4", FieldRole.SIZE, "Size of the central directory in bytes."),
        Field("directory_offset", "<u4", FieldRole.OFFSET, "Offset of the central directory."),
        Field("comment_length", "<u2", FieldRole.SIZE, "Size of the archive's comment in bytes."),
    ),
)
END64 = Record(
    "zip64 end of central directory record",
    source=PAGE,
    fields=(
        Field("signature", ("u1", 4), FieldRole.MAGIC, "The letters `PK` and the bytes 6 and 6.", b"PK\x06\x06"),
        Field("record_size", "<u8", FieldRole.SIZE, "Size of the record after this field, in bytes."),
        Field("version_made", "<u2", FieldRole.VERSION, "Version and system of the writer."),
        _VERSION,
        Field("disk", "<u4", FieldRole.NUMBER, "Number of this disk."),
        Field("directory_disk", "<u4", FieldRole.NUMBER, "Number of the disk on which the central directory begins."),
        Field("disk_entries", "<u8", FieldRole.COUNT, "Number of members on this disk."),
        Field("entries", "<u8", FieldRole.COUNT, "Members."),
        Field("directory_size", "<u8", FieldRole.SIZE, "Size of the central directory in bytes."),
        Field("directory_offset", "<u8", FieldRole.OFFSET, "Offset of the central directory."),
    ),
)
LOCATOR = Record(
    "zip64 end of central directory locator",
    source=PAGE,
    fields=(
        Field("signature", ("u1", 4), FieldRole.MAGIC, "The letters `PK` and the bytes 6 and 7.", b"PK\x06\x07"),
        Field("disk", "<u4", FieldRole.NUMBER, "Number of the disk with the zip64 record."),
        Field("offset", "<u8", FieldRole.OFFSET, "Offset of the zip64 record."),
        Field("disks", "<u4", FieldRole.COUNT, "Number of disks."),
    ),
)

_FLAGS, _METHOD, _STORED, _SIZE, _NAME_LENGTH, _OFFSET = (
    [field.name for field in CENTRAL.fields].index(name)
    for name in ("flags", "method", "compressed_size", "size", "name_length", "offset")
)

CODECS = {0: "none", 8: "deflate", 93: "zstd"}
"""Names of the supported compression methods."""

ENCRYPTED, SIZES_FOLLOW, UTF8 = 1, 8, 1 << 11
MOST_COMMENT = 0xFFFF
ONES16, ONES32 = 0xFFFF, 0xFFFFFFFF
ZIP64 = 1
MOST_DIRECTORY = 256 << 20
"""Maximum size of a central directory in bytes."""


class ZipFile(ContainerFile):
    """zip archive; opening reads the end record and the central directory.

    Without an end record, opening raises `BadMagic`; the draft then lists the members that are consecutive from byte 0.
    """

    title = "zip archive"
    list_title = "Central directory"

    def __init__(self, probe: PrefetchedSource, context: OpenContext) -> None:
        super().__init__(probe.base)
        self._size = probe.size
        self._end_at = self._find_end(probe, context)
        self._end = END.read_one(probe.read(self._end_at, probe.size))
        self.header = {name: value for name, value in self._end.items() if name != "signature"}
        self._claims = [
            Section("end record", SectionRole.FOOTER, self._end_at, probe.size, "Location of the central directory.")
        ]
        count, size, offset = (self._end[name] for name in ("entries", "directory_size", "directory_offset"))
        end, self._end64 = self._end_at, dict[str, Any]()
        if count == ONES16 or ONES32 in (size, offset):
            count, size, offset, end = self._read_end64(probe, count, size, offset)
        # Prepended bytes shift all offsets, but the directory still ends at the end record.
        self._shift = end - size - offset
        self.directory_start: int = end - size
        place = Span("", self._end_at, min(self._end_at + END.size, probe.size))
        if self._shift < 0 or size > MOST_DIRECTORY:
            raise FormatError(f"the central directory of {plural(size, 'byte')} does not fit in the file", span=place)
        self._directory = probe.read(self.directory_start, end)
        self.entries = self._read_directory(count)
        first = min((part.start for part, _, _ in self.entries if not part.error), default=self.directory_start)
        self._claims += [
            Section("members", SectionRole.DATA, first, self.directory_start, "Local headers and members."),
            Section("central directory", SectionRole.INDEX, self.directory_start, end, "Lists the members."),
        ]
        self.sections, _ = tile(self._claims, probe.size)
        self.objects = ZipObjects(self)
        self.first_step = (
            "End record",
            f"{plural(count, 'member')}; the central directory begins at byte {self.directory_start:#x}.",
            place,
            "A zip archive is read from its end, because the central directory is there.",
        )

    # --- reading ---

    def _find_end(self, probe: PrefetchedSource, context: OpenContext) -> int:
        """Return the offset of the last end record whose comment ends with the file."""
        for count in (END.size, END.size + MOST_COMMENT):
            tail = probe.read_last(min(count, probe.size))
            at = len(tail)
            while (at := tail.rfind(END_MAGIC, 0, at)) >= 0:
                if at + END.size <= len(tail):
                    comment: int = END.read_one(tail, at)["comment_length"]
                    if at + END.size + comment == len(tail):
                        return int(probe.size - len(tail) + at)
        self._draft(probe, context)
        raise BadMagic("no end record: the archive is truncated, or not a zip archive", span=None)

    def _draft(self, probe: PrefetchedSource, context: OpenContext) -> None:
        """Add members to the draft, which is shown if opening fails: from byte 0 on, each at the end of the last."""
        at, nodes = 0, list[Node]()
        most = _MOST_FOLLOWED if probe.base.near else _MOST_REMOTE
        while at + LOCAL.size <= probe.size and len(nodes) < most:
            head = probe.read(at, min(at + LOCAL.size + 2 * ONES16, probe.size))
            if not head.startswith(LOCAL_MAGIC):
                break
            local = LOCAL.read_one(head)
            start = at + LOCAL.size + local["name_length"] + local["extra_length"]
            stop = min(start + local["compressed_size"], probe.size)
            if start > probe.size:
                break
            name = _name(head[LOCAL.size : LOCAL.size + local["name_length"]], local["flags"])
            nodes.append(self._local_node(name, at, stop, head, None))
            if local["flags"] & SIZES_FOLLOW or stop < start + local["compressed_size"]:
                break
            at = stop
        if nodes:
            stop = nodes[-1].span.stop
            node = Node("members", Span("", 0, stop), text=plural(len(nodes), "member"), children=tuple(nodes))
            context.draft.add(Section("members", SectionRole.DATA, 0, stop, "Members found without directory."), node)

    def _read_end64(self, probe: PrefetchedSource, count: int, size: int, offset: int) -> tuple[int, int, int, int]:
        at = self._end_at - LOCATOR.size
        data = probe.read(at, self._end_at) if at >= 0 else b""
        if not data.startswith(b"PK\x06\x07"):
            if count == ONES16 and ONES32 not in (size, offset):
                return count, size, offset, self._end_at  # there may be exactly 65,535 members
            raise FormatError("the zip64 locator is missing", span=Span("", self._end_at, self._end_at + END.size))
        self._locator = LOCATOR.read_one(data)
        # If prepended bytes shift the record, it is directly before the locator.
        place = next((one for one in (self._locator["offset"], at - END64.size) if 0 <= one <= at - END64.size
                      and probe.read(one, one + 4) == b"PK\x06\x06"), None)  # fmt: skip
        if place is None:
            raise FormatError("no zip64 record at the offset in the locator", span=Span("", at, at + LOCATOR.size))
        self._end64 = END64.read_one(probe.read(place, place + END64.size))
        self.header |= {f"zip64.{name}": value for name, value in self._end64.items() if name != "signature"}
        self._claims += [
            Section("zip64 record", SectionRole.FOOTER, place, at, "End record with 8-byte numbers."),
            Section("zip64 locator", SectionRole.FOOTER, at, self._end_at, "Location of the zip64 record."),
        ]
        found = self._end64
        return found["entries"], found["directory_size"], found["directory_offset"], place

    def _read_directory(self, count: int) -> list[tuple[ContainerPart, int, int]]:
        data, at, found = self._directory, 0, list[tuple[ContainerPart, int, int]]()
        unpack, head = CENTRAL.packer.unpack_from, CENTRAL.size
        while at + head <= len(data) and data[at : at + 4] == CENTRAL_MAGIC:
            if len(found) % 1024 == 0:
                charge_items(1024)
            values = unpack(data, at)
            name_length, extra_length, comment_length = values[_NAME_LENGTH : _NAME_LENGTH + 3]
            stop = at + head + name_length + extra_length + comment_length
            if stop > len(data):
                break
            name_stop = at + head + name_length
            name, extra = data[at + head : name_stop], data[name_stop : name_stop + extra_length]
            found.append((self._part_of(values, name, extra, at, stop), at, stop))
            at = stop
        if len(found) != count or at != len(data):
            place = Span("", self.directory_start + at, self.directory_start + len(data))
            listed = f"the end record declares {plural(count, 'member')}; the central directory lists {len(found):,}"
            self.faults.append(Fault("directory", listed, place))
        return found

    def _part_of(self, values: tuple[Any, ...], raw: bytes, extra: bytes, at: int, stop: int) -> ContainerPart:
        """Return a member from its directory entry. `start` is its local header, which has the content offset."""
        size, stored, offset, method = values[_SIZE], values[_STORED], values[_OFFSET], values[_METHOD]
        if extra and ONES32 in (size, stored, offset):
            size, stored, offset = _large(size, stored, offset, extra)
        name, start = _name(raw, values[_FLAGS]), offset + self._shift
        codec = CODECS.get(method) or f"method {method}"
        record = Span("", self.directory_start + at, self.directory_start + stop)
        error = ""
        if start + LOCAL.size + stored > self.directory_start or start < 0:
            error = f"{short(name)} does not fit before the central directory"
        return ContainerPart(name, start, start + stored, size, codec, record, error)

    def extras_of(self, row: int) -> dict[str, Any]:
        entry = CENTRAL.read_one(self._directory, self.entries[row][1])
        found = {"crc32": f"{entry['crc32']:08x}", "method": entry["method"], "time": _time(entry)}
        is_link = stat.S_ISLNK(entry["external"] >> 16)
        return found | ({"encrypted": True} if self.is_encrypted(row) else {}) | ({"link": True} if is_link else {})

    def is_encrypted(self, row: int) -> bool:
        flags: int = CENTRAL.packer.unpack_from(self._directory, self.entries[row][1])[_FLAGS]
        return bool(flags & ENCRYPTED)

    def data_starts(self, rows: Sequence[int]) -> list[int]:
        """Return the content offsets of members, computed from their local headers; -1 if a local header is missing."""
        starts = [self.entries[row][0].start for row in rows]
        found = self.source.read_many([(start, start + LOCAL.size) for start in starts])
        places = []
        for start, head in zip(starts, found, strict=True):
            if not head.startswith(LOCAL_MAGIC):
                places.append(-1)
                continue
            name_length, extra_length = LOCAL.packer.unpack(head)[-2:]
            places.append(start + LOCAL.size + name_length + extra_length)
        return places

    def row_at(self, start: int, stop: int, objects: Objects) -> int | None:
        for row, (part, _, _) in enumerate(self.entries):
            if part.stop - part.start == stop - start and 0 < start - part.start <= LOCAL.size + 2 * ONES16:
                spans = objects.ref(row).spans
                if spans and spans[0].start == start:
                    return row
        return None

    # --- nodes ---

    def makers(self) -> Mapping[str, Callable[[Section], Node]]:
        return {
            "members": self._members_node,
            "central directory": self._directory_node,
            "zip64 record": lambda section: _record_node(END64, self._end64, section),
            "zip64 locator": lambda section: _record_node(LOCATOR, self._locator, section),
            "end record": self._end_node,
        }

    def _members_node(self, section: Section) -> Node:
        order = [row for row, (part, _, _) in enumerate(self.entries) if not part.error]
        order.sort(key=lambda row: self.entries[row][0].start)
        extents = list(pairwise([*(self.entries[row][0].start for row in order), section.stop]))

        def node(number: int) -> Node:
            return self._member_node(order[number], extents[number][1])

        return listed_node(section, plural(len(order), "member"), FieldRole.PADDING, extents, node)

    def _member_node(self, row: int, stop: int) -> Node:
        part = self.entries[row][0]

        def kids() -> Sequence[Node]:
            head = self.source.read(part.start, min(part.start + LOCAL.size + 2 * ONES16, stop))
            return self._local_node(part.key, part.start, stop, head, row).children

        stop = max(stop, part.start)
        return Node(
            part.key or '""',
            Span("", part.start, stop),
            text=f"{plural(max(part.size, 0), 'byte')}, {part.codec}",
            role=FieldRole.PADDING,
            doc="A member: local header, name and content.",
            children=Deferred(kids),
            row=row,
        )

    def _local_node(self, name: str, at: int, stop: int, head: bytes, row: int | None) -> Node:
        """Return the node of a local header and everything up to `stop`."""
        if not head.startswith(LOCAL_MAGIC) or len(head) < LOCAL.size:
            error = "no local header at this offset"
            span = Span("", at, stop)
            return Node(name, span, children=(Node("unknown", span, role=FieldRole.UNKNOWN, error=error),), error=error)
        local = LOCAL.read_one(head)
        name_stop = at + LOCAL.size + local["name_length"]
        start = name_stop + local["extra_length"]
        size = local["compressed_size"] if row is None else self.entries[row][0].stop - self.entries[row][0].start
        data_stop, codec = min(start + size, stop), CODECS.get(local["method"], f"method {local['method']}")
        kids = [
            *field_nodes(LOCAL, local, at),
            Node("name", Span("", at + LOCAL.size, name_stop), value=name, text=name, role=FieldRole.TEXT,
                 doc="The path, with / as separator."),
            Node("extra", Span("", name_stop, start), role=FieldRole.UNUSED, doc="Extra fields."),
            Node(
                "content",
                Span("", start, max(data_stop, start)),
                text=f"{plural(max(data_stop - start, 0), 'byte')}, {codec}",
                role=FieldRole.DATA,
                doc="The stored content.",
                decoded=decoded_name(start, data_stop) if row is not None and codec in ("deflate", "zstd") else "",
            ),
        ]  # fmt: skip
        if local["flags"] & SIZES_FOLLOW and data_stop < stop:
            doc = "CRC-32 and sizes, written after the content."
            kids.append(Node("data descriptor", Span("", data_stop, stop), role=FieldRole.HASH, doc=doc))
        return Node(
            name or '""', Span("", at, stop), role=FieldRole.PADDING,
            children=tuple(kid for kid in kids if kid.span.stop <= stop), row=row,
        )  # fmt: skip

    def _directory_node(self, section: Section) -> Node:
        extents = [(self.directory_start + at, self.directory_start + stop) for _, at, stop in self.entries]
        text = plural(len(self.entries), "entry", "entries")
        return listed_node(section, text, FieldRole.UNKNOWN, extents, self._entry_node)

    def _entry_node(self, row: int) -> Node:
        part, at, stop = self.entries[row]
        entry = CENTRAL.read_one(self._directory, at)
        start = self.directory_start + at
        targets = {} if part.error else {"offset": Span("", part.start, part.start + LOCAL.size)}
        kids, edge = list(field_nodes(CENTRAL, entry, start, targets=targets)), start + CENTRAL.size
        for name, role in (("name", FieldRole.TEXT), ("extra", FieldRole.UNUSED), ("comment", FieldRole.TEXT)):
            size = entry[f"{name}_length"]
            text = part.key if name == "name" else ""
            kids.append(Node(name, Span("", edge, edge + size), text=text, role=role))
            edge += size
        return Node(
            part.key or '""',
            Span("", start, self.directory_start + stop),
            error=part.error,
            children=tuple(kids),
            row=row,
        )

    def _end_node(self, section: Section) -> Node:
        kids, edge = list(field_nodes(END, self._end, section.start)), section.start + END.size
        if edge < section.stop:
            comment = Span("", edge, section.stop)
            kids.append(Node("comment", comment, role=FieldRole.TEXT, doc="The archive's comment."))
        return section_node(section, children=tuple(kids))


_MOST_FOLLOWED = 10_000
"""Maximum number of members shown for an archive without end record."""
_MOST_REMOTE = 16
"""Maximum number of members shown for a remote archive without end record; each member costs a request."""


class ZipObjects(PartObjects):
    """Members in the order of the central directory; content offsets are read from the local headers on demand."""

    def __init__(self, file: ZipFile) -> None:
        self._file = file
        super().__init__([part for part, _, _ in file.entries], "member")
        self._starts = np.full(len(self.parts), -1, np.int64)
        self._read = np.array([bool(part.error) for part in self.parts], np.bool_)
        self._lock = threading.Lock()

    def columns(self, rows: NDArray[np.int64], *, sizes: bool = False) -> ObjectColumns:
        self.resolve(rows)
        found = super().columns(rows)
        starts, stored = self._starts[rows], found.stored_size
        damaged = np.where(starts < 0, np.uint8(State.DAMAGED), found.state)
        return replace(found, start=starts, stop=np.where(starts < 0, -1, starts + stored), state=damaged)

    def is_encrypted(self, row: int) -> bool:
        return self._file.is_encrypted(row)

    def known(self, first: int, last: int) -> ObjectColumns:
        return super().columns(np.arange(first, last, dtype=np.int64))

    def resolve(self, rows: NDArray[np.int64]) -> None:
        """Read the local headers of the rows whose headers were not read before."""
        wanted = np.unique(rows[~self._read[rows]]).tolist()
        for first in range(0, len(wanted), 1024):
            some = wanted[first : first + 1024]
            starts = self._file.data_starts(some)
            with self._lock:
                for row, start in zip(some, starts, strict=True):
                    part = self.parts[row]
                    inside = start >= 0 and start + part.stop - part.start <= self._file.directory_start
                    self._starts[row], self._read[row] = start if inside else -1, True

    def _made(self, row: int) -> ObjectRef:
        self.resolve(np.array([row], np.int64))
        ref, start = replace(super()._made(row), extras=self._file.extras_of(row)), int(self._starts[row])
        if ref.error:
            return ref
        if start < 0:
            error = f"{short(ref.key)} has no local header at the offset in the central directory"
            return replace(ref, spans=(), state=State.DAMAGED, error=error)
        return replace(ref, spans=(Span("", start, start + ref.stored_size),))


class ZipShard(ContainerShard):
    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        if ref.codec not in CODECS.values():
            raise Unsupported(f"{short(ref.key)} is compressed with {ref.codec} (not supported)", span=ref.record)
        if ref.extras.get("encrypted"):
            raise Unsupported(f"{short(ref.key)} is encrypted (not supported)", span=ref.record)
        yield from super()._stream(ref)


def _record_node(record: Record, values: Mapping[str, Any], section: Section) -> Node:
    return section_node(section, role=FieldRole.UNUSED, children=field_nodes(record, dict(values), section.start))


def _name(raw: bytes, flags: int) -> str:
    if raw.isascii():
        return raw.decode("ascii")
    try:
        return raw.decode("utf-8" if flags & UTF8 else "cp437")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def _large(size: int, stored: int, offset: int, extra: bytes) -> tuple[int, int, int]:
    """Return uncompressed size, stored size and offset, replaced by those in the zip64 extra field, if any."""
    values = [size, stored, offset]
    at = 0
    while at + 4 <= len(extra):
        kind, length = int.from_bytes(extra[at : at + 2], "little"), int.from_bytes(extra[at + 2 : at + 4], "little")
        if kind == ZIP64:
            field = extra[at + 4 : at + 4 + length]
            for number, value in enumerate(values):
                if value == ONES32 and len(field) >= 8:
                    values[number], field = int.from_bytes(field[:8], "little"), field[8:]
            break
        at += 4 + length
    return values[0], values[1], values[2]


def _time(entry: Mapping[str, int]) -> str:
    date, time = entry["date"], entry["time"]
    day = f"{1980 + (date >> 9)}-{date >> 5 & 15:02}-{date & 31:02}"
    return f"{day} {time >> 11:02}:{time >> 5 & 63:02}:{(time & 31) * 2:02}"


def open_shard(probe: PrefetchedSource, context: OpenContext) -> ZipShard:
    file = ZipFile(probe, context)
    return ZipShard("zip", file, file.objects)
