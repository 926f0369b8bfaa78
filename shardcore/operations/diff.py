"""Comparison of two shards: of their header fields, and of their objects, which are matched by key, then by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.content_hash import sha256_of
from shardcore.dataclasses import dataclass, field
from shardcore.errors import ShardError, raise_if_ended
from shardcore.model.objects import ObjectRef, exact_sum
from shardcore.model.record import Value
from shardcore.model.text import Displayed
from shardcore.operations.diff_columns import (
    CODES,
    KEYS,
    KINDS,
    DiffKind,
    DiffSide,
    diff_side,
    equal_numbers,
    numbered,
    stored_alike,
    stored_hashes,
)
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard

I64 = NDArray[np.int64]

_WHOLE = "all"
"""Key of the whole content of a file whose objects are chunks (bloscpack)."""

_ALL_CHUNKS = -1
"""Index that means the whole content instead of one object, in `_digest`."""


def compare_contents(
    one: DiffSide,
    other: DiffSide,
    a: I64,
    b: I64,
    numbers: I64,
    kinds: NDArray[np.uint8],
    unread: dict[int, str],
    progress: Progress,
) -> None:
    """Compare pairs by stored bytes or, if compression may differ, by digest; fill in `kinds` and `unread`."""
    a, b = a[numbers], b[numbers]
    raw = one.raw[a] & other.raw[b]
    stored = raw | _same_codec(one, other, a, b)
    alike = np.zeros(len(a), np.bool_)
    chosen = np.flatnonzero(stored)
    alike[chosen] = stored_alike(one, other, a[chosen], b[chosen], lambda done, all: progress(done, 2 * all))
    kinds[numbers[raw & ~alike]] = CODES[DiffKind.CHANGED]
    rest = np.flatnonzero(~alike & ~raw)
    for done, at in enumerate(rest.tolist(), 1):
        number = int(numbers[at])
        try:
            if _digest(one, int(a[at])) != _digest(other, int(b[at])):
                kinds[number] = CODES[DiffKind.CHANGED]
        except ShardError as error:
            raise_if_ended(error)
            kinds[number] = CODES[DiffKind.UNREAD]
            unread[number] = error.message
        progress(len(rest) + done, 2 * len(rest))


def _same_codec(one: DiffSide, other: DiffSide, a: I64, b: I64) -> NDArray[np.bool_]:
    if one.shard.format != other.shard.format:
        return np.zeros(len(a), np.bool_)
    names = one.objects.codecs, other.objects.codecs
    renumbered = np.array([names[1].index(name) if name in names[1] else -1 for name in names[0]], np.int16)
    same: NDArray[np.bool_] = renumbered[one.codec[a]] == other.codec[b]
    return same


def _digest(side: DiffSide, place: int) -> str:
    ref = side.shard.find(_WHOLE) if place == _ALL_CHUNKS else side.objects.ref(int(side.row[place]))
    return sha256_of(side.shard.stream(ref))[0]


# --- objects without a match by key ---


def renamed(one: DiffSide, other: DiffSide, alone: I64, added: I64, progress: Progress) -> tuple[I64, I64, I64, I64]:
    """Match objects under different keys by their content; reads only objects whose size occurs in both shards.

    Returns four arrays of indices: of the pairs in `one` and in `other`, of unmatched objects in `one` and in `other`.
    """
    a, b = _renamed_raw(one, other, alone, added)
    alone, added = np.setdiff1d(alone, a), np.setdiff1d(added, b)
    progress(1, 2)
    # Raw objects with equal contents are matched by now.
    sizes = np.intersect1d(one.size[alone], other.size[added])
    left = alone[np.isin(one.size[alone], sizes[sizes >= 0])]
    right = added[np.isin(other.size[added], sizes[sizes >= 0])]
    if len(left) and len(right) and not (one.raw[left].all() and other.raw[right].all()):
        pairs = _renamed_by_digest(one, other, left, right, progress)
        a, b = np.concatenate([a, pairs[:, 0]]), np.concatenate([b, pairs[:, 1]])
        alone, added = np.setdiff1d(alone, a), np.setdiff1d(added, b)
    return a, b, alone, added


def _renamed_raw(one: DiffSide, other: DiffSide, alone: I64, added: I64) -> tuple[I64, I64]:
    """Match uncompressed objects by hashes of their bytes; each match is confirmed by comparing the bytes."""
    hashed = []
    wanted = np.intersect1d(one.size[alone], other.size[added])
    for side, places in ((one, alone), (other, added)):
        fitting = places[side.raw[places] & np.isin(side.size[places], wanted)]
        places, hashes = stored_hashes(side, fitting)
        hashed.append((places, numbered(hashes)))
    (left, numbers), (right, others) = hashed
    i, j = equal_numbers(numbers, others)
    same = stored_alike(one, other, left[i], right[j])
    return left[i][same], right[j][same]


def _renamed_by_digest(one: DiffSide, other: DiffSide, left: I64, right: I64, progress: Progress) -> I64:
    """Match objects by the sha256 of their contents; return pairs of indices, shape `(n, 2)`."""
    by_digest: dict[str, list[int]] = {}
    total = len(left) + len(right)
    for done, b in enumerate(right.tolist()):
        if (found := _digest_or_none(other, b)) is not None:
            by_digest.setdefault(found, []).append(b)
        progress(total + done, 2 * total)
    pairs = []
    for done, a in enumerate(left.tolist(), len(right)):
        places = by_digest.get(_digest_or_none(one, a) or "")
        if places:
            pairs.append((a, places.pop(0)))
        progress(total + done, 2 * total)
    return np.array(pairs, np.int64).reshape(-1, 2)


def _digest_or_none(side: DiffSide, place: int) -> str | None:
    try:
        return _digest(side, place)
    except ShardError as error:
        raise_if_ended(error)
        return None


# --- shards of two formats ---


Pairs = tuple[NDArray[np.uint8], I64, I64]
"""Objects of two shards as arrays: kind of each pair, and indices of its objects in both; -1 for a missing object."""


def across(
    one: DiffSide, other: DiffSide, pairs: Pairs, alone: I64, added: I64, progress: Progress
) -> tuple[NDArray[np.bool_], I64, I64, I64, I64]:
    """Match the objects of two shards of different formats by content, also under different keys.

    Conversion replaces keys by hashes or numbers. Numbers may be equal by accident, so pairs with different contents
    are matched again. Some formats deduplicate contents, store parts as objects, or join chunks.

    Returns:
        Mask of the pairs that are kept, then four arrays of indices as `renamed` returns them.
    """
    kinds, first, second = pairs
    changed = np.flatnonzero(kinds == CODES[DiffKind.CHANGED])
    a, b = first[changed], second[changed]
    old, new, alone, added = renamed(one, other, np.union1d(alone, a), np.union1d(added, b), progress)
    if len(alone) + len(added):
        left, right, alone = _repeated(one, other, alone)
        others, mine, added = _repeated(other, one, added)
        old, new = np.concatenate([old, left, mine]), np.concatenate([new, right, others])
    if len(alone) and len(added) and (whole := _whole(one, other, alone, added)) is not None:
        old, new = np.concatenate([old, whole[0]]), np.concatenate([new, whole[1]])
        alone = added = np.zeros(0, np.int64)
    stay = np.isin(a, alone) & np.isin(b, added)
    kept = np.ones(len(kinds), np.bool_)
    kept[changed[~stay]] = False
    return kept, old, new, np.setdiff1d(alone, a[stay]), np.setdiff1d(added, b[stay])


def _repeated(one: DiffSide, other: DiffSide, alone: I64) -> tuple[I64, I64, I64]:
    """Find objects whose content the other shard has under another key, or as a part of an object.

    Returns indices of the objects found, indices in `other` of the same contents, and indices of the other objects.
    """
    none = np.zeros(0, np.int64)
    if not len(alone):
        return none, none, alone
    digests = dict[str, int]()
    for b in np.flatnonzero(np.isin(other.size, one.size[alone]) & (other.size >= 0)).tolist():
        if (found := _digest_or_none(other, b)) is not None:
            digests[found] = b
    for b, ref in enumerate(other.objects.refs(other.row)):
        for part in ref.parts:
            try:
                digests[hashlib.sha256(other.shard.read_part(ref, part)).hexdigest()] = b
            except ShardError as error:
                raise_if_ended(error)
    pairs = [(a, digests[found]) for a in alone.tolist() if (found := _digest_or_none(one, a)) in digests]
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return places[:, 0], places[:, 1], np.setdiff1d(alone, places[:, 0])


def _whole(one: DiffSide, other: DiffSide, alone: I64, added: I64) -> tuple[I64, I64] | None:
    """Match all chunks of a shard with the only object, or all chunks, of the other; None if the contents differ."""
    wholes = [_WHOLE in side.shard.views for side in (one, other)]
    complete = len(alone) == len(one), len(added) == len(other)
    if not any(wholes) or not all(all_ or len(left) == 1 for all_, left in zip(wholes, (alone, added), strict=True)):
        return None
    if not all(whole <= every for whole, every in zip(wholes, complete, strict=True)):
        return None
    digests = [
        _digest_or_none(side, _ALL_CHUNKS if whole else int(left[0]))
        for side, whole, left in ((one, wholes[0], alone), (other, wholes[1], added))
    ]
    if digests[0] is None or digests[0] != digests[1]:
        return None
    count = max(len(alone), len(added))
    return alone[np.minimum(np.arange(count), len(alone) - 1)], added[np.minimum(np.arange(count), len(added) - 1)]


PARTS = 1000
"""Total number of progress steps of a comparison."""


class DiffDepth(StrEnum):
    """Depth of a comparison, cheapest first."""

    IDENTITY = "identity"
    """Equal by ETag and size; nothing else was read."""
    SIZES = "sizes"
    CONTENTS = "contents"


_URGENT = (*(DiffKind.CHANGED, DiffKind.UNREAD, DiffKind.REMOVED, DiffKind.ADDED, DiffKind.RENAMED, DiffKind.MOVED),)
"""Kinds of the objects that differ, in the order in which the objects are listed."""


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """Object that differs.

    Attributes:
        change: Kind of the difference.
        key: Key in the first shard, or in the second if only that has the object.
        first: The object in the first shard; None if it is not there.
        second: The object in the second shard; None if it is not there.
        why: Reason why it could not be compared, or empty.
    """

    change: DiffKind
    key: str
    first: ObjectRef | None
    second: ObjectRef | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class MemberDiff:
    """Result of comparing the shard of one name in two data sets.

    Attributes:
        name: File name of the shard.
        change: Equal, changed, added, removed or unread.
        first: Its size in bytes in the first data set; None if that does not have it.
        second: Its size in bytes in the second data set; None if that does not have it.
        counts: Number of its objects per kind; an object that moved to another shard counts for the old one.
        why: Reason why it could not be read, or empty.
    """

    name: str
    change: DiffKind
    first: int | None
    second: int | None
    counts: Mapping[DiffKind, int]
    why: str = ""


@dataclass(frozen=True)
class ShardDiff(Displayed):
    """Result of comparing two shards.

    Attributes:
        fields: Header fields that differ: name, value in the first, value in the second; None if missing.
        counts: Number of objects per kind; for shards that are equal by ETag, the number that the header states.
        sizes: Uncompressed bytes of these objects.
        compared: Depth of the comparison.
        kinds: Kind of each object, an index into `DiffKind`, uint8; includes equal objects.
        first: Row of each object in the first shard, int64; -1 for none.
        second: Row of each object in the second shard, int64; -1 for none.
        unread: Reasons why an object could not be compared, by its number in these arrays.
        shards: Shards of two data sets; empty for single shards.
        across: Whether the formats differ; objects with other keys and the same content then count as equal.
    """

    fields: tuple[tuple[str, Value | None, Value | None], ...]
    counts: dict[DiffKind, int]
    sizes: dict[DiffKind, int]
    compared: DiffDepth
    kinds: NDArray[np.uint8]
    first: I64
    second: I64
    unread: dict[int, str] = field(default_factory=dict)
    shards: tuple[MemberDiff, ...] = ()
    across: bool = False

    @property
    def equal(self) -> bool:
        """True if both shards have the same keys and contents; they may be stored differently.

        For shards of different formats only the contents count, since conversion changes keys.
        """
        alike = {DiffKind.EQUAL, DiffKind.MOVED} | ({DiffKind.RENAMED} if self.across else set())
        unread = any(member.why for member in self.shards)
        return not unread and not any(count for kind, count in self.counts.items() if kind not in alike)

    @cached_property
    def differing(self) -> I64:
        """Numbers of the objects that differ, int64: changed ones first, moved ones last."""
        rank = np.full(len(KINDS), -1, np.int8)
        for place, kind in enumerate(_URGENT):
            rank[CODES[kind]] = place
        ranks = rank[self.kinds]
        numbers = np.flatnonzero(ranks >= 0)
        return numbers[np.argsort(ranks[numbers], kind="stable")]

    def objects(self, first: Shard, second: Shard, numbers: I64 | None = None) -> Iterator[ObjectDiff]:
        """Yield the objects with these `numbers`; default: all that differ, in the order of `differing`."""
        chosen = self.differing if numbers is None else numbers
        for begin in range(0, len(chosen), KEYS):
            part = chosen[begin : begin + KEYS]
            left, right = self.first[part], self.second[part]
            refs = first.objects.refs(left[left >= 0]), second.objects.refs(right[right >= 0])
            for number, a, b in zip(part.tolist(), left.tolist(), right.tolist(), strict=True):
                one = next(refs[0]) if a >= 0 else None
                other = next(refs[1]) if b >= 0 else None
                named = one or other
                key = (named.key if named else None) or ""
                yield ObjectDiff(KINDS[self.kinds[number]], key, one, other, self.unread.get(number, ""))


def _stage(progress: Progress, first: int, last: int) -> Progress:
    def report(done: int, total: int) -> None:
        progress(first + (last - first) * min(done, total) // max(total, 1), PARTS)

    report(0, 1)
    return report


def diff(first: Shard, second: Shard, *, contents: bool = True, progress: Progress = no_progress) -> ShardDiff:
    """Compare two shards or data sets.

    Args:
        first: The first shard.
        second: The second shard; one of another format is compared by uncompressed contents.
        contents: Whether contents are compared. If not, objects with the same key and size count as equal, and sizes
            that the index does not contain are not read.
        progress: Called as `progress(done, total)`.

    Raises:
        ShardError: An index is invalid or cannot be read.
    """
    if _identical(first, second):
        none = np.zeros(0, np.int64)
        counts = dict.fromkeys(KINDS, 0) | {DiffKind.EQUAL: first.declared_objects or 0}
        return ShardDiff((), counts, dict.fromkeys(KINDS, 0), DiffDepth.IDENTITY, np.zeros(0, np.uint8), none, none)
    stage = partial(_stage, progress)
    near = [shard.source is not None and shard.source.near for shard in (first, second)]
    one = diff_side(first, sizes=contents or near[0], progress=stage(0, 150))
    other = diff_side(second, sizes=contents or near[1], progress=stage(150, 300))
    a, b, alone, added = _matched(one, other, stage(300, 450))
    unread = dict[int, str]()
    kinds = _pair_kinds(one, other, a, b, unread, contents=contents, progress=stage(450, 800))
    old = new = np.zeros(0, np.int64)
    if contents and first.format != second.format:
        kept, old, new, alone, added = across(one, other, (kinds, a, b), alone, added, stage(800, PARTS))
        # Renumber the unread pairs: some pairs were dropped.
        numbers = np.cumsum(kept) - 1
        unread = {int(numbers[number]): why for number, why in unread.items()}
        kinds, a, b = kinds[kept], a[kept], b[kept]
    elif contents:
        old, new, alone, added = renamed(one, other, alone, added, stage(800, PARTS))
    codes = [CODES[kind] for kind in (DiffKind.RENAMED, DiffKind.REMOVED, DiffKind.ADDED)]
    kinds = np.concatenate([kinds, np.repeat(codes, [len(old), len(alone), len(added)])])
    a = np.concatenate([a, old, alone, np.full(len(added), -1, np.int64)])
    b = np.concatenate([b, new, np.full(len(alone), -1, np.int64), added])
    depth = DiffDepth.CONTENTS if contents else DiffDepth.SIZES
    return _joined(one, other, (kinds, a, b), unread, depth)


def _identical(first: Shard, second: Shard) -> bool:
    one, other = first.source, second.source
    if one is None or other is None or one.near or other.near or first.format != second.format:
        return False
    return one.identity == other.identity or bool(one.content_tag and one.content_tag == other.content_tag)


def _joined(one: DiffSide, other: DiffSide, found: Pairs, unread: dict[int, str], depth: DiffDepth) -> ShardDiff:
    kinds, a, b = found
    sizes = np.zeros(len(kinds), np.int64)
    sizes[b >= 0] = other.size[b[b >= 0]]
    sizes[a >= 0] = one.size[a[a >= 0]]
    np.maximum(sizes, 0, out=sizes)
    counts = np.bincount(kinds, minlength=len(KINDS)).tolist()
    totals = [exact_sum(sizes[kinds == code]) if counts[code] else 0 for code in range(len(KINDS))]
    return ShardDiff(
        tuple(row for row in field_pairs(one.shard, other.shard) if row[1] != row[2]),
        dict(zip(KINDS, counts, strict=True)),
        dict(zip(KINDS, totals, strict=True)),
        depth,
        kinds,
        _rows(one, a),
        _rows(other, b),
        unread,
        _member_diffs(one, other, kinds, a, b),
        one.shard.format != other.shard.format,
    )


def _rows(side: DiffSide, places: I64) -> I64:
    rows = places.copy()
    rows[places >= 0] = side.row[places[places >= 0]]
    return rows


def _matched(one: DiffSide, other: DiffSide, progress: Progress) -> tuple[I64, I64, I64, I64]:
    """Match keys by hash; objects with the same key are matched in order. Returns indices as `renamed` does."""
    encoded = one.objects.key_encoding == other.objects.key_encoding
    numbers = one.key_numbers(encoded=encoded)
    progress(1, 4)
    others = other.key_numbers(encoded=encoded)
    progress(2, 4)
    a, b = equal_numbers(numbers, others)
    return a, b, _others(len(one), a), _others(len(other), b)


def _others(count: int, places: I64) -> I64:
    left = np.ones(count, np.bool_)
    left[places] = False
    return np.flatnonzero(left)


def _pair_kinds(
    one: DiffSide, other: DiffSide, a: I64, b: I64, unread: dict[int, str], *, contents: bool, progress: Progress
) -> NDArray[np.uint8]:
    """Return the kind of each pair of objects; the reasons of failed reads are added to `unread`."""
    kinds = np.zeros(len(a), np.uint8)
    known = (one.size[a] >= 0) & (other.size[b] >= 0)
    kinds[known & (one.size[a] != other.size[b])] = CODES[DiffKind.CHANGED]
    if contents:
        compare_contents(one, other, a, b, np.flatnonzero(kinds == 0), kinds, unread, progress)
    kinds[(kinds == 0) & _elsewhere(one, other, a, b)] = CODES[DiffKind.MOVED]
    return kinds


def _elsewhere(one: DiffSide, other: DiffSide, a: I64, b: I64) -> NDArray[np.bool_]:
    """Return a mask of the pairs that are stored at different offsets or in different shards; False across formats."""
    if one.shard.format != other.shard.format:
        return np.zeros(len(a), np.bool_)
    moved: NDArray[np.bool_] = one.start[a] != other.start[b]
    if isinstance(one.shard, DataSet) and isinstance(other.shard, DataSet):
        names = [{member.name: number for number, member in enumerate(side.shard.members)} for side in (one, other)]  # type: ignore[attr-defined]
        renumbered = np.array([names[1].get(name, -1) for name in names[0]] or [-1], np.int32)
        moved = moved | (renumbered[one.member[a]] != other.member[b])
    return moved


# --- fields and shards ---


def field_pairs(first: Shard, second: Shard) -> tuple[tuple[str, Value | None, Value | None], ...]:
    """Return all header fields as (name, first, second), None if missing; different formats share only `format`."""
    one: dict[str, Value | None] = dict(first.fields)
    other: dict[str, Value | None] = dict(second.fields)
    if first.format != second.format:
        one, other = {"format": first.format, **one}, {"format": second.format, **other}
        for name in [name for name in one if name in other and name != "format"]:
            one[f"{first.format}: {name}"], other[f"{second.format}: {name}"] = one.pop(name), other.pop(name)
    names = [*one, *(name for name in other if name not in one)]
    return tuple((name, one.get(name), other.get(name)) for name in names)


def _member_diffs(one: DiffSide, other: DiffSide, kinds: NDArray[np.uint8], a: I64, b: I64) -> tuple[MemberDiff, ...]:
    first, second = one.shard, other.shard
    if not (isinstance(first, DataSet) and isinstance(second, DataSet)):
        return ()
    counted = []
    for side, places, chosen in ((one, a, a >= 0), (other, b, (b >= 0) & (a < 0))):
        code = side.member[places[chosen]].astype(np.int64) * len(KINDS) + kinds[chosen]
        members = len(side.shard.members)  # type: ignore[attr-defined]
        counted.append(np.bincount(code, minlength=members * len(KINDS)).reshape(-1, len(KINDS)))
    sides = [{member.name: (number, member.size) for number, member in enumerate(s.members)} for s in (first, second)]
    found = []
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        sums = sum(counts[side[name][0]] for counts, side in zip(counted, sides, strict=True) if name in side)
        counts = dict(zip(KINDS, np.asarray(sums).tolist(), strict=True))
        sizes = [side[name][1] if name in side else None for side in sides]
        errors = [shard.unreadable[name].message for shard in (first, second) if name in shard.unreadable]
        if errors:
            change = DiffKind.UNREAD
        elif None in sizes:
            change = DiffKind.ADDED if sizes[0] is None else DiffKind.REMOVED
        else:
            same = sizes[0] == sizes[1] and counts[DiffKind.EQUAL] == sum(counts.values())
            change = DiffKind.EQUAL if same else DiffKind.CHANGED
        found.append(MemberDiff(name, change, sizes[0], sizes[1], counts, "; ".join(dict.fromkeys(errors))))
    return tuple(found)
