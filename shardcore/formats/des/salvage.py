"""Salvage of a damaged DES shard: by its index, single entries, the sidecar, or frames.

- Without the footer, the index is found by searching for a plausible first entry.
- If the index is incomplete, entries are found one by one (`scan_entries`).
- A sidecar repeats the index with a sha256 per content (`sidecar_recovery`).
- zstd and LZ4 frames begin with a magic number, and their blocks give their length.

Only a sidecar or the hash of a BigFile verifies a content; a frame that decompresses to the right size is unverified.
Uncompressed payloads without an entry cannot be distinguished; they are returned as one range of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shardcore.codecs.decompress import LZ4_MAGIC, ZSTD_MAGIC, lz4_end, zstd_end
from shardcore.errors import FormatError
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.layout import (
    CODECS,
    FOOTER,
    FOOTER_MAGIC,
    HEADER,
    INDEX_HEAD,
    INLINE,
    MAGIC,
    PLACE_V1,
    UID_HEAD,
    read_meta,
    read_uid,
)
from shardcore.formats.des.shard import DesShard
from shardcore.formats.des.sidecar import Sidecar, created_at_of
from shardcore.formats.des.sidecar_recovery import (
    BY_SIDECAR,
    Pieces,
    TrialBudget,
    by_sidecar,
    checked_pieces,
    checksum_in,
    deleted_places,
    plain_pieces,
    reads_to_end,
    sidecar_of,
)
from shardcore.model.number_text import plural
from shardcore.model.objects import ObjectRef, State
from shardcore.model.record import Record
from shardcore.model.span import Span
from shardcore.shards.salvage import Covered, Damaged, Near, SalvagedObject, occurrences, refs, unclaimed
from shardcore.shards.shard import bounded
from shardcore.sources.base import Source
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched_source import Change, PatchedSource
from shardcore.sources.wrapper_sources import ConcatSource

_WINDOW = 1 << 18
_USUAL_UID, _MOST_UID = 4096, 0xFFFF
_MOST_META = 1 << 20
_WORD = 8


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """Entry found by its structure, with start and stop of its payload and the declared uncompressed size."""

    uid: str
    created_at: str
    span: Span
    start: int
    stop: int
    codec: str
    size: int


def find_entries(damaged: Damaged, gaps: list[tuple[int, int]], version: int | None) -> list[FoundEntry]:
    """Return the entries in `gaps`, ascending; version None tries 2, then 1."""
    found: list[FoundEntry] = []
    for one in (2, 1) if version is None else (version,):
        near = Near(damaged.source)
        for start, stop in gaps:
            found += _inside(damaged, near, start, stop, one)
        if found:
            break
    return _of_one_index(damaged, found)


def _inside(damaged: Damaged, near: Near, start: int, stop: int, version: int) -> Iterator[FoundEntry]:
    record, flags = (INLINE, 1) if version == 2 else (PLACE_V1, 0)
    end = start
    for first in range(start, stop - record.size + 1, _WINDOW):
        damaged.progress(first, stop)
        raw = np.frombuffer(damaged.source.read(first, min(first + _WINDOW + record.size - 1, stop)), np.uint8)
        if len(raw) < record.size:
            return
        words = np.ascontiguousarray(sliding_window_view(raw, _WORD)).view("<u8").ravel()
        count = len(raw) - record.size + 1

        def column(name: str, words: np.ndarray = words, count: int = count) -> np.ndarray:
            return words[record.offsets[name] : record.offsets[name] + count]

        codec = raw[record.offsets["codec"] : record.offsets["codec"] + count]
        length, size, offset = column("length"), column("uncompressed_size"), column("offset")
        here = np.uint64(first) + np.arange(count, dtype=np.uint64)
        fits = (column("compressed_size") == length) & (codec < len(CODECS)) & (offset >= HEADER.size)
        fits &= (offset < here) & (length <= here - np.minimum(offset, here)) & ((codec > 0) | (size == length))
        if flags:
            fits &= raw[:count] == 0
        for place in (first + np.flatnonzero(fits)).tolist():
            if place < end or place - UID_HEAD.size <= start:
                continue
            if not damaged.affords(place):
                return
            entry = _entry(damaged, near, (start, stop), place, record)
            if entry is not None:
                end = entry.span.stop
                yield entry


def _entry(damaged: Damaged, near: Near, gap: tuple[int, int], place: int, record: Record) -> FoundEntry | None:
    start, stop = gap
    values = record.read_one(near(place, place + record.size))
    begins = _uid_before(near, start, place, _USUAL_UID)
    if begins is None and damaged.affords(place, _MOST_UID):
        begins = _uid_before(near, start, place, _MOST_UID)
    if begins is None:
        return None
    uid = read_uid(near(begins + UID_HEAD.size, place))
    if uid is None:
        return None
    end = place + record.size
    meta: dict[str, object] = {}
    length = int(values.get("meta_length", 0))
    if length:
        if length > min(_MOST_META, stop - end) or not damaged.affords(place, length):
            return None
        try:
            meta = read_meta(near(end, end + length), place=Span("", end, end + length))
        except FormatError:
            return None
    first = int(values["offset"])
    span = Span("", begins, end + length)
    codec, size = CODECS[int(values["codec"])], int(values["uncompressed_size"])
    return FoundEntry(uid, created_at_of(meta), span, first, first + int(values["length"]), codec, size)


def _uid_before(near: Near, start: int, place: int, longest: int) -> int | None:
    """Return the offset of the length field of a uid that ends at `place`; None if no length fits."""
    first = max(start, place - UID_HEAD.size - longest)
    raw = np.frombuffer(near(first, place), np.uint8).astype(np.int64)
    most = len(raw) - UID_HEAD.size
    lengths = np.arange(1, most + 1)
    at = most - lengths
    fits = np.flatnonzero(raw[at] | raw[at + 1] << 8 == lengths)
    return first + most - int(lengths[fits[0]]) if len(fits) else None


def _of_one_index(damaged: Damaged, found: list[FoundEntry]) -> list[FoundEntry]:
    kept: list[FoundEntry] = []
    last = 0
    for entry in reversed(found):
        if entry.span.start < last:
            break
        last = max(last, entry.stop)
        kept.append(entry)
    kept.reverse()
    return [] if kept and is_nested(damaged.source, kept[0].span.start - INDEX_HEAD.size, last) else kept


def is_nested(source: Source, index: int, last: int) -> bool:
    """Return True if the index at `index`, whose payloads end at `last`, belongs to a shard stored inside this one."""
    begins = index - last
    return begins > 0 and source.read(begins, begins + len(MAGIC)) == MAGIC


_BY_DIGEST = "the sha256 in its entry"
_SIZE_ONLY = "the uncompressed size is right; there is no checksum"
_MOST_INDEX = 1 << 28
_LEAST_ENTRY = UID_HEAD.size + 1
_FIRST = 1 << 12
"""Bytes of a possible index read first, to reject most wrong ones."""
_BLOCK = 64
"""Cost of each block of a frame in the work budget, in bytes."""


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    """Yield objects found by the index, single entries, the sidecar, and frames in the remaining bytes."""
    covered, listed, trials = Covered(), set[str](), TrialBudget(damaged.source.size)
    shard, sidecar = damaged.shard, sidecar_of(damaged)
    if isinstance(shard, DesShard):
        yield from _listed(damaged, shard, covered, listed, trials, again=shard.damage is not None)
    else:
        repaired = _repaired(damaged)
        if repaired is not None:
            with closing(damaged.reopen(repaired)) as again:
                if isinstance(again, DesShard):
                    yield from _listed(damaged, again, covered, listed, trials, again=True)
    size = damaged.source.size
    for entry in find_entries(damaged, list(covered.gaps(HEADER.size, size)), _version(damaged)):
        covered.add(entry.span.start, entry.span.stop)
        covered.add(entry.start, entry.stop)
        if sidecar is None or sidecar.tombstone(entry.uid, entry.created_at) is None:
            listed.add(entry.uid)
            yield _of_entry(damaged, entry, sidecar)
    if sidecar is not None:
        for start, stop in deleted_places(damaged, sidecar):
            covered.add(start, stop)
        for found in by_sidecar(damaged, sidecar, listed, trials):
            if found.pieces is not None:
                covered.add(found.spans[0].start, found.spans[0].stop)
            yield found
    near = Near(damaged.source)
    for start, stop in list(covered.gaps(HEADER.size, size)):
        for found in _frames(damaged, near, start, stop):
            covered.add(found.spans[0].start, found.spans[0].stop)
            yield found
    yield from unclaimed(damaged, list(covered.gaps(HEADER.size, size)))


def _version(damaged: Damaged) -> int | None:
    head = damaged.source.read(0, min(HEADER.size, damaged.source.size))
    known = head.startswith(MAGIC) and head[len(MAGIC) :][:1] in (b"\1", b"\2")
    return head[len(MAGIC)] if known else None


def _listed(
    damaged: Damaged, shard: DesShard, covered: Covered, listed: set[str], trials: TrialBudget, *, again: bool
) -> Iterator[SalvagedObject]:
    entries = shard.file.entries
    if is_nested(damaged.source, entries.data_stop, _last_end(entries)):
        damaged.notes.append("the index at the end of the file belongs to a shard that is itself a payload")
        return
    covered.add(entries.data_stop, entries.data_stop + entries.walk.end)
    covered.add(max(damaged.source.size - FOOTER.size, 0), damaged.source.size)
    columns = shard.objects[:]
    gone = (columns.state == State.TOMBSTONED) & (columns.stop > columns.start)
    for start, stop in zip(columns.start[gone].tolist(), columns.stop[gone].tolist(), strict=True):
        covered.add(start, stop)  # tombstoned contents are not recovered as frames
    missing = _missing(entries)
    if missing:
        damaged.notes.append(
            f"the last entry shows that {plural(missing, 'byte')} of payloads are missing: contents with a checksum "
            "are also searched that much earlier; others are read only at the offset in their entry"
        )
    for ref in refs(replace(damaged, shard=shard)):
        found = replace(_of_ref(damaged, shard, ref, missing, trials), without_index=again)
        for span in found.spans:
            if not span.source and found.pieces is not None:
                covered.add(span.start, span.stop)
        if found.key is not None:
            listed.add(found.key)
        yield found


def _missing(entries: Entries) -> int:
    """Return the number of missing payload bytes: the last payload should end at the index."""
    c, last = entries.columns, len(entries) - 1
    if last < 0 or c.big[last]:
        return 0
    missing = int(c.offset[last]) + int(c.length[last]) - entries.data_stop
    return missing if 0 < missing < int(c.offset[last]) else 0


def _of_ref(damaged: Damaged, shard: DesShard, ref: ObjectRef, missing: int, trials: TrialBudget) -> SalvagedObject:
    name = ref.key if ref.key is not None else f"row-{ref.row}"
    outside = bool(ref.spans and ref.spans[0].source)
    checksum = checksum_in(ref.extras)
    by = BY_SIDECAR if checksum else _BY_DIGEST if outside else ""
    if missing and not outside and trials.left > 0:
        # Bytes are missing: another content may be at this offset, and the right one earlier.
        c, row = shard.file.entries.columns, ref.row
        codec, length, size = (int(column[row]) for column in (c.codec, c.length, c.size))
        if codec < len(CODECS) and (checksum or codec):
            ends = shard.file.entries.data_stop
            for at in (int(c.offset[row]), int(c.offset[row]) - missing):
                span = Span("", at, at + length) if HEADER.size <= at and at + length <= ends else None
                if span is not None:
                    pieces: Pieces = partial(plain_pieces, damaged, CODECS[codec], span, size)
                    pieces = partial(checked_pieces, pieces, checksum, span) if checksum else pieces
                    if reads_to_end(trials, pieces):
                        why = "" if by else _SIZE_ONLY
                        return SalvagedObject(ref.key, name, (span, *ref.spans[1:]), pieces, by, why)
    if ref.error or ref.state is State.DAMAGED:
        why = ref.error or "the reference to it is invalid"
        return SalvagedObject(ref.key, name, ref.spans, why=why)
    pieces = partial(bounded, shard, ref, damaged.limit)
    if checksum:
        pieces = partial(checked_pieces, pieces, checksum, ref.spans[0])
    return SalvagedObject(ref.key, name, ref.spans, pieces, by, "" if by or ref.codec == "none" else _SIZE_ONLY)


def _of_entry(damaged: Damaged, entry: FoundEntry, sidecar: Sidecar | None) -> SalvagedObject:
    span = Span("", entry.start, entry.stop)
    pieces: Pieces = partial(plain_pieces, damaged, entry.codec, span, entry.size)
    checksum = checksum_in(sidecar.entry(entry.uid, entry.created_at)) if sidecar is not None else ""
    if checksum:
        pieces = partial(checked_pieces, pieces, checksum, span)
    by = BY_SIDECAR if checksum else ""
    why = "" if by or entry.codec == "none" else _SIZE_ONLY
    return SalvagedObject(entry.uid, entry.uid, (span, entry.span), pieces, by, why, without_index=True)


def _repaired(damaged: Damaged) -> Source | None:
    """Return the file with a correct header and footer; None if its index is not found."""
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
    """Return start and stop of an index without a footer, found by an entry with payload offset 8; version 2 only."""
    source, size = damaged.source, damaged.source.size
    pattern = b"\0" + HEADER.size.to_bytes(8, "little")  # flags and payload offset of the first entry
    best: tuple[int, int, int] | None = None
    near = Near(source)
    for place in occurrences(source, pattern, HEADER.size, size, damaged.progress):
        if not damaged.affords(place, _MOST_UID):
            break
        for start, declared in _starts(near, place):
            # Cheap checks first: enough bytes for the entries, and a possible first entry.
            stop = min(size, start + damaged.longest(_MOST_INDEX))
            if not damaged.affords(place, _FIRST):
                break
            if declared * _LEAST_ENTRY > stop - start or not _entries(near(start, min(start + _FIRST, stop)), start):
                continue
            if not damaged.affords(place, stop - start):
                break
            entries = _entries(source.read(start, stop), start)
            if entries is None or is_nested(source, start, _last_end(entries)):
                continue
            if best is None or len(entries) > best[0]:
                best = len(entries), start, start + entries.walk.end
            if best[0] == declared:
                return best[1:]
    if best is None:
        return None
    _, start, stop = best
    if stop - start + _FIRST > damaged.longest(_MOST_INDEX):
        damaged.left_out.append(f"the index at byte {start:#x} was read only up to byte {stop:#x}")
    return start, stop


def _last_end(entries: Entries) -> int:
    c = entries.columns
    inside = ~c.big & (c.offset < entries.data_stop) & (c.length <= entries.data_stop)
    return int((c.offset[inside] + c.length[inside]).max(initial=0))


def _entries(index: bytes, start: int) -> Entries | None:
    try:
        entries = Entries(index, 2, start)
        return entries if len(entries) and not entries.problem(0) else None
    except FormatError:
        return None


def _starts(near: Near, place: int) -> Iterator[tuple[int, int]]:
    """Yield start and entry count of each possible index whose first uid ends at `place`."""
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


def _frames(damaged: Damaged, near: Near, start: int, stop: int) -> Iterator[SalvagedObject]:
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
        end = ends[magic](read, place, stop, max(damaged.work.left, 0) // _BLOCK)
        if not damaged.affords(place, blocks * _BLOCK):
            return
        if end is None:
            continue
        codec = "zstd" if magic == ZSTD_MAGIC else "lz4"
        span = Span("", place, end)
        pieces = partial(plain_pieces, damaged, codec, span, None)
        yield SalvagedObject(None, f"{codec}-frame-at-{place}", (span,), pieces, without_index=True)
        at = end


def _places(damaged: Damaged, magic: bytes, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    for place in occurrences(damaged.source, magic, start, stop, damaged.progress):
        yield place, magic
