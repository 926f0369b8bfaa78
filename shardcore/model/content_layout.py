"""Layout of the content of an object: its parts and the bytes that store them, and for an array, type and shape."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from shardcore.dataclasses import dataclass, replace
from shardcore.errors import FormatError
from shardcore.model.span import Span
from shardcore.model.text import plural


@dataclass(frozen=True, slots=True)
class ContentPart:
    """Part of a content: decoded bytes `[start, stop)`, and the span that stores them. Equal sizes: not compressed."""

    start: int
    stop: int
    stored: Span

    @property
    def exact(self) -> bool:
        return self.stored.size == self.stop - self.start

    def span_of(self, start: int, stop: int) -> Span:
        """Return the stored bytes of a range of the content; for a compressed part, all its stored bytes."""
        if not self.exact:
            return self.stored
        first = max(start, self.start) - self.start + self.stored.start
        return Span(self.stored.source, first, first + max(min(stop, self.stop) - max(start, self.start), 0))

    def content_at(self, offset: int) -> int:
        return self.start + (offset - self.stored.start if self.exact else 0)


class ContentParts(Sequence[ContentPart]):
    """Sequence of parts that are created on access, for contents with too many parts to keep in memory."""

    @abstractmethod
    def at_stored(self, span: Span) -> ContentPart | None:
        """Return the first part that contains the stored byte at the start of a span; None if no part does."""

    @abstractmethod
    def placed(self, place: Callable[[Span], Span]) -> ContentParts:
        """Return the same parts with each span converted by `place`, for example to a span of the data set."""


def part_at(parts: Sequence[ContentPart], offset: int) -> ContentPart | None:
    at = bisect_right(parts, offset, key=lambda part: part.start) - 1
    return parts[at] if at >= 0 and offset < parts[at].stop else None


def part_stored_at(parts: Sequence[ContentPart], span: Span) -> ContentPart | None:
    if isinstance(parts, ContentParts):
        return parts.at_stored(span)
    inside = (one for one in parts if one.stored.source == span.source and one.stored.start <= span.start)
    return next((one for one in inside if span.start < one.stored.stop), None)


RAW = "raw"
"""Encoding of consecutive elements without compression."""


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """Layout of an array in the decoded bytes of an object.

    Attributes:
        order: `C` (last axis varies fastest) or `F` (first axis varies fastest).
        begin: Coordinates of the first element; empty: zeros.
        encoding: `raw`, or an encoding of the format (`jpeg`, `compressed_segmentation`).
        start: Offset of the first element in the decoded bytes.
        block: Edge lengths of the blocks of the encoding; empty if it has no blocks.
        resolution: Length of an element along each axis, in `units`; empty if unknown.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: str
    axes: tuple[str, ...] = ()
    begin: tuple[int, ...] = ()
    encoding: str = RAW
    start: int = 0
    block: tuple[int, ...] = ()
    units: tuple[str, ...] = ()
    resolution: tuple[float, ...] = ()

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def stride(self) -> int:
        """Uncompressed bytes from one index of the first axis to the next, in C order; `shape` must not be empty."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def leading(self, size: int) -> ArrayLayout:
        """Return the layout of the array in the first `size` bytes: the slowest axis ends after its last full step."""
        if not self.shape:
            return self
        axis = 0 if self.order == "C" else len(self.shape) - 1
        place = math.prod(self.shape[:axis] + self.shape[axis + 1 :]) * self.dtype.itemsize
        there = min(max(size - self.start, 0) // place, self.shape[axis]) if place else self.shape[axis]
        return replace(self, shape=(*self.shape[:axis], there, *self.shape[axis + 1 :]))

    def of(self, data: bytes) -> NDArray[Any]:
        """Return the elements of `data` as a read-only array; FormatError if its size differs from the layout."""
        size = len(data) - self.start
        if self.nbytes != size:
            described = plural(self.nbytes, "byte")
            raise FormatError(f"the metadata describes an array of {described}; the content has {size:,}")
        flat = np.frombuffer(data, self.dtype, offset=self.start) if size else np.zeros(0, self.dtype)
        return flat.reshape(self.shape, order="C" if self.order == "C" else "F")

    def bytes_of(self, index: Sequence[int]) -> tuple[int, int]:
        """Return the bytes `[start, stop)` of the element at an index; only for encoding `raw`."""
        at = int(np.ravel_multi_index(tuple(index), self.shape, order="C" if self.order == "C" else "F"))
        start = self.start + at * self.dtype.itemsize
        return start, start + self.dtype.itemsize

    def box_of(self, start: int, stop: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the smallest box with all elements in `[start, stop)`: first and last index, inclusive; or None."""
        first, last = self.index_at(start), self.index_at(max(stop - 1, start))
        if first is None or last is None:
            return None
        axes = range(len(first)) if self.order == "C" else range(len(first) - 1, -1, -1)
        low, high, apart = list(first), list(last), False
        for axis in axes:
            if apart:
                low[axis], high[axis] = 0, self.shape[axis] - 1
            apart = apart or first[axis] != last[axis]
        return tuple(low), tuple(high)

    def index_at(self, offset: int) -> tuple[int, ...] | None:
        """Return the index of the element that contains a byte; None if no element does, or if elements are encoded."""
        at = (offset - self.start) // self.dtype.itemsize if self.dtype.itemsize else -1
        if self.encoding != RAW or not 0 <= at < math.prod(self.shape):
            return None
        return tuple(int(n) for n in np.unravel_index(at, self.shape, order="C" if self.order == "C" else "F"))


def is_length(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
