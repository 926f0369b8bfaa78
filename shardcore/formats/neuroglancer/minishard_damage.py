"""Errors of the damaged minishards of a shard, stored compactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shardcore.errors import FormatError
from shardcore.formats.neuroglancer.layout import SHARD_INDEX_ENTRY, RangeFault, range_fault_text, range_faults
from shardcore.formats.neuroglancer.minishard import Numbers
from shardcore.model.span import Span


class MinishardDamage(Mapping[int, FormatError]):
    """Errors of damaged minishards by number, ascending; created on access, because half a million take 0.5 GB.

    `pairs` has start and end of each minishard index, relative to the end of the shard index (`base`), shape
    `(2**m, 2)`. `faults` has the `RangeFault` of each minishard.
    """

    def __init__(self, pairs: Numbers, base: int, size: int) -> None:
        self._pairs, self._base, self._size = pairs, base, size
        self.faults = range_faults(pairs, base, size)
        self._codes = np.zeros(len(pairs), np.int32)
        self._texts: dict[str, int] = {}

    def note(self, number: int | npt.NDArray[np.int64], text: str) -> None:
        """Record the error of minishard indices that cannot be read. Call it only before `numbers` is used."""
        self._codes[number] = self._texts.setdefault(text, len(self._texts) + 1)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero((self.faults != RangeFault.NONE) | (self._codes > 0)).astype(np.int64)

    @cached_property
    def _messages(self) -> list[str]:
        return list(self._texts)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int) or not 0 <= number < len(self._codes):
            return False
        return bool(self.faults[number] or self._codes[number])

    def __getitem__(self, number: int) -> FormatError:
        if number not in self:
            raise KeyError(number)
        start, end = map(int, self._pairs[number])
        if self.faults[number]:
            at = number * SHARD_INDEX_ENTRY.size
            text = range_fault_text(int(self.faults[number]), number, start, end, self._base, self._size)
            return FormatError(text, span=Span("", at, at + SHARD_INDEX_ENTRY.size))
        text = self._messages[self._codes[number] - 1]
        return FormatError(f"minishard {number}: {text}", span=Span("", self._base + start, self._base + end))

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers.tolist())

    def __len__(self) -> int:
        return len(self.numbers)
