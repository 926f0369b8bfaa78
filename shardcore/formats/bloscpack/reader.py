"""Opening a Bloscpack file: header, metadata, offsets; then chunks as objects and the whole as a stream."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, LimitExceeded, UsageError
from shardcore.finding import Depth, Report
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.bloscpack.arrays import ArrayInfo, array_info
from shardcore.formats.bloscpack.chunks import ChunkTable, Geometry, Slots
from shardcore.formats.bloscpack.content import Content
from shardcore.formats.bloscpack.header import Header, check_slots, header_size, read_header
from shardcore.formats.bloscpack.layout import (
    HEADERS,
    MAGIC,
    METADATA_HEADER,
    OFFSET,
    UNKNOWN,
)
from shardcore.formats.bloscpack.lookup import ALL, Lookup, parse_key
from shardcore.formats.bloscpack.metadata import MetadataSection, parse_metadata, read_metadata_section
from shardcore.formats.bloscpack.objects import BloscpackObjects
from shardcore.formats.bloscpack.tree import FileTree, header_node, section
from shardcore.formats.bloscpack.verify import Verification
from shardcore.formats.bloscpack.worker import Worker
from shardcore.nodes.node import Node
from shardcore.nodes.sections import Section
from shardcore.objects import ObjectRef
from shardcore.progress import Progress, no_progress
from shardcore.record import Value
from shardcore.shard import DEFAULT_LIMIT, PIECE, Shard
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.opening import PrefetchedSource
from shardcore.span import Span
from shardcore.trace import Look

HEAD = 65536
"""Bytes that the first read brings; files up to this size are known as a whole when they are open."""
SLOTS_AT_OPEN = 2**19
"""Offset slots read at once when a file is opened; of longer tables the rest is read when asked for."""


def detect(probe: PrefetchedSource) -> Verdict | None:
    """Recognises the four letters at the start."""
    head = probe.head(5)
    if not head.startswith(MAGIC):
        return None
    return Verdict(Certainty.MAGIC, f"magic blpk, version {head[4]}" if len(head) > 4 else "magic blpk")


def open_bloscpack(probe: PrefetchedSource, context: OpenContext) -> BloscpackShard:
    """Opens a file; one range, a second when the offsets go on behind the first 64 KiB.

    Raises:
        BadMagic: It does not begin with `blpk`.
        Unsupported: The version is none of 1, 2 and 3.
        FormatError: A field of a header is impossible.
        Truncated: The file ends before the first chunk could begin.
    """
    draft = context.draft
    head = probe.head(HEADERS[3].size)
    length = header_size(head)
    draft.version = str(head[4])
    if len(head) >= length:
        values = HEADERS[head[4]].read_one(head)
        draft.add(section("header", 0, length), header_node(HEADERS[head[4]], values, length), values)
    header = read_header(head)
    at, metadata = header.size, None
    if header.has_metadata:
        stop = min(at + METADATA_HEADER.size, probe.size)
        metadata = read_metadata_section(probe.read(at, stop), at, probe.size)
        draft.add(section("metadata", at, metadata.stop), None, metadata.values)
        at = metadata.stop
    check_slots(header, at, probe.size)
    shard = BloscpackShard(probe, header, metadata, at, draft.fields)
    shard.settle(probe.base, load=probe.size <= HEAD)  # so much has been read already
    if context.options.isolated:
        shard.isolate()
    return shard


class BloscpackShard(Shard):
    """An opened Bloscpack file.

    Args:
        source: The file, while it is being opened; `settle` says what to read from later.
        header: Its header.
        metadata: Its metadata section, or None.
        slots_start: Where the offsets would begin.
        fields: The fields of its headers.
    """

    format = "bloscpack"

    def __init__(
        self,
        source: Source,
        header: Header,
        metadata: MetadataSection | None,
        slots_start: int,
        fields: dict[str, Value],
    ) -> None:
        self.source = source
        self.version = str(header.version)
        self.header = header
        self.metadata_section = metadata
        self._fields = dict(fields)
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._slots_start = slots_start
        slots, geometry, self._slot_count, self._notes = _slots(source, header, slots_start)
        self._table = ChunkTable(source, geometry, slots)
        self._content = Content(source, header, self._table)
        self._objects = BloscpackObjects(self._content)

    def settle(self, source: Source, *, load: bool) -> None:
        """Says what to read from, from now on.

        Args:
            source: The file.
            load: Whether all chunks are looked at before, through the source used until now.
        """
        if load:
            self._table.load()
        self.source = source
        self._table.source = source
        self._content.source = source
        self._files = FileTree(
            source, self.header, self.metadata_section, self._table, self._slots_start, self._slot_count
        )
        self._lookup = Lookup(
            source, self.header, self.metadata_section, self._content, self._table.slots, self._objects.chunk
        )
        self._refresh()

    def isolate(self) -> None:
        """Decompresses chunks in a process of its own from now on; a chunk that kills it is a damaged chunk."""
        if self._worker is None:
            self._worker = Worker()
            self._content.decoder = self._worker.decompress

    def close(self) -> None:
        """Closes the source, and ends the process of `isolate`."""
        super().close()
        if self._worker is not None:
            self._worker.close()

    @property
    def objects(self) -> BloscpackObjects:
        """The chunks. Of a file that does not say how many there are, they are counted now."""
        if self.header.nchunks == UNKNOWN:
            self.load_index()
        return self._objects

    @property
    def tree(self) -> Node:
        """The root of the node tree; the chunks are in it after `load_index`."""
        return self._root

    @property
    def fields(self) -> dict[str, Value]:
        """The fields of the headers, and `metadata.json`, the metadata text where there is one."""
        fields = dict(self._fields)
        if self.metadata_section is not None:
            try:
                fields["metadata.json"] = self._files.metadata_text().decode("utf-8", "replace")
            except (FormatError, LimitExceeded):
                return fields
        return fields

    @property
    def metadata(self) -> Any:
        """The metadata value, or None when the file has none.

        Raises:
            FormatError: It cannot be had from the stored bytes.
        """
        if self.metadata_section is None:
            return None
        return parse_metadata(self.metadata_section, self._files.metadata_text())

    @property
    def array(self) -> ArrayInfo | None:
        """How the whole content is a NumPy array, or None when the metadata does not say.

        Raises:
            FormatError: The metadata says so, but makes no sense.
        """
        return array_info(self.metadata)

    @property
    def declared_objects(self) -> int:
        """Number of chunks by the header; where it does not say, as many as are known."""
        return self.header.nchunks if self.header.nchunks != UNKNOWN else len(self._table)

    @property
    def loaded(self) -> bool:
        """Whether the header of every chunk has been read."""
        return self._table.loaded

    @property
    def index_bytes(self) -> int:
        """16 bytes for each chunk."""
        return 0 if self.loaded else 16 * len(self._table)

    def load_index(self, progress: Progress = no_progress) -> None:
        """Reads the header of every chunk; damage shows in the objects, the tree and the findings."""
        with self._lock:
            if not self._table.loaded:
                self._table.load(progress)
                self._refresh()

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Finds `5` (a chunk), `@1000` (the chunk that holds a plain byte) or `all`; see `Shard.lookup`."""
        return self._lookup.find(key, look)

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys; -1 where one is absent, and for `all`, which is no row."""
        rows = np.full(len(keys), -1, np.int64)
        count = len(self.objects)
        for number, key in enumerate(keys):
            kind, value = parse_key(key)
            if kind == "chunk":
                rows[number] = value if value < count else -1
            elif kind == "byte":
                try:
                    rows[number] = self._content.where(value)[0]
                except KeyAbsent:
                    continue
        return rows

    def read(self, ref: ObjectRef, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """The plain bytes of a chunk or of all; see `Shard.read`."""
        if ref.key != ALL:
            return self._content.plain(self._number(ref), limit=limit)
        return self._content.whole(limit=limit)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The plain bytes of a chunk or of all, in pieces; see `Shard.stream`."""
        chunks = (0, None) if ref.key == ALL else (self._number(ref), self._number(ref) + 1)
        for plain in self._content.plains(*chunks, limit=DEFAULT_LIMIT):
            if len(plain) <= 2 * PIECE:
                yield plain
                continue
            view = memoryview(plain)
            for start in range(0, len(plain), PIECE):
                yield bytes(view[start : start + PIECE])

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """Plain bytes `[start, stop)` of a chunk or of all; only the chunks that hold them are read."""
        if not 0 <= start <= stop:
            raise UsageError(f"not a half-open range: {start}..{stop}")
        if ref.key != ALL:
            part = self._content.plain(self._number(ref), limit=DEFAULT_LIMIT)[start:stop]
            if len(part) > limit:
                raise LimitExceeded(f"the range has {len(part)} bytes; the limit is {limit}")
            return part
        return self._range_of_all(start, stop, limit)

    def read_array(self, *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """The whole content as the NumPy array that the metadata describes; read-only.

        Raises:
            UsageError: The metadata describes no array.
            FormatError: It describes another number of bytes than there are.
            LimitExceeded: It has more than `limit` bytes.
        """
        info = self.array
        if info is None:
            raise UsageError("the metadata describes no array")
        data = self.read(self.find(ALL), limit=limit)
        if info.nbytes != len(data):
            raise FormatError(f"the metadata describes an array of {info.nbytes} bytes, the content has {len(data)}")
        flat = np.frombuffer(data, info.dtype) if len(data) else np.zeros(0, info.dtype)
        return flat.reshape(info.shape, order="C" if info.order == "C" else "F")

    @property
    def views(self) -> tuple[str, ...]:
        """`all`: the whole content."""
        return (ALL,)

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks header and metadata, then offsets and Blosc headers, then every chunk."""
        depth = Depth(depth)
        if depth.reaches(Depth.INDEX):
            self.load_index(progress)
        verification = Verification(self._content, self._objects, self._files, self.metadata_section, self._notes)
        return verification.run(depth, progress)

    def bytes_of(self, name: str) -> Source:
        """The file, or the decoded metadata by its name; see `Shard.bytes_of`."""
        if name and self.metadata_section is not None and name == self.metadata_section.decoded:
            return BytesSource(self._files.metadata_text(), name)
        return super().bytes_of(name)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of the file, or the one of the decoded metadata."""
        if name and self.metadata_section is not None and name == self.metadata_section.decoded:
            return (section("metadata", 0, len(self._files.metadata_text())),)
        return super().sections_of(name)

    def tree_of(self, name: str) -> Node:
        """The tree of the file, or of the decoded metadata; see `Shard.tree_of`."""
        if name and self.metadata_section is not None and name == self.metadata_section.decoded:
            return self._files.metadata_tree()
        return super().tree_of(name)

    def _refresh(self) -> None:
        self.sections = self._files.sections()
        self._root = self._files.root(self.sections)

    def _number(self, ref: ObjectRef) -> int:
        if ref.row < 0:
            raise UsageError(f"{ref.key} is no chunk of this file")
        return ref.row

    def _range_of_all(self, start: int, stop: int, limit: int) -> bytes:
        try:
            first, skip = self._content.where(start)
        except KeyAbsent:
            return b""
        if stop <= start:
            return b""
        try:
            last = self._content.where(stop - 1)[0] + 1
        except KeyAbsent:
            last = None
        wanted, parts = stop - start, []
        for plain in self._content.plains(first, last, limit=DEFAULT_LIMIT):
            part = plain[skip : skip + wanted]
            parts.append(part)
            wanted -= len(part)
            skip = max(skip - len(plain), 0)
            if stop - start - wanted > limit:
                raise LimitExceeded(f"the range has over {limit} bytes; that is the limit")
        return b"".join(parts)


def _slots(
    source: Source, header: Header, start: int
) -> tuple[Slots | None, Geometry, int, tuple[tuple[str, Span, str], ...]]:
    """The offsets: what was read of them, where chunks can be, the number of slots, and what is odd.

    The first chunk tells where the table ends. Where that is before the end that the header's counts give, the
    counts are wrong and the chunk is right, if a Blosc header is there.
    """
    digest, size, count = header.checksum.size, source.size, header.slots
    geometry = Geometry(start + count * OFFSET.size, header.nchunks, digest, size)
    used = max(header.nchunks, 0)
    if not header.has_offsets or not used:
        return None, geometry, count, ()
    kept = OFFSET.read(
        source.read(start, start + min(used, SLOTS_AT_OPEN) * OFFSET.size), count=min(used, SLOTS_AT_OPEN)
    )
    offsets = kept["offset"].astype(np.int64)
    first = int(offsets[0])
    if start < first < geometry.first and (first - start) % OFFSET.size == 0:
        room = (first - start) // OFFSET.size
        span = Span("", start, first)
        message = f"the header counts {count} slots, but chunk 0 begins behind {room}"
        geometry = Geometry(first, header.nchunks, digest, size)
        count, offsets = room, offsets[:room]
        return Slots(start, offsets, min(used, room), geometry), geometry, count, (("bloscpack.slots", span, message),)
    return Slots(start, offsets, used, geometry), geometry, count, ()
