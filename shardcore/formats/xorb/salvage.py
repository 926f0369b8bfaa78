"""What can be taken out of a damaged xorb: chunk records say how long they are, and LZ4 frames have a magic number.

A chunk has no digest of its own: the hashes stand in the info block. Without it, a chunk that decompresses to the size
its record states is taken, and named by its hash, which whoever looks for it can compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from shardcore.errors import FormatError
from shardcore.formats.xorb.shard import XorbShard
from shardcore.frames import LZ4_MAGIC
from shardcore.objects import ObjectRef
from shardcore.salvage import Covered, Damaged, Found, indexed, occurrences
from shardcore.span import Span
from shardcore.xet.chunk import read_chunk
from shardcore.xet.hashes import chunk_hash, to_text
from shardcore.xet.xorb_layout import CHUNK_HEADER, HEADER_SIZE, IDENT, Scheme, header_fault, read_u24

_BY_INFO = "its hash in the info block"


def salvage(damaged: Damaged) -> Iterator[Found]:
    """The chunks that the records lead to, then those that stand elsewhere."""
    shard = damaged.shard
    covered = Covered()
    if isinstance(shard, XorbShard):
        hashed = shard.file.records.hashes is not None

        def checked(_: ObjectRef) -> str:
            return _BY_INFO if hashed else ""

        for found in indexed(damaged, checked):
            yield found
            if found.pieces is not None:
                covered.add(found.spans[0].start - HEADER_SIZE, found.spans[0].stop)
        info = shard.file.info_span
        covered.add(info.start, info.stop)
    for start, stop in list(covered.gaps(0, damaged.source.size)):
        yield from _records(damaged, start, stop)


def _records(damaged: Damaged, start: int, stop: int) -> Iterator[Found]:
    """Records one after the other; where one cannot be right, from the next LZ4 frame on."""
    source, at = damaged.source, start
    frames = occurrences(source, LZ4_MAGIC, start, stop, damaged.progress)
    while at + HEADER_SIZE < stop and damaged.looks(at):
        if source.read(at, min(at + len(IDENT), stop)) == IDENT:
            return
        chunk = _chunk_at(damaged, at, stop)
        if chunk is not None:
            end, data = chunk
            span = Span("", at + HEADER_SIZE, end)
            name = to_text(chunk_hash(data))
            yield Found(None, name, (span,), partial(_again, damaged, at, stop), without_index=True)
            at = end
            continue
        at = next((place - HEADER_SIZE for place in frames if place - HEADER_SIZE > at), stop)


def _chunk_at(damaged: Damaged, at: int, stop: int) -> tuple[int, bytes] | None:
    """Where the record that begins at a place ends, and its chunk; None where none does."""
    header = CHUNK_HEADER.read_one(damaged.source.read(at, at + HEADER_SIZE))
    stored, plain = read_u24(header["compressed_size"]), read_u24(header["uncompressed_size"])
    end = at + HEADER_SIZE + stored
    if header_fault(header, -1, -1) or not stored or end > stop:
        return None
    if header["compression_type"] == Scheme.NONE and stored != plain:
        return None
    try:
        data = read_chunk(header["compression_type"], damaged.source.read(at + HEADER_SIZE, end), plain)
    except FormatError:
        return None
    return end, data


def _again(damaged: Damaged, at: int, stop: int) -> Iterator[bytes]:
    chunk = _chunk_at(damaged, at, stop)
    if chunk is not None:
        yield chunk[1]
