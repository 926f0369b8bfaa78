"""Array that is stored as a grid of chunks: a scale of a volume, a Bloscpack array, a bcolz column."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from types import EllipsisType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shardcore.dataclasses import dataclass
from shardcore.errors import DEFAULT_LIMIT, InvalidIndex, LimitExceeded, ShardError
from shardcore.model.content_layout import RAW
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import plural, short

AxisIndex = slice | SupportsIndex

ArrayIndex = AxisIndex | EllipsisType | tuple[AxisIndex | EllipsisType, ...]
"""Index of an array: a coordinate or slice per axis, as for NumPy, with at most one `...`."""

Chunk = NDArray[Any] | ShardError | None
"""Elements of a chunk; the error if it cannot be read; None if it is not stored."""

MOST_CELLS = 1 << 20
"""Maximum number of chunks that one read may need."""


@dataclass(frozen=True, slots=True)
class VoxelBox:
    """Half-open box: `begin[i] <= coordinate < end[i]` on each axis."""

    begin: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(end - begin for begin, end in zip(self.begin, self.end, strict=True))

    def __str__(self) -> str:
        return " × ".join(f"{begin}..{end}" for begin, end in zip(self.begin, self.end, strict=True))


@dataclass(frozen=True, slots=True)
class GridCell:
    """One chunk of a grid.

    Attributes:
        at: Index of the chunk along each axis of the grid.
        box: Coordinates of its elements. The last chunk along an axis ends at the end of the array.
        key: Key of the chunk; for a bcolz column, the key of its first element.
        shard: Name of the file that contains the chunk; empty if it is the open file.
        minishard: Number of the minishard that contains the chunk; None if the format has no minishards.
    """

    at: tuple[int, ...]
    box: VoxelBox
    key: str
    shard: str = ""
    minishard: int | None = None


@dataclass(frozen=True, slots=True)
class GridScale:
    """One scale (resolution) of a volume. `spacing` is the length of a voxel along each axis; empty if unknown."""

    name: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ElementLocation:
    """Location of one element.

    Attributes:
        index: Coordinates of the element.
        cell: Chunk that contains it.
        ref: Object that stores the chunk; None if the chunk is not stored.
        start: Offset in the uncompressed chunk; -1 if the encoding has no bytes per element.
        stop: End of the element in the uncompressed chunk.
        span: Stored bytes of the element, or of the smallest compressed part that contains it; None if not stored.
        exact: Whether `span` contains this element only.
    """

    index: tuple[int, ...]
    cell: GridCell
    ref: ObjectRef | None = None
    start: int = -1
    stop: int = -1
    span: Span | None = None
    exact: bool = False


class ChunkGrid(ABC):
    """Array stored as a grid of chunks. Thread-safe; valid while its shard is open.

    Attributes:
        name: Name of the scale or array; may be empty.
        scales: All scales of the volume, in the order of its info; empty if there is only one.
        dtype: Type of an element.
        box: Coordinates of all elements.
        chunk: Edge lengths of a full chunk, in elements.
        inner: Shape of one element: `(channels,)`, or empty.
        axes: Names of the axes; may be empty.
        spacing: Length of an element along each axis, in `unit`; empty if unknown.
        unit: Unit of `spacing`.
        labels: Whether elements are segment IDs.
        encoding: Encoding of a chunk.
        order: Order of a raw chunk: `C` (last axis fastest) or `F` (first axis fastest).
        whole: Whether all stored chunks can be read; False if only one of several files is open.
    """

    name: str = ""
    scales: tuple[GridScale, ...] = ()
    dtype: np.dtype[Any]
    box: VoxelBox
    chunk: tuple[int, ...]
    inner: tuple[int, ...] = ()
    axes: tuple[str, ...] = ()
    spacing: tuple[float, ...] = ()
    unit: str = ""
    labels: bool = False
    encoding: str = RAW
    order: str = "F"
    whole: bool = True

    @abstractmethod
    def cell(self, at: tuple[int, ...]) -> GridCell:
        """Return the chunk with the index `at` in the grid."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis, without `inner`."""
        return self.box.shape

    @property
    def counts(self) -> tuple[int, ...]:
        """Chunks along each axis."""
        return tuple(-(-length // step) for length, step in zip(self.shape, self.chunk, strict=True))

    def box_at(self, at: Sequence[int]) -> VoxelBox:
        """Return the coordinates of the elements in the chunk with the index `at` in the grid."""
        steps = zip(at, self.chunk, self.box.begin, self.box.end, strict=True)
        ends = [(first + n * step, min(first + (n + 1) * step, last)) for n, step, first, last in steps]
        return VoxelBox(tuple(begin for begin, _ in ends), tuple(end for _, end in ends))

    def cells_in(self, box: VoxelBox) -> list[GridCell]:
        """Return the chunks that contain elements of a box.

        Raises:
            LimitExceeded: There are more than `MOST_CELLS`.
        """
        return [cell for cell, *_ in self._parts(list(map(range, box.begin, box.end)))]

    def _parts(self, ranges: Sequence[range]) -> Iterator[tuple[GridCell, tuple[slice, ...], tuple[slice, ...]]]:
        """Yield each chunk that has selected elements, and slices of these elements in the result and in the chunk."""
        split = [*map(_by_cell, ranges, self.box.begin, self.chunk)]
        _check_count(math.prod(map(len, split)))
        for parts in product(*split):
            at, there, inside = zip(*parts, strict=True)
            yield self.cell(at), there, inside

    @abstractmethod
    def read_cells(self, cells: Iterable[GridCell]) -> Iterator[tuple[GridCell, Chunk]]:
        """Yield each chunk with its elements, in the given order. Adjacent chunks are read with one request.

        The elements have the shape `(*cell.box.shape, *inner)`. Instead of them, a chunk that is not stored has None,
        and one that cannot be read has its error.

        Raises:
            Cancelled: The job was cancelled.
        """

    @abstractmethod
    def locate(self, index: Sequence[int]) -> ElementLocation:
        """Return the location of an element; reads the index and, for compressed chunks, the chunk.

        Raises:
            UsageError: The element is outside the array.
            ShardError: The chunk is damaged or cannot be read.
        """

    def read(self, index: ArrayIndex = ..., *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """Return the elements that an index selects, as NumPy does; elements of missing chunks are 0.

        Only the chunks that contain selected elements are read.

        Args:
            index: Coordinates and slices of `(*shape, *inner)`. On an axis that begins at 0, negative numbers count
                from the end, and slices may exceed the array. On other axes, numbers are coordinates inside the array.
            limit: Maximum bytes of the result.

        Raises:
            InvalidIndex: A coordinate is outside the array, or the index is not supported.
            LimitExceeded: The result has more than `limit` bytes.
            ShardError: A chunk is damaged or cannot be read.
        """
        axes = len(self.box.begin)
        ends = zip((*self.box.begin, *(0 for _ in self.inner)), (*self.box.end, *self.inner), strict=True)
        given = _per_axis(index, axes + len(self.inner))
        ranges = [_coordinates(one, *end, axis) for axis, (one, end) in enumerate(zip(given, ends, strict=True))]
        shape = tuple(map(len, ranges))
        if (size := math.prod(shape) * self.dtype.itemsize) > limit:
            raise LimitExceeded(f"the selected elements have {plural(size, 'byte')}; the limit is {limit:,}")
        out = np.zeros(shape, self.dtype, order="C" if self.order == "C" else "F")
        inner = tuple(slice(one.start, one.stop, one.step) for one in ranges[axes:])
        wanted = list(self._parts(ranges[:axes])) if size else []
        found = self.read_cells([cell for cell, *_ in wanted])
        for (_, there, inside), (_, chunk) in zip(wanted, found, strict=True):
            if isinstance(chunk, ShardError):
                raise chunk
            if chunk is not None:
                out[there] = chunk[(*inside, *inner)]
        return out[tuple(slice(None) if isinstance(one, slice) else 0 for one in given)]

    def cell_of(self, index: Sequence[int]) -> GridCell:
        """Return the chunk that contains an element.

        Raises:
            InvalidIndex: The element is outside the array.
        """
        first, last = self.box.begin, self.box.end
        if len(index) != len(first) or not all(map(lambda at, a, b: a <= at < b, index, first, last)):
            raise InvalidIndex(f"element {', '.join(map(str, index))} is outside the array, {self.box}")
        return self.cell(tuple((at - a) // step for at, a, step in zip(index, first, self.chunk, strict=True)))


class ArrayValue:
    """Base class of shards and contents that are arrays. Subclasses provide `shape`, `dtype` and `[...]`."""

    __slots__ = ()

    @property
    def ndim(self: Any) -> int:
        """Number of axes; a volume has 4."""
        return len(self.shape)

    def __array__(self: Any, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("copy=False is not possible, because the elements are read from the file: pass copy=None")
        return np.asarray(self[...], dtype)


class ShardArray(ArrayValue):
    """Array of all chunks of a shard, read by slices like a NumPy array. Valid while the shard is open.

    Attributes:
        grid: The chunks that store the array.
        limit: Maximum bytes of the result of one read.
        shape: Elements along each axis; the last axis of a volume is the channel.
        dtype: Type of an element.
        size: Number of elements.
        nbytes: Bytes of all elements, uncompressed.
    """

    def __init__(self, grid: ChunkGrid, limit: int = DEFAULT_LIMIT) -> None:
        self.grid, self.limit, self.dtype = grid, limit, grid.dtype
        self.shape: tuple[int, ...] = (*map(int, grid.shape), *grid.inner)
        self.size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: ArrayIndex) -> Any:
        return self.grid.read(index, limit=self.limit)

    def __iter__(self) -> Iterator[Any]:
        """Iterate along the first axis. One layer of chunks is read at a time, so that each chunk is read only once."""
        first, last, step = self.grid.box.begin[0], self.grid.box.end[0], self.grid.chunk[0]
        for at in range(first, last, step):
            yield from self[at : min(at + step, last)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.grid.name!r} shape={self.shape} dtype={self.dtype.str!r}>"


def _per_axis(index: ArrayIndex, axes: int) -> tuple[AxisIndex, ...]:
    """Return a coordinate or slice per axis; an axis that the index omits gets a full slice."""
    given: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    gaps = [number for number, one in enumerate(given) if one is Ellipsis]
    if (rest := axes - len(given) + len(gaps)) < 0 or len(gaps) > 1:
        raise InvalidIndex(f"the index has {len(given)} parts; at most {axes} and one ... are allowed")
    at = gaps[0] if gaps else len(given)
    return (*given[:at], *(slice(None) for _ in range(rest)), *given[at + 1 :])


def _coordinates(one: AxisIndex, first: int, last: int, axis: int) -> range:
    inside = range(first, last)
    try:
        given = (one.start, one.stop) if isinstance(one, slice) else (one,)
        bounds = [None if at is None else operator.index(at) - first for at in given]
        if isinstance(one, slice):
            found = inside[slice(bounds[0], bounds[1], one.step)]
        else:
            at = inside[operator.index(one) - first]
            found = range(at, at + 1)
        if isinstance(one, bool) or found.step < 0:
            raise ValueError
        if first and any(bound is not None and not 0 <= bound <= len(inside) for bound in bounds):
            raise IndexError
    except IndexError as error:
        raise InvalidIndex(f"{short(one)} is outside axis {axis}, {first}..{last}") from error
    except (TypeError, ValueError) as error:
        what = "integers, slices with a positive step and one ..."
        raise InvalidIndex(f"{short(one)} is not supported: an index has {what}") from error
    return found


def _by_cell(wanted: range, first: int, length: int) -> list[tuple[int, slice, slice]]:
    """Divide coordinates along one axis by chunks; return number of chunk, slice in the result, slice in the chunk."""
    parts, at = list[tuple[int, slice, slice]](), 0
    if wanted:
        _check_count(min(len(wanted), (wanted[-1] - first) // length - (wanted[0] - first) // length + 1))
    while at < len(wanted):
        cell, start = divmod(wanted[at] - first, length)
        count = min(-(-(length - start) // wanted.step), len(wanted) - at)
        stop = start + (count - 1) * wanted.step + 1
        parts.append((cell, slice(at, at + count), slice(start, stop, wanted.step)))
        at += count
    return parts


def _check_count(count: int) -> None:
    if count > MOST_CELLS:
        raise LimitExceeded(f"the box intersects {plural(count, 'chunk')}; at most {MOST_CELLS:,} are read")


def copy_box(chunk: NDArray[Any], place: VoxelBox, out: NDArray[Any], box: VoxelBox) -> None:
    """Copy the elements that two boxes have in common from `chunk` (at `place`) to `out` (at `box`)."""
    begin = [max(a, b) for a, b in zip(place.begin, box.begin, strict=True)]
    end = [min(a, b) for a, b in zip(place.end, box.end, strict=True)]
    inside = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, place.begin, strict=True))
    there = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, box.begin, strict=True))
    out[there] = chunk[inside]
