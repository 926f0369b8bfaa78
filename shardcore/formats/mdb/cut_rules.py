"""Two ways to cut a file into pieces, to be compared: at fixed places, and where the content says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shardcore.codecs.xet.chunker import MAX_CHUNK, MIN_CHUNK, WINDOW, rolling

USUAL_CHUNK = 64 * 1024
"""Bytes that a chunk has on average, about; fixed pieces are as long."""

FINEST = 128
"""The finest rule: its least chunk is as long as the window of the hash."""

_TOP_BITS = 16


@dataclass(frozen=True, slots=True)
class Rule:
    """Where chunks end, at the real limits or at limits that are some times smaller.

    Attributes:
        finer: How many times smaller than those of Xet the limits are; a power of two up to `FINEST`.
    """

    finer: int = 1

    @property
    def least(self) -> int:
        """Bytes that a chunk has at least."""
        return MIN_CHUNK // self.finer

    @property
    def most(self) -> int:
        """Bytes after which a chunk is cut in any case."""
        return MAX_CHUNK // self.finer

    @property
    def fixed(self) -> int:
        """Bytes of a fixed piece to compare with."""
        return USUAL_CHUNK // self.finer

    @property
    def bits(self) -> int:
        """Top bits of the hash that are 0 at a cut."""
        return _TOP_BITS - (self.finer.bit_length() - 1)

    def candidates(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The ends where the hash allows a cut."""
        return np.flatnonzero(hashes < np.uint64(1 << (64 - self.bits))) + 1

    def ends(self, candidates: Sequence[int], size: int) -> list[int]:
        """The end of each chunk of `size` bytes; see `shardcore.codecs.xet.chunker.cut_ends`."""
        found, start = [], 0
        for end in (*candidates, size):
            while end - start > self.most:
                start += self.most
                found.append(start)
            if end - start >= self.least or (end == size and end > start):
                start = end
                found.append(start)
        return found

    def fixed_ends(self, size: int) -> list[int]:
        """The end of each piece where all have the same size."""
        return [*range(self.fixed, size, self.fixed), size] if size else []


def rule_for(hashes: NDArray[np.uint64], several: int) -> Rule:
    """The rule closest to the real one that cuts a content into several pieces; the finest where none does."""
    rule = Rule()
    while rule.finer < FINEST and len(rule.ends(rule.candidates(hashes).tolist(), len(hashes))) < several:
        rule = Rule(rule.finer * 2)
    return rule


class Cut:
    """A content that is cut, and what becomes of its cuts when bytes are inserted.

    Args:
        data: The content.
        several: Pieces that there are to be, by a finer rule where it needs one.
    """

    def __init__(self, data: bytes, several: int) -> None:
        self.data = data
        hashes = rolling(np.frombuffer(data, np.uint8))
        self.rule = rule_for(hashes, several)
        self._candidates = self.rule.candidates(hashes)

    def with_inserted(self, place: int, new: bytes) -> tuple[bytes, list[int]]:
        """The content with bytes inserted at a place, and its ends by content. Only what is near is hashed again."""
        data = self.data[:place] + new + self.data[place:]
        begin, until = max(place - WINDOW, 0), min(place + len(new) + WINDOW, len(data))
        near = self.rule.candidates(rolling(np.frombuffer(data, np.uint8, until - begin, begin))) + begin
        near = near[near > place]
        before, after = self._candidates[self._candidates <= place], self._candidates + len(new)
        ends = np.concatenate([before, near, after[after > until]])
        return data, self.rule.ends(ends.tolist(), len(data))

    @property
    def ends(self) -> list[int]:
        """Its ends by content."""
        return self.rule.ends(self._candidates.tolist(), len(self.data))
