"""Salvage of a damaged DES shard: objects are found by its index, single entries, the sidecar, or frames.

- Without the footer, the index is found by searching for a plausible first entry.
- If the index is incomplete, entries are found one by one, by the fields of an inline object.
- A sidecar repeats the index with a sha256 per content.
- zstd and LZ4 frames begin with a magic number, and their blocks give their length.

Only a sidecar or the hash of a BigFile verifies a content; a frame that decompresses to the right size is unverified.
Uncompressed payloads without an entry cannot be distinguished; they are returned as one range of bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from heapq import merge
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shardcore.codecs.decompress import LZ4_MAGIC, ZSTD_MAGIC, decompress_stream, lz4_end, zstd_end
from shardcore.dataclasses import dataclass, replace
from shardcore.errors import BadChecksum, FormatError, ShardError, raise_if_ended
from shardcore.formats.des import layout
from shardcore.formats.des.entries import Entries
from shardcore.formats.des.shard import DesShard
from shardcore.formats.des.sidecar import Sidecar, checksum_in, read_sidecar, uid_and_time
from shardcore.model.finding import ContentBudget
from shardcore.model.objects import ObjectRef, State
from shardcore.model.record import Record
from shardcore.model.span import Span
from shardcore.model.text import plural
from shardcore.shards.salvage import Covered, Damaged, Near, SalvagedObject, occurrences, refs, unclaimed
from shardcore.shards.shard import bounded
from shardcore.sources.base import Source, read_pieces
from shardcore.sources.memory import BytesSource
from shardcore.sources.patched_source import Change, PatchedSource
from shardcore.sources.wrapper_sources import ConcatSource

Pieces = Callable[[], Iterator[bytes]]

_BY_SIDECAR = "the sha256 in its sidecar"
_BY_DIGEST = "the sha256 in its entry"
_SIZE_ONLY = "the uncompressed size is right; there is no checksum"

_WINDOW = 1 << 18
_USUAL_UID, _MOST_UID = 4096, 0xFFFF
_MOST_META = 1 << 20
_MOST_INDEX = 1 << 28
_LEAST_ENTRY = layout.UID_HEAD.size + 1
_FIRST = 1 << 12
"""Number of bytes read first of a possible index; they suffice to reject most wrong ones."""
_WORD = 8
_BLOCK = 64
"""Cost of each block of a frame in the work budget, in bytes."""


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    """Yield objects found by the index, single entries, the sidecar, and frames in the remaining bytes."""
    return _Search(damaged).objects()


class _Search:
    def __init__(self, damaged: Damaged) -> None:
        self._damaged, self._source = damaged, damaged.source
        self._covered = Covered()
        self._listed: set[str] = set()
        # Bytes of contents that may be decompressed only to find their location.
        self._trials = ContentBudget(damaged.source.size).left

    def objects(self) -> Iterator[SalvagedObject]:
        damaged, shard, sidecar = self._damaged, self._damaged.shard, _sidecar_of(self._damaged)
        if isinstance(shard, DesShard):
            yield from self._by_index(shard, again=shard.damage is not None)
        elif (repaired := _repaired(damaged)) is not None:
            with closing(damaged.reopen(repaired)) as reopened:
                if isinstance(reopened, DesShard):
                    yield from self._by_index(reopened, again=True)
        for entry in _find_entries(damaged, self._gaps()):
            self._cover(entry.span)
            self._cover(entry.payload)
            if sidecar is None or sidecar.tombstone(entry.uid, entry.created_at) is None:
                self._listed.add(entry.uid)
                yield self._of_entry(entry, sidecar)
        if sidecar is not None:
            yield from self._by_sidecar(sidecar)
        near = Near(self._source)
        for start, stop in self._gaps():
            for found in _frames(damaged, near, start, stop):
                self._cover(found.spans[0])
                yield found
        yield from unclaimed(damaged, self._gaps())

    def _gaps(self) -> list[tuple[int, int]]:
        return list(self._covered.gaps(layout.HEADER.size, self._source.size))

    def _cover(self, span: Span) -> None:
        self._covered.add(span.start, span.stop)

    # --- contents -------------------------------------------------------------------------------------------------

    def _can_be_read(self, pieces: Pieces) -> bool:
        """Return True if a content can be read to its end; False if not, or if the budget is spent."""
        try:
            for piece in pieces():
                self._trials -= len(piece)
                if self._trials < 0:
                    return False
        except ShardError as error:
            raise_if_ended(error)
            return False
        return True

    # --- by the index ---------------------------------------------------------------------------------------------

    def _by_index(self, shard: DesShard, *, again: bool) -> Iterator[SalvagedObject]:
        damaged, entries = self._damaged, shard.file.entries
        if _is_nested(self._source, entries.data_stop, _last_end(entries)):
            damaged.notes.append("the index at the end of the file belongs to a shard that is a payload of this one")
            return
        self._covered.add(entries.data_stop, entries.data_stop + entries.walk.end)
        self._covered.add(max(self._source.size - layout.FOOTER.size, 0), self._source.size)
        columns = shard.objects[:]
        gone = (columns.state == State.TOMBSTONED) & (columns.stop > columns.start)
        for start, stop in zip(columns.start[gone].tolist(), columns.stop[gone].tolist(), strict=True):
            self._covered.add(start, stop)  # tombstoned contents are not recovered as frames
        missing = _missing_bytes(entries)
        if missing:
            damaged.notes.append(
                f"the last entry shows that {plural(missing, 'byte')} of payloads are missing: contents with a "
                "checksum are also searched that much earlier; others are read only at the offset in their entry"
            )
        for ref in refs(replace(damaged, shard=shard)):
            found = replace(self._of_ref(shard, ref, missing), without_index=again)
            for span in found.spans:
                if not span.source and found.pieces is not None:
                    self._cover(span)
            if found.key is not None:
                self._listed.add(found.key)
            yield found

    def _of_ref(self, shard: DesShard, ref: ObjectRef, missing: int) -> SalvagedObject:
        name = ref.key if ref.key is not None else f"row-{ref.row}"
        outside = bool(ref.spans and ref.spans[0].source)
        checksum = checksum_in(ref.extras)
        by = _BY_SIDECAR if checksum else _BY_DIGEST if outside else ""
        if missing and not outside and self._trials > 0:
            # Bytes are missing: another content may be at this offset, and the right one earlier.
            entries, row = shard.file.entries, ref.row
            code, size = int(entries.columns.codec[row]), int(entries.columns.size[row])
            if code < len(layout.CODECS) and (checksum or code):
                for span in _shifted(entries.payload(row), missing, entries.data_stop):
                    pieces = _content(self._damaged, layout.CODECS[code], span, size, checksum)
                    if self._can_be_read(pieces):
                        spans = (span, *ref.spans[1:])
                        return SalvagedObject(ref.key, name, spans, pieces, by, "" if by else _SIZE_ONLY)
        if ref.error or ref.state is State.DAMAGED:
            why = ref.error or "its entry is invalid"
            return SalvagedObject(ref.key, name, ref.spans, why=why)
        pieces = partial(bounded, shard, ref, self._damaged.limit)
        if checksum:
            pieces = partial(_checked, pieces, checksum, ref.spans[0])
        return SalvagedObject(ref.key, name, ref.spans, pieces, by, "" if by or ref.codec == "none" else _SIZE_ONLY)

    def _of_entry(self, entry: FoundEntry, sidecar: Sidecar | None) -> SalvagedObject:
        checksum = checksum_in(sidecar.entry(entry.uid, entry.created_at)) if sidecar is not None else ""
        pieces = _content(self._damaged, entry.codec, entry.payload, entry.size, checksum)
        why = "" if checksum or entry.codec == "none" else _SIZE_ONLY
        by = _BY_SIDECAR if checksum else ""
        return SalvagedObject(entry.uid, entry.uid, (entry.payload, entry.span), pieces, by, why, without_index=True)

    # --- by the sidecar -------------------------------------------------------------------------------------------

    def _by_sidecar(self, sidecar: Sidecar) -> Iterator[SalvagedObject]:
        """Yield contents that only the sidecar lists; bytes of deleted ones are excluded from the search for frames."""
        size = sidecar.fields.get("shard_size")
        missing = size - self._source.size if type(size) is int else 0
        wanted = []
        for key, entry in sidecar.index.items():
            uid, created_at = uid_and_time(key, entry)
            meta = entry.get("meta")
            created_at = (layout.created_at_of(meta) if isinstance(meta, dict) else "") or created_at
            place = _payload_in(entry)
            if place is None:
                continue
            spans = _shifted(place, missing, self._source.size)
            if sidecar.tombstone(uid, created_at) is None:
                wanted.append((uid, entry, spans))
                continue
            for span in spans:
                self._cover(span)
        for uid, entry, spans in wanted:
            if uid not in self._listed:
                found = replace(self._of_sidecar(uid, entry, spans), without_index=True)
                if found.pieces is not None:
                    self._cover(found.spans[0])
                yield found

    def _of_sidecar(self, uid: str, entry: dict[str, Any], spans: list[Span]) -> SalvagedObject:
        checksum, size = checksum_in(entry), entry.get("uncompressed_size")
        expected = size if isinstance(size, int) and 0 <= size < 1 << 63 else None
        for span in spans:
            pieces = _content(self._damaged, entry["codec"], span, expected, checksum)
            # With a spent budget the checksum is compared when the content is written.
            if not checksum or self._can_be_read(pieces):
                return SalvagedObject(uid, uid, (span,), pieces, _BY_SIDECAR if checksum else "")
        if spans and self._trials < 0:
            pieces = _content(self._damaged, entry["codec"], spans[0], expected, checksum)
            return SalvagedObject(uid, uid, tuple(spans[:1]), pieces, _BY_SIDECAR)
        why = "its bytes are no longer in the file" if not spans else "the sha256 of the bytes at its offset differs"
        return SalvagedObject(uid, uid, tuple(spans), why=why)


def _sidecar_of(damaged: Damaged) -> Sidecar | None:
    """Return the sidecar of a file, or None; if it cannot be used, a note is added to `damaged`."""
    file = damaged.shard.file if isinstance(damaged.shard, DesShard) else None
    sidecar, error = (file.sidecar, file.sidecar_error) if file is not None else read_sidecar(damaged.source)
    if error is not None:
        raise_if_ended(error)
        damaged.notes.append(f"the sidecar cannot be used: {error.message}")
    return sidecar


def _payload_in(entry: dict[str, Any]) -> Span | None:
    start, length = entry.get("offset"), entry.get("length")
    if type(start) is not int or type(length) is not int or entry.get("codec") not in layout.CODECS:
        return None
    return Span("", start, start + length) if start >= layout.HEADER.size and length >= 0 else None


def _shifted(payload: Span, missing: int, stop: int) -> list[Span]:
    """Return the span of a payload, and the span `missing` bytes before it; each only if between header and `stop`."""
    starts = dict.fromkeys((payload.start, payload.start - missing))
    return [Span("", at, at + payload.size) for at in starts if layout.HEADER.size <= at and at + payload.size <= stop]


def _content(damaged: Damaged, codec: str, span: Span, size: int | None, checksum: str = "") -> Pieces:
    """Return a function that yields the uncompressed content of a payload; it checks `size` and `checksum` if given."""

    def pieces() -> Iterator[bytes]:
        stored = read_pieces(damaged.source, span.start, span.stop)
        return decompress_stream(codec, stored, limit=damaged.limit, expected=size, span=span)

    return partial(_checked, pieces, checksum, span) if checksum else pieces


def _checked(pieces: Pieces, checksum: str, span: Span | None) -> Iterator[bytes]:
    """Yield the pieces of a content, then raise BadChecksum if its sha256 differs from `checksum`."""
    digest = hashlib.sha256()
    for piece in pieces():
        digest.update(piece)
        yield piece
    if digest.hexdigest() != checksum:
        raise BadChecksum(f"sha256: computed {digest.hexdigest()}, in the sidecar {checksum}", span=span)


def _missing_bytes(entries: Entries) -> int:
    """Return the number of missing payload bytes; if none were missing, the last payload would end at the index."""
    last = len(entries) - 1
    if last < 0 or entries.columns.big[last]:
        return 0
    payload = entries.payload(last)
    missing = payload.stop - entries.data_stop
    return missing if 0 < missing < payload.start else 0


# --- single entries -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FoundEntry:
    uid: str
    created_at: str
    span: Span
    payload: Span
    codec: str
    size: int


def _find_entries(damaged: Damaged, gaps: list[tuple[int, int]]) -> list[FoundEntry]:
    """Return the entries in `gaps`, ascending; if the header has no valid version, tries 2, then 1."""
    source = damaged.source
    head = source.read(0, min(layout.HEADER.size, source.size))
    known = head.startswith(layout.MAGIC) and head[len(layout.MAGIC) :][:1] in (b"\1", b"\2")
    found: list[FoundEntry] = []
    for version in (head[len(layout.MAGIC)],) if known else (2, 1):
        near = Near(source)
        for start, stop in gaps:
            found += _inside(damaged, near, start, stop, layout.INLINE if version == 2 else layout.PLACE_V1)
        if found:
            break
    # Entries before a larger payload belong to a shard that is itself a payload.
    kept: list[FoundEntry] = []
    last = 0
    for entry in reversed(found):
        if entry.span.start < last:
            break
        last = max(last, entry.payload.stop)
        kept.append(entry)
    kept.reverse()
    return [] if kept and _is_nested(source, kept[0].span.start - layout.INDEX_HEAD.size, last) else kept


def _inside(damaged: Damaged, near: Near, start: int, stop: int, record: Record) -> Iterator[FoundEntry]:
    end = start
    for first in range(start, stop - record.size + 1, _WINDOW):
        damaged.progress(first, stop)
        raw = np.frombuffer(damaged.source.read(first, min(first + _WINDOW + record.size - 1, stop)), np.uint8)
        if len(raw) < record.size:
            return
        words = np.ascontiguousarray(sliding_window_view(raw, _WORD)).view("<u8").ravel()
        count = len(raw) - record.size + 1
        offset, length, compressed, size = (
            words[record.offsets[name] : record.offsets[name] + count]
            for name in ("offset", "length", "compressed_size", "uncompressed_size")
        )
        codec = raw[record.offsets["codec"] : record.offsets["codec"] + count]
        here = np.uint64(first) + np.arange(count, dtype=np.uint64)
        fits = (compressed == length) & (codec < len(layout.CODECS)) & (offset >= layout.HEADER.size)
        fits &= (offset < here) & (length <= here - np.minimum(offset, here)) & ((codec > 0) | (size == length))
        if "flags" in record.offsets:
            fits &= raw[:count] == 0
        for place in (first + np.flatnonzero(fits)).tolist():
            if place < end or place - layout.UID_HEAD.size <= start:
                continue
            if not damaged.affords(place):
                return
            entry = _entry(damaged, near, (start, stop), place, record)
            if entry is not None:
                end = entry.span.stop
                yield entry


def _entry(damaged: Damaged, near: Near, gap: tuple[int, int], place: int, record: Record) -> FoundEntry | None:
    start, stop = gap
    lengths = _uids_before(near, max(start, place - layout.UID_HEAD.size - _USUAL_UID), place, 1)
    if not len(lengths) and damaged.affords(place, _MOST_UID):
        lengths = _uids_before(near, max(start, place - layout.UID_HEAD.size - _MOST_UID), place, 1)
    uid = layout.read_uid(near(place - int(lengths[0]), place)) if len(lengths) else None
    if uid is None:
        return None
    values = record.read_one(near(place, place + record.size))
    end, length = place + record.size, int(values.get("meta_length", 0))
    if length and (length > min(_MOST_META, stop - end) or not damaged.affords(place, length)):
        return None
    try:
        created_at = layout.created_at_of(layout.read_meta(near(end, end + length)))
    except FormatError:
        return None
    span = Span("", place - int(lengths[0]) - layout.UID_HEAD.size, end + length)
    payload = Span("", values["offset"], values["offset"] + values["length"])
    return FoundEntry(uid, created_at, span, payload, layout.CODECS[values["codec"]], values["uncompressed_size"])


def _uids_before(near: Near, first: int, place: int, least: int) -> NDArray[np.int64]:
    """Return possible lengths, from `least` on, of a uid that ends at `place`: two bytes before it store its length."""
    raw = np.frombuffer(near(first, max(first, place)), np.uint8).astype(np.int64)
    lengths = np.arange(least, max(len(raw) - layout.UID_HEAD.size + 1, least))
    at = len(raw) - layout.UID_HEAD.size - lengths
    return np.asarray(lengths[raw[at] | raw[at + 1] << 8 == lengths])


def _is_nested(source: Source, index: int, last: int) -> bool:
    """Return True if the index at `index`, whose payloads end at `last`, belongs to a shard stored inside this one."""
    begins = index - last
    return begins > 0 and source.read(begins, begins + len(layout.MAGIC)) == layout.MAGIC


# --- an index without footer ----------------------------------------------------------------------------------------


def _repaired(damaged: Damaged) -> Source | None:
    """Return the file with a correct header and footer; None if its index is not found."""
    source, size = damaged.source, damaged.source.size
    header = Change.overwrite(0, layout.HEADER.pack(magic=layout.MAGIC, version=2))
    tail = source.read_last(layout.FOOTER.size)
    if tail.startswith(layout.FOOTER_MAGIC) and len(tail) == layout.FOOTER.size:
        index_size = layout.FOOTER.read_one(tail)["index_size"]
        if layout.HEADER.size + index_size + layout.FOOTER.size <= size:
            return PatchedSource(source, [header])
    found = _find_index(damaged)
    if found is None:
        return None
    start, stop = found
    cut = (Change.cut(stop, size),) if stop < size else ()
    whole = PatchedSource(source, (header, *cut))
    return ConcatSource([whole, BytesSource(layout.FOOTER.pack(index_size=stop - start))], source.name)


def _find_index(damaged: Damaged) -> tuple[int, int] | None:
    """Return start and stop of an index without a footer, found by an entry with payload offset 8; version 2 only."""
    source, size = damaged.source, damaged.source.size
    pattern = b"\0" + layout.HEADER.size.to_bytes(8, "little")  # flags and payload offset of the first entry
    best: tuple[int, int, int] | None = None
    near = Near(source)
    for place in occurrences(source, pattern, layout.HEADER.size, size, damaged.progress):
        if not damaged.affords(place, _MOST_UID):
            break
        for start, declared in _index_starts(near, place):
            # Cheap checks first: enough bytes for the entries, and a possible first entry.
            stop = min(size, start + damaged.longest(_MOST_INDEX))
            if not damaged.affords(place, _FIRST):
                break
            if declared * _LEAST_ENTRY > stop - start or not _entries(near(start, min(start + _FIRST, stop)), start):
                continue
            if not damaged.affords(place, stop - start):
                break
            entries = _entries(source.read(start, stop), start)
            if entries is None or _is_nested(source, start, _last_end(entries)):
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


def _index_starts(near: Near, place: int) -> Iterator[tuple[int, int]]:
    """Yield start and entry count of each possible index whose first uid ends at `place`."""
    first = max(layout.HEADER.size + layout.INDEX_HEAD.size, place - layout.UID_HEAD.size - _MOST_UID)
    for length in _uids_before(near, first, place, 0).tolist():
        stop = place - length - layout.UID_HEAD.size
        count = int.from_bytes(near(stop - layout.INDEX_HEAD.size, stop), "little")
        if count:
            yield stop - layout.INDEX_HEAD.size, count


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


# --- frames ---------------------------------------------------------------------------------------------------------


def _frames(damaged: Damaged, near: Near, start: int, stop: int) -> Iterator[SalvagedObject]:
    codecs = {ZSTD_MAGIC: ("zstd", zstd_end), LZ4_MAGIC: ("lz4", lz4_end)}
    at, blocks = start, 0

    def read(first: int, last: int) -> bytes:
        nonlocal blocks
        blocks += 1
        return near(first, last)

    def places(magic: bytes) -> Iterator[tuple[int, bytes]]:
        for place in occurrences(damaged.source, magic, start, stop, damaged.progress):
            yield place, magic

    for place, magic in merge(*map(places, codecs)):
        if place < at:
            continue
        blocks = 0
        codec, end_of = codecs[magic]
        end = end_of(read, place, stop, max(damaged.work.left, 0) // _BLOCK)
        if not damaged.affords(place, blocks * _BLOCK):
            return
        if end is not None:
            span = Span("", place, end)
            pieces = _content(damaged, codec, span, None)
            yield SalvagedObject(None, f"{codec}-frame-at-{place}", (span,), pieces, without_index=True)
            at = end
