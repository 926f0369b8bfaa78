"""The perfect hash function of a Read Shard: CHD over Bob Jenkins' hash, in NumPy.

A key is hashed to three numbers. They select a bucket, and the *displacement* of the bucket moves the key to a slot
that no other key of the shard has. This module hashes keys and computes slots; `chd_build` finds displacements for a
set of keys; `chd_code` encodes and decodes them.

Symbols: *n* slots, *B* buckets; *g* the bucket, *f* the first slot and *h* the step of a key. Sections such as §3 are
those of `docs/formats/swh.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
I64 = NDArray[np.int64]
Triple = tuple[int, int, int]

KEY_SIZE = 32
"""Bytes of a key."""

STATE_START = 0x9E3779B9
"""Initial value of the first two state numbers; the third is the seed."""

_MASK = 0xFFFFFFFF
_SHIFTS = ((13, 8, 13), (12, 16, 5), (3, 10, 15))  # shifts right, left, right; one row per pass of `_mix`
_HASH_BLOCK = 1 << 14  # keys hashed at a time, so that the working set stays in the cache

# --- the hash ---------------------------------------------------------------------------------------------------


class Round(NamedTuple):
    """One round of the hash of one key: three addends are added to the state, then the state is mixed."""

    before: Triple
    addends: Triple
    added: Triple
    mixed: Triple


def key_words(key: bytes) -> tuple[int, ...]:
    if len(key) != KEY_SIZE:
        raise ValueError(f"a key has {KEY_SIZE} bytes, not {len(key)}")
    return tuple(int(word) for word in _words(np.frombuffer(key, np.uint8).reshape(1, KEY_SIZE))[:, 0])


def jenkins_rounds(key: bytes, seed: int) -> tuple[Round, Round, Round]:
    words = key_words(key)
    state: Triple = (STATE_START, STATE_START, seed & _MASK)
    rounds = []
    for addends in (words[0:3], words[3:6], (*words[6:8], KEY_SIZE)):
        a, b, c = ((number + addend) & _MASK for number, addend in zip(state, addends, strict=True))
        mixed = _mix_integers(a, b, c)
        rounds.append(Round(state, (addends[0], addends[1], addends[2]), (a, b, c), mixed))
        state = mixed
    return rounds[0], rounds[1], rounds[2]


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
    """Return bucket g, first slot f and step h of many hashes (§3, Search).

    Args:
        a: First number of each hash.
        b: Second number.
        c: Third number.
        buckets: B, at least 1.
        slots: n, 2 to 2^32 - 1.
    """
    g = a % np.uint32(buckets)
    f = b % np.uint32(slots)
    h = c % np.uint32(slots - 1)
    return g.astype(np.int64), f.astype(np.int64), h.astype(np.int64) + 1


def slot(f: I64, h: I64, displacements: U32, slots: int) -> I64:
    """Return the slots of many keys (§3, Search).

    Args:
        f: First slot of each key.
        h: Step of each key.
        displacements: Displacement of the bucket of each key.
        slots: n, below 2^32, so that no sum reaches 2^64.
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
