"""Recovery from a damaged shard: lost minishard indices, and gzip members that no index lists.

A gzip member is found by its magic and checked by its crc32. A raw minishard index has no magic: it is searched in
unlisted bytes, and accepted only directly after its values, if all its keys belong in one minishard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from shardcore.codecs.decompress import GZIP_MAGIC, decompress, decompress_stream, gzip_end
from shardcore.errors import FormatError, LimitExceeded
from shardcore.formats.neuroglancer.index import TOTAL_FLOOR, TOTAL_RATIO
from shardcore.formats.neuroglancer.layout import ENTRY_SIZE, WORDS, MinishardEntries, entries_of
from shardcore.formats.neuroglancer.shard import NeuroglancerShard
from shardcore.formats.neuroglancer.sharding import ShardingSpec
from shardcore.model.span import Span
from shardcore.shards.salvage import Covered, Damaged, SalvagedObject, indexed, occurrences
from shardcore.sources.base import read_pieces

_BY_CRC = "the crc32 of its gzip member"
_MOST_INDEX = 1 << 26
"""Maximum uncompressed size in bytes of a minishard index that is searched."""
_FIRST = 1 << 10
"""Maximum number of entries of a raw minishard index in the first attempt; each further one allows 16 times as many."""
_TRY = 1 << 12
"""Number of bytes by which each attempt to decompress a gzip member reduces the remaining work limit."""


def salvage(damaged: Damaged) -> Iterator[SalvagedObject]:
    """Yield the objects of readable indices, then of recovered indices, then unlisted gzip members."""
    shard, size, covered = damaged.shard, damaged.source.size, Covered()
    spec = shard.spec if isinstance(shard, NeuroglancerShard) else None
    base = spec.index_size if spec is not None else 0
    zipped = spec.data_encoding == "gzip" if spec is not None else None
    if isinstance(shard, NeuroglancerShard):
        yield from _covering(covered, indexed(damaged, lambda _: _BY_CRC if zipped else ""))
        table = shard.file.levels.table()
        for start, end in table.pairs[np.unique(table.entries.minishards)].tolist():
            covered.add(base + start, base + end)
    members = list(_members(damaged, list(covered.gaps(base, size))))
    indices = [one for member in members if (one := _index_in(damaged, member, spec)) is not None]
    if spec is None:
        damaged.notes.append(
            "raw minishard indices are not searched, because the specification is unknown: pass --spec, or put "
            "the info file into the same folder"
        )
    elif spec.minishard_index_encoding == "raw":
        for gap in list(covered.gaps(base, size)):
            indices += _plain_indices(damaged, gap, spec)
    whole = {(member.start, member.stop) for member in members}
    for place, entries in indices:
        covered.add(place.start, place.stop)
        yield from _covering(covered, _listed(damaged, entries, whole, zipped))
    for member in members:
        if any(start <= member.start < stop for start, stop in covered.gaps(member.start, member.stop)):
            pieces = partial(_plain, damaged, "gzip", member)
            yield SalvagedObject(None, f"gzip-member-at-{member.start}", (member,), pieces, _BY_CRC, without_index=True)


def _covering(covered: Covered, objects: Iterable[SalvagedObject]) -> Iterator[SalvagedObject]:
    """Yield all objects, and add the bytes of the readable ones to `covered`."""
    for found in objects:
        if found.pieces is not None:
            covered.add(found.spans[0].start, found.spans[0].stop)
        yield found


def _members(damaged: Damaged, gaps: list[tuple[int, int]]) -> Iterator[Span]:
    for start, stop in gaps:
        at = start
        for place in occurrences(damaged.source, GZIP_MAGIC, start, stop, damaged.progress):
            if place < at:
                continue
            if not damaged.affords(place, _TRY):
                break
            found = gzip_end(damaged.source.read, place, stop, min(damaged.work.left, damaged.limit))
            if found is None:
                continue
            at, plain = found
            damaged.work.spend(plain)
            yield Span("", place, at)


def _index_in(damaged: Damaged, member: Span, spec: ShardingSpec | None) -> tuple[Span, MinishardEntries] | None:
    longest, readable = damaged.longest(_MOST_INDEX), max(TOTAL_FLOOR, TOTAL_RATIO * damaged.source.size)
    try:
        data = decompress("gzip", damaged.source.read(member.start, member.stop), limit=min(longest, readable))
    except FormatError:
        return None
    except LimitExceeded:
        if longest < readable:
            _leave_out(damaged, member.start, longest)
        return None
    if not data or len(data) % ENTRY_SIZE:
        return None
    sizes = [spec.index_size] if spec is not None else [16 << bits for bits in range(25)]
    for size in sizes:
        entries = entries_of([data], [0], size, damaged.source.size)
        # Without a specification, the values must end where the index starts, as in known writers.
        ends = entries.starts + entries.sizes
        if _is_index(entries, spec) and (spec is not None or int(ends.max()) == member.start):
            return member, entries
    return None


def _plain_indices(
    damaged: Damaged, gap: tuple[int, int], spec: ShardingSpec
) -> Iterator[tuple[Span, MinishardEntries]]:
    """Yield the raw minishard indices in a gap, last first; each directly follows its values."""
    start, stop = gap
    # If values are in a different order, more numbers of entries are possible, which costs more work.
    while found := _index_before(damaged, start, stop, spec, True) or _index_before(damaged, start, stop, spec, False):
        yield found
        stop = int(found[1].starts.min())


def _index_before(
    damaged: Damaged, start: int, stop: int, spec: ShardingSpec, in_order: bool
) -> tuple[Span, MinishardEntries] | None:
    """Return the raw minishard index that ends at `stop` and directly follows its values; None if there is none."""
    longest, tried = min(stop - start, damaged.longest(_MOST_INDEX)) // ENTRY_SIZE, 0
    while tried < longest:
        most = min(max(tried * 16, _FIRST), longest)
        if not damaged.affords(start, ENTRY_SIZE * most):
            return None
        data = damaged.source.read(stop - ENTRY_SIZE * most, stop)
        for count in _counts(data, start, stop, spec.index_size, tried, in_order):
            if not damaged.affords(start, 8 * ENTRY_SIZE * count):
                return None
            at = stop - ENTRY_SIZE * count
            entries = entries_of([data[-ENTRY_SIZE * count :]], [0], spec.index_size, damaged.source.size)
            if not _is_index(entries, spec):
                continue
            first, last = int(entries.starts.min()), int((entries.starts + entries.sizes).max())
            if first >= start and last == at and sum(entries.sizes.tolist()) == last - first:
                return Span("", at, stop), entries
        tried = most
    if in_order and longest < (stop - start) // ENTRY_SIZE:
        _leave_out(damaged, start, ENTRY_SIZE * longest)
    return None


def _counts(data: bytes, start: int, stop: int, index_size: int, tried: int, in_order: bool) -> list[int]:
    """Return possible numbers of entries, above `tried`, of a minishard index at the end of `data`.

    Most numbers are excluded by sums of the words, without decoding. The sums wrap around, as offsets do.
    """
    words = np.frombuffer(data, WORDS)[::-1].astype(np.uint64)
    sums, zeros = (np.concatenate([[0], np.cumsum(one, dtype=np.uint64)]) for one in (words, words == 0))
    counts = np.arange(tried + 1, len(data) // ENTRY_SIZE + 1)
    at = (stop - ENTRY_SIZE * counts).astype(np.uint64)
    sizes, ends, firsts = sums[counts], sums[2 * counts] + index_size, words[2 * counts - 1] + index_size
    fits = (sizes <= at - start) & (ends <= at) & (firsts >= start) & (firsts <= at)
    fits &= zeros[3 * counts - 1] == zeros[2 * counts]  # chunk IDs ascend
    return [*counts[fits & (((ends == at) & (sizes == at - firsts)) == in_order)].tolist()]


def _leave_out(damaged: Damaged, at: int, longest: int) -> None:
    damaged.left_out.append(f"byte {at:#x}: minishard indices of over {longest:,} bytes were not searched")


def _is_index(entries: MinishardEntries, spec: ShardingSpec | None) -> bool:
    if not len(entries) or entries.wrapped.any() or not entries.inside.all():
        return False
    if not (entries.ids[1:] > entries.ids[:-1]).all():
        return False
    if spec is None:
        return True
    minishards, shards = spec.place_many(entries.ids)
    return len(set(minishards.tolist())) == 1 and len(set(shards.tolist())) == 1


def _listed(
    damaged: Damaged, entries: MinishardEntries, members: set[tuple[int, int]], zipped: bool | None
) -> Iterator[SalvagedObject]:
    """Yield the values of a recovered index; `zipped` is True for gzip members, None if unknown."""
    rows = list(zip(entries.ids.tolist(), entries.starts.tolist(), entries.sizes.tolist(), strict=True))
    if zipped is None:
        zipped = any((start, start + size) in members for _, start, size in rows)
    for key, start, size in rows:
        span = Span("", start, start + size)
        if zipped and (span.start, span.stop) not in members:
            yield SalvagedObject(str(key), str(key), (span,), why="no complete gzip member at the offset in the index")
            continue
        pieces = partial(_plain, damaged, "gzip" if zipped else "none", span)
        yield SalvagedObject(str(key), str(key), (span,), pieces, _BY_CRC if zipped else "", without_index=True)


def _plain(damaged: Damaged, codec: str, span: Span) -> Iterator[bytes]:
    stored = read_pieces(damaged.source, span.start, span.stop)
    return decompress_stream(codec, stored, limit=damaged.limit, span=span)
