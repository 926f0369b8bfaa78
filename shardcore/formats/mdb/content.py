"""Content in xorbs: reading of chunks, files and ranges, recipes as JSON, and the way there as facts of a lookup."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, ZERO, HashArray, as_rows, chunk_hash, to_text, to_texts
from shardcore.errors import BadChecksum, ExternalMissing, FormatError, ShardError, source_lost
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.hashes import file_hash, range_hash, sha256_digest
from shardcore.formats.mdb.layout import CAS_ENTRY, FILE, FILE_ENTRY, RECORD_SIZE, XORB, range_fault, size_fault
from shardcore.formats.mdb.objects import FileBlock, block_of
from shardcore.formats.mdb.segments import AT_ONCE
from shardcore.formats.mdb.xorbs import SPAN_PREFIX, Xorb, inside_xorb
from shardcore.model.budget import charge_memory
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.shards.trace import Elsewhere

MOST_FETCHED = 4 << 20
"""Maximum number of stored bytes prefetched per shard."""


def stream(file: MdbFile, ref: ObjectRef) -> Iterator[bytes]:
    """Yield the content of an object; every hash stored in the shard and the xorbs is checked.

    Raises:
        ExternalMissing: Xorbs cannot be found; the message names them.
        FormatError: A record, a segment or a chunk is corrupt.
    """
    if ref.kind == FILE:
        return stream_file(file, block_of(file, ref))
    text, first, last = chunks_of(ref)
    return stream_segment(file, text, first, last, ref.spans[0])


def chunks_of(ref: ObjectRef) -> tuple[str, int, int]:
    if ref.kind == XORB:
        return ref.extras["xorb"], 0, ref.extras["chunks"]
    return ref.extras["xorb"], ref.extras["chunk"], ref.extras["chunk"] + 1


def check_range(xorb: Xorb, first: int, last: int, place: Span) -> None:
    """Raise FormatError at `place` if the xorb does not have the chunks `[first, last)`."""
    if fault := range_fault(first, last, xorb.chunk_count):
        raise FormatError(fault, span=place)


def stream_segment(file: MdbFile, text: str, first: int, last: int, place: Span) -> Iterator[bytes]:
    """Yield the chunks `[first, last)` of a xorb, checked against its info block; errors have the span `place`."""
    xorb = file.xorbs.get(text, file.fetch_xorb)
    check_range(xorb, first, last, place)
    if file.fetch_xorb is not None:
        file.fetch_xorb.reading(text, xorb)
    try:
        yield from xorb.stream_chunks(first, last)
    except FormatError as error:
        kind = BadChecksum if isinstance(error, BadChecksum) else FormatError
        raise kind(f"xorb {text}: {error.message}", span=inside_xorb(error.span, text)) from error


def stream_file(file: MdbFile, block: FileBlock) -> Iterator[bytes]:
    """Yield the content of a file, chunk by chunk; ExternalMissing is raised before the first byte.

    Size and range hash are checked after each segment, file hash and SHA-256 at the end: bytes are
    yielded before all of their hashes are checked.
    """
    segments = block.segment_list
    charge_memory(128 * block.references)
    file.xorbs.need([segment["xorb"] for segment in segments], file.fetch_xorb)
    # Copies: a view would keep the xorb's whole list in memory.
    hashes, sizes = bytearray(), bytearray()
    digest = hashlib.sha256()
    for number, segment in enumerate(segments):
        text, first, last, place = segment["xorb"], segment["start"], segment["end"], block.entry_span(number)
        xorb = file.xorbs.get(text)
        found: list[bytes] = []
        for chunk in stream_segment(file, text, first, last, place):
            if xorb.chunk_hashes is None:
                found.append(chunk_hash(chunk))
            digest.update(chunk)
            yield chunk
        # The listed hashes have just been compared with the chunks.
        listed = as_rows(found) if xorb.chunk_hashes is None else xorb.chunk_hashes[first:last]
        unpacked = xorb.chunk_sizes[first:last]
        _check_segment(block, number, segment["bytes"], listed, unpacked)
        hashes += listed.tobytes()
        sizes += unpacked.tobytes()
    whole = np.frombuffer(hashes, np.uint8).reshape(-1, SIZE)
    _check_file(block, whole, np.frombuffer(sizes, np.int64), digest.hexdigest())


def _check_segment(block: FileBlock, number: int, size: int, hashes: HashArray, sizes: NDArray[np.int64]) -> None:
    if fault := size_fault(size, int(sizes.sum())):
        raise FormatError(f"segment {number}: {fault}", span=block.entry_span(number))
    if block.ranges is None:
        return
    found, stored = range_hash(hashes), block.ranges[number].tobytes()
    if found != stored:
        message = f"range hash of segment {number}: computed {to_text(found)}, stored {to_text(stored)}"
        raise BadChecksum(message, span=block.range_span(number))


def _check_file(block: FileBlock, hashes: HashArray, sizes: NDArray[np.int64], digest: str) -> None:
    found = file_hash(hashes, sizes.astype(np.uint64))
    if found != block.header["file_hash"]:
        raise BadChecksum(
            f"hash of the file: computed {to_text(found)}, stored {block.key}",
            span=Span("", block.start, block.start + 32),
        )
    # A shard has the zero SHA-256 for an empty file.
    if block.sha256 is not None and block.sha256 != ZERO:
        wanted = sha256_digest(block.sha256)
        if digest != wanted:
            raise BadChecksum(f"SHA-256 of the file: computed {digest}, stored {wanted}", span=block.metadata_span)


def fetch_chunks(file: MdbFile, refs: Iterable[ObjectRef]) -> None:
    """Open the xorbs of files and prefetch their chunks, up to `MOST_FETCHED` stored bytes in all."""
    left = MOST_FETCHED
    for block in (block_of(file, ref) for ref in refs if ref.kind == FILE):
        for segment in block.segment_list:
            xorb = file.xorbs.get(segment["xorb"])
            check_range(xorb, segment["start"], segment["end"], block.entry_span(0))
            first, last = xorb.record_span(segment["start"]), xorb.record_span(segment["end"] - 1)
            left -= last.stop - first.start
            if left < 0:
                return
            xorb.part("").source.prefetch(first.start, last.stop)


def read_range(file: MdbFile, ref: ObjectRef, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes `[start, stop)` of an object; only the chunks that overlap are read and checked."""
    if ref.kind == FILE:
        block = block_of(file, ref)
        segments = [
            (segment["xorb"], segment["start"], segment["end"], segment["bytes"], block.entry_span(number))
            for number, segment in enumerate(block.segment_list)
        ]
    else:
        segments = [(*chunks_of(ref), ref.size, ref.spans[0])]
    at = 0
    for text, first, last, size, place in segments:
        if start < min(at + size, stop) and at < stop:
            yield _segment_range(file, text, (first, last), place, max(start - at, 0), min(stop - at, size))
        at += size


def _segment_range(file: MdbFile, text: str, chunks: tuple[int, int], place: Span, start: int, stop: int) -> bytes:
    xorb = file.xorbs.get(text)
    sizes = xorb.chunk_sizes[chunks[0] : chunks[1]]
    ends = np.cumsum(sizes)
    first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop, "left")) + 1
    if last > len(sizes):
        # The xorb lacks these chunks, or the segment declares more bytes than its chunks have.
        check_range(xorb, *chunks, place)
        last = len(sizes)
    if first >= last:
        return b""
    skipped = int(ends[first]) - int(sizes[first])
    data = b"".join(stream_segment(file, text, chunks[0] + first, chunks[0] + last, place))
    return data[start - skipped : stop - skipped]


# --- recipes ----------------------------------------------------------------------------------------------------


def recipe_of(file: MdbFile, ref: ObjectRef) -> dict[str, Any]:
    if ref.kind == FILE:
        block = block_of(file, ref)
        segments = _segments(block, 0, len(block.segments))
        return {"file": ref.key, "size": ref.size, "sha256": ref.extras["sha256"], "segments": segments}
    chunks = _chunks(file, ref, 0, ref.extras["chunks"])
    return {"xorb": ref.extras["xorb"], "size": ref.size, "chunks": chunks}


def _segments(block: FileBlock, first: int, last: int) -> list[dict[str, Any]]:
    rows = block.segment_list[first:last]
    ranges = [None] * len(rows) if block.ranges is None else to_texts(block.ranges[first:last])
    return [row | {"range_hash": found} for row, found in zip(rows, ranges, strict=True)]


def _chunks(file: MdbFile, ref: ObjectRef, first: int, last: int) -> list[dict[str, Any]]:
    start = ref.spans[0].start + RECORD_SIZE * (1 + first)
    rows = CAS_ENTRY.read(file.read(start, start + RECORD_SIZE * (last - first)), count=last - first)
    columns = (rows[name].tolist() for name in ("chunk_byte_range_start", "unpacked_segment_bytes", "flags"))
    hashes = to_texts(rows["chunk_hash"])
    return [{"hash": h, "start": a, "size": n, "flags": f} for h, a, n, f in zip(hashes, *columns, strict=True)]


def recipe_pieces(file: MdbFile, ref: ObjectRef) -> Iterator[bytes]:
    """Yield the recipe as JSON text in pieces: a recipe can have hundreds of thousands of entries."""
    name, count = ("segments", len(ref.extras["segments"])) if ref.kind == FILE else ("chunks", ref.extras["chunks"])
    if count <= AT_ONCE:
        yield indented(recipe_of(file, ref)).encode() + b"\n"
        return
    if ref.kind == FILE:
        block = block_of(file, ref)
        head = {"file": ref.key, "size": ref.size, "sha256": ref.extras["sha256"], name: []}
        parts = (_segments(block, first, first + AT_ONCE) for first in range(0, count, AT_ONCE))
    else:
        head = {"xorb": ref.extras["xorb"], "size": ref.size, name: []}
        parts = (_chunks(file, ref, first, min(first + AT_ONCE, count)) for first in range(0, count, AT_ONCE))
    yield indented(head).removesuffix("]\n}").encode()
    for number, rows in enumerate(parts):
        text = indented({name: rows}).partition("[")[2].removesuffix("\n ]\n}")
        yield (("," if number else "") + text).encode()
    yield b"\n ]\n}\n"


def indented(value: Any, level: int = 1) -> str:
    """Return `json.dumps(value, indent=1)`; faster for many small values."""
    if isinstance(value, dict) and value:
        items: list[str] = [f"{json.dumps(key)}: {indented(item, level + 1)}" for key, item in value.items()]
    elif isinstance(value, list) and value:
        items = [indented(item, level + 1) for item in value]
    else:
        return json.dumps(value)
    edge, step = ("{}", "[]")[isinstance(value, list)], "\n" + " " * level
    return edge[0] + step + ("," + step).join(items) + step[:-1] + edge[1]


# --- the content in a trace -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmptyFile:
    """A file without segments."""

    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class ChunksFound:
    """Chunks `[first, last)` of a xorb to which the record at `place` refers, a `segment` or the record of the chunks.

    `stored` is their span in the xorb, `unpacked` their range `[start, stop)` in the uncompressed xorb.
    """

    xorb: str
    place: Span
    segment: Mapping[str, Any] | None
    first: int
    last: int
    stored: Span
    unpacked: tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChunksMissing:
    """A xorb that cannot be read or does not have the chunks."""

    xorb: str
    place: Span
    segment: Mapping[str, Any] | None
    error: ShardError


@dataclass(frozen=True, slots=True)
class MoreSegments:
    """The segments that a trace leaves out."""

    count: int
    places: Span


@dataclass(frozen=True, slots=True)
class ContentRead:
    """The content of an object of `size` bytes, decompressed and checked; or the error if that failed."""

    fetched: tuple[ChunksFound, ...]
    size: int
    error: ShardError | None


ContentFact = EmptyFile | ChunksFound | ChunksMissing | MoreSegments | ContentRead | Elsewhere

TRACED_SEGMENTS = 16
"""Segments of a file that a trace follows into the xorbs."""

TRACED_BYTES = 16 * 1024 * 1024
"""Files of up to this many bytes are read and checked by a trace."""


def content_facts(file: MdbFile, ref: ObjectRef) -> Iterator[ContentFact]:
    """Yield the chunks of an object in the xorbs, for a trace; a missing or corrupt xorb is yielded, not raised."""
    facts = list[ContentFact]()
    for fact in _fetches(file, ref):
        yield fact
        facts.append(fact)
    failed = [fact.error for fact in facts if isinstance(fact, ChunksMissing)]
    fetched = tuple(fact for fact in facts if isinstance(fact, ChunksFound))
    if fetched and not failed and ref.size <= TRACED_BYTES:
        yield _content_read(file, ref, fetched)
    if any(isinstance(error, ExternalMissing) for error in failed):
        yield Elsewhere(ref, "recipe" if ref.kind == FILE else "record")


def _fetches(file: MdbFile, ref: ObjectRef) -> Iterator[ContentFact]:
    if ref.kind != FILE:
        yield _fetch(file, *chunks_of(ref), ref.spans[0], None)
        return
    block = block_of(file, ref)
    if not len(block.segments):
        yield EmptyFile(ref)
        return
    for number, segment in enumerate(block.segment_list[:TRACED_SEGMENTS]):
        fields = FILE_ENTRY.values(block.segments[number]) | {"cas_hash": segment["xorb"]}
        yield _fetch(file, segment["xorb"], segment["start"], segment["end"], block.entry_span(number), fields)
    if (more := len(block.segments) - TRACED_SEGMENTS) > 0:
        first, last = block.entry_span(TRACED_SEGMENTS), block.entry_span(len(block.segments) - 1)
        yield MoreSegments(more, Span("", first.start, last.stop))


def _fetch(
    file: MdbFile, text: str, first: int, last: int, place: Span, segment: Mapping[str, Any] | None
) -> ChunksFound | ChunksMissing:
    try:
        xorb = file.xorbs.get(text)
        check_range(xorb, first, last, place)
        sizes = xorb.chunk_sizes
        start = int(sizes[:first].sum())
        stored = Span(SPAN_PREFIX + text, xorb.record_span(first).start, xorb.record_span(last - 1).stop)
    except ShardError as error:
        if source_lost(error):
            raise
        return ChunksMissing(text, place, segment, error)
    return ChunksFound(text, place, segment, first, last, stored, (start, start + int(sizes[first:last].sum())))


def _content_read(file: MdbFile, ref: ObjectRef, fetched: tuple[ChunksFound, ...]) -> ContentRead:
    try:
        return ContentRead(fetched, sum(map(len, stream(file, ref))), None)
    except ShardError as error:
        if source_lost(error):
            raise
        return ContentRead(fetched, 0, error)
