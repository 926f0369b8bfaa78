"""A xorb, opened: chunk records, their chunks, and what the info block says of them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import FormatError, KeyAbsent, ShardError, Truncated, UsageError
from shardcore.finding import Depth, Report
from shardcore.format import Certainty, OpenContext, Verdict
from shardcore.formats.xorb import tree, verify
from shardcore.formats.xorb.layout import CHUNK_HEADER, FIXED, IDENT, INFO_LENGTH, MAX_XORB_SIZE, Info, read_info
from shardcore.formats.xorb.lookup import ALL, chunk_number, lookup
from shardcore.formats.xorb.objects import XorbObjects
from shardcore.formats.xorb.records import HEADER_SIZE, Records, chunks, header_fault, read_headers, unpack, walk
from shardcore.nodes.node import Node
from shardcore.nodes.sections import Section, SectionRole, tile
from shardcore.objects import ObjectRef
from shardcore.progress import Progress, no_progress
from shardcore.record import FieldRole, Value
from shardcore.shard import DEFAULT_LIMIT, Shard
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.opening import PrefetchedSource
from shardcore.span import Span, decoded_name
from shardcore.trace import Look
from shardcore.xet_hashes import HashArray, to_text

HEADERS_AT_ONCE = 1024
"""Headers read between two calls of `progress`."""

_DECODED = re.compile(r"@(\d+)-(\d+)")
_NAME = re.compile(r"(?:default\.)?([0-9a-f]{64})(?:\.xorb)?")


class XorbShard(Shard):
    """An opened xorb.

    Attributes:
        info: What the info block says; None for bare chunk records, as they travel on upload.
        records: Where the chunk records lie.
    """

    format = "xorb"
    source: Source

    def __init__(self, source: Source, records: Records, info: Info | None, info_start: int) -> None:
        self.source = source
        self.records = records
        self.info = info
        self.version = "" if info is None else str(info.version)
        self._info_start = info_start
        self.sections, _ = tile(_sections(info_start, source.size, info), source.size)
        self._objects = XorbObjects(records, source.read)
        self._sizes: NDArray[np.int64] | None = None
        self._lock = threading.RLock()

    @property
    def objects(self) -> XorbObjects:
        """One row for each chunk."""
        return self._objects

    @property
    def chunk_count(self) -> int:
        """Number of chunks."""
        return self.records.count

    @property
    def chunk_hashes(self) -> HashArray | None:
        """The chunk hashes as the info block lists them, shape `(n, 32)`; None without one."""
        return self.records.hashes

    @property
    def chunk_sizes(self) -> NDArray[np.int64]:
        """Bytes of each unpacked chunk; read from the records where the info block does not say."""
        if self._sizes is None:
            if self.records.unpacked_ends is None:
                self.load_index()
            self._sizes = self._objects[:].size
        return self._sizes

    def record_span(self, number: int) -> Span:
        """Where the record of a chunk lies, header included."""
        return self.records.span(number)

    @property
    def expected_hash(self) -> str:
        """The hash that the file's name states, or empty; names are `<hash>` or `default.<hash>`."""
        match = _NAME.fullmatch(self.source.name)
        return match[1] if match else ""

    @property
    def tree(self) -> Node:
        """The root of the node tree."""
        kids = []
        for section in self.sections:
            span = Span("", section.start, section.stop)
            if section.role is SectionRole.DATA:
                node = Node(
                    section.name,
                    span,
                    text=f"{self.records.count} chunks",
                    doc=section.doc,
                    children=tree.chunk_children(self.source.read_many, self.records),
                )
            elif section.role is SectionRole.FOOTER and self.info is not None:
                data = self.source.read(section.start, section.stop)
                node = Node(
                    section.name,
                    span,
                    text=f"version {self.info.version}",
                    doc=section.doc,
                    children=tree.info_children(data, section.start, self.info, self.records),
                )
            else:
                node = Node(section.name, span, role=FieldRole.UNKNOWN, doc=section.doc)
            kids.append(node)
        return Node(self.source.name, Span("", 0, self.source.size), children=tuple(kids))

    @property
    def fields(self) -> dict[str, Value]:
        """The fields of the info block that are not lists."""
        if self.info is None:
            return {}
        return {
            "info.version": self.info.version,
            "info.cas_hash": to_text(self.info.cas_hash),
            "info.num_chunks": self.info.count,
            "info.info_length": self.source.size - INFO_LENGTH.size - self._info_start,
        }

    @property
    def declared_objects(self) -> int:
        """The number of chunks."""
        return self.records.count

    @property
    def loaded(self) -> bool:
        """Whether the headers of all records were read."""
        return self._objects.headers is not None

    @property
    def index_bytes(self) -> int:
        """Bytes of all record headers."""
        return self.records.count * HEADER_SIZE

    def load_index(self, progress: Progress = no_progress) -> None:
        """Reads the headers of all chunk records."""
        with self._lock:
            if self.loaded:
                return
            heads: list[bytes] = []
            for first in range(0, self.records.count, HEADERS_AT_ONCE):
                progress(first, self.records.count)
                last = min(first + HEADERS_AT_ONCE, self.records.count)
                heads += read_headers(self.source.read_many, self.records, first, last)
            self._objects.headers = CHUNK_HEADER.read(b"".join(heads), count=self.records.count)
        progress(self.records.count, self.records.count)

    @property
    def views(self) -> tuple[str, ...]:
        """`all`: all chunks, one after the other."""
        return (ALL,)

    def lookup(self, key: str, look: Look) -> ObjectRef:
        """Finds a chunk by its number or its hash; see `Shard.lookup`."""
        return lookup(self, key, look)

    def find_all(self, key: str) -> tuple[ObjectRef, ...]:
        """The chunk with a number, or all chunks with a hash; the same chunk may occur more than once."""
        if len(key) < 32 or self.records.hashes is None:
            try:
                return (self.find(key),)
            except KeyAbsent:
                return ()
        first = chunk_number(self, key)
        if first < 0:
            return ()
        same = (self.records.hashes == self.records.hashes[first]).all(axis=1)
        return tuple(self._objects.ref(row) for row in np.flatnonzero(same).tolist())

    def find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of many keys; -1 where a key is absent."""
        numbers = [chunk_number(self, key) for key in keys]
        return np.array([n if n < self.records.count else -1 for n in numbers], np.int64)

    def stream(self, ref: ObjectRef) -> Iterator[bytes]:
        """The chunk; for `all`, all chunks. Hashes are compared where the info block lists them."""
        if ref.key == ALL:
            return self.stream_chunks(0, self.records.count)
        return self.stream_chunks(ref.row, ref.row + 1)

    def stream_chunks(self, first: int, last: int) -> Iterator[bytes]:
        """The unpacked chunks number `first` to `last`, half-open, each as one piece; hashes are compared.

        Raises:
            FormatError: There are no such chunks, or one is damaged.
            SourceError: The bytes cannot be had.
        """
        if not 0 <= first <= last <= self.records.count:
            raise FormatError(f"chunks {first} to {last} asked for, the xorb has {self.records.count}")
        return chunks(self.source.read, self.records, first, last)

    def read_range(self, ref: ObjectRef, start: int, stop: int, *, limit: int = DEFAULT_LIMIT) -> bytes:
        """A range of the content; of `all`, only the chunks that it touches are read."""
        if ref.key != ALL or not 0 <= start <= stop:
            return super().read_range(ref, start, stop, limit=limit)
        ends = np.cumsum(self.chunk_sizes)
        first = int(np.searchsorted(ends, start, "right"))
        last = min(int(np.searchsorted(ends, stop, "left")) + 1, self.records.count)
        if first >= last:
            return b""
        skipped = int(ends[first - 1]) if first else 0
        kept = b"".join(self.stream_chunks(first, last))
        return kept[start - skipped : stop - skipped]

    def bytes_of(self, name: str) -> Source:
        """The file, or by `@start-stop` a chunk unpacked."""
        if name == "":
            return self.source
        number = self._decoded_chunk(name)
        span = self.records.span(number)
        return BytesSource(unpack(self.source.read(span.start, span.stop), self.records, number), name)

    def sections_of(self, name: str) -> tuple[Section, ...]:
        """The sections of the file; a chunk is one section."""
        if name == "":
            return self.sections
        return (Section("chunk", SectionRole.DATA, 0, self.bytes_of(name).size, "An unpacked chunk."),)

    def tree_of(self, name: str) -> Node:
        """The tree of the file, or of an unpacked chunk."""
        if name == "":
            return self.tree
        number = self._decoded_chunk(name)
        span = Span(name, 0, self.bytes_of(name).size)
        text = f"chunk {number}, {span.size} bytes"
        return Node(name, span, children=(Node("chunk", span, text=text, role=FieldRole.DATA, doc="The bytes."),))

    def verify(self, depth: Depth | str = Depth.CONTENT, progress: Progress = no_progress) -> Report:
        """Checks the xorb; see `docs/formats/xorb.md` for what each depth does."""
        return verify.verify(self, Depth(depth), progress)

    def _decoded_chunk(self, name: str) -> int:
        match = _DECODED.fullmatch(name)
        if match:
            stop = int(match[2])
            number = int(np.searchsorted(self.records.ends, stop)) if stop < 1 << 62 else self.records.count
            if number < self.records.count:
                stored = self.records.stored_span(number)
                if decoded_name(stored.start, stored.stop) == name:
                    return number
        raise UsageError(f"no bytes are called {name!r} here")


def _sections(info_start: int, size: int, info: Info | None) -> list[Section]:
    claims = [Section("chunks", SectionRole.DATA, 0, info_start, "The chunk records, back to back.")]
    if info is not None:
        doc = "Hash, chunk hashes and ends of the xorb; it does not travel on upload."
        claims.append(Section("info block", SectionRole.FOOTER, info_start, size, doc))
    return [claim for claim in claims if claim.size]


def _info_start(source: PrefetchedSource) -> int:
    """Where an info block would begin by the length at the end of the file; -1 when there can be none."""
    size = source.size
    if size < min(FIXED.values()) + INFO_LENGTH.size:
        return -1
    length = int(INFO_LENGTH.read_one(source.read_last(INFO_LENGTH.size))["info_length"])
    start = size - INFO_LENGTH.size - length
    return -1 if start < 0 or length < min(FIXED.values()) else start


def detect(source: PrefetchedSource) -> Verdict | None:
    """Recognises a xorb by the ident of its info block."""
    if source.size < HEADER_SIZE:
        return None
    start = _info_start(source)
    if start >= 0 and source.read(start, start + len(IDENT)) == IDENT:
        return Verdict(Certainty.MAGIC, "ident XETBLOB where the length at the end says")
    if _first_fits(source) and IDENT in source.read_last(min(source.size, 65536)):
        return Verdict(Certainty.PARTLY, "ident XETBLOB near the end, but not where the length says")
    return None


def infer(source: PrefetchedSource) -> Verdict | None:
    """Recognises bare chunk records, without an info block: every byte must be in one, and the first must unpack."""
    if not HEADER_SIZE < source.size <= MAX_XORB_SIZE or not _first_fits(source):
        return None
    try:
        records = walk(source.read, source.size)
        unpack(source.read(0, records.span(0).stop), records, 0)
    except ShardError:
        return None
    if int(records.ends[-1]) != source.size:
        return None
    return Verdict(Certainty.INFERRED, f"inferred: {records.count} chunk records fill the file")


def _first_fits(source: PrefetchedSource) -> bool:
    header = CHUNK_HEADER.read_one(source.head(HEADER_SIZE))
    return not header_fault(header, -1, -1) and header["uncompressed_size"] != bytes(3)


def open_xorb(source: PrefetchedSource, context: OpenContext) -> XorbShard:
    """Opens a xorb by the end of the file, with one read or two; without an info block the records are walked.

    Raises:
        FormatError: The info block is damaged, or the records cannot be followed.
        SourceError: The bytes cannot be had.
    """
    start = _info_start(source)
    data = source.read(start, source.size - INFO_LENGTH.size) if start >= 0 else b""
    if not data.startswith(IDENT):
        records = walk(source.read, source.size)
        stop = int(records.ends[-1]) if records.count else 0
        if stop < source.size or not records.count:
            raise Truncated("the info block has no length at its end", span=Span("", stop, source.size))
        return XorbShard(source.base, records, None, stop)
    try:
        info = read_info(data, start)
    except FormatError as error:
        if not context.partial:
            raise
        shard = XorbShard(source.base, _walk_what_can_be(source, start), None, start)
        shard.damage = error
        return shard
    return XorbShard(source.base, Records.of(info), info, start)


def _walk_what_can_be(source: PrefetchedSource, stop: int) -> Records:
    """The records before the info block, or none when they cannot be followed."""
    try:
        return walk(source.read, stop)
    except ShardError:
        return Records(np.zeros(0, np.int64), np.zeros(0, np.int64))
