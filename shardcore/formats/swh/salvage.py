"""Salvage of objects from a damaged Read Shard: by the index, and by walking from each object's length to the next.

The index may be missing: by custom a key is the sha256 of the content, so the content gives the key. After an
impossible length, the walk continues at the next offset where several consecutive objects begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass
from shardcore.formats.swh.layout import DATA_START, HEADER, MAGIC, OBJECT, SLOT, has_object
from shardcore.model.span import Span
from shardcore.shards.salvage import Covered, Damaged, Near, SalvagedObject, occurrences
from shardcore.sources.base import Source, read_pieces

_ALGORITHM = b"chd_ph\0"
_CHAIN = 16
"""Number of consecutive objects with possible lengths that confirm the offset of the first."""
_FEW = 2
"""Number of consecutive objects that is sufficient if they reach the end of a truncated file."""
_WINDOW = 1 << 16
Read = Callable[[int, int], bytes]
_BY_KEY = "its sha256, which is its key"


@dataclass(frozen=True, slots=True)
class _Layout:
    start: int
    stop: int
    whole: int
    places: dict[str, int]


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    """Yield intact objects of the index, objects found by walking, then damaged or unverified objects of the index."""
    source, layout = damaged.source, _layout(damaged)
    work = damaged.work
    seen, skipped = set[str](), set[str]()
    covered = Covered()
    near = Near(source)
    custom, named = not layout.places, set(layout.places.values())
    for key, at in sorted(layout.places.items(), key=lambda item: item[1]):
        damaged.progress(min(at, layout.stop), max(layout.stop, 1))
        span = _content_at(near, at, layout.stop)
        if span is None:
            continue
        if not work.takes(span.size):
            skipped.add(key)
            continue
        pieces = _pieces(source, near, span)
        if sha256_of(pieces())[0] == key:
            custom = True
            seen.add(key)
            covered.add(at, span.stop)
            yield SalvagedObject(key, key, (span,), pieces, _BY_KEY)
    for start, stop in list(covered.gaps(layout.start, layout.stop)):
        for span in _walk(damaged, layout, start, stop):
            if not work.takes(span.size):
                break
            pieces = _pieces(source, near, span)
            digest = sha256_of(pieces())[0]
            known = digest in layout.places and digest not in seen
            if not known and (not custom or span.start - OBJECT.size in named):
                continue  # its key is in the index and reported below
            if known:
                seen.add(digest)
            covered.add(span.start - OBJECT.size, span.stop)
            by = _BY_KEY if known else ""
            yield SalvagedObject(digest if known else None, digest, (span,), pieces, by, without_index=True)
    if work.unchecked:
        damaged.left_out.append("the search ended early: the objects found have far more bytes in total than the file")
    for key, at in layout.places.items():
        if key not in seen:
            yield _left(source, layout, key, at, custom=custom and key not in skipped)


def _left(source: Source, layout: _Layout, key: str, at: int, *, custom: bool) -> SalvagedObject:
    span = _content_at(source.read, at, layout.stop)
    if span is None:
        inside = layout.start <= at <= layout.stop - OBJECT.size
        why = "its length is impossible" if inside else f"its slot points to byte {at:#x}, outside the objects"
        return SalvagedObject(key, key, (Span("", at, at + OBJECT.size),) if inside else (), why=why)
    if custom:
        return SalvagedObject(key, key, (span,), why="the sha256 of the bytes at its offset is not its key")
    return SalvagedObject(key, key, (span,), partial(read_pieces, source, span.start, span.stop))


def _layout(damaged: Damaged) -> _Layout:
    source, size = damaged.source, damaged.source.size
    values = HEADER.read_one(source.read(0, min(HEADER.size, size)).ljust(HEADER.size, b"\0"))
    start, index, hashes = (int(values[f"{name}_position"]) for name in ("objects", "index", "hash"))
    count = int(values["objects_count"])
    if values["magic"].startswith(MAGIC) and hashes > size and count <= (index - start) // OBJECT.size:
        # The index is incomplete, so the number of objects is from the header, deleted ones included.
        damaged.declared = count
    fits = HEADER.size <= start <= index <= hashes and (hashes - index) % SLOT.size == 0
    if not fits:
        start, index = min(DATA_START, size), size
    if not fits or source.read(min(hashes, size), min(hashes + len(_ALGORITHM), size)) != _ALGORITHM:
        # Bytes are missing before the hash function, or the header is wrong.
        found = _by_hash_function(damaged)
        if found is not None:
            index, hashes = found
    if not index < min(hashes, size):
        return _Layout(start, min(index, size), max(index, size), {})
    slots = (min(hashes, size) - index) // SLOT.size
    rows = SLOT.read(source.read(index, index + slots * SLOT.size), count=slots)
    offsets, keys = rows["offset"], np.ascontiguousarray(rows["key"])
    used = np.flatnonzero(has_object(offsets))
    places = {keys[row].tobytes().hex(): int(offsets[row]) for row in used.tolist()}
    return _Layout(start, index, index, places)


def _by_hash_function(damaged: Damaged) -> tuple[int, int] | None:
    """Return start and end of the index, computed from the number of slots in the hash function; None if not found."""
    source, best = damaged.source, None
    for at in occurrences(source, _ALGORITHM, HEADER.size, source.size, damaged.progress):
        count = int.from_bytes(source.read(at + 7, min(at + 11, source.size)), "little")
        start = at - SLOT.size * count
        if count >= 2 and start >= HEADER.size:
            best = start, at
    return best


def _content_at(read: Read, at: int, stop: int) -> Span | None:
    if not 0 <= at <= stop - OBJECT.size:
        return None
    length = int.from_bytes(read(at, at + OBJECT.size), "big")
    start = at + OBJECT.size
    return Span("", start, start + length) if length <= stop - start else None


def _pieces(source: Source, near: Near, span: Span) -> Callable[[], Iterator[bytes]]:
    if span.size > _WINDOW:
        return partial(read_pieces, source, span.start, span.stop)
    data = near(span.start, span.stop)
    return lambda: iter((data,))


def _walk(damaged: Damaged, layout: _Layout, start: int, stop: int) -> Iterator[Span]:
    """Yield contents found in bytes without an intact object; a length of 0 (deleted or empty object) is skipped."""
    read, at, behind = Near(damaged.source), start, 0
    while at + OBJECT.size <= stop:
        damaged.progress(at, max(layout.stop, 1))
        span = _content_at(read, at, stop)
        if (
            span is not None
            and span.size
            and (span.stop == stop or _is_chained(read, span.stop, stop, layout.whole, behind))
        ):
            yield span
            at, behind = span.stop, behind + 1
            continue
        behind = 0
        at = _next_chain(damaged, at + 1, stop, layout.whole)


def _next_chain(damaged: Damaged, start: int, stop: int, whole: int) -> int:
    source, near = damaged.source, Near(damaged.source)
    for first in range(start, stop - OBJECT.size + 1, _WINDOW):
        raw = np.frombuffer(source.read(first, min(first + _WINDOW + OBJECT.size - 1, stop)), np.uint8)
        lengths = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(raw, OBJECT.size)).view(">u8").ravel()
        room = np.maximum(stop - OBJECT.size - first - np.arange(len(lengths)), 0).astype(np.uint64)
        for place in np.flatnonzero((lengths > 0) & (lengths <= room)).tolist():
            if not damaged.affords(first + place):
                return stop
            if _is_chained(near, first + place, stop, whole):
                return first + place
    return stop


def _is_chained(read: Read, at: int, stop: int, whole: int, behind: int = 0) -> bool:
    """Return True if `_CHAIN` consecutive objects begin at `at`, or fewer that reach the end.

    `stop` is the end of the objects, `whole` their end before truncation. `behind` consecutive objects end at `at`.
    """
    for number in range(behind, behind + _CHAIN):
        if at == stop:
            return True
        if at > stop - OBJECT.size:
            return number >= _FEW and whole > stop
        length = int.from_bytes(read(at, at + OBJECT.size), "big")
        if length > stop - at - OBJECT.size:
            # The file may be truncated inside this object.
            return number >= _FEW and length <= whole - at - OBJECT.size
        if not length and number < _FEW:
            return False
        at += OBJECT.size + length
    return True
