"""What can be taken out of a damaged DES shard: by its index, which is found again without the footer, or by frames.

Payloads lie one after the other with nothing between them. zstd and LZ4 frames begin with a magic number, and their
blocks say where they end. Those that are stored plain cannot be told apart without the index: what stands between known
frames can be taken as it is, and nobody knows how many payloads it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from heapq import merge

import numpy as np

from shardcore.errors import FormatError
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import FOOTER, FOOTER_MAGIC, HEADER, INDEX_HEAD, MAGIC, UID_HEAD
from shardcore.formats.des.shard import DesShard
from shardcore.frames import LZ4_MAGIC, ZSTD_MAGIC, lz4_end, zstd_end
from shardcore.objects import ObjectRef, State
from shardcore.payload import decompress_stream
from shardcore.salvage import Covered, Damaged, Found, Near, indexed, occurrences, pieces_of, unclaimed
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched import Change, PatchedSource
from shardcore.sources.wrapped import ConcatSource
from shardcore.span import Span

_BY_SIZE = "the plain size that its entry states"
_BY_DIGEST = "the sha256 that its entry states"
_MOST_INDEX = 1 << 28
_MOST_UID = 1024
_LEAST_ENTRY = UID_HEAD.size + 1
_INDEX_LOOK = 1000
"""Bytes of an index that cost one look."""
_FIRST = 1 << 12
"""Bytes by which the beginning of an index is judged before all of it is read."""
_BLOCKS = 16
"""Blocks of a frame that cost one look."""


def salvage(damaged: Damaged) -> Iterator[Found]:
    """What an index leads to, and frames in what is left."""
    covered = Covered()
    shard = damaged.shard
    if isinstance(shard, DesShard):
        yield from _listed(damaged, shard, covered, again=shard.damage is not None)
    else:
        mended = _mended(damaged)
        if mended is not None:
            with closing(damaged.reopen(mended)) as again:
                if isinstance(again, DesShard):
                    yield from _listed(damaged, again, covered, again=True)
    near = Near(damaged.source)
    for start, stop in list(covered.gaps(HEADER.size, damaged.source.size)):
        for found in _frames(damaged, near, start, stop):
            covered.add(found.spans[0].start, found.spans[0].stop)
            yield found
    yield from unclaimed(damaged, list(covered.gaps(HEADER.size, damaged.source.size)))


def _listed(damaged: Damaged, shard: DesShard, covered: Covered, *, again: bool) -> Iterator[Found]:
    def checked(ref: ObjectRef) -> str:
        if ref.spans and ref.spans[0].source:
            return _BY_DIGEST
        return _BY_SIZE if ref.codec in ("zstd", "lz4") else ""

    covered.add(shard.file.entries.data_stop, damaged.source.size)
    columns = shard.objects[:]
    gone = (columns.state == State.TOMBSTONED) & (columns.stop > columns.start)
    for start, stop in zip(columns.start[gone].tolist(), columns.stop[gone].tolist(), strict=True):
        covered.add(start, stop)  # what was deleted is not found again as a frame
    within = replace(damaged, shard=shard)
    for found in indexed(within, checked):
        for span in found.spans:
            if not span.source and found.pieces is not None:
                covered.add(span.start, span.stop)
        yield Found(found.key, found.name, found.spans, found.pieces, found.checked_by, found.why, again)


def _mended(damaged: Damaged) -> Source | None:
    """The file with a header and a footer that lead to its index again, where one is found."""
    source, size = damaged.source, damaged.source.size
    tail = source.read_last(FOOTER.size)
    footer = FOOTER.read_one(tail) if len(tail) == FOOTER.size else None
    if (
        footer is not None
        and tail.startswith(FOOTER_MAGIC)
        and footer["index_size"] <= size - HEADER.size - FOOTER.size
    ):
        return PatchedSource(source, [_header()])
    found = _index(damaged)
    if found is None:
        return None
    start, stop = found
    cut = (Change.cut(stop, size),) if stop < size else ()
    whole = PatchedSource(source, (_header(), *cut))
    return ConcatSource([whole, BytesSource(FOOTER.pack(index_size=stop - start))], source.name)


def _header() -> Change:
    return Change.overwrite(0, HEADER.pack(magic=MAGIC, version=2))


def _index(damaged: Damaged) -> tuple[int, int] | None:
    """Where the index begins and ends that has no footer: its first payload begins after the header.

    Only indices of version 2 are found. Candidates are held against each other by how many whole entries they have.
    """
    source, size = damaged.source, damaged.source.size
    pattern = b"\0" + HEADER.size.to_bytes(8, "little")  # the flags of the first entry, and its offset
    best: tuple[int, int, int] | None = None
    near = Near(source)
    for place in occurrences(source, pattern, HEADER.size, size, damaged.progress):
        if not damaged.looks(place):
            break
        for start, declared in _starts(near, place):
            # The cheap questions first: room for so many entries, and a first one that is possible.
            stop = min(size, start + _MOST_INDEX)
            if declared * _LEAST_ENTRY > stop - start or not _entries(near(start, min(start + _FIRST, stop)), start):
                continue
            if not damaged.looks(place, 1 + (stop - start) // _INDEX_LOOK):
                break
            entries = _entries(source.read(start, stop), start)
            if entries is not None and (best is None or len(entries) > best[0]):
                best = len(entries), start, start + entries.walk.end
            if best is not None and best[0] == declared:
                return best[1:]
    return None if best is None else best[1:]


def _entries(index: bytes, start: int) -> Entries | None:
    """The entries of what may be an index; None where the first of them is not possible."""
    try:
        entries = Entries(index, 2, start)
        return entries if len(entries) and not entries.problem(0) else None
    except FormatError:
        return None


def _starts(near: Near, place: int) -> Iterator[tuple[int, int]]:
    """Where an index may begin whose first entry has its flags at a place, and how many entries it says it has.

    The length of the uid has to fit.
    """
    first = max(HEADER.size, place - INDEX_HEAD.size - UID_HEAD.size - _MOST_UID)
    window = near(first, place)
    ends = len(window) - UID_HEAD.size - np.arange(min(_MOST_UID, len(window) - INDEX_HEAD.size - UID_HEAD.size) + 1)
    if not len(ends):
        return
    raw = np.frombuffer(window, np.uint8).astype(np.int64)
    fits = raw[ends] | raw[ends + 1] << 8 == np.arange(len(ends))
    for at in ends[fits].tolist():
        count = int.from_bytes(window[at - INDEX_HEAD.size : at], "little")
        if count:
            yield first + at - INDEX_HEAD.size, count


def _frames(damaged: Damaged, near: Near, start: int, stop: int) -> Iterator[Found]:
    """Frames that nothing leads to."""
    at = start
    ends = {ZSTD_MAGIC: zstd_end, LZ4_MAGIC: lz4_end}
    blocks = 0

    def read(first: int, last: int) -> bytes:
        nonlocal blocks
        blocks += 1
        return near(first, last)

    for place, magic in merge(*(_places(damaged, magic, start, stop) for magic in ends)):
        if place < at:
            continue
        blocks = 0
        end = ends[magic](read, place, stop, max(damaged.effort.left, 0) * _BLOCKS)
        if not damaged.looks(place, 1 + blocks // _BLOCKS):
            return
        if end is None:
            continue
        codec = "zstd" if magic == ZSTD_MAGIC else "lz4"
        span = Span("", place, end)
        pieces = partial(_plain, damaged, codec, span)
        yield Found(None, f"{codec}-frame-at-{place}", (span,), pieces, without_index=True)
        at = end


def _places(damaged: Damaged, magic: bytes, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    for place in occurrences(damaged.source, magic, start, stop, damaged.progress):
        yield place, magic


def _plain(damaged: Damaged, codec: str, span: Span) -> Iterator[bytes]:
    stored = pieces_of(damaged.source, span.start, span.stop)
    return decompress_stream(codec, stored, limit=damaged.limit, span=span)
