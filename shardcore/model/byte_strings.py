"""Byte strings of different lengths in one array: keys and contents, hashed and compared in bulk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
"""Multiplier of each of the two hashes; odd, so that it has an inverse modulo 2^64."""

_INVERSES = tuple(pow(factor, -1, 1 << 64) for factor in _FACTORS)

_TABLE: U64 = np.frombuffer(os.urandom(256 * 8), np.uint64)
"""Random number per byte value, different in each process."""


@dataclass(frozen=True)
class ByteStrings:
    """Byte strings, concatenated in `data` (uint8); `lengths` (int64) contains the length of each."""

    data: NDArray[np.uint8]
    lengths: I64

    @staticmethod
    def of(strings: Iterable[bytes]) -> ByteStrings:
        parts = list(strings)
        return ByteStrings(np.frombuffer(b"".join(parts), np.uint8), np.fromiter(map(len, parts), np.int64, len(parts)))

    @staticmethod
    def rows(values: NDArray[np.generic]) -> ByteStrings:
        count = len(values)
        data = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
        return ByteStrings(data, np.full(count, len(data) // max(count, 1), np.int64))

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def stops(self) -> I64:
        """End of each string in `data`, int64."""
        return np.cumsum(self.lengths)

    def hashes(self) -> U64:
        """Return two 64-bit hashes per string, shape `(n, 2)`. Different strings agree in both with probability 2^-128.

        The hash function is chosen at random in each process, so that no file can be built with colliding keys.
        """
        found = np.zeros((len(self), 2), np.uint64)
        if not len(self.data):
            return found
        width = int(self.lengths[0])
        numbers = _TABLE[self.data]
        if width and bool((self.lengths == width).all()):
            rows = numbers.reshape(-1, width)
            for column, factor in enumerate(_FACTORS):
                found[:, column] = rows @ _powers(factor, width)
        else:
            # Prefix sums; the inverse powers shift the sum of each string back to its start.
            starts, sums = self.stops - self.lengths, np.zeros(len(self.data) + 1, np.uint64)
            for column, (factor, inverse) in enumerate(zip(_FACTORS, _INVERSES, strict=True)):
                np.cumsum(numbers * _powers(factor, len(self.data)), out=sums[1:])
                found[:, column] = (sums[self.stops] - sums[starts]) * _powers(inverse, len(self.data) + 1)[starts]
        found ^= (self.lengths.astype(np.uint64) * np.uint64(_INVERSES[0]))[:, np.newaxis]
        return found

    def differ(self, other: ByteStrings) -> NDArray[np.bool_]:
        """Return a mask: True where a string differs from the one at the same index in `other`, which is as long."""
        at = np.flatnonzero(self.data != other.data)
        found: NDArray[np.bool_] = np.searchsorted(at, self.stops) > np.searchsorted(at, self.stops - self.lengths)
        return found


def unlike(one: ByteStrings, other: ByteStrings) -> NDArray[np.bool_]:
    differing: NDArray[np.bool_] = one.lengths != other.lengths
    if not differing.any():
        return one.differ(other)
    same = ~differing
    differing[same] = _kept(one, same).differ(_kept(other, same))
    return differing


def _kept(strings: ByteStrings, kept: NDArray[np.bool_]) -> ByteStrings:
    return ByteStrings(strings.data[np.repeat(kept, strings.lengths)], strings.lengths[kept])


_cached: dict[int, U64] = {}

_MOST_CACHED = 1 << 20


def _powers(factor: int, count: int) -> U64:
    found = _cached.get(factor)
    if found is None or len(found) < count:
        size = max(count, 1 << 12)
        found = np.full(size, factor, np.uint64)
        found[0] = 1
        np.cumprod(found, out=found)
        if size <= _MOST_CACHED:
            _cached[factor] = found
    return found[:count]
