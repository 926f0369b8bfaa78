"""Difference of two shards: header fields, and objects matched by key, then by digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Value
from shardcore.operations.diff_sides import KEYS, DiffSide, diff_side, numbered, stored_alike, stored_hashes
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard

I64 = NDArray[np.int64]

PARTS = 1000
"""Steps of progress that a comparison makes."""


class DiffKind(StrEnum):
    """Result for one object."""

    EQUAL = "equal"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    UNREAD = "unread"


class DiffDepth(StrEnum):
    """What was compared."""

    IDENTITY = "identity"
    """Both servers state the same ETag and size: nothing else was read."""
    SIZES = "sizes"
    CONTENTS = "contents"


KINDS = tuple(DiffKind)

_CODE = {kind: np.uint8(number) for number, kind in enumerate(KINDS)}

_URGENT = (*["changed", "unread", "removed", "added", "renamed", "moved"],)
"""Order of the objects that differ: what is moved only comes last."""


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
class MemberDiff:
    """Shard of two data sets that are compared.

    Attributes:
        name: Its name.
        change: Whether it is equal, changed, added, removed or unread.
        first: Its bytes in the first data set; None where it is not there.
        second: Its bytes in the second data set; None where it is not there.
        counts: Number of its objects per kind; an object that is in another shard now is counted where it was.
        why: Why it could not be read, or empty.
    """

    name: str
    change: DiffKind
    first: int | None
    second: int | None
    counts: Mapping[DiffKind, int]
    why: str = ""


@dataclass(frozen=True)
class ShardDiff:
    """Difference of two shards.

    Attributes:
        fields: Header fields that differ: name, value in the first, value in the second; None where there is none.
        counts: Number of objects per kind; of shards that are equal by their ETags, as many as their headers state.
        sizes: Decoded bytes of these objects.
        compared: What was compared.
        kinds: Kind of each object, an index into `DiffKind`, uint8; equal objects included.
        first: Row of each object in the first shard, int64; -1 for none.
        second: Row of each object in the second shard, int64; -1 for none.
        unread: Why an object could not be compared, by its number in these arrays.
        shards: Shards of two data sets; empty for single shards.
        across: Whether the shards have different formats: objects with other keys and the same contents are equal then.
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
        """Return whether both shards have the same keys with the same contents; they may be stored differently.

        Shards of different formats are equal when they have the same contents, since keys change their form.
        """
        alike = {DiffKind.EQUAL, DiffKind.MOVED} | ({DiffKind.RENAMED} if self.across else set())
        unread = any(member.why for member in self.shards)
        return not unread and not any(count for kind, count in self.counts.items() if kind not in alike)

    @cached_property
    def differing(self) -> I64:
        """Numbers of the objects that differ, int64: the changed ones first, those that are only moved last."""
        rank = np.full(len(KINDS), -1, np.int8)
        for place, kind in enumerate(_URGENT):
            rank[_CODE[DiffKind(kind)]] = place
        ranks = rank[self.kinds]
        numbers = np.flatnonzero(ranks >= 0)
        return numbers[np.argsort(ranks[numbers], kind="stable")]

    def objects(self, first: Shard, second: Shard, numbers: I64 | None = None) -> Iterator[ObjectDiff]:
        """Yield the objects that differ.

        Args:
            first: The first shard.
            second: The second shard.
            numbers: Numbers of objects; by default all of `differing`.
        """
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


class _Stages:
    """Turns the progress of stages into that of the whole."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def stage(self, first: int, last: int) -> Progress:
        """Return the progress of a stage between two of `PARTS`."""

        def tell(done: int, total: int) -> None:
            self._progress(first + (last - first) * min(done, total) // max(total, 1), PARTS)

        tell(0, 1)
        return tell


@dataclass
class _Found:
    """Objects as they are matched: arrays of `ShardDiff`, in places of the sides."""

    kinds: list[NDArray[np.uint8]] = field(default_factory=list)
    first: list[I64] = field(default_factory=list)
    second: list[I64] = field(default_factory=list)

    def add(self, kinds: NDArray[np.uint8] | DiffKind, first: I64 | None, second: I64 | None) -> None:
        """Add objects; None for no place on a side."""
        count = len(first) if first is not None else len(second) if second is not None else 0
        none = np.full(count, -1, np.int64)
        self.kinds.append(np.full(count, _CODE[kinds], np.uint8) if isinstance(kinds, DiffKind) else kinds)
        self.first.append(none if first is None else first)
        self.second.append(none if second is None else second)

    def joined(self) -> tuple[NDArray[np.uint8], I64, I64]:
        """Return them in one, and keep none."""
        kinds, first, second = np.concatenate(self.kinds), np.concatenate(self.first), np.concatenate(self.second)
        self.kinds, self.first, self.second = [], [], []
        return kinds, first, second


def diff(first: Shard, second: Shard, *, contents: bool = True, progress: Progress = no_progress) -> ShardDiff:
    """Compare two shards or data sets.

    Args:
        first: The first shard.
        second: The second shard; another format is compared by decoded contents.
        contents: Whether contents are compared. Without, objects with the same key and size count as equal, and sizes
            that the index does not state are not read.
        progress: Called as `progress(done, total)` with parts of the work.

    Raises:
        ShardError: An index is damaged or cannot be read.
    """
    if _identical(first, second):
        return _equal_by_identity(first)
    stages = _Stages(progress)
    near = [shard.source is not None and shard.source.near for shard in (first, second)]
    one = diff_side(first, sizes=contents or near[0], progress=stages.stage(0, 150))
    other = diff_side(second, sizes=contents or near[1], progress=stages.stage(150, 300))
    a, b, alone, added = _matched(one, other, stages.stage(300, 450))
    found, unread = _Found(), dict[int, str]()
    kinds = _pair_kinds(one, other, a, b, unread, contents=contents, progress=stages.stage(450, 800))
    found.add(kinds, a, b)
    if contents:
        old, new, alone, added = _renamed(one, other, alone, added, stages.stage(800, PARTS))
        found.add(DiffKind.RENAMED, old, new)
    found.add(DiffKind.REMOVED, alone, None)
    found.add(DiffKind.ADDED, None, added)
    depth = DiffDepth.CONTENTS if contents else DiffDepth.SIZES
    return _joined(one, other, found, unread, depth)


def _identical(first: Shard, second: Shard) -> bool:
    """Return whether the servers of two remote files state that they have the same content."""
    one, other = first.source, second.source
    if one is None or other is None or one.near or other.near or first.format != second.format:
        return False
    return one.identity == other.identity or bool(one.content_tag and one.content_tag == other.content_tag)


def _equal_by_identity(shard: Shard) -> ShardDiff:
    none = np.zeros(0, np.int64)
    counts = dict.fromkeys(KINDS, 0)
    counts[DiffKind.EQUAL] = shard.declared_objects or 0
    return ShardDiff((), counts, dict.fromkeys(KINDS, 0), DiffDepth.IDENTITY, np.zeros(0, np.uint8), none, none)


def _joined(one: DiffSide, other: DiffSide, found: _Found, unread: dict[int, str], depth: DiffDepth) -> ShardDiff:
    kinds, a, b = found.joined()
    sizes = np.zeros(len(kinds), np.int64)
    sizes[b >= 0] = other.size[b[b >= 0]]
    sizes[a >= 0] = one.size[a[a >= 0]]
    np.maximum(sizes, 0, out=sizes)
    counts = np.bincount(kinds, minlength=len(KINDS)).tolist()
    # Sums of int64 cannot wrap: each size was compared with the bytes of its file.
    totals = [int(sizes[kinds == code].sum()) if counts[code] else 0 for code in range(len(KINDS))]
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
    """Match keys by their hashes; equal keys of one shard are matched in their order.

    Returns:
        Places of pairs in the first and in the second; places that only the first has; those that only the second has.
    """
    encoded = one.objects.key_encoding == other.objects.key_encoding
    numbers = one.key_numbers(encoded=encoded)
    progress(1, 4)
    others = other.key_numbers(encoded=encoded)
    progress(2, 4)
    a, b = _equal_numbers(numbers, others)
    return a, b, _others(len(one), a), _others(len(other), b)


def _equal_numbers(numbers: NDArray[np.uint64], others: NDArray[np.uint64]) -> tuple[I64, I64]:
    """Return the rows of equal numbers in two arrays, ascending in the first; in each the first numbers are unique."""
    _, a, b = np.intersect1d(numbers[:, 0], others[:, 0], assume_unique=True, return_indices=True)
    same = numbers[a, 1] == others[b, 1]
    order = np.argsort(a[same], kind="stable")
    return a[same][order], b[same][order]


def _others(count: int, places: I64) -> I64:
    left = np.ones(count, np.bool_)
    left[places] = False
    return np.flatnonzero(left)


def _pair_kinds(
    one: DiffSide, other: DiffSide, a: I64, b: I64, unread: dict[int, str], *, contents: bool, progress: Progress
) -> NDArray[np.uint8]:
    """Return the kind of each pair; note in `unread` why pairs could not be read."""
    kinds = np.zeros(len(a), np.uint8)
    known = (one.size[a] >= 0) & (other.size[b] >= 0)
    kinds[known & (one.size[a] != other.size[b])] = _CODE[DiffKind.CHANGED]
    if contents:
        open_ones = np.flatnonzero(kinds == 0)
        _compare_contents(one, other, a, b, open_ones, kinds, unread, progress)
    kinds[(kinds == 0) & _elsewhere(one, other, a, b)] = _CODE[DiffKind.MOVED]
    return kinds


def _elsewhere(one: DiffSide, other: DiffSide, a: I64, b: I64) -> NDArray[np.bool_]:
    """Return which pairs are stored at another offset or in another shard; formats have no offsets in common."""
    if one.shard.format != other.shard.format:
        return np.zeros(len(a), np.bool_)
    moved: NDArray[np.bool_] = one.start[a] != other.start[b]
    if isinstance(one.shard, DataSet) and isinstance(other.shard, DataSet):
        names = [{member.name: number for number, member in enumerate(side.shard.members)} for side in (one, other)]  # type: ignore[attr-defined]
        renumbered = np.array([names[1].get(name, -1) for name in names[0]] or [-1], np.int32)
        moved = moved | (renumbered[one.member[a]] != other.member[b])
    return moved


def _compare_contents(
    one: DiffSide,
    other: DiffSide,
    a: I64,
    b: I64,
    numbers: I64,
    kinds: NDArray[np.uint8],
    unread: dict[int, str],
    progress: Progress,
) -> None:
    """Compare the contents of pairs: by their stored bytes where these decide, else by digests."""
    a, b = a[numbers], b[numbers]
    raw = one.raw[a] & other.raw[b]
    stored = raw | _same_codec(one, other, a, b)
    alike = np.zeros(len(a), np.bool_)
    chosen = np.flatnonzero(stored)
    alike[chosen] = stored_alike(one, other, a[chosen], b[chosen], lambda done, all: progress(done, 2 * all))
    kinds[numbers[raw & ~alike]] = _CODE[DiffKind.CHANGED]
    rest = np.flatnonzero(~alike & ~raw)
    for done, at in enumerate(rest.tolist(), 1):
        number = int(numbers[at])
        try:
            if _digest(one, int(a[at])) != _digest(other, int(b[at])):
                kinds[number] = _CODE[DiffKind.CHANGED]
        except ShardError as error:
            kinds[number] = _CODE[DiffKind.UNREAD]
            unread[number] = error.message
        progress(len(rest) + done, 2 * len(rest))


def _same_codec(one: DiffSide, other: DiffSide, a: I64, b: I64) -> NDArray[np.bool_]:
    """Return which pairs are stored in the same way: the same stored bytes decode to the same content."""
    if one.shard.format != other.shard.format:
        return np.zeros(len(a), np.bool_)
    names = one.objects.codecs, other.objects.codecs
    renumbered = np.array([names[1].index(name) if name in names[1] else -1 for name in names[0]], np.int16)
    return renumbered[one.codec[a]] == other.codec[b]


def _digest(side: DiffSide, place: int) -> bytes:
    hashing = hashlib.sha256()
    for piece in side.shard.stream(side.objects.ref(int(side.row[place]))):
        hashing.update(piece)
    return hashing.digest()


# --- objects without a partner of the same key ---


def _renamed(
    one: DiffSide, other: DiffSide, alone: I64, added: I64, progress: Progress
) -> tuple[I64, I64, I64, I64]:
    """Match objects without a partner by their contents; only those whose sizes agree are read.

    Returns:
        Places of pairs in the first and in the second, and the places that are left without a partner on each side.
    """
    across = one.shard.format != other.shard.format
    a, b = _renamed_raw(one, other, alone, added)
    alone, added = np.setdiff1d(alone, a), np.setdiff1d(added, b)
    progress(1, 2)
    # Two raw objects with the same content are matched by now.
    sizes = np.intersect1d(one.size[alone], other.size[added])
    left = alone[np.isin(one.size[alone], sizes[sizes >= 0])]
    right = added[np.isin(other.size[added], sizes[sizes >= 0])]
    if len(left) and len(right) and not (one.raw[left].all() and other.raw[right].all()):
        pairs = _renamed_by_digest(one, other, left, right, progress)
        a, b = np.concatenate([a, pairs[:, 0]]), np.concatenate([b, pairs[:, 1]])
        alone, added = np.setdiff1d(alone, a), np.setdiff1d(added, b)
    if across and len(alone) + len(added):
        # Formats that know an object by its content keep equal contents once.
        alone, old, new = _repeated(one, other, alone)
        added, more_new, more_old = _repeated(other, one, added)
        a, b = np.concatenate([a, old, more_old]), np.concatenate([b, new, more_new])
    return a, b, alone, added


def _renamed_raw(one: DiffSide, other: DiffSide, alone: I64, added: I64) -> tuple[I64, I64]:
    """Match objects that are stored as they are: by hashes of their bytes, each match confirmed by the bytes."""
    hashed = []
    wanted = np.intersect1d(one.size[alone], other.size[added])
    for side, places in ((one, alone), (other, added)):
        fitting = places[side.raw[places] & np.isin(side.size[places], wanted)]
        places, hashes = stored_hashes(side, fitting)
        hashed.append((places, numbered(hashes)))
    (left, numbers), (right, others) = hashed
    i, j = _equal_numbers(numbers, others)
    same = stored_alike(one, other, left[i], right[j])
    return left[i][same], right[j][same]


def _renamed_by_digest(one: DiffSide, other: DiffSide, left: I64, right: I64, progress: Progress) -> I64:
    """Match objects by the digests of their contents; pairs of places, shape `(n, 2)`."""
    by_digest: dict[bytes, list[int]] = {}
    total = len(left) + len(right)
    for done, b in enumerate(right.tolist()):
        if (found := _digest_or_none(other, b)) is not None:
            by_digest.setdefault(found, []).append(b)
        progress(total + done, 2 * total)
    pairs = []
    for done, a in enumerate(left.tolist(), len(right)):
        places = by_digest.get(_digest_or_none(one, a) or b"")
        if places:
            pairs.append((a, places.pop(0)))
        progress(total + done, 2 * total)
    return np.array(pairs, np.int64).reshape(-1, 2)


def _repeated(one: DiffSide, other: DiffSide, alone: I64) -> tuple[I64, I64, I64]:
    """Find objects whose content the other shard has under the key of another object, which is matched already.

    Returns:
        Places that are left; places that were found; places of the objects with their contents.
    """
    sizes = np.intersect1d(one.size[alone], other.size)
    sought = alone[np.isin(one.size[alone], sizes[sizes >= 0])]
    if not len(sought):
        return alone, sought, sought
    digests = {found: b for b in np.flatnonzero(np.isin(other.size, one.size[sought])).tolist()
               if (found := _digest_or_none(other, b)) is not None}  # fmt: skip
    pairs = [(a, digests[found]) for a in sought.tolist() if (found := _digest_or_none(one, a)) in digests]
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return np.setdiff1d(alone, places[:, 0]), places[:, 0], places[:, 1]


def _digest_or_none(side: DiffSide, place: int) -> bytes | None:
    try:
        return _digest(side, place)
    except ShardError:
        return None


# --- fields and shards ---


def field_pairs(first: Shard, second: Shard) -> tuple[tuple[str, Value | None, Value | None], ...]:
    """Return the header fields of two shards side by side: name, value in the first, value in the second.

    Shards of different formats have no fields in common: those of both are listed, after the format.
    """
    one, other = dict(first.fields), dict(second.fields)
    if first.format != second.format:
        one, other = {"format": first.format} | one, {"format": second.format} | other
        for name in set(one) & set(other) - {"format"}:
            one[f"{first.format}: {name}"], other[f"{second.format}: {name}"] = one.pop(name), other.pop(name)
    names = [*one, *(name for name in other if name not in one)]
    return tuple((name, one.get(name), other.get(name)) for name in names)


def _member_diffs(
    one: DiffSide, other: DiffSide, kinds: NDArray[np.uint8], a: I64, b: I64
) -> tuple[MemberDiff, ...]:
    """Return the shards of two data sets."""
    first, second = one.shard, other.shard
    if not (isinstance(first, DataSet) and isinstance(second, DataSet)):
        return ()
    counted = []
    for side, places, chosen in ((one, a, a >= 0), (other, b, (b >= 0) & (a < 0))):
        code = side.member[places[chosen]].astype(np.int64) * len(KINDS) + kinds[chosen]
        members = len(side.shard.members)  # type: ignore[attr-defined]
        counted.append(np.bincount(code, minlength=members * len(KINDS)).reshape(-1, len(KINDS)))
    sides = [{member.name: (number, member.size) for number, member in enumerate(s.members)} for s in (first, second)]
    return tuple(
        _member_diff(name, sides[0].get(name), sides[1].get(name), counted, _why(first, second, name))
        for name in dict.fromkeys([*sides[0], *sides[1]])
    )


def _why(first: DataSet, second: DataSet, name: str) -> str:
    errors = [found.message for shard in (first, second) if (found := shard.unreadable.get(name)) is not None]
    return "; ".join(dict.fromkeys(errors))


def _member_diff(
    name: str,
    first: tuple[int, int] | None,
    second: tuple[int, int] | None,
    counted: list[NDArray[np.int64]],
    why: str,
) -> MemberDiff:
    sums = sum(counts[place[0]] for counts, place in zip(counted, (first, second), strict=True) if place is not None)
    counts = dict(zip(KINDS, np.asarray(sums).tolist(), strict=True))
    if why:
        change = DiffKind.UNREAD
    elif first is None or second is None:
        change = DiffKind.ADDED if first is None else DiffKind.REMOVED
    else:
        same = first[1] == second[1] and counts[DiffKind.EQUAL] == sum(counts.values())
        change = DiffKind.EQUAL if same else DiffKind.CHANGED
    sizes = [place[1] if place is not None else None for place in (first, second)]
    return MemberDiff(name, change, sizes[0], sizes[1], counts, why)
