"""What can be taken out of a damaged Bloscpack file: chunks say themselves how long they are.

Where the header is gone, chunks are found by the form of their own headers, and by a digest that fits after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.bloscpack.blosc1 import HEADER_SIZE, check_chunk, read_chunk_header
from shardcore.formats.bloscpack.checksums import CHECKSUMS, Checksum
from shardcore.formats.bloscpack.decode import decompress
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.objects import ObjectRef
from shardcore.salvage import MOST_TRIES, WINDOW, Covered, Damaged, Found, indexed
from shardcore.sources.base import Source
from shardcore.span import Span

_MOST_CHUNK = 1 << 28
"""Stored bytes of one chunk that is read to be looked at."""


def salvage(damaged: Damaged) -> Iterator[Found]:
    """The chunks that the file leads to, then those that stand elsewhere in it."""
    shard = damaged.shard
    checksum: Checksum | None = None
    covered = Covered()
    if isinstance(shard, BloscpackShard):
        checksum = shard.file.header.checksum
        size = checksum.size
        by = f"its {checksum.name} digest" if size else ""

        def checked(_: ObjectRef) -> str:
            return by

        for found in indexed(damaged, checked):
            yield found
            if found.pieces is not None:
                covered.add(found.spans[0].start, found.spans[0].stop + size)
        # What stands before the first chunk is no chunk.
        covered.add(0, shard.file.offsets.geometry.first)
    for start, stop in list(covered.gaps(0, damaged.source.size)):
        yield from _chunks(damaged, start, stop, checksum)


def _chunks(damaged: Damaged, start: int, stop: int, checksum: Checksum | None) -> Iterator[Found]:
    """The chunks in bytes that nothing leads to."""
    source, at, tries = damaged.source, start, 0
    for place in _candidates(damaged, start, stop):
        if place < at:
            continue
        chunk = _chunk_at(source, place, stop)
        if chunk is None:
            tries += 1
            if tries > MOST_TRIES:
                return
            continue
        at = place + len(chunk)
        digest = _digest_after(source, chunk, at, checksum)
        at += digest.size if digest is not None else 0
        by = f"its {digest.name} digest" if digest is not None else ""
        span = Span("", place, place + len(chunk))
        pieces = partial(_plain, source, span, damaged.limit)
        yield Found(None, f"chunk-at-{place}", (span,), pieces, by, without_index=True)


def _candidates(damaged: Damaged, start: int, stop: int) -> Iterator[int]:
    """Where a Blosc header may stand."""
    for first in range(start, stop - HEADER_SIZE + 1, WINDOW):
        damaged.progress(first, stop)
        data = damaged.source.read(first, min(first + WINDOW + HEADER_SIZE - 1, stop))
        raw = np.frombuffer(data, np.uint8)
        count = len(raw) - HEADER_SIZE + 1
        version, lz, flags, size = (raw[n : n + count] for n in range(4))
        fits = ((version == 1) | (version == 2)) & (lz == 1) & (flags & 8 == 0) & (size > 0) & (flags >> 5 < 5)
        yield from (first + np.flatnonzero(fits)).tolist()


def _chunk_at(source: Source, place: int, stop: int) -> bytes | None:
    """The stored bytes of the chunk that begins at a place; None where none does."""
    header = read_chunk_header(source.read(place, place + HEADER_SIZE))
    if not HEADER_SIZE <= header.ctbytes <= min(stop - place, _MOST_CHUNK):
        return None
    if not header.nbytes and header.ctbytes > HEADER_SIZE:
        return None
    chunk = source.read(place, place + header.ctbytes)
    try:
        check_chunk(chunk)
    except (FormatError, LimitExceeded):
        return None
    return chunk


def _digest_after(source: Source, chunk: bytes, at: int, checksum: Checksum | None) -> Checksum | None:
    """The digest that fits after a chunk; where the header says which there is, that alone is tried."""
    for one in CHECKSUMS[1:] if checksum is None else (checksum,) if checksum.size else ():
        if at + one.size <= source.size and one.compute(chunk) == source.read(at, at + one.size):
            return one
    return None


def _plain(source: Source, span: Span, limit: int) -> Iterator[bytes]:
    yield decompress(source.read(span.start, span.stop), limit=limit, place=span)
