"""Array that is stored as a grid of chunks: a scale of a volume, a Bloscpack array, a bcolz column."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardcore.errors import DEFAULT_LIMIT, LimitExceeded, ShardError, UsageError
from shardcore.model.content_layout import RAW
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span
from shardcore.model.text import plural

AxisIndex = slice | int

Chunk = NDArray[Any] | ShardError | None
"""Elements of a chunk; the error if it cannot be read; None if it is not stored."""

MOST_CELLS = 1 << 20
"""Maximum chunks of one box."""


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
        at: Index in the grid, in chunks.
        box: Elements of the chunk; the last cell of an axis is cut at the end of the array.
        key: Key of the chunk; for a bcolz column, the key of its first element.
        shard: File of the chunk; empty for the open file.
        minishard: Number of the minishard of the chunk; None if there are no minishards.
    """

    at: tuple[int, ...]
    box: VoxelBox
    key: str
    shard: str = ""
    minishard: int | None = None


@dataclass(frozen=True, slots=True)
class GridScale:
    """One scale of a volume; `spacing` is empty if unknown."""

    name: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ElementLocation:
    """Location of one element.

    Attributes:
        index: Coordinates of the element.
        cell: Chunk that contains it.
        ref: Object of the chunk; None if the chunk is not stored.
        start: Offset in the uncompressed chunk; -1 if the encoding has no bytes per element.
        stop: End of the element in the uncompressed chunk.
        span: Stored bytes of the element, or of the smallest stored part around it; None if there are none.
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
        box: All elements.
        chunk: Edge lengths of a full chunk.
        inner: Shape of one element: `(channels,)`, or empty.
        axes: Names of the axes; may be empty.
        spacing: Length of an element along each axis, in `unit`; empty if unknown.
        unit: Unit of `spacing`.
        labels: Whether elements are segment IDs.
        encoding: Encoding of a chunk.
        order: Order of a raw chunk: `C` (last axis fastest) or `F` (first axis fastest).
        whole: Whether all chunks are searched; one file of a data set contains only some of them.
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
        """Return a cell by its indices along the axes, in chunks."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self.box.shape

    @property
    def counts(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(-(-length // step) for length, step in zip(self.shape, self.chunk, strict=True))

    def box_at(self, at: Sequence[int]) -> VoxelBox:
        """Return the elements of the cell at an index."""
        steps = zip(at, self.chunk, self.box.begin, self.box.end, strict=True)
        ends = [(first + n * step, min(first + (n + 1) * step, last)) for n, step, first, last in steps]
        return VoxelBox(tuple(begin for begin, _ in ends), tuple(end for _, end in ends))

    def cells_in(self, box: VoxelBox) -> list[GridCell]:
        """Return the cells that intersect a box.

        Raises:
            LimitExceeded: There are more than `MOST_CELLS`.
        """
        steps = zip(box.begin, box.end, self.box.begin, self.chunk, strict=True)
        ranges = [
            range((begin - first) // step, -(-(end - first) // step)) if end > begin else range(0)
            for begin, end, first, step in steps
        ]
        if (count := math.prod(map(len, ranges))) > MOST_CELLS:
            raise LimitExceeded(f"the box intersects {plural(count, 'chunk')}; at most {MOST_CELLS:,} are read")
        return [self.cell(at) for at in product(*ranges)]

    @abstractmethod
    def read_cells(self, cells: Iterable[GridCell]) -> Iterator[tuple[GridCell, Chunk]]:
        """Yield cells with their elements, in order; several are read at a time, neighbours with one request.

        A cell that is not stored has None instead, an unreadable one its error. Shape: `(*cell.box.shape, *inner)`.

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

    def read(self, index: Sequence[AxisIndex], *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """Return a box of elements; elements of missing chunks are 0.

        Args:
            index: A coordinate, or a slice of step 1, per axis.
            limit: Maximum bytes of the result.

        Returns:
            Shape `(*box, *inner)`; a single coordinate keeps its axis, with length 1.

        Raises:
            UsageError: The index is invalid or outside the array.
            LimitExceeded: The box has more than `limit` bytes.
            ShardError: A chunk is damaged or cannot be read.
        """
        box = self.box_of(index)
        size = math.prod((*map(int, box.shape), *self.inner)) * self.dtype.itemsize
        if size > limit:
            raise LimitExceeded(f"the box has {plural(size, 'byte')}; at most {limit:,} are read")
        out = np.zeros((*box.shape, *self.inner), self.dtype, order="F")
        for cell, chunk in self.read_cells(self.cells_in(box)):
            if isinstance(chunk, ShardError):
                raise chunk
            if chunk is not None:
                copy_box(chunk, cell.box, out, box)
        return out

    def box_of(self, index: Sequence[AxisIndex]) -> VoxelBox:
        """Return the box that an index selects; a slice without an end extends to the end of the array.

        Raises:
            UsageError: The number of axes differs, a step is not 1, or a coordinate is outside the array.
        """
        axes = len(self.shape)
        if len(index) != axes:
            raise UsageError(f"the index must have {plural(axes, 'axis', 'axes')}, not {len(index)}")
        begin, end = [], []
        for one, first, last in zip(index, self.box.begin, self.box.end, strict=True):
            if isinstance(one, slice):
                if one.step not in (None, 1):
                    raise UsageError(f"the step of a slice must be 1, not {one.step}")
                start = first if one.start is None else int(one.start)
                stop = last if one.stop is None else int(one.stop)
            else:
                start, stop = int(one), int(one) + 1
            if not first <= start <= stop <= last:
                raise UsageError(f"{start}..{stop} is outside the array; this axis is {first}..{last}")
            begin.append(start)
            end.append(stop)
        return VoxelBox(tuple(begin), tuple(end))

    def cell_of(self, index: Sequence[int]) -> GridCell:
        """Return the cell that contains an element.

        Raises:
            UsageError: The element is outside the array.
        """
        self.box_of(tuple(index))
        steps = zip(index, self.box.begin, self.chunk, strict=True)
        return self.cell(tuple((at - first) // step for at, first, step in steps))


def copy_box(chunk: NDArray[Any], place: VoxelBox, out: NDArray[Any], box: VoxelBox) -> None:
    """Copy the elements that two boxes have in common from `chunk` (at `place`) to `out` (at `box`)."""
    begin = [max(a, b) for a, b in zip(place.begin, box.begin, strict=True)]
    end = [min(a, b) for a, b in zip(place.end, box.end, strict=True)]
    inside = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, place.begin, strict=True))
    there = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, box.begin, strict=True))
    out[there] = chunk[inside]
