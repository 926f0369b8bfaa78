"""Reading content from xorbs: chunk ranges, files, ranges of files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.hashes import SIZE, ZERO, HashArray, as_rows, chunk_hash, to_text
from shardcore.errors import BadChecksum, FormatError
from shardcore.formats.mdb.file import MdbFile
from shardcore.formats.mdb.hashes import file_hash, range_hash, sha256_digest
from shardcore.formats.mdb.layout import FILE, XORB, range_fault, size_fault
from shardcore.formats.mdb.objects import FileBlock, block_of
from shardcore.formats.mdb.xorbs import Xorb, inside_xorb
from shardcore.model.budget import charge_memory
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span

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
