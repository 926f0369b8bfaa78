"""Recovery from a damaged xorb: chunks are found by their record headers, or by LZ4 frame magics.

A chunk has no checksum of its own: its hash is in the info block. Without the hash, a chunk that decompresses to
its declared size is recovered as unverified, named by its hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from shardcore.codecs.decompress import LZ4_MAGIC
from shardcore.codecs.xet.hashes import SIZE, as_rows, chunk_hash, to_text, to_texts
from shardcore.codecs.xet.xorb_layout import (
    CHUNK_HEADER,
    HEADER_SIZE,
    IDENT,
    IDENT_HASHES,
    Scheme,
    header_fault,
    read_chunk,
    read_u24,
)
from shardcore.errors import FormatError, ShardError, raise_if_ended
from shardcore.formats.xorb.shard import XorbShard
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.shards.salvage import Covered, Damaged, SalvagedObject, indexed, occurrences

_BY_INFO = "its hash in the info block"


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    """Yield the chunks of the readable records, then chunks found in the bytes that no record covers."""
    shard = damaged.shard
    covered = Covered()
    left = frozenset[str]()
    if isinstance(shard, XorbShard):
        hashed = shard.file.records.hashes is not None
        left = frozenset() if hashed else _hashes_left(damaged)

        def checked(ref: ObjectRef) -> str:
            return _BY_INFO if hashed or (left and _hash_of(shard, ref) in left) else ""

        for found in indexed(damaged, checked):
            yield found
            if found.pieces is not None:
                covered.add(found.spans[0].start - HEADER_SIZE, found.spans[0].stop)
        info = shard.file.info_span
        covered.add(info.start, info.stop)
    else:
        left = _hashes_left(damaged)
    for start, stop in list(covered.gaps(0, damaged.source.size)):
        yield from _records(damaged, start, stop, left)


def _hashes_left(damaged: Damaged) -> frozenset[str]:
    """Return the chunk hashes after each `XBLBHSH` ident, for an info block that cannot be parsed."""
    source, found = damaged.source, set[str]()
    for at in occurrences(source, IDENT_HASHES, 0, source.size, damaged.progress):
        start = at + len(IDENT_HASHES) + 1 + 4
        if start >= source.size:
            continue
        count = int.from_bytes(source.read(start - 4, start), "little")
        count = min(count, (source.size - start) // SIZE)
        if not damaged.affords(at, SIZE * count):
            break
        found.update(to_texts(as_rows([source.read(start, start + SIZE * count)])) if count else ())
    return frozenset(found)


def _hash_of(shard: XorbShard, ref: ObjectRef) -> str:
    try:
        return to_text(chunk_hash(shard.read(ref)))
    except ShardError as error:
        raise_if_ended(error)
        return ""


def _records(damaged: Damaged, start: int, stop: int, left: frozenset[str]) -> Iterator[SalvagedObject]:
    """Yield chunks record by record; after an invalid record, continue 8 bytes before the next LZ4 frame magic."""
    source, at = damaged.source, start
    frames = occurrences(source, LZ4_MAGIC, start, stop, damaged.progress)
    while at + HEADER_SIZE < stop and damaged.affords(at):
        if source.read(at, min(at + len(IDENT), stop)) == IDENT:
            return
        if (chunk := _chunk_at(damaged, at, stop)) is None:
            at = next((place - HEADER_SIZE for place in frames if place - HEADER_SIZE > at), stop)
            continue
        span, name, pieces = (
            Span("", at + HEADER_SIZE, chunk[0]),
            to_text(chunk_hash(chunk[1])),
            partial(_again, damaged, at, stop),
        )
        yield SalvagedObject(None, name, (span,), pieces, _BY_INFO if name in left else "", without_index=True)
        at = chunk[0]


def _chunk_at(damaged: Damaged, at: int, stop: int) -> tuple[int, bytes] | None:
    header = CHUNK_HEADER.read_one(damaged.source.read(at, at + HEADER_SIZE))
    stored, plain = read_u24(header["compressed_size"]), read_u24(header["uncompressed_size"])
    end = at + HEADER_SIZE + stored
    whole = header["compression_type"] != Scheme.NONE or stored == plain
    if header_fault(header, -1, -1) or not stored or end > stop or not whole:
        return None
    try:
        data = read_chunk(header["compression_type"], damaged.source.read(at + HEADER_SIZE, end), plain)
    except FormatError:
        return None
    return end, data


def _again(damaged: Damaged, at: int, stop: int) -> Iterator[bytes]:
    if (chunk := _chunk_at(damaged, at, stop)) is not None:
        yield chunk[1]
