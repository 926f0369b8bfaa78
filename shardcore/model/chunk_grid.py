"""Array that is stored as many chunks, each a box of a grid: a scale of a volume, a Bloscpack array, a bcolz column."""

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
from shardcore.model.array_layout import RAW
from shardcore.model.number_words import plural
from shardcore.model.objects import ObjectRef
from shardcore.model.span import Span

AxisIndex = slice | int

Chunk = NDArray[Any] | ShardError | None
"""Elements of a chunk; why they cannot be read; None where the chunk is not stored."""

MOST_CELLS = 1 << 20
"""Chunks that one box may take from."""


@dataclass(frozen=True, slots=True)
class VoxelBox:
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
        at: Its place in the grid, in chunks.
        box: Its elements; the last cell of an axis is cut where the array ends.
        key: Its key; of an element of an array whose chunks do not begin with rows, that of its first element.
        shard: The file it belongs in; empty where it is the open file.
        minishard: The minishard it belongs in; None where there are none.
    """

    at: tuple[int, ...]
    box: VoxelBox
    key: str
    shard: str = ""
    minishard: int | None = None


@dataclass(frozen=True, slots=True)
class GridScale:
    name: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ElementLocation:
    """Storage of one element.

    Attributes:
        index: Its coordinates.
        cell: The chunk that holds it.
        ref: The object that the chunk is; None where it is not stored.
        start: Offset of its first byte in the uncompressed chunk; -1 where the encoding has no bytes per element.
        stop: Offset after its last byte.
        span: Its stored bytes, or the smallest stored part that holds them; None where there are none.
        exact: Whether `span` has the bytes of the element alone.
    """

    index: tuple[int, ...]
    cell: GridCell
    ref: ObjectRef | None = None
    start: int = -1
    stop: int = -1
    span: Span | None = None
    exact: bool = False


class ChunkGrid(ABC):
    """Array stored as a grid of chunks. Thread-safe; lasts as long as its shard is open.

    Attributes:
        name: The scale or the array; empty where it has no name.
        scales: All scales of the volume, in the order of its info; empty where there is one.
        dtype: Type of an element.
        box: All elements.
        chunk: Edge lengths of a chunk that is not cut.
        inner: Shape of the values of one element: `(channels,)`, or empty.
        axes: Names of the axes; empty where they have none.
        spacing: Length of an element along each axis, in `unit`; empty where it is unknown.
        unit: Unit of `spacing`.
        labels: Whether elements are numbers of segments.
        encoding: Encoding of the elements of a chunk.
        order: Order of the elements of a raw chunk: `C` (last axis fastest) or `F` (first axis fastest).
        whole: Whether all chunks are looked for: those of one file of a data set are only some of the array.
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
        """Return a cell by its place in the grid."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self.box.shape

    @property
    def counts(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(-(-length // step) for length, step in zip(self.shape, self.chunk, strict=True))

    def box_at(self, at: Sequence[int]) -> VoxelBox:
        """Return the elements of the cell at a place."""
        steps = zip(at, self.chunk, self.box.begin, self.box.end, strict=True)
        ends = [(first + n * step, min(first + (n + 1) * step, last)) for n, step, first, last in steps]
        return VoxelBox(tuple(begin for begin, _ in ends), tuple(end for _, end in ends))

    def cells_in(self, box: VoxelBox) -> list[GridCell]:
        """Return the cells that have elements of a box.

        Raises:
            LimitExceeded: They are more than `MOST_CELLS`.
        """
        steps = zip(box.begin, box.end, self.box.begin, self.chunk, strict=True)
        ranges = [
            range((begin - first) // step, -(-(end - first) // step)) if end > begin else range(0)
            for begin, end, first, step in steps
        ]
        if (count := math.prod(map(len, ranges))) > MOST_CELLS:
            raise LimitExceeded(f"the box takes from {plural(count, 'chunk')}; at most {MOST_CELLS:,} are read")
        return [self.cell(at) for at in product(*ranges)]

    @abstractmethod
    def read_cells(self, cells: Iterable[GridCell]) -> Iterator[tuple[GridCell, Chunk]]:
        """Yield cells with their elements, in their order: several are read at a time, neighbours with one request.

        A cell that is not stored is yielded with None, and one that cannot be read with its error. Elements have the
        shape `(*cell.box.shape, *inner)`.

        Raises:
            Cancelled: The result is not wanted any more.
        """

    @abstractmethod
    def locate(self, index: Sequence[int]) -> ElementLocation:
        """Return where an element is stored; reads the index and, of compressed chunks, the chunk.

        Raises:
            UsageError: The element is outside the array.
            ShardError: The chunk is damaged, or cannot be read.
        """

    def read(self, index: Sequence[AxisIndex], *, limit: int = DEFAULT_LIMIT) -> NDArray[Any]:
        """Return a box of elements; those of chunks that are not stored are 0.

        Args:
            index: A slice of step 1 or a coordinate for each axis.
            limit: Bytes of the result.

        Returns:
            Shape `(*box, *inner)`; a coordinate keeps its axis, of length 1.

        Raises:
            UsageError: The index is invalid or outside the array.
            LimitExceeded: The box has more than `limit` bytes.
            ShardError: A chunk is damaged, or cannot be read.
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
        """Return the box of an index; an open end of a slice is that of the array.

        Raises:
            UsageError: The number of axes differs, a step is not 1, or an end is outside the array.
        """
        axes = len(self.shape)
        if len(index) != axes:
            raise UsageError(f"an index of {plural(axes, 'axis', 'axes')} is needed, not {len(index)}")
        begin, end = [], []
        for one, first, last in zip(index, self.box.begin, self.box.end, strict=True):
            if isinstance(one, slice):
                if one.step not in (None, 1):
                    raise UsageError(f"a slice has the step 1, not {one.step}")
                start = first if one.start is None else int(one.start)
                stop = last if one.stop is None else int(one.stop)
            else:
                start, stop = int(one), int(one) + 1
            if not first <= start <= stop <= last:
                raise UsageError(f"{start}..{stop} is outside the volume, {first}..{last} on this axis")
            begin.append(start)
            end.append(stop)
        return VoxelBox(tuple(begin), tuple(end))

    def cell_of(self, index: Sequence[int]) -> GridCell:
        """Return the cell that holds an element.

        Raises:
            UsageError: The element is outside the array.
        """
        self.box_of(tuple(index))
        steps = zip(index, self.box.begin, self.chunk, strict=True)
        return self.cell(tuple((at - first) // step for at, first, step in steps))


def copy_box(chunk: NDArray[Any], place: VoxelBox, out: NDArray[Any], box: VoxelBox) -> None:
    begin = [max(a, b) for a, b in zip(place.begin, box.begin, strict=True)]
    end = [min(a, b) for a, b in zip(place.end, box.end, strict=True)]
    inside = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, place.begin, strict=True))
    there = tuple(slice(b - first, e - first) for b, e, first in zip(begin, end, box.begin, strict=True))
    out[there] = chunk[inside]
