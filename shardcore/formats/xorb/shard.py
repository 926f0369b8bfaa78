"""Detection and opening of xorbs, and `XorbShard`, an opened xorb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import to_text
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    FIXED,
    HEADER_SIZE,
    IDENT,
    INFO_LENGTH,
    MAX_XORB_SIZE,
    header_fault,
    read_info,
)
from shardcore.errors import FormatError, NotAShard, ShardError, Truncated, raise_if_lost
from shardcore.formats.xorb.file import Records, XorbFile, unpack, walk
from shardcore.formats.xorb.lookup import ALL, KEY_FORM, XorbLookup, XorbObjects
from shardcore.formats.xorb.tree import XorbTree
from shardcore.model.text import plural
from shardcore.shards.file_shard import FileShard
from shardcore.shards.format import Certainty, Verdict
from shardcore.shards.open_context import OpenContext

if TYPE_CHECKING:
    from shardcore.model.objects import ObjectRef
    from shardcore.model.record import Value
    from shardcore.model.span import Span
    from shardcore.sources.base import Source
    from shardcore.sources.prefetched_source import PrefetchedSource


class XorbShard(FileShard):
    """An opened xorb; its chunks are the objects.

    Attributes:
        chunk_count: Number of chunks.
        chunk_hashes: Chunk hashes of the info block, shape `(n, 32)`; None if there is no info block.
    """

    key_form = KEY_FORM
    checksum = "blake3"
    views = (ALL,)
    format = "xorb"
    file: XorbFile
    _lookup: XorbLookup
    source: Source

    def __init__(self, file: XorbFile) -> None:
        objects = XorbObjects(file)
        super().__init__(file, objects, XorbTree(file), XorbLookup(file, objects))
        self.version = "" if file.info is None else str(file.info.version)
        self.chunk_count = file.records.count
        self.chunk_hashes = file.records.hashes

    @property
    def damage(self) -> ShardError | None:  # type: ignore[override]
        return self.file.damage

    @property
    def chunk_sizes(self) -> NDArray[np.int64]:
        return self.file.chunk_sizes()

    def record_span(self, number: int) -> Span:
        return self.file.records.span(number)

    @property
    def fields(self) -> dict[str, Value]:
        info = self.file.info
        if info is None:
            return {}
        return {
            "info.version": info.version,
            "info.cas_hash": to_text(info.cas_hash),
            "info.num_chunks": info.count,
            "info.info_length": self.source.size - INFO_LENGTH.size - self.file.records.stop,
        }

    @property
    def declared_objects(self) -> int:
        return self.chunk_count

    def _find_many(self, keys: Sequence[str]) -> NDArray[np.int64]:
        return self._lookup.find_many([self.parse_key(key) for key in keys])

    def _stream(self, ref: ObjectRef) -> Iterator[bytes]:
        first, last = (0, self.chunk_count) if ref.key == ALL else (ref.row, ref.row + 1)
        return self.stream_chunks(first, last)

    def stream_chunks(self, first: int, last: int) -> Iterator[bytes]:
        return self.file.stream_chunks(first, last)

    def reads_ranges(self, ref: ObjectRef) -> bool:
        return ref.key == ALL

    def _read_range(self, ref: ObjectRef, start: int, stop: int, limit: int) -> bytes:
        """Read a range of the content. For `all`, only the chunks that overlap the range are read and decompressed."""
        if ref.key != ALL or not 0 <= start <= stop:
            return super()._read_range(ref, start, stop, limit)
        ends = np.cumsum(self.chunk_sizes)
        first = int(np.searchsorted(ends, start, "right"))
        last = min(int(np.searchsorted(ends, stop, "left")) + 1, self.chunk_count)
        if first >= last:
            return b""
        skipped = int(ends[first - 1]) if first else 0
        kept = b"".join(self.stream_chunks(first, last))
        return kept[start - skipped : stop - skipped]

    def facts(self, ref: ObjectRef) -> dict[str, Any]:
        """Return the uncompressed sizes of its chunks as `chunks`, so that a new xorb can have the same boundaries."""
        sizes = self.chunk_sizes
        return {"chunks": (sizes if ref.key == ALL else sizes[ref.row : ref.row + 1]).tolist()}


def _info_start(source: PrefetchedSource) -> int:
    """Return the offset of the info block from the length in the last 4 bytes; -1 if that length is impossible."""
    size = source.size
    if size < min(FIXED.values()) + INFO_LENGTH.size:
        return -1
    length = int(INFO_LENGTH.read_one(source.read_last(INFO_LENGTH.size))["info_length"])
    start = size - INFO_LENGTH.size - length
    return -1 if start < 0 or length < min(FIXED.values()) else start


def detect(source: PrefetchedSource) -> Verdict | None:
    if source.size < HEADER_SIZE:
        return None
    start = _info_start(source)
    if start >= 0 and source.read(start, start + len(IDENT)) == IDENT:
        return Verdict(Certainty.MAGIC, "ident XETBLOB at the offset given by the last 4 bytes")
    if _first_fits(source) and IDENT in source.read_last(min(source.size, 65536)):
        return Verdict(Certainty.PARTLY, "ident XETBLOB near the end, but not at the offset given by the last 4 bytes")
    return None


def infer(source: PrefetchedSource) -> Verdict | None:
    """Recognise a xorb without an info block: chunk records from byte 0 on, of which the first decompresses.

    In an uploaded xorb, the records cover the file; the first letters of an info block may follow. In a truncated file,
    the last record is incomplete.
    """
    if not HEADER_SIZE < source.size <= MAX_XORB_SIZE or not _first_fits(source):
        return None
    try:
        records, fault = walk(source.read, source.size)
        # Records before an invalid header prove nothing: the width and height of a raw image can look like one.
        if fault is not None and not isinstance(fault, Truncated):
            return None
        if not records.count:
            named = fault is not None and source.name.lower().endswith(".xorb")
            return Verdict(Certainty.PARTLY, f"named .xorb, but {fault}") if named else None
        unpack(source.read(0, records.span(0).stop), records, 0)
    except ShardError as error:
        raise_if_lost(error)
        return None
    count = plural(records.count, "chunk record")
    if fault is not None:
        return Verdict(Certainty.PARTLY, f"{count} at the start, then {fault.message}")
    what = f"{count}, then the first letters of an info block"
    if records.stop == source.size:
        what = f"{plural(records.count, 'chunk record fills', 'chunk records fill')} the file"
    return Verdict(Certainty.INFERRED, f"inferred: {what}")


def _first_fits(source: PrefetchedSource) -> bool:
    header = CHUNK_HEADER.read_one(source.head(HEADER_SIZE))
    return not header_fault(header, -1, -1) and header["uncompressed_size"] != bytes(3)


def open_shard(source: PrefetchedSource, context: OpenContext) -> XorbShard:
    """Open a xorb by the info block at its end (one or two reads); without one, find the records from byte 0.

    A truncated xorb opens with the records before the cut; `damage` and `verify` report the rest.

    Raises:
        NotAShard: There is neither an info block nor a chunk record.
        FormatError: The info block is invalid, and `context.partial` is not set.
    """
    start = _info_start(source)
    data = source.read(start, source.size - INFO_LENGTH.size) if start >= 0 else b""
    if not data.startswith(IDENT):
        records, fault = walk(source.read, source.size)
        if not records.count:
            reason = f": {fault.message}" if fault is not None else ""
            span = fault.span if fault is not None else None
            raise NotAShard(f"not a xorb: no chunk record at the start, no info block at the end{reason}", span=span)
        tail = records.stop if records.stop < source.size and fault is None else -1
        return XorbShard(XorbFile(source.base, records, fault=fault, tail=tail))
    try:
        info = read_info(data, start)
    except FormatError as error:
        if not context.partial:
            raise
        records, fault = walk(source.read, start)
        return XorbShard(XorbFile(source.base, records, info_damage=error, fault=fault))
    return XorbShard(XorbFile(source.base, Records.of(info), info))
