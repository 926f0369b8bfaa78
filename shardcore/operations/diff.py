"""Difference of two shards: header fields, and objects matched by key, then by digest."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError
from shardcore.model.objects import ObjectColumns, ObjectRef, State, in_states
from shardcore.model.record import Value
from shardcore.progress import Progress, no_progress
from shardcore.shards.shard import Shard

BLOCK = 1 << 22
"""Bytes of both files that are compared at once."""

KEYS = 1 << 16
"""Keys that are held as text at once."""

_ODD = np.uint64(0x9E3779B97F4A7C15)

BATCH = 4096
"""Moved objects whose stored bytes are read at once."""

_COMPARED = (State.LIVE, State.EXTERNAL, State.DAMAGED)


class DiffKind(StrEnum):
    """Result for one object."""

    EQUAL = "equal"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """Object that differs.

    Attributes:
        change: How it differs.
        key: Its key in the first shard, or in the second where the first does not have it.
        first: The object in the first shard; None where it is not there.
        second: The object in the second shard; None where it is not there.
        why: Why it could not be compared, or empty.
    """

    change: DiffKind
    key: str
    first: ObjectRef | None
    second: ObjectRef | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ShardDiff:
    """Difference of two shards.

    Attributes:
        fields: Header fields that differ: name, value in the first, value in the second; None where there is none.
        counts: Number of objects per change.
        sizes: Decoded bytes of these objects.
        contents: Whether contents were compared; otherwise sizes alone.
        rows: Rows of the objects that differ: change, row in the first shard, row in the second; -1 for none.
        unread: Why an object could not be compared, by its row in the first shard.
    """

    fields: tuple[tuple[str, Value | None, Value | None], ...]
    counts: dict[DiffKind, int]
    sizes: dict[DiffKind, int]
    contents: bool
    rows: tuple[tuple[DiffKind, int, int], ...]
    unread: dict[int, str] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Return whether both shards have the same keys with the same contents; they may be stored differently."""
        return not any(count for change, count in self.counts.items() if change not in (DiffKind.EQUAL, DiffKind.MOVED))

    def objects(self, first: Shard, second: Shard) -> Iterator[ObjectDiff]:
        """Yield the objects that differ."""
        for change, one, other in self.rows:
            a = first.objects.ref(one) if one >= 0 else None
            b = second.objects.ref(other) if other >= 0 else None
            named = a or b
            yield ObjectDiff(change, str(named.key) if named else "", a, b, self.unread.get(one, ""))


@dataclass(slots=True)
class _Side:
    """Objects of one shard that are compared."""

    shard: Shard
    columns: ObjectColumns

    def texts(self, places: NDArray[np.int64]) -> list[str | None]:
        """Return the keys at some places."""
        return self.shard.objects.key_texts(self.columns.row[places])


def diff(first: Shard, second: Shard, *, contents: bool = True, progress: Progress = no_progress) -> ShardDiff:
    """Compare two shards or data sets.

    Args:
        first: The first shard.
        second: The second shard; another format is compared by decoded contents.
        contents: Whether contents are compared. Without, objects with the same key and size count as equal.
        progress: Called as `progress(done, total)` with the matched objects that were compared.

    Raises:
        ShardError: An index is damaged or cannot be read.
    """
    sides = [_side(shard) for shard in (first, second)]
    pairs, alone, added = _matched(sides[0], sides[1])
    changes = _pair_changes(sides[0], sides[1], pairs, contents=contents, progress=progress)
    unread: dict[int, str] = changes.pop("unread")
    codes: NDArray[np.uint8] = changes["codes"]
    rows: list[tuple[DiffKind, int, int]] = []
    names = tuple(DiffKind)
    counts: Counter[DiffKind] = Counter()
    sizes: Counter[DiffKind] = Counter()
    if len(pairs):
        lengths = np.maximum(sides[0].columns.size[pairs[:, 0]], 0)
        for code, change in enumerate(names):
            there = codes == code
            counts[change] += int(there.sum())
            sizes[change] += int(lengths[there].sum())
        for place in np.flatnonzero(codes != names.index(DiffKind.EQUAL)).tolist():
            a, b = pairs[place]
            rows.append((names[codes[place]], int(sides[0].columns.row[a]), int(sides[1].columns.row[b])))
    renamed = _renamed(sides, alone, added) if contents else []
    taken = {a for a, _ in renamed}, {b for _, b in renamed}
    for change, side, places, gone in (
        (DiffKind.RENAMED, 0, [a for a, _ in renamed], set()),
        (DiffKind.REMOVED, 0, alone, taken[0]),
        (DiffKind.ADDED, 1, added, taken[1]),
    ):
        left = [place for place in places if place not in gone]
        counts[change] += len(left)
        sizes[change] += int(np.maximum(sides[side].columns.size[left], 0).sum()) if left else 0
    rows += [(DiffKind.RENAMED, int(sides[0].columns.row[a]), int(sides[1].columns.row[b])) for a, b in renamed]
    rows += [(DiffKind.REMOVED, int(sides[0].columns.row[a]), -1) for a in alone if a not in taken[0]]
    rows += [(DiffKind.ADDED, -1, int(sides[1].columns.row[b])) for b in added if b not in taken[1]]
    return ShardDiff(
        _fields(first, second),
        {change: counts[change] for change in names},
        {change: sizes[change] for change in names},
        contents,
        tuple(rows),
        unread,
    )


def _side(shard: Shard) -> _Side:
    shard.load_index()
    objects = shard.objects
    columns = objects.columns(np.arange(len(objects), dtype=np.int64), sizes=True)
    # Tombstoned objects are compared where the shard returns them.
    states = (*_COMPARED, State.TOMBSTONED) if shard.chosen.get("deleted") else _COMPARED
    wanted = in_states(columns.state, states)
    inner = [code for code, kind in enumerate(objects.kinds) if kind in objects.inner_kinds]
    if inner:
        wanted &= ~np.isin(columns.kind, inner)
    columns = columns.take(np.flatnonzero(wanted))
    return _Side(shard, columns)


def _matched(one: _Side, other: _Side) -> tuple[NDArray[np.int64], list[int], list[int]]:
    """Match keys by their hashes; equal keys of one shard are matched in their order.

    Returns:
        Pairs of places, int64 of shape `(n, 2)`; places that only the first has; places that only the second has.
    """
    _, left, right = np.intersect1d(_numbered(one), _numbered(other), assume_unique=True, return_indices=True)
    order = np.argsort(left, kind="stable")
    pairs = np.stack([left[order], right[order]], axis=1).astype(np.int64)
    same = np.ones(len(pairs), np.bool_)
    for first in range(0, len(pairs), KEYS):
        part = pairs[first : first + KEYS]
        texts = one.texts(part[:, 0]), other.texts(part[:, 1])
        same[first : first + KEYS] = [a == b for a, b in zip(*texts, strict=True)]
    pairs = pairs[same]
    alone = np.setdiff1d(np.arange(len(one.columns)), pairs[:, 0])
    added = np.setdiff1d(np.arange(len(other.columns)), pairs[:, 1])
    return pairs, alone.tolist(), added.tolist()


def _numbered(side: _Side) -> NDArray[np.uint64]:
    """Return a number per object from the hash of its key and how often the key occurred before: uint64."""
    count = len(side.columns)
    hashes = np.zeros(count, np.uint64)
    for first in range(0, count, KEYS):
        places = np.arange(first, min(first + KEYS, count))
        hashes[places] = np.fromiter(map(hash, side.texts(places)), np.int64, len(places)).view(np.uint64)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if count else np.zeros(0, np.int64)
    times = np.arange(count) - np.repeat(begins, np.diff([*begins.tolist(), count])) if count else begins
    hashes[order] += times.astype(np.uint64) * _ODD
    return hashes


def _pair_changes(
    one: _Side, other: _Side, pairs: NDArray[np.int64], *, contents: bool, progress: Progress
) -> dict[str, Any]:
    """Return a code per pair, an index into `DiffKind`, and why pairs could not be read."""
    names = tuple(DiffKind)
    codes = np.zeros(len(pairs), np.uint8)
    a, b = one.columns.take(pairs[:, 0]), other.columns.take(pairs[:, 1])
    known = (a.size >= 0) & (b.size >= 0)
    codes[known & (a.size != b.size)] = names.index(DiffKind.CHANGED)
    unread: dict[int, str] = {}
    # A content is moved where it is stored at another offset; shards of other formats have no offsets in common.
    alike = one.shard.format == other.shard.format
    moved = (a.start != b.start) & alike
    if not contents:
        codes[(codes == 0) & moved] = names.index(DiffKind.MOVED)
        return {"codes": codes, "unread": unread}
    open_ones = np.flatnonzero(codes == 0)
    same = _stored_alike(one.shard, other.shard, a.take(open_ones), b.take(open_ones)) if alike else None
    rest = open_ones if same is None else open_ones[~same]
    for done, place in enumerate(rest.tolist()):
        try:
            equal = _digest(one.shard, int(a.row[place])) == _digest(other.shard, int(b.row[place]))
            codes[place] = names.index(DiffKind.EQUAL if equal else DiffKind.CHANGED)
        except ShardError as error:
            codes[place] = names.index(DiffKind.UNREAD)
            unread[int(a.row[place])] = error.message
        progress(done + 1, len(rest))
    codes[(codes == 0) & moved] = names.index(DiffKind.MOVED)
    return {"codes": codes, "unread": unread}


def _stored_alike(one: Shard, other: Shard, a: ObjectColumns, b: ObjectColumns) -> NDArray[np.bool_]:
    """Return which pairs of objects have the same stored bytes; False where that is unknown."""
    same = np.zeros(len(a), np.bool_)
    if one.source is None or other.source is None or tuple(one.objects.codecs) != tuple(other.objects.codecs):
        return same
    here = (a.start >= 0) & (b.start >= 0) & (a.stop >= a.start) & (a.stop - a.start == b.stop - b.start)
    here &= (a.codec == b.codec) & (a.stop <= one.source.size) & (b.stop <= other.source.size)
    places = np.flatnonzero(here & (a.start == b.start))
    if len(places):
        touched = _differing(one, other, a.start[places], a.stop[places])
        same[places] = ~touched
    places = np.flatnonzero(here & (a.start != b.start))
    for first in range(0, len(places), BATCH):
        part = places[first : first + BATCH]
        left = one.source.read_many(list(zip(a.start[part].tolist(), a.stop[part].tolist(), strict=True)))
        right = other.source.read_many(list(zip(b.start[part].tolist(), b.stop[part].tolist(), strict=True)))
        same[part] = [x == y for x, y in zip(left, right, strict=True)]
    return same


def _differing(one: Shard, other: Shard, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which ranges have a byte that differs at the same offset of both files."""
    assert one.source is not None
    assert other.source is not None
    touched = np.zeros(len(starts), np.bool_)
    order = np.argsort(starts, kind="stable")
    begins, ends = starts[order], stops[order]
    low, high = int(begins[0]), int(ends.max())
    for first in range(low, high, BLOCK):
        last = min(first + BLOCK, high)
        x = np.frombuffer(one.source.read(first, last), np.uint8)
        y = np.frombuffer(other.source.read(first, last), np.uint8)
        at = np.flatnonzero(x != y) + first
        if not len(at):
            continue
        # A range has a difference if more of them lie before its end than before its begin.
        touched[order] |= np.searchsorted(at, ends) > np.searchsorted(at, begins)
    return touched


def _digest(shard: Shard, row: int) -> bytes:
    hashing = hashlib.sha256()
    for piece in shard.stream(shard.objects.ref(row)):
        hashing.update(piece)
    return hashing.digest()


def _renamed(sides: Sequence[_Side], alone: Sequence[int], added: Sequence[int]) -> list[tuple[int, int]]:
    """Match objects without a partner by the digests of their contents; only those whose sizes agree are read."""
    one, other = sides
    wanted = {int(one.columns.size[a]) for a in alone} & {int(other.columns.size[b]) for b in added} - {-1}
    by_digest: dict[bytes, list[int]] = {}
    for b in added:
        if int(other.columns.size[b]) in wanted and (found := _digest_or_none(other, b)) is not None:
            by_digest.setdefault(found, []).append(b)
    pairs = []
    for a in alone:
        if int(one.columns.size[a]) in wanted and by_digest and (found := _digest_or_none(one, a)) in by_digest:
            places = by_digest[found]
            pairs.append((a, places.pop(0)))
            if not places:
                del by_digest[found]
    return pairs


def _digest_or_none(side: _Side, place: int) -> bytes | None:
    try:
        return _digest(side.shard, int(side.columns.row[place]))
    except ShardError:
        return None


def _fields(first: Shard, second: Shard) -> tuple[tuple[str, Value | None, Value | None], ...]:
    one, other = first.fields, second.fields
    if first.format != second.format:
        one, other = {"format": first.format}, {"format": second.format}
    names = [*one, *(name for name in other if name not in one)]
    return tuple((name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name))
