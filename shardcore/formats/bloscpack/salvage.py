"""Salvage of a damaged Bloscpack file.

Chunks that are not found by the header and offsets are found by searching for plausible Blosc headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.bloscpack.blosc1 import (
    HEADER_SIZE,
    VERSION,
    check_chunk,
    decompress,
    plausible,
    read_chunk_header,
)
from shardcore.formats.bloscpack.layout import BLOCK_START, CHECKSUMS, CHUNK_HEADER, CODECS, Checksum, Flag
from shardcore.formats.bloscpack.shard import BloscpackShard
from shardcore.model.span import Span
from shardcore.shards.salvage import WINDOW, Covered, Damaged, Near, SalvagedObject, indexed
from shardcore.sources.base import Source

_MOST_CHUNK = 1 << 31
"""Largest uncompressed chunk that is searched for; more than any reader supports."""
_SMALL = 1 << 12


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    """Yield the chunks that header and offsets locate, then those found by searching the other bytes of the file."""
    shard = damaged.shard
    checksum: Checksum | None = None
    covered = Covered()
    if isinstance(shard, BloscpackShard):
        checksum = shard.file.header.checksum
        size = checksum.size
        by = f"its {checksum.name} checksum" if size else ""
        for found in indexed(damaged, lambda _: by):
            yield found
            if found.pieces is not None:
                covered.add(found.spans[0].start, found.spans[0].stop + size)
        # Header, metadata and offsets are not searched.
        covered.add(0, shard.file.offsets.area.first)
    for start, stop in list(covered.gaps(0, damaged.source.size)):
        yield from _chunks(damaged, start, stop, checksum)


def _chunks(damaged: Damaged, start: int, stop: int, checksum: Checksum | None) -> Iterator[SalvagedObject]:
    source, at, near = damaged.source, start, Near(damaged.source)
    for place, size in _candidates(damaged, start, stop):
        if place < at:
            continue
        if not damaged.affords(place):
            return
        chunk = _chunk_at(damaged, near, place, size)
        if chunk is None:
            continue
        at = place + len(chunk)
        # Without a header, all kinds of checksums are tried.
        kinds = CHECKSUMS[1:] if checksum is None else (checksum,) if checksum.size else ()
        ends = [(kind, at + kind.size) for kind in kinds if at + kind.size <= source.size]
        digest = next((kind for kind, end in ends if kind.compute(chunk) == source.read(at, end)), None)
        at += digest.size if digest is not None else 0
        by = f"its {digest.name} checksum" if digest is not None else ""
        span = Span("", place, place + len(chunk))
        pieces = partial(_plain, source, span, damaged.limit)
        yield SalvagedObject(None, f"chunk-at-{place}", (span,), pieces, by, without_index=True)


def _candidates(damaged: Damaged, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield offset and stored size of each possible chunk; only its Blosc header is checked."""
    for first in range(start, stop - HEADER_SIZE + 1, WINDOW):
        damaged.progress(first, stop)
        data = damaged.source.read(first, min(first + WINDOW + HEADER_SIZE - 1, stop))
        raw = np.frombuffer(data, np.uint8)
        count = len(raw) - HEADER_SIZE + 1
        # Most offsets are excluded by the two version bytes.
        places = np.flatnonzero((raw[:count] == VERSION) & (raw[1 : 1 + count] == 1))
        rows = CHUNK_HEADER.read(raw[places[:, None] + np.arange(HEADER_SIZE)].tobytes(), count=len(places))
        flags = rows["flags"]
        nbytes, block, stored = (rows[name].astype(np.int64) for name in ("nbytes", "blocksize", "ctbytes"))
        # A compressed block takes at least its block start.
        starts = -(-nbytes // np.maximum(block, 1)) * BLOCK_START.size + HEADER_SIZE
        fits = (flags & Flag.MEMCPYED != 0) | ((nbytes > 0) & (starts <= stored))
        fits &= plausible(rows, 2**32) & (flags >> 5 < len(CODECS)) & (stored <= stop - first - places)
        yield from zip((first + places[fits]).tolist(), stored[fits].tolist(), strict=True)


def _chunk_at(damaged: Damaged, near: Near, place: int, size: int) -> bytes | None:
    header = read_chunk_header(near(place, place + HEADER_SIZE))
    if size > _SMALL and not header.memcpyed:
        # Read the block starts first: in a real chunk, one block begins directly after them.
        first = HEADER_SIZE + BLOCK_START.size * header.nblocks
        starts = BLOCK_START.read(damaged.source.read(place, place + first), HEADER_SIZE, header.nblocks)["start"]
        if first not in starts:
            return None
    damaged.work.spend(size)
    chunk = near(place, place + size) if size <= _SMALL else damaged.source.read(place, place + size)
    try:
        check_chunk(chunk, limit=_MOST_CHUNK)
    except (FormatError, LimitExceeded):
        return None
    return chunk


def _plain(source: Source, span: Span, limit: int) -> Iterator[bytes]:
    yield decompress(source.read(span.start, span.stop), limit=limit, place=span)
