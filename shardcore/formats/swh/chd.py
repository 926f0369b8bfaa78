"""The perfect hash function of a Read Shard: CHD over Bob Jenkins' hash, in NumPy; placing also in C (`native.c`).

A key is hashed to three numbers. They select a bucket, and the *displacement* of the bucket moves the key to a slot
that no other key of the shard has. `build` finds the displacements for a set of keys: the largest buckets come first,
and each takes the first displacement that moves all its keys to free slots. Many displacements are tried at once, with
the same result as one after the other: for equal keys and seed, the bytes equal those of the C library.

Symbols: *m* keys, *n* slots, *B* buckets; *g* the bucket, *f* the first slot and *h* the step of a key; a *probe* is a
displacement that is tried. Sections such as §3 are those of `docs/formats/swh.md`.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import ShardError
from shardcore.model.text import plural

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]
Progress = Callable[[int, int], object]
Triple = tuple[int, int, int]

KEY_SIZE = 32

STATE_START = 0x9E3779B9
"""Initial value of the first two state numbers of the key hash; the third is the seed."""

_MASK = 0xFFFFFFFF
_WORDS = struct.Struct("<8I")
_SHIFTS = ((13, 8, 13), (12, 16, 5), (3, 10, 15))  # shifts right, left, right; one row per pass of `_mix`
_HASH_BLOCK = 1 << 14  # keys hashed at a time, so that the working set stays in the cache

# --- the hash ---------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """One round of the hash of one key: three addends are added to the state, then the state is mixed."""

    before: Triple
    added: Triple
    mixed: Triple


def _addends(key: bytes) -> tuple[Triple, Triple, Triple]:
    if len(key) != KEY_SIZE:
        raise ValueError(f"a key has {KEY_SIZE} bytes, not {len(key)}")
    a, b, c, d, e, f, g, h = _WORDS.unpack(key)
    return (a, b, c), (d, e, f), (g, h, KEY_SIZE)


def jenkins_rounds(key: bytes, seed: int) -> tuple[Round, Round, Round]:
    state: Triple = (STATE_START, STATE_START, seed & _MASK)
    rounds = []
    for x, y, z in _addends(key):
        a, b, c = state
        added = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
        mixed = _mix_integers(*added)
        rounds.append(Round(state, added, mixed))
        state = mixed
    return rounds[0], rounds[1], rounds[2]


def jenkins_one(key: bytes, seed: int) -> Triple:
    a, b, c = STATE_START, STATE_START, seed & _MASK
    for x, y, z in _addends(key):
        # Only the third number is shifted before it is reduced.
        a, b, c = _mix_integers(a + x, b + y, (c + z) & _MASK)
    return a, b, c


def jenkins(keys: U8, seed: int, signed: bool = False) -> tuple[U32, U32, U32]:
    if keys.dtype != np.uint8 or keys.ndim != 2 or keys.shape[1] != KEY_SIZE:
        raise ValueError(f"keys must be bytes of shape (m, {KEY_SIZE}), not {keys.dtype} of shape {keys.shape}")
    state = np.empty((3, len(keys)), np.uint32)
    for start in range(0, len(keys), _HASH_BLOCK):
        words = _words(keys[start : start + _HASH_BLOCK], signed)
        a, b, c = state[:, start : start + _HASH_BLOCK]
        a[:] = b[:] = STATE_START
        c[:] = seed & _MASK
        spare = np.empty_like(a)
        for first in (0, 3, 6):
            a += words[first]
            b += words[first + 1]
            c += words[first + 2] if first < 6 else np.uint32(KEY_SIZE)
            _mix(a, b, c, spare)
    return state[0], state[1], state[2]


def _words(keys: U8, signed: bool = False) -> U32:
    words = np.ascontiguousarray(keys).view("<u4").T.astype(np.uint32, order="C")
    if signed:
        # A signed byte of 0x80 or more is 0x100 less; for the top byte of a word that changes nothing modulo 2**32.
        # The lowest bytes of the last two words (24 and 28) are unsigned.
        words[:6] -= (words[:6] & np.uint32(0x00808080)) << np.uint32(1)
        words[6:] -= (words[6:] & np.uint32(0x00808000)) << np.uint32(1)
    return words


def _mix(a: U32, b: U32, c: U32, spare: U32) -> None:
    """Mix the state in place; relies on the wrap-around of unsigned arrays."""
    for x, y, z in _SHIFTS:
        for target, one, other, shift, move in (
            (a, b, c, np.right_shift, x),
            (b, c, a, np.left_shift, y),
            (c, a, b, np.right_shift, z),
        ):
            target -= one
            target -= other
            shift(other, np.uint32(move), out=spare)
            target ^= spare


def _mix_integers(a: int, b: int, c: int) -> Triple:
    for x, y, z in _SHIFTS:
        a = ((a - b - c) & _MASK) ^ (c >> x)
        b = ((b - c - a) & _MASK) ^ ((a << y) & _MASK)
        c = ((c - a - b) & _MASK) ^ (b >> z)
    return a, b, c


# --- from hash to slot ------------------------------------------------------------------------------------------


def place(a: U32, b: U32, c: U32, buckets: int, slots: int) -> tuple[I64, I64, I64]:
    """Return bucket g, first slot f and step h of keys with hashes a, b, c, for B buckets and n slots (§3, Search)."""
    g = a % np.uint32(buckets)
    f = b % np.uint32(slots)
    h = c % np.uint32(slots - 1)
    return g.astype(np.int64), f.astype(np.int64), h.astype(np.int64) + 1


def slot(f: I64, h: I64, displacements: U32, slots: int) -> I64:
    """Return the slots of keys with first slots f, steps h and the displacements of their buckets (§3, Search).

    `slots` is n, below 2^32, so that no sum reaches 2^64.
    """
    n = np.uint64(slots)
    turns, probes = np.divmod(displacements, np.uint32(slots))
    sums = f.astype(np.uint64) + h.astype(np.uint64) * probes + turns
    return (sums % n).astype(np.int64)


def place_one(hashed: Triple, buckets: int, slots: int) -> Triple:
    a, b, c = hashed
    return a % buckets, b % slots, c % (slots - 1) + 1


def slot_one(f: int, h: int, displacement: int, slots: int) -> int:
    turns, probes = divmod(displacement, slots)
    return (f + h * probes + turns) % slots


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    seed: int
    slots: int
    displacements: U32
    signed: bool = False

    @property
    def buckets(self) -> int:
        return len(self.displacements)

    def slots_of(self, keys: U8) -> I64:
        """Return the slot of each key, shape `(m,)`; a key that is not in the shard gets an arbitrary slot."""
        result = np.empty(len(keys), np.int64)
        for start in range(0, len(keys), _HASH_BLOCK):
            block = slice(start, start + _HASH_BLOCK)
            g, f, h = place(*jenkins(keys[block], self.seed, self.signed), self.buckets, self.slots)
            result[block] = slot(f, h, self.displacements[g], self.slots)
        return result


# --- building ---------------------------------------------------------------------------------------------------

FIRST_SEED = 1
"""Default first seed; fixed, so that equal keys give equal bytes."""

MAX_SEEDS = 100

KEYS_PER_BUCKET = 4
LOAD = 0.99
MAX_PROBES = 1 << 20

_LOW = np.uint64(0xFFFFFFFF)
_WITNESSES = (2, 7, 61)  # sufficient below 2**32
_BUDGET = 400_000  # slots examined per step: larger steps do not fit in the cache, smaller ones need more calls
_MOST_PROBES = 4096  # maximum number of probes in one step
_COMPILED_BUDGET = 20_000_000  # buckets examined per step by the extension, for progress
_COMPARED = 8  # maximum number of rows that are compared in pairs; more rows are sorted


class _Inseparable(Exception):
    """The seed cannot be used: two keys of a bucket always share a slot, or a bucket gets no free slots."""


def table_sizes(keys: int) -> tuple[int, int]:
    """Return the numbers of buckets (B) and slots (n) for a number of keys (§4); 1 and 11 for no keys (§5)."""
    slots = int(keys / LOAD) + 1
    slots += 1 - slots % 2
    while not _passes_for_prime(slots):
        slots += 2
    if slots >= 1 << 32:
        raise ShardError(f"{keys:,} objects need {slots:,} slots; a shard has at most 2^32 - 1")
    return keys // KEYS_PER_BUCKET + 1, slots


def _passes_for_prime(number: int) -> bool:
    """Return the result of the reference's primality test (Miller-Rabin) for an odd number.

    It rejects four primes: 3, 5, 7 (the smallest table has 11 slots) and 61 (58 or 59 keys get 67 slots).
    """
    if number < 11 or any(number % prime == 0 for prime in (3, 5, 7)):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        if not any((power := power * power % number) == number - 1 for _ in range(twos - 1)):
            return False
    return True


def find_duplicates(keys: U8) -> list[tuple[int, int]]:
    """Return (index of the previous equal key, index) for each repeated key, ascending by index."""
    columns = np.ascontiguousarray(keys).view("<u8")
    # `sort` is faster than `argsort`, and nearly always shows that there are no duplicates.
    numbers = np.sort(columns[:, 0])
    if not (numbers[1:] == numbers[:-1]).any():
        return []
    order = np.argsort(columns[:, 0], kind="stable")
    prefix = columns[order, 0]
    same = prefix[1:] == prefix[:-1]
    rows = np.sort(order[np.append(same, False) | np.append(False, same)])
    rows = rows[np.lexsort(columns[rows].T)]  # stable: equal keys stay in ascending order
    again = np.flatnonzero((columns[rows[1:]] == columns[rows[:-1]]).all(axis=1))
    again = again[np.argsort(rows[again + 1])]
    return list(zip(rows[again].tolist(), rows[again + 1].tolist(), strict=True))


def build(keys: U8, seeds: int | Iterable[int] = FIRST_SEED, *, progress: Progress | None = None) -> Function:
    """Build the function for a set of keys, shape `(m, 32)`, all different (§4); m may be 0.

    For equal keys in any order and equal seeds, the function equals that of the reference library. As in the library,
    buckets that are empty with the final seed retain displacements of a failed one. `seeds` are the seeds to try, or
    the first of consecutive seeds; `progress` receives (keys placed, keys) before every step, and may raise to stop.
    """
    total = len(keys)
    buckets, slots = table_sizes(total)
    displacements = np.zeros(buckets, np.uint32)
    if not total:
        return Function(0, slots, displacements)
    tried = list(itertools.islice(itertools.count(seeds) if isinstance(seeds, int) else seeds, MAX_SEEDS))
    for seed in tried:
        try:
            _place_all(_groups(keys, seed, buckets, slots), slots, displacements, total, progress)
        except _Inseparable:
            continue
        return Function(seed & _MASK, slots, displacements)
    seeds_text = plural(len(tried), "seed")
    raise ShardError(f"no perfect hash function for {plural(total, 'key')} after {seeds_text}: look for duplicate keys")


@dataclass(slots=True, eq=False)
class _BucketGroup:
    """Unplaced buckets of one size, in the order in which they are placed.

    Attributes:
        buckets: Numbers of the buckets, shape `(k,)`, ascending.
        starts: First slots f of the keys in each bucket, shape `(size, k)`.
        steps: Steps h of the keys in each bucket, shape `(size, k)`.
    """

    buckets: I64
    starts: I64
    steps: I64

    @property
    def size(self) -> int:
        return len(self.starts)

    def keep(self, chosen: Flags) -> None:
        self.buckets = self.buckets[chosen]
        # `compress` and `take` are several times as fast as indexing.
        self.starts = self.starts.compress(chosen, axis=1)
        self.steps = self.steps.compress(chosen, axis=1)


def _groups(keys: U8, seed: int, buckets: int, slots: int) -> list[_BucketGroup]:
    g, f, h = place(*jenkins(keys, seed), buckets, slots)
    # Bucket and index in one number: `sort` then gives a stable order, faster than `argsort`.
    order = (np.sort((g.astype(np.uint64) << np.uint64(32)) | np.arange(len(g), dtype=np.uint64)) & _LOW).astype(
        np.int64
    )
    f, h = f.take(order), h.take(order)
    sizes = np.bincount(g, minlength=buckets)
    first = np.cumsum(sizes) - sizes
    groups = []
    for size in np.flatnonzero(np.bincount(sizes))[::-1].tolist():
        if size:
            members = np.flatnonzero(sizes == size)
            items = first[members] + np.arange(size)[:, None]
            groups.append(_BucketGroup(members, f.take(items), h.take(items)))
    if any(_meet((group.starts << 32) | group.steps).any() for group in groups):
        raise _Inseparable
    return groups


def _place_all(
    groups: list[_BucketGroup], slots: int, displacements: U32, total: int, progress: Progress | None
) -> None:
    free = np.ones(slots, np.bool_)
    claims = np.empty(slots, np.int64)
    placed = 0
    for group in groups:
        for count in _place_group(group, free, claims, displacements):
            if progress:
                progress(placed, total)
            placed += count


def _place_group(group: _BucketGroup, free: Flags, claims: I64, displacements: U32) -> Iterator[int]:
    """Place the buckets of one size; yield the number of keys placed after each step."""
    from shardcore.codecs import extension

    slots, size = len(free), group.size
    limit = min(MAX_PROBES, slots * slots)
    probe = last = 0
    while len(group.buckets):
        if probe >= limit:
            raise _Inseparable
        turns, within = divmod(probe, slots)
        count = min(limit - probe, slots - within)
        if extension.native is None:
            count = min(count, _probes_at_once(group, free))
            tries, rows, where = _fitting_pairs(group, free, turns, within, count)
            chosen = _take_first_come(where, rows, len(group.buckets), free, claims)
            rows, tries = rows[chosen], tries[chosen]
        else:
            count = min(count, 1 + _COMPILED_BUDGET // len(group.buckets))
            found = np.full(len(group.buckets), -1, np.int32)
            extension.native.place(group.starts, group.steps, free, found, turns, within, count)
            rows = np.flatnonzero(found >= 0)
            tries = found[rows].astype(np.int64)
        displacements[group.buckets[rows]] = probe + tries
        if len(rows):
            last = probe + int(tries.max())
            left = np.ones(len(group.buckets), np.bool_)
            left[rows] = False
            group.keep(left)
        probe += count
        yield size * len(rows)
    if last == limit - 1:  # the reference counts success with the last probe as failure
        raise _Inseparable


def _probes_at_once(group: _BucketGroup, free: Flags) -> int:
    affordable = _BUDGET // (len(group.buckets) * group.size)
    hits = (np.count_nonzero(free) - np.arange(group.size)) / len(free)  # probability of a free slot per key
    success = float(np.prod(np.maximum(hits, 0)))
    return max(1, min(affordable, _MOST_PROBES, int(2 / max(success, 1e-6))))


def _fitting_pairs(group: _BucketGroup, free: Flags, turns: int, within: int, count: int) -> tuple[I64, I64, I64]:
    """Return the (probe, bucket) pairs that give all keys of the bucket free, distinct slots; sorted by both.

    `count` probes are tried, from probe `turns` · n + `within` on. The three arrays have one entry per pair: the probe
    minus the first probe, the row of the bucket in `group`, and the slots of its keys, shape `(size, pairs)`.
    """
    slots, k = len(free), len(group.buckets)
    now = _modulo(group.steps[0] * within + (group.starts[0] + turns), slots)
    leading = _arithmetic_rows(now, group.steps[0], count, slots)
    flat = np.flatnonzero(free.take(leading))
    where = leading.ravel()[flat][None, :]
    tries = flat // k
    rows = flat - tries * k  # faster than `divmod`
    for item in range(1, group.size):
        at = _modulo(group.starts[item].take(rows) + group.steps[item].take(rows) * (tries + within) + turns, slots)
        open_here = np.flatnonzero(free.take(at))
        tries, rows = tries.take(open_here), rows.take(open_here)
        where = np.concatenate((where.take(open_here, axis=1), at.take(open_here)[None, :]))
    apart = np.flatnonzero(~_meet(where))
    return tries.take(apart), rows.take(apart), where.take(apart, axis=1)


def _arithmetic_rows(first: I64, step: I64, count: int, slots: int) -> I64:
    """Return `(first + t * step) mod slots` for t below `count`, shape `(count, k)`, without dividing all of them."""
    table = np.empty((count, len(first)), np.int64)
    table[0] = first
    done = 1
    while done < count:
        more = min(done, count - done)
        np.add(table[:more], _modulo(step * done, slots), out=table[done : done + more])
        part = table[done : done + more].view(np.uint64)
        np.minimum(part, part - np.uint64(slots), out=part)  # below `slots` the difference wraps to a huge number
        done += more
    return table


def _modulo(numbers: I64, slots: int) -> I64:
    """Reduce numbers modulo `slots`, in place; faster than `%`: NumPy optimises `//` by a scalar, but not `%`."""
    numbers -= (numbers // slots) * slots
    return numbers


def _take_first_come(where: I64, rows: I64, buckets: int, free: Flags, claims: I64) -> I64:
    """Place buckets by (probe, bucket) pairs, earlier pairs first; return the indices of the pairs used, unordered.

    In each round, a pair that is the first one with its bucket and with each of its slots is used. Pairs that need the
    bucket or a slot of a used pair are dropped; the next round decides the rest. `where` has the slots of each pair,
    shape `(size, p)`, `rows` the row of its bucket; `claims` is scratch memory, one number per slot.
    """
    open_rows, row_claims = np.ones(buckets, np.bool_), np.empty(buckets, np.int64)
    undecided = np.arange(len(rows))
    placed = []
    while len(undecided):
        at, row = where.take(undecided, axis=1), rows.take(undecided)
        backwards = undecided[::-1]
        # Of several assignments to one index the last wins; reversed, that is the first claimant.
        row_claims[row[::-1]] = backwards
        claims[at[:, ::-1].T.ravel()] = np.repeat(backwards, len(at))
        wins = (row_claims.take(row) == undecided) & (claims.take(at) == undecided).all(axis=0)
        placed.append(undecided[wins])
        free[at.compress(wins, axis=1)] = False
        open_rows[row[wins]] = False
        undecided = undecided[open_rows.take(row) & free.take(at).all(axis=0)]
    return np.concatenate(placed) if placed else undecided


def _meet(columns: I64) -> Flags:
    if len(columns) > _COMPARED:
        ordered = np.sort(columns, axis=0)
        return np.asarray((ordered[1:] == ordered[:-1]).any(axis=0))
    met = np.zeros(columns.shape[1], np.bool_)
    for one, other in itertools.combinations(columns, 2):
        met |= one == other
    return met
