"""Comparison of contents: of objects with the same key, then of objects that have no match by key."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import ShardError, ends_reading
from shardcore.operations.diff_columns import (
    CODES,
    DiffKind,
    DiffSide,
    equal_numbers,
    numbered,
    stored_alike,
    stored_hashes,
)
from shardcore.progress import Progress
from shardcore.shards.shard import Shard

I64 = NDArray[np.int64]

_WHOLE = "all"
"""Key of the concatenation of all chunks."""


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
    """Compare pairs by their stored bytes if both have the same codec, else by digest. Fills `kinds` and `unread`."""
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
            if ends_reading(error):
                raise
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


def _digest(side: DiffSide, place: int) -> bytes:
    hashing = hashlib.sha256()
    for piece in side.shard.stream(side.objects.ref(int(side.row[place]))):
        hashing.update(piece)
    return hashing.digest()


# --- objects without a match by key ---


def renamed(one: DiffSide, other: DiffSide, alone: I64, added: I64, progress: Progress) -> tuple[I64, I64, I64, I64]:
    """Match objects whose keys differ by content; reads only objects for which the other side has an equal size.

    Returns the positions of the pairs in both sides, then the positions without a match in each side.
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
    """Match objects by the sha256 of their contents; return pairs of positions, shape `(n, 2)`."""
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


def _digest_or_none(side: DiffSide, place: int) -> bytes | None:
    try:
        return _digest(side, place)
    except ShardError as error:
        if ends_reading(error):
            raise
        return None


# --- shards of two formats ---


@dataclass(frozen=True)
class KeyPairs:
    kinds: NDArray[np.uint8]
    first: I64
    second: I64


def across(
    one: DiffSide, other: DiffSide, pairs: KeyPairs, alone: I64, added: I64, progress: Progress
) -> tuple[NDArray[np.bool_], I64, I64, I64, I64]:
    """Match the objects of two shards of different formats by content, whatever their keys are.

    Conversion replaces keys by hashes or numbers. Numbers may be equal by accident, so pairs with different contents
    are matched again. Some formats deduplicate contents, store parts as objects, or join chunks.

    Returns:
        Mask of the pairs that stay, positions of renamed pairs in both sides, and the positions left in each side.
    """
    changed = np.flatnonzero(pairs.kinds == CODES[DiffKind.CHANGED])
    a, b = pairs.first[changed], pairs.second[changed]
    old, new, alone, added = renamed(one, other, np.union1d(alone, a), np.union1d(added, b), progress)
    if len(alone) + len(added):
        left, right, alone = _repeated(one, other, alone)
        others, mine, added = _repeated(other, one, added)
        old, new = np.concatenate([old, left, mine]), np.concatenate([new, right, others])
    if len(alone) and len(added) and (whole := _whole(one, other, alone, added)) is not None:
        old, new = np.concatenate([old, whole[0]]), np.concatenate([new, whole[1]])
        alone = added = np.zeros(0, np.int64)
    stay = np.isin(a, alone) & np.isin(b, added)
    kept = np.ones(len(pairs.kinds), np.bool_)
    kept[changed[~stay]] = False
    return kept, old, new, np.setdiff1d(alone, a[stay]), np.setdiff1d(added, b[stay])


def _repeated(one: DiffSide, other: DiffSide, alone: I64) -> tuple[I64, I64, I64]:
    """Find objects whose content the other shard has under another key, or as a part of an object.

    Returns positions found, positions of the objects with their contents, positions left.
    """
    none = np.zeros(0, np.int64)
    if not len(alone):
        return none, none, alone
    digests = dict[bytes, int]()
    for b in np.flatnonzero(np.isin(other.size, one.size[alone]) & (other.size >= 0)).tolist():
        if (found := _digest_or_none(other, b)) is not None:
            digests[found] = b
    for b, ref in enumerate(other.objects.refs(other.row)):
        for part in ref.parts:
            try:
                digests[hashlib.sha256(other.shard.read_part(ref, part)).digest()] = b
            except ShardError as error:
                if ends_reading(error):
                    raise
    pairs = [(a, digests[found]) for a in alone.tolist() if (found := _digest_or_none(one, a)) in digests]
    places = np.array(pairs, np.int64).reshape(-1, 2)
    return places[:, 0], places[:, 1], np.setdiff1d(alone, places[:, 0])


def _whole(one: DiffSide, other: DiffSide, alone: I64, added: I64) -> tuple[I64, I64] | None:
    """Match all chunks of one content with one object, or with other chunks, that have the same content; else None."""
    wholes = [_WHOLE in side.shard.views for side in (one, other)]
    complete = len(alone) == len(one), len(added) == len(other)
    if not any(wholes) or not all(all_ or len(left) == 1 for all_, left in zip(wholes, (alone, added), strict=True)):
        return None
    if not all(whole <= every for whole, every in zip(wholes, complete, strict=True)):
        return None
    digests = [
        _whole_digest(side.shard) if whole else _digest_or_none(side, int(left[0]))
        for side, whole, left in ((one, wholes[0], alone), (other, wholes[1], added))
    ]
    if digests[0] is None or digests[0] != digests[1]:
        return None
    count = max(len(alone), len(added))
    return alone[np.minimum(np.arange(count), len(alone) - 1)], added[np.minimum(np.arange(count), len(added) - 1)]


def _whole_digest(shard: Shard) -> bytes | None:
    try:
        hashing = hashlib.sha256()
        for piece in shard.stream(shard.find(_WHOLE)):
            hashing.update(piece)
        return hashing.digest()
    except ShardError as error:
        if ends_reading(error):
            raise
        return None
