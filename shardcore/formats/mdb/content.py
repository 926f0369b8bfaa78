"""Content of files and chunks, read from xorbs; recipes as JSON; lookup steps to the bytes in the xorbs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shardcore.codecs.xet.hashes import SIZE, ZERO, as_rows, chunk_hash, to_text, to_texts
from shardcore.dataclasses import dataclass
from shardcore.errors import BadChecksum, ExternalMissing, FormatError, ShardError, raise_if_lost
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.layout import (
    CAS_ENTRY,
    FILE,
    FILE_HEADER,
    RECORD_SIZE,
    XORB,
    file_hash,
    range_fault,
    range_hash,
    size_fault,
)
from shardcore.formats.mdb.objects import AT_ONCE, FileBlock, block_of
from shardcore.formats.mdb.xorbs import Xorb, inside_xorb
from shardcore.model.budget import charge_memory
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.shards.trace import Elsewhere

MOST_FETCHED = 4 << 20
"""Maximum number of stored bytes that one call of `fetch_chunks` prefetches."""


class ChunkRange(NamedTuple):
    """Chunks `[first, last)` of a xorb. `size` is their uncompressed size, `place` the record that refers to them."""

    xorb: str
    first: int
    last: int
    size: int
    place: Span


def ranges_of(block: FileBlock) -> Iterator[ChunkRange]:
    for number, (xorb, first, last, size) in enumerate(segment.values() for segment in block.segment_list):
        yield ChunkRange(xorb, first, last, size, block.entry_span(number))


def chunks_of(ref: ObjectRef) -> ChunkRange:
    """Return the chunks of an object that is a xorb or a chunk."""
    first, last = (0, ref.extras["chunks"]) if ref.kind == XORB else (ref.extras["chunk"], ref.extras["chunk"] + 1)
    return ChunkRange(ref.extras["xorb"], first, last, ref.size, ref.spans[0])


def check_range(xorb: Xorb, chunks: ChunkRange) -> None:
    """Raise FormatError if the xorb does not have the chunks."""
    if fault := range_fault(chunks.first, chunks.last, xorb.chunk_count):
        raise FormatError(fault, span=chunks.place)


def stream(file: MdbFile, ref: ObjectRef) -> Iterator[bytes]:
    """Yield the content of an object; every hash stored in the shard and the xorbs is checked.

    Raises:
        ExternalMissing: Xorbs cannot be found; the message names them.
        FormatError: A record, a segment or a chunk is corrupt.
    """
    return stream_file(file, block_of(file, ref)) if ref.kind == FILE else stream_chunks(file, chunks_of(ref))


def stream_chunks(file: MdbFile, chunks: ChunkRange) -> Iterator[bytes]:
    """Yield uncompressed chunks of a xorb, checked by the hashes in its info block if it has one."""
    text, fetch = chunks.xorb, file.fetch_xorb
    xorb = file.xorbs.get(text, fetch)
    check_range(xorb, chunks)
    if fetch is not None:
        fetch.reading(text, xorb)
    try:
        yield from xorb.stream_chunks(chunks.first, chunks.last)
    except FormatError as error:
        kind = BadChecksum if isinstance(error, BadChecksum) else FormatError
        raise kind(f"xorb {text}: {error.message}", span=inside_xorb(error.span, text)) from error


def stream_file(file: MdbFile, block: FileBlock) -> Iterator[bytes]:
    """Yield the content of a file, chunk by chunk; ExternalMissing is raised before the first byte.

    Size and range hash are checked after each segment, file hash and SHA-256 at the end: bytes are
    yielded before all of their hashes are checked.
    """
    charge_memory(128 * block.references)
    file.xorbs.need([segment.xorb for segment in ranges_of(block)], file.fetch_xorb)
    # Hashes and sizes are copied, because a view would keep the xorb's complete list in memory.
    hashes, sizes = bytearray(), bytearray()
    # A shard has the zero SHA-256 for an empty file.
    digest = hashlib.sha256() if block.sha256 not in (None, ZERO) else None
    for number, segment in enumerate(ranges_of(block)):
        xorb = file.xorbs.get(segment.xorb)
        found: list[bytes] = []
        for chunk in stream_chunks(file, segment):
            if xorb.chunk_hashes is None:
                found.append(chunk_hash(chunk))
            if digest is not None:
                digest.update(chunk)
            yield chunk
        # The listed hashes have just been compared with the chunks.
        listed = as_rows(found) if xorb.chunk_hashes is None else xorb.chunk_hashes[segment.first : segment.last]
        unpacked = xorb.chunk_sizes[segment.first : segment.last]
        if fault := size_fault(segment.size, int(unpacked.sum())):
            raise FormatError(f"segment {number}: {fault}", span=segment.place)
        if block.ranges is not None:
            what, stored = f"range hash of segment {number}", block.ranges[number].tobytes()
            _compare(what, to_text(range_hash(listed)), to_text(stored), block.entry_span(len(block.segments) + number))
        hashes += listed.tobytes()
        sizes += unpacked.tobytes()
    whole = file_hash(np.frombuffer(hashes, np.uint8).reshape(-1, SIZE), np.frombuffer(sizes, np.int64).view(np.uint64))
    _compare("hash of the file", to_text(whole), block.key, FILE_HEADER.span("file_hash", block.start))
    if digest is not None and block.sha256 is not None:
        place = Span("", block.stop - RECORD_SIZE, block.stop)
        _compare("SHA-256 of the file", digest.hexdigest(), to_text(block.sha256), place)


def _compare(what: str, computed: str, stored: str, span: Span) -> None:
    if computed != stored:
        raise BadChecksum(f"{what}: computed {computed}, stored {stored}", span=span)


def fetch_chunks(file: MdbFile, refs: Iterable[ObjectRef]) -> None:
    """Open the xorbs of files and prefetch their chunks, up to `MOST_FETCHED` stored bytes in all."""
    left = MOST_FETCHED
    for segment in (one for ref in refs if ref.kind == FILE for one in ranges_of(block_of(file, ref))):
        xorb = file.xorbs.get(segment.xorb)
        check_range(xorb, segment)
        start, stop = xorb.record_span(segment.first).start, xorb.record_span(segment.last - 1).stop
        left -= stop - start
        if left < 0:
            return
        xorb.part("").source.prefetch(start, stop)


def read_range(file: MdbFile, ref: ObjectRef, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes `[start, stop)` of an object; only the chunks that overlap are read and checked."""
    at = 0
    for chunks in ranges_of(block_of(file, ref)) if ref.kind == FILE else (chunks_of(ref),):
        if start < min(at + chunks.size, stop) and at < stop:
            yield _part_of(file, chunks, max(start - at, 0), min(stop - at, chunks.size))
        at += chunks.size


def _part_of(file: MdbFile, chunks: ChunkRange, start: int, stop: int) -> bytes:
    xorb = file.xorbs.get(chunks.xorb)
    sizes = xorb.chunk_sizes[chunks.first : chunks.last]
    ends = np.cumsum(sizes)
    first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop, "left")) + 1
    if last > len(sizes):
        # The xorb lacks these chunks, or the segment declares more bytes than its chunks have.
        check_range(xorb, chunks)
        last = len(sizes)
    if first >= last:
        return b""
    skipped = int(ends[first]) - int(sizes[first])
    inside = chunks._replace(first=chunks.first + first, last=chunks.first + last)
    return b"".join(stream_chunks(file, inside))[start - skipped : stop - skipped]


# --- recipes ----------------------------------------------------------------------------------------------------


_ENTRY = json.JSONEncoder(separators=(",\n   ", ": ")).encode


def recipe_pieces(file: MdbFile, ref: ObjectRef) -> Iterator[bytes]:
    """Yield the recipe of an object (segments of a file, or chunks of a xorb) as JSON text, in pieces.

    The text equals `json.dumps(recipe, indent=1)`, which is slow for hundreds of thousands of entries.
    """
    rows: Callable[[int, int], list[dict[str, Any]]]
    if ref.kind == FILE:
        name, count, rows = "segments", len(ref.extras["segments"]), partial(_segment_rows, block_of(file, ref))
        head = {"file": ref.key, "size": ref.size, "sha256": ref.extras["sha256"], name: []}
    else:
        name, count, rows = "chunks", ref.extras["chunks"], partial(_chunk_rows, file, ref)
        head = {"xorb": ref.extras["xorb"], "size": ref.size, name: []}
    text = json.dumps(head, indent=1)
    yield (text.removesuffix("]\n}") if count else text + "\n").encode()
    for first in range(0, count, AT_ONCE):
        last = min(first + AT_ONCE, count)
        entries = ",".join(f"\n  {{\n   {_ENTRY(row)[1:-1]}\n  }}" for row in rows(first, last))
        yield (entries + ("," if last < count else "\n ]\n}\n")).encode()


def _segment_rows(block: FileBlock, first: int, last: int) -> list[dict[str, Any]]:
    rows = block.segment_list[first:last]
    ranges = [None] * len(rows) if block.ranges is None else to_texts(block.ranges[first:last])
    return [row | {"range_hash": found} for row, found in zip(rows, ranges, strict=True)]


def _chunk_rows(file: MdbFile, ref: ObjectRef, first: int, last: int) -> list[dict[str, Any]]:
    start = ref.spans[0].start + RECORD_SIZE * (1 + first)
    rows = CAS_ENTRY.read(file.read(start, start + RECORD_SIZE * (last - first)), count=last - first)
    columns = (rows[name].tolist() for name in ("chunk_byte_range_start", "unpacked_segment_bytes", "flags"))
    hashes = to_texts(rows["chunk_hash"])
    return [{"hash": h, "start": a, "size": n, "flags": f} for h, a, n, f in zip(hashes, *columns, strict=True)]


# --- the content in a trace -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmptyFile:
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class ChunksFound:
    """Chunks found in a xorb: the span of their records, and their range `[start, stop)` in the uncompressed xorb.

    `segment` is the row of `FILE_ENTRY` that refers to them; None if the object itself is a xorb or a chunk.
    """

    chunks: ChunkRange
    segment: Any
    stored: Span
    unpacked: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChunksMissing:
    """Chunks that cannot be read: their xorb is missing or damaged, or does not have them."""

    chunks: ChunkRange
    segment: Any
    error: ShardError


@dataclass(frozen=True, slots=True)
class MoreSegments:
    count: int
    places: Span


@dataclass(frozen=True, slots=True)
class ContentRead:
    """Result of reading and checking an object: the size of its content in bytes; or the error, with size 0."""

    fetched: tuple[ChunksFound, ...]
    size: int
    error: ShardError | None


ContentFact = EmptyFile | ChunksFound | ChunksMissing | MoreSegments | ContentRead | Elsewhere

TRACED_SEGMENTS = 16
"""Maximum number of segments of a file for which a trace opens the xorb."""

TRACED_BYTES = 16 * 1024 * 1024
"""Maximum size in bytes of an object whose content a trace reads and checks."""


def content_facts(file: MdbFile, ref: ObjectRef) -> Iterator[ContentFact]:
    """Find the content of an object in xorbs and yield each result; a missing or corrupt xorb is not raised."""
    fetched, failed = list[ChunksFound](), list[ShardError]()
    for fact in _fetches(file, ref):
        yield fact
        if isinstance(fact, ChunksFound):
            fetched.append(fact)
        elif isinstance(fact, ChunksMissing):
            failed.append(fact.error)
    if fetched and not failed and ref.size <= TRACED_BYTES:
        size, failure = 0, None
        try:
            size = sum(map(len, stream(file, ref)))
        except ShardError as error:
            raise_if_lost(error)
            failure = error
        yield ContentRead(tuple(fetched), size, failure)
    if any(isinstance(error, ExternalMissing) for error in failed):
        yield Elsewhere(ref, "recipe" if ref.kind == FILE else "record")


def _fetches(file: MdbFile, ref: ObjectRef) -> Iterator[ContentFact]:
    if ref.kind != FILE:
        yield _fetch(file, chunks_of(ref), None)
        return
    block = block_of(file, ref)
    if not len(block.segments):
        yield EmptyFile(ref)
    for row, segment in zip(block.segments[:TRACED_SEGMENTS], ranges_of(block), strict=False):
        yield _fetch(file, segment, row)
    if (more := len(block.segments) - TRACED_SEGMENTS) > 0:
        first, last = block.entry_span(TRACED_SEGMENTS), block.entry_span(len(block.segments) - 1)
        yield MoreSegments(more, Span("", first.start, last.stop))


def _fetch(file: MdbFile, chunks: ChunkRange, segment: Any) -> ChunksFound | ChunksMissing:
    try:
        xorb = file.xorbs.get(chunks.xorb)
        check_range(xorb, chunks)
        stored = file.xorbs.stored_span(chunks.xorb, chunks.first, chunks.last)
        start, stop = (int(xorb.chunk_sizes[:edge].sum()) for edge in (chunks.first, chunks.last))
    except ShardError as error:
        raise_if_lost(error)
        return ChunksMissing(chunks, segment, error)
    return ChunksFound(chunks, segment, stored, (start, stop))
