"""Comparison of two shards: header fields, and objects, matched by key, then by digest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shardcore.model.html_display import Displayed
from shardcore.model.objects import ObjectRef
from shardcore.model.record import Value
from shardcore.operations.diff_columns import CODES, KEYS, KINDS, DiffKind, DiffSide, diff_side, equal_numbers
from shardcore.operations.diff_contents import KeyPairs, across, compare_contents, renamed
from shardcore.progress import Progress, no_progress
from shardcore.shards.dataset import DataSet
from shardcore.shards.shard import Shard

I64 = NDArray[np.int64]

PARTS = 1000
"""Total number of progress steps of a comparison."""


class DiffDepth(StrEnum):
    """Depth of a comparison, cheapest first."""

    IDENTITY = "identity"
    """Equal by ETag and size; nothing else was read."""
    SIZES = "sizes"
    CONTENTS = "contents"


_URGENT = (*(DiffKind.CHANGED, DiffKind.UNREAD, DiffKind.REMOVED, DiffKind.ADDED, DiffKind.RENAMED, DiffKind.MOVED),)
"""Order of the objects that differ."""


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
    """Shard of two compared data sets.

    Attributes:
        name: Its name.
        change: Equal, changed, added, removed or unread.
        first: Its bytes in the first data set; None if it is not there.
        second: Its bytes in the second data set; None if it is not there.
        counts: Number of its objects per kind; an object that moved to another shard is counted in the old one.
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
        """Yield objects that differ; `numbers` default to all of `differing`."""
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
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def stage(self, first: int, last: int) -> Progress:
        def report(done: int, total: int) -> None:
            self._progress(first + (last - first) * min(done, total) // max(total, 1), PARTS)

        report(0, 1)
        return report


@dataclass
class _Found:
    """Matched objects, collected piece by piece: as in `ShardDiff`, with positions in `DiffSide` instead of rows."""

    kinds: list[NDArray[np.uint8]] = field(default_factory=list)
    first: list[I64] = field(default_factory=list)
    second: list[I64] = field(default_factory=list)

    def add(self, kinds: NDArray[np.uint8] | DiffKind, first: I64 | None, second: I64 | None) -> None:
        count = len(first) if first is not None else len(second) if second is not None else 0
        none = np.full(count, -1, np.int64)
        self.kinds.append(np.full(count, CODES[kinds], np.uint8) if isinstance(kinds, DiffKind) else kinds)
        self.first.append(none if first is None else first)
        self.second.append(none if second is None else second)

    def joined(self) -> tuple[NDArray[np.uint8], I64, I64]:
        kinds, first, second = np.concatenate(self.kinds), np.concatenate(self.first), np.concatenate(self.second)
        self.kinds, self.first, self.second = [], [], []
        return kinds, first, second


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
        return _equal_by_identity(first)
    stages = _Stages(progress)
    near = [shard.source is not None and shard.source.near for shard in (first, second)]
    one = diff_side(first, sizes=contents or near[0], progress=stages.stage(0, 150))
    other = diff_side(second, sizes=contents or near[1], progress=stages.stage(150, 300))
    a, b, alone, added = _matched(one, other, stages.stage(300, 450))
    found, unread = _Found(), dict[int, str]()
    kinds = _pair_kinds(one, other, a, b, unread, contents=contents, progress=stages.stage(450, 800))
    if contents and first.format != second.format:
        kept, old, new, alone, added = across(one, other, KeyPairs(kinds, a, b), alone, added, stages.stage(800, PARTS))
        # Renumber the unread pairs: some pairs were dropped.
        numbers = np.cumsum(kept) - 1
        unread = {int(numbers[number]): why for number, why in unread.items()}
        found.add(kinds[kept], a[kept], b[kept])
        found.add(DiffKind.RENAMED, old, new)
    else:
        found.add(kinds, a, b)
    if contents and first.format == second.format:
        old, new, alone, added = renamed(one, other, alone, added, stages.stage(800, PARTS))
        found.add(DiffKind.RENAMED, old, new)
    found.add(DiffKind.REMOVED, alone, None)
    found.add(DiffKind.ADDED, None, added)
    depth = DiffDepth.CONTENTS if contents else DiffDepth.SIZES
    return _joined(one, other, found, unread, depth)


def _identical(first: Shard, second: Shard) -> bool:
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
    totals = [_total(sizes[kinds == code]) if counts[code] else 0 for code in range(len(KINDS))]
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


def _total(sizes: I64) -> int:
    """Return a sum as a Python integer: sizes from a corrupt index may exceed int64."""
    return (int((sizes >> 32).sum()) << 32) + int((sizes & 0xFFFFFFFF).sum())


def _rows(side: DiffSide, places: I64) -> I64:
    rows = places.copy()
    rows[places >= 0] = side.row[places[places >= 0]]
    return rows


def _matched(one: DiffSide, other: DiffSide, progress: Progress) -> tuple[I64, I64, I64, I64]:
    """Match keys by hash. If a key occurs several times, its objects are matched in order.

    Returns the positions of the pairs in both sides, then the unmatched positions of each side.
    """
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
        open_ones = np.flatnonzero(kinds == 0)
        compare_contents(one, other, a, b, open_ones, kinds, unread, progress)
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
    """Return the header fields of two shards as (name, first, second); empty for different formats."""
    one: dict[str, Value | None] = dict(first.fields)
    other: dict[str, Value | None] = dict(second.fields)
    if first.format != second.format:
        one, other = {"format": first.format, **one}, {"format": second.format, **other}
        for name in set(one) & set(other) - {"format"}:
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
