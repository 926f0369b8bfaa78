"""What can be taken out of a damaged DES shard: by its index, which is found again without the footer, or by frames.

Payloads lie one after the other with nothing between them. Those that are stored plain cannot be told apart without
the index; zstd and LZ4 frames begin with a magic number, and their blocks say where they end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from heapq import merge

from shardcore.errors import FormatError
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import FOOTER, FOOTER_MAGIC, HEADER, INDEX_HEAD, MAGIC, UID_HEAD
from shardcore.formats.des.shard import DesShard
from shardcore.frames import LZ4_MAGIC, ZSTD_MAGIC, lz4_end, zstd_end
from shardcore.objects import ObjectRef, State
from shardcore.payload import decompress_stream
from shardcore.salvage import MOST_TRIES, Covered, Damaged, Found, indexed, occurrences, pieces_of
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched import Change, PatchedSource
from shardcore.sources.wrapped import ConcatSource
from shardcore.span import Span

_BY_SIZE = "the plain size that its entry states"
_BY_DIGEST = "the sha256 that its entry states"
_MOST_INDEX = 1 << 28
_MOST_CANDIDATES = 64
"""Places that are tried as the beginning of an index."""


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
    for start, stop in list(covered.gaps(HEADER.size, damaged.source.size)):
        yield from _frames(damaged, start, stop)


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
    for tried, place in enumerate(occurrences(source, pattern, HEADER.size, size, damaged.progress)):
        if tried >= _MOST_CANDIDATES:
            break
        for start in _starts(source, place):
            index = source.read(start, min(size, start + _MOST_INDEX))
            try:
                entries = Entries(index, 2, start)
            except FormatError:
                continue
            count = len(entries)
            if count and (best is None or count > best[0]):
                best = count, start, start + entries.walk.end
    return None if best is None else best[1:]


def _starts(source: Source, place: int) -> Iterator[int]:
    """Where an index may begin whose first entry has its flags at a place: the length of the uid has to fit."""
    first = max(HEADER.size, place - INDEX_HEAD.size - UID_HEAD.size - 1024)
    window = source.read(first, place)
    for length in range(min(1024, len(window) - INDEX_HEAD.size - UID_HEAD.size) + 1):
        at = len(window) - length - UID_HEAD.size
        if at >= INDEX_HEAD.size and int.from_bytes(window[at : at + 2], "little") == length:
            count = int.from_bytes(window[at - INDEX_HEAD.size : at], "little")
            if count:
                yield first + at - INDEX_HEAD.size


def _frames(damaged: Damaged, start: int, stop: int) -> Iterator[Found]:
    """Frames that nothing leads to."""
    source, at = damaged.source, start
    ends = {ZSTD_MAGIC: zstd_end, LZ4_MAGIC: lz4_end}
    tries = 0
    for place, magic in merge(*(_places(damaged, magic, start, stop) for magic in ends)):
        if place < at or tries > MOST_TRIES:
            continue
        end = ends[magic](source.read, place, stop)
        if end is None:
            tries += 1
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
